"""What Anthropic's Messages API accepts inside a turn: ids, the API's own tools, where thinking is (A12 to A21)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tpharness.findings import Kind
from tpharness.model_apis.anthropic.messages import (
    anthropic_rule,
    assistant_turns,
    blocks,
    is_thinking,
    role,
    server_calls,
    server_results,
    thinks,
    turns_after_results,
)
from tpharness.model_apis.rule import ApiRule, Confidence, Hit, Options
from tpharness.model_apis.shape import PayloadEntry, as_list, objects, string

__all__ = ["RULES"]

_ANY_ID, _SERVER_ID = "^[a-zA-Z0-9_-]+$", "^srvtoolu_[a-zA-Z0-9_]+$"


def _calls(turn: Sequence[PayloadEntry]) -> Iterator[tuple[str, PayloadEntry]]:
    for entry in turn:
        for block in blocks(entry, "tool_use"):
            if (call := string(block.value, "id")) is not None:
                yield call, block


def _find_repeated_calls(messages: Sequence[PayloadEntry], _: Options) -> Iterator[Hit]:
    """A12: within a turn."""
    for turn in assistant_turns(messages):
        seen: set[str] = set()
        for call, block in _calls(turn):
            if call in seen:
                yield Hit(pointer=f"{block.pointer}/id", ids=(call,))
            seen.add(call)


def _find_reused_ids(messages: Sequence[PayloadEntry], _: Options) -> Iterator[Hit]:
    """A13: in a later turn."""
    earlier: set[str] = set()
    for turn in assistant_turns(messages):
        here = dict(reversed(list(_calls(turn))))
        for call in reversed(here):
            if call in earlier:
                yield Hit(pointer=f"{here[call].pointer}/id", ids=(call,))
        earlier |= here.keys()


def _find_repeated_results(messages: Sequence[PayloadEntry], _: Options) -> Iterator[Hit]:
    """A14: within the turn that consecutive user messages make."""
    seen: set[str] = set()
    for entry in messages:
        if role(entry) != "user":
            seen = set()
            continue
        for block in blocks(entry, "tool_result"):
            call = string(block.value, "tool_use_id")
            if call is not None and call in seen:
                yield Hit(pointer=block.pointer, ids=(call,))
            elif call is not None:
                seen.add(call)


def _find_unanswered_server_calls(messages: Sequence[PayloadEntry], _: Options) -> Iterator[Hit]:
    """A15: the last message may be a turn that the API has paused, which is sent back as it is.

    Beside a client's tool, the API's own tool may return once the client's has: its result is in the next response.
    """
    for turn, next_turn in turns_after_results(messages):
        if turn[-1] is messages[-1] or next_turn is turn:
            continue
        answered = {**server_results(turn), **server_results(next_turn)}
        for call, block in server_calls(turn).items():
            if call not in answered:
                yield Hit(pointer=block.pointer, ids=(call,), words={"name": string(block.value, "name") or "server"})


def _find_orphan_server_results(messages: Sequence[PayloadEntry], _: Options) -> Iterator[Hit]:
    """A16: the call may be in the response before, where the client's tools returned in between."""
    before: list[PayloadEntry] = []
    for turn, next_turn in turns_after_results(messages):
        called = {**server_calls(before), **server_calls(turn)}
        before = turn if next_turn else []
        for call, block in server_results(turn).items():
            if call not in called:
                yield Hit(pointer=block.pointer, ids=(call,), words={"type": string(block.value, "type") or ""})


def _find_malformed_ids(messages: Sequence[PayloadEntry], _: Options) -> Iterator[Hit]:
    """A17."""
    for entry in messages:
        for kind, name, pattern in (
            ("tool_use", "id", _ANY_ID),
            ("tool_result", "tool_use_id", _ANY_ID),
            ("server_tool_use", "id", _SERVER_ID),
        ):
            for block in blocks(entry, kind):
                value = string(block.value, name)
                if value is not None and re.fullmatch(pattern[1:-1], value) is None:
                    words = {"where": f"{kind}.{name}", "pattern": pattern}
                    yield Hit(pointer=f"{block.pointer}/{name}", got=value, words=words)


