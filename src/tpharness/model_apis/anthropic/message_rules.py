"""What Anthropic's Messages API accepts as `messages` and `system`: rules A1 to A11.

Consecutive messages of one role make one turn (A7). So calls may come in several assistant messages, and their results
in several user messages.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from tpharness.findings import Kind
from tpharness.model_apis.anthropic.empty_rules import EMPTY_MESSAGE, empty_messages_of
from tpharness.model_apis.anthropic.messages import (
    anthropic_rule,
    blocks,
    call_ids,
    content_pointer,
    open_payload,
    role,
    server_calls,
    server_results,
    thinks,
)
from tpharness.model_apis.append_only import first_difference
from tpharness.model_apis.rule import ApiRule, Confidence, Hit, Options
from tpharness.model_apis.shape import PayloadEntry, as_list, objects, string, turns, value_of

__all__ = ["RULES"]


def _find_unanswered_calls(messages: Sequence[PayloadEntry], _: Options) -> Iterator[Hit]:
    """A1."""
    for turn, after in pairwise([*turns(messages), []]):
        results = [block for entry in after if role(entry) == "user" for block in blocks(entry, "tool_result")]
        answered = {string(block.value, "tool_use_id") for block in results}
        for entry in turn:
            missing = tuple(call for call in call_ids(entry) if call not in answered)
            if missing:
                yield Hit(pointer=entry.pointer, ids=missing)


def _find_orphan_results(messages: Sequence[PayloadEntry], _: Options) -> Iterator[Hit]:
    """A2."""
    for before, turn in pairwise([[], *turns(messages)]):
        called = {call for entry in before for call in call_ids(entry)}
        for block in (block for entry in turn if role(entry) == "user" for block in blocks(entry, "tool_result")):
            call = string(block.value, "tool_use_id")
            if call is not None and call not in called:
                yield Hit(pointer=block.pointer, ids=(call,))


def _find_late_results(messages: Sequence[PayloadEntry], _: Options) -> Iterator[Hit]:
    """A3: within the turn that consecutive user messages make."""
    others = False
    for entry in messages:
        if role(entry) != "user":
            others = False
            continue
        content = entry.value.get("content")
        others = others or (isinstance(content, str) and bool(content))
        for block in objects(content, f"{entry.pointer}/content"):
            result = string(block.value, "type") == "tool_result"
            if result and others:
                yield Hit(pointer=block.pointer, got=string(block.value, "tool_use_id"))
            others = others or not result


def _find_blank_texts(messages: Sequence[PayloadEntry], _: Options) -> Iterator[Hit]:
    """A4: content that is a text counts as one text block; A5 finds empty content.

    White space beside a text block with words in the same message was seen to be accepted.
    """
    for entry in messages:
        content = entry.value.get("content")
        says = any((string(block.value, "text") or "").strip() for block in blocks(entry, "text"))
        if isinstance(content, str) and content and not content.strip() and role(entry) != "system":
            yield Hit(pointer=f"{entry.pointer}/content", error=1, got=content)
        for index, block in enumerate(as_list(content)):
            text = string(block, "text")
            if string(block, "type") == "text" and text is not None and not text.strip() and not (text and says):
                yield Hit(pointer=f"{content_pointer(entry)}/{index}/text", error=1 if text else 0, got=text)


def _find_empty_messages(messages: Sequence[PayloadEntry], _: Options) -> Iterator[Hit]:
    """A5."""
    return empty_messages_of("user", messages)


def _find_prefill(messages: Sequence[PayloadEntry], options: Options) -> Iterator[Hit]:
    """A6: a turn that the API has paused, with a tool of its own still at work, is sent back as it is."""
    turns = [entry for entry in messages if role(entry) in ("user", "assistant")]
    if turns and role(turns[-1]) == "assistant" and not options.prefill and not _is_paused(turns[-1]):
        yield Hit(pointer=turns[-1].pointer, got="assistant", expected="user")


def _is_paused(entry: PayloadEntry) -> bool:
    return bool(server_calls([entry]).keys() - server_results([entry]).keys())


def _find_repeated_roles(messages: Sequence[PayloadEntry], _: Options) -> Iterator[Hit]:
    """A7."""
    for one, other in pairwise(messages):
        if role(one) in ("user", "assistant") and role(other) == role(one):
            yield Hit(pointer=other.pointer, got=role(one))


def _find_bad_signatures(messages: Sequence[PayloadEntry], _: Options) -> Iterator[Hit]:
    """A8: only the API can verify a signature, but an empty one is certainly invalid."""
    for entry in messages:
        for block in blocks(entry, "thinking"):
            signature = string(block.value, "signature")
            if signature is not None and not signature.strip():
                yield Hit(pointer=f"{block.pointer}/signature", got=signature)


def _find_calls_without_thinking(messages: Sequence[PayloadEntry], options: Options) -> Iterator[Hit]:
    """A9."""
    thinking = options.thinking
    if thinking is None:
        thinking = any(thinks(entry) for entry in messages)
    for entry in messages:
        called = call_ids(entry)
        if thinking and called and not thinks(entry):
            first = next(objects(entry.value.get("content"), ""))
            yield Hit(pointer=entry.pointer, ids=tuple(called), words={"type": string(first.value, "type") or "text"})


def _find_changed_prefix(messages: Sequence[PayloadEntry], options: Options) -> Iterator[Hit]:
    """A10: a changed prefix matters only to thinking after the change."""
    if options.earlier is None:
        return
    before, _ = open_payload(options.earlier)
    changed = first_difference([dict(entry.value) for entry in before], [dict(entry.value) for entry in messages])
    if changed is None:
        return
    index = changed.index
    if any(thinks(entry) for entry in messages[index:]):
        entry = messages[index]
        inside = changed.inside.removeprefix("/content")
        whole = inside == changed.inside
        yield Hit(
            pointer=entry.pointer + inside if whole else content_pointer(entry) + inside,
            got=changed.got,
            expected=changed.expected,
        )


def _find_untyped_blocks(messages: Sequence[PayloadEntry], _: Options) -> Iterator[Hit]:
    """A11."""
    for entry in messages:
        for block in blocks(entry, "tool_use"):
            if not isinstance(block.value.get("input"), Mapping):
                yield Hit(pointer=f"{block.pointer}/input", got=block.value.get("input"), expected="an object")
        for block in blocks(entry, "thinking"):
            if string(block.value, "signature") is None:
                got = value_of(block.value, "signature")
                yield Hit(pointer=f"{block.pointer}/signature", got=got, expected="text")


RULES: tuple[ApiRule, ...] = (
    anthropic_rule(
        1,
        Kind("anthropic-call-unanswered"),
        "`tool_use` ids were found without `tool_result` blocks immediately after: {ids}. Each `tool_use` block must "
        "have a corresponding `tool_result` block in the next message.",
        source="anthropics/claude-code#8210, #2697; calls in two assistant messages taken: recorded by "
        "pydantic/pydantic-ai (Claude Sonnet 4.5)",
        confidence=Confidence.REPORTED,
        find=_find_unanswered_calls,
    ),
    anthropic_rule(
        2,
        Kind("anthropic-orphan-result"),
        "unexpected `tool_use_id` found in `tool_result` blocks: {ids}. Each `tool_result` block must have a "
        "corresponding `tool_use` block in the previous message.",
        source="anthropics/claude-code#13460, tghamm/Anthropic.SDK#184",
        confidence=Confidence.REPORTED,
        find=_find_orphan_results,
    ),
    anthropic_rule(
        3,
        Kind("anthropic-result-after-text"),
        source="platform.claude.com, tool use: handle tool calls",
        confidence=Confidence.DOCUMENTED,
        find=_find_late_results,
    ),
    anthropic_rule(
        4,
        Kind("anthropic-text-blank"),
        "text content blocks must be non-empty",
        "text content blocks must contain non-whitespace text",
        source="anthropics/claude-code#59812, #23369, home-assistant/core#175637; white space beside other text taken: "
        "LibreChat-AI/agents#124",
        confidence=Confidence.REPORTED,
        find=_find_blank_texts,
    ),
    anthropic_rule(
        5,
        Kind("anthropic-message-empty"),
        EMPTY_MESSAGE,
        source="anthropics/claude-code#6774, microsoft/autogen#6083, langchain-ai/langchain#35118",
        confidence=Confidence.REPORTED,
        find=_find_empty_messages,
    ),
    anthropic_rule(
        6,
        Kind("anthropic-prefill"),
        "This model does not support assistant message prefill. The conversation must end with a user message.",
        source="HKUDS/nanobot#3297, llm-exe/llm-exe#503; where the output has a format, older models too: "
        "agentjido/req_llm#642; anthropic SDK, docstring; paused turns: "
        "anthropics/anthropic-sdk-python#1507",
        confidence=Confidence.REPORTED,
        find=_find_prefill,
        only="Claude 4.6 and later; any Claude where the output has a format",
    ),
    anthropic_rule(
        7,
        Kind("anthropic-same-role-twice"),
        source="anthropic SDK, docstring of messages.create",
        confidence=Confidence.SDK,
        find=_find_repeated_roles,
        only="reported on request, because it is accepted",
    ),
    anthropic_rule(
        8,
        Kind("anthropic-signature-empty"),
        "Invalid `signature` in `thinking` block",
        source="pydantic/pydantic-ai#7601; NousResearch/hermes-agent#24107",
        confidence=Confidence.REPORTED,
        find=_find_bad_signatures,
    ),
    anthropic_rule(
        9,
        Kind("anthropic-call-without-thinking"),
        "Expected `thinking` or `redacted_thinking`, but found `{type}`. When `thinking` is enabled, a final "
        "`assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and "
        "`tool_result` blocks).",
        source="documentation on thinking and tools, n8n-io/n8n#22550 (a 400) against NousResearch/hermes-agent#24107 "
        "(a 200)",
        confidence=Confidence.CONFLICTING,
        find=_find_calls_without_thinking,
        only="conversations in which the model thinks",
    ),
    anthropic_rule(
        10,
        Kind("anthropic-prefix-changed"),
        source="platform.claude.com, build with Claude: preserved thinking, prefix checks",
        confidence=Confidence.DOCUMENTED,
        find=_find_changed_prefix,
        only="newer models, and where an earlier payload is given",
    ),
    anthropic_rule(
        11,
        Kind("anthropic-block-untyped"),
        source="anthropic SDK, types of blocks",
        confidence=Confidence.SDK,
        find=_find_untyped_blocks,
    ),
)