def _find_blank_results(messages: Sequence[PayloadEntry], _: Options) -> Iterator[Hit]:
    """A18: a result without content says that the tool returned nothing, and is accepted."""
    for entry in messages:
        for block in blocks(entry, "tool_result"):
            content = block.value.get("content")
            if isinstance(content, str) and content and not content.strip():
                yield Hit(pointer=f"{block.pointer}/content", error=1, got=content)
            for index, part in enumerate(as_list(content)):
                text = string(part, "text")
                if string(part, "type") == "text" and text is not None and not text.strip():
                    yield Hit(pointer=f"{block.pointer}/content/{index}/text", error=1 if text else 0, got=text)


def _last_block(messages: Sequence[PayloadEntry], options: Options) -> PayloadEntry | None:
    """Return the last block of an assistant message that the model is to continue."""
    if not (options.prefill and messages and role(messages[-1]) == "assistant"):
        return None
    content, pointer = messages[-1].value.get("content"), f"{messages[-1].pointer}/content"
    if isinstance(content, str):
        return PayloadEntry(pointer, {"type": "text", "text": content})
    return next(iter(reversed(list(objects(content, pointer)))), None)


def _find_final_thinking(messages: Sequence[PayloadEntry], options: Options) -> Iterator[Hit]:
    """A19: at the end, or anywhere in the last message if the request says that thinking is disabled."""
    last = _last_block(messages, options)
    if last is not None and options.thinking is False and thinks(messages[-1]):
        thought = next(iter(blocks(messages[-1], "thinking", "redacted_thinking")))
        yield Hit(pointer=thought.pointer, error=1, got=string(thought.value, "type"))
    elif last is not None and is_thinking(last.value):
        yield Hit(
            pointer=last.pointer, got=string(last.value, "type"), words={"type": string(last.value, "type") or ""}
        )


def _find_final_space(messages: Sequence[PayloadEntry], options: Options) -> Iterator[Hit]:
    """A20: A4 finds what is nothing but white space."""
    last = _last_block(messages, options)
    text = None if last is None else string(last.value, "text")
    if last is not None and text is not None and text.strip() and text != text.rstrip():
        inside = "" if isinstance(messages[-1].value.get("content"), str) else "/text"
        yield Hit(pointer=f"{last.pointer}{inside}", got=text[-40:])


def _find_late_thinking(messages: Sequence[PayloadEntry], _: Options) -> Iterator[Hit]:
    """A21."""
    for entry in messages:
        content = list(objects(entry.value.get("content"), f"{entry.pointer}/content"))
        if role(entry) == "assistant" and any(is_thinking(block.value) for block in content[1:]):
            first = content[0]
            if not is_thinking(first.value):
                kind = string(first.value, "type") or "text"
                yield Hit(pointer=first.pointer, got=kind, expected="thinking", words={"type": kind})


def _find_system_messages(messages: Sequence[PayloadEntry], options: Options) -> Iterator[Hit]:
    """A22: before Claude 4.8 the system prompt has its own field, and no other place."""
    for entry in messages if not options.system_messages else ():
        if role(entry) == "system" and entry.pointer != "/system":
            yield Hit(pointer=f"{entry.pointer}/role", got="system", expected="user or assistant")


RULES: tuple[ApiRule, ...] = (
    anthropic_rule(
        12,
        Kind("anthropic-call-id-repeated"),
        "`tool_use` ids must be unique",
        source="anthropics/claude-code#20901, #21317, BerriAI/litellm#23510, RooCodeInc/Roo-Code#10760",
        confidence=Confidence.REPORTED,
        find=_find_repeated_calls,
    ),
    anthropic_rule(
        13,
        Kind("anthropic-call-id-reused"),
        "`tool_use` ids must be unique",
        source="openclaw/openclaw#4700 and brainlid/langchain#620 say so; every error that was seen names the second "
        "block of a message or a later one, which A12 explains",
        confidence=Confidence.CONFLICTING,
        find=_find_reused_ids,
    ),
    anthropic_rule(
        14,
        Kind("anthropic-result-repeated"),
        "each tool_use must have a single result. Found multiple `tool_result` blocks with id: {ids}",
        source="anthropics/claude-code#14110",
        confidence=Confidence.REPORTED,
        find=_find_repeated_results,
    ),
    anthropic_rule(
        15,
        Kind("anthropic-server-call-unanswered"),
        "`{name}` tool use with id `{ids}` was found without a corresponding `{name}_tool_result` block",
        source="anthropics/anthropic-sdk-python#1339, #961, vercel/ai#13040, AnswerDotAI/lisette#108; paused turns at "
        "the end are taken: anthropics/anthropic-sdk-python#1507",
        confidence=Confidence.REPORTED,
        find=_find_unanswered_server_calls,
    ),
    anthropic_rule(
        16,
        Kind("anthropic-server-orphan-result"),
        "unexpected `tool_use_id` found in `{type}` blocks: {ids}. Each `{type}` block must have a corresponding "
        "`server_tool_use` block before it.",
        source="anthropics/claude-code#89348, #69828, #62577",
        confidence=Confidence.REPORTED,
        find=_find_orphan_server_results,
    ),
    anthropic_rule(
        17,
        Kind("anthropic-id-malformed"),
        "{where}: String should match pattern '{pattern}'",
        source="RooCodeInc/Roo-Code#10649, BlockRunAI/ClawRouter#17, HKUDS/nanobot#4356; server tools: "
        "ding113/claude-code-hub#470",
        confidence=Confidence.REPORTED,
        find=_find_malformed_ids,
    ),
    anthropic_rule(
        18,
        Kind("anthropic-result-blank"),
        "text content blocks must be non-empty",
        "text content blocks must contain non-whitespace text",
        source="NousResearch/hermes-agent#97641, #77509 (a 400) against NousResearch/hermes-agent#55092 (a 200 of "
        "Bedrock Converse)",
        confidence=Confidence.CONFLICTING,
        find=_find_blank_results,
    ),
    anthropic_rule(
        19,
        Kind("anthropic-thinking-last"),
        "The final block in an assistant message cannot be `{type}`.",
        "When thinking is disabled, an `assistant` message in the final position cannot contain `thinking`. To use "
        "thinking blocks, enable `thinking` in your request.",
        source="tailcallhq/forgecode#2107, #1853, router-for-me/CLIProxyAPI#5321, NousResearch/hermes-agent#16921",
        confidence=Confidence.REPORTED,
        find=_find_final_thinking,
        only="requests that the model continues (`prefill`)",
    ),
    anthropic_rule(
        20,
        Kind("anthropic-prefill-space"),
        "final assistant content cannot end with trailing whitespace",
        source="tailcallhq/forgecode#1872, GCWing/OpenBitFun#775, dinesh-git17/claudehome#122",
        confidence=Confidence.REPORTED,
        find=_find_final_space,
        only="requests that the model continues (`prefill`)",
    ),
    anthropic_rule(
        21,
        Kind("anthropic-thinking-late"),
        "If an assistant message contains any thinking blocks, the first block must be `thinking` or "
        "`redacted_thinking`. Found `{type}`.",
        source="anthropics/claude-code#20705; models that think between tools send text before thinking themselves",
        confidence=Confidence.CONFLICTING,
        find=_find_late_thinking,
    ),
    anthropic_rule(
        22,
        Kind("anthropic-system-misplaced"),
        'messages: Unexpected role "system". The Messages API accepts a top-level `system` parameter, not "system" as '
        "an input message role.",
        source="anthropics/claude-agent-sdk-typescript#350 (Haiku 4.5 refuses, Opus 4.8 takes it), "
        "UKGovernmentBEIS/inspect_ai#4104, ianarawjo/ChainForge#271",
        confidence=Confidence.REPORTED,
        find=_find_system_messages,
        only="Claude before 4.8",
    ),
)
