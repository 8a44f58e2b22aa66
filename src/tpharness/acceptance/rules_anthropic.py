"""What Anthropic's Messages API accepts as `messages` and `system`: rules A1 to A11.

Consecutive messages of one role make one turn (A7). So results may come in several user messages. Calls are matched
more strictly: their results are looked for in the message after the one with the calls, as A1 says.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from tpharness.acceptance.append_only import first_difference
from tpharness.acceptance.rule import Confidence, Hit, Options, Rule, malformed_finding
from tpharness.acceptance.shape import PayloadEntry, as_list, entries, objects, string, value_of
from tpharness.findings import Finding, Kind

__all__ = ["RULES", "open_payload"]

_ROLES = ("user", "assistant", "system")
_THINKING = ("thinking", "redacted_thinking")
_NEEDED = {
    "text": ("text",),
    "thinking": ("thinking",),
    "tool_use": ("id", "name"),
    "tool_result": ("tool_use_id",),
}


def open_payload(payload: Any) -> tuple[list[PayloadEntry], list[Finding]]:
    """Return the messages, the system prompt first with the role `system`, and findings about values of unknown types.

    The payload is the list of messages, or an object with `messages` and `system`.
    """
    whole = isinstance(payload, Mapping)
    messages = payload.get("messages") if whole else payload
    prefix = "/messages" if whole else ""
    found = entries(messages, prefix)
    wrong = list(_check_messages(messages, found, prefix))
    system = payload.get("system") if whole else None
    if system is not None:
        prompt = PayloadEntry("/system", {"role": "system", "content": system})
        wrong += _check_content(prompt)
        found = [prompt, *found]
    return found, wrong


def _check_messages(messages: Any, found: list[PayloadEntry], prefix: str) -> Iterator[Finding]:
    if not isinstance(messages, list) or not messages:
        yield malformed_finding(prefix, "list of messages", messages)
    for entry, item in zip(found, as_list(messages), strict=True):
        if not isinstance(item, Mapping):
            yield malformed_finding(entry.pointer, "message object", item)
            continue
        if item.get("role") not in _ROLES:
            yield malformed_finding(f"{entry.pointer}/role", f"role of {', '.join(_ROLES)}", item.get("role"))
        yield from _check_content(entry)


def _content_pointer(entry: PayloadEntry) -> str:
    """Return the pointer to the content; the system prompt is its own content."""
    return entry.pointer if entry.pointer == "/system" else f"{entry.pointer}/content"


def _check_content(entry: PayloadEntry) -> Iterator[Finding]:
    content, pointer = entry.value.get("content"), _content_pointer(entry)
    if not isinstance(content, str | list):
        yield malformed_finding(pointer, "text or list of blocks", content)
    for index, block in enumerate(as_list(content)):
        kind = string(block, "type")
        if kind is None:
            yield malformed_finding(f"{pointer}/{index}", "block with a type", block)
            continue
        for name in _NEEDED.get(kind, ()):
            if not isinstance(block.get(name), str):
                yield malformed_finding(f"{pointer}/{index}/{name}", "text", block.get(name))


def _role(entry: PayloadEntry) -> str | None:
    return string(entry.value, "role")


def _blocks(entry: PayloadEntry, *kinds: str) -> Iterator[PayloadEntry]:
    for block in objects(entry.value.get("content"), f"{entry.pointer}/content"):
        if string(block.value, "type") in kinds:
            yield block


def _call_ids(entry: PayloadEntry) -> list[str]:
    if _role(entry) != "assistant":
        return []
    return [found for block in _blocks(entry, "tool_use") if (found := string(block.value, "id")) is not None]


def _result_ids(messages: Sequence[PayloadEntry], start: int) -> set[str | None]:
    """Return the ids of the results in the user messages that begin at `start`."""
    found: set[str | None] = set()
    for index in range(start, len(messages)):
        if _role(messages[index]) != "user":
            break
        found |= {string(block.value, "tool_use_id") for block in _blocks(messages[index], "tool_result")}
    return found


def _find_unanswered_calls(messages: Sequence[PayloadEntry], _: Options) -> Iterator[Hit]:
    """A1."""
    for index, entry in enumerate(messages):
        called = _call_ids(entry)
        if called:
            answered = _result_ids(messages, index + 1)
            missing = tuple(call for call in called if call not in answered)
            if missing:
                yield Hit(pointer=entry.pointer, ids=missing)


def _find_orphan_results(messages: Sequence[PayloadEntry], _: Options) -> Iterator[Hit]:
    """A2."""
    called: set[str] = set()
    for entry in messages:
        if _role(entry) != "user":
            called = set(_call_ids(entry))
            continue
        for block in _blocks(entry, "tool_result"):
            call = string(block.value, "tool_use_id")
            if call is not None and call not in called:
                yield Hit(pointer=block.pointer, ids=(call,))


def _find_late_results(messages: Sequence[PayloadEntry], _: Options) -> Iterator[Hit]:
    """A3: within the turn that consecutive user messages make."""
    others = False
    for entry in messages:
        if _role(entry) != "user":
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
    """A4: content that is a text counts as one text block; A5 finds empty content."""
    for entry in messages:
        content = entry.value.get("content")
        if isinstance(content, str) and content and not content.strip() and _role(entry) != "system":
            yield Hit(pointer=f"{entry.pointer}/content", error=1, got=content)
        for index, block in enumerate(as_list(content)):
            text = string(block, "text")
            if string(block, "type") == "text" and text is not None and not text.strip():
                yield Hit(pointer=f"{_content_pointer(entry)}/{index}/text", error=1 if text else 0, got=text)


def _find_empty_messages(messages: Sequence[PayloadEntry], _: Options) -> Iterator[Hit]:
    """A5: except for an assistant message at the end."""
    for index, entry in enumerate(messages):
        last = index == len(messages) - 1 and _role(entry) == "assistant"
        if _role(entry) in ("user", "assistant") and entry.value.get("content") in ("", []) and not last:
            yield Hit(pointer=f"{entry.pointer}/content", got=entry.value.get("content"))


def _find_prefill(messages: Sequence[PayloadEntry], options: Options) -> Iterator[Hit]:
    """A6."""
    turns = [entry for entry in messages if _role(entry) in ("user", "assistant")]
    if turns and _role(turns[-1]) == "assistant" and not options.prefill:
        yield Hit(pointer=turns[-1].pointer, got="assistant", expected="user")


def _find_repeated_roles(messages: Sequence[PayloadEntry], _: Options) -> Iterator[Hit]:
    """A7."""
    for one, other in pairwise(messages):
        if _role(one) in ("user", "assistant") and _role(other) == _role(one):
            yield Hit(pointer=other.pointer, got=_role(one))


def _find_bad_signatures(messages: Sequence[PayloadEntry], _: Options) -> Iterator[Hit]:
    """A8: only the API can verify a signature, but an empty one is certainly invalid."""
    for entry in messages:
        for block in _blocks(entry, "thinking"):
            signature = string(block.value, "signature")
            if signature is not None and not signature.strip():
                yield Hit(pointer=f"{block.pointer}/signature", got=signature)


def _find_calls_without_thinking(messages: Sequence[PayloadEntry], options: Options) -> Iterator[Hit]:
    """A9."""
    thinks = options.thinking
    if thinks is None:
        thinks = any(_thinks(entry) for entry in messages)
    for entry in messages:
        called = _call_ids(entry)
        if thinks and called and not _thinks(entry):
            yield Hit(pointer=entry.pointer, ids=tuple(called))


def _thinks(entry: PayloadEntry) -> bool:
    return _role(entry) == "assistant" and any(_blocks(entry, *_THINKING))


def _find_changed_prefix(messages: Sequence[PayloadEntry], options: Options) -> Iterator[Hit]:
    """A10: a changed prefix matters only to thinking after the change."""
    if options.earlier is None:
        return
    before, _ = open_payload(options.earlier)
    changed = first_difference([dict(entry.value) for entry in before], [dict(entry.value) for entry in messages])
    if changed is None:
        return
    index = changed.index
    if any(_thinks(entry) for entry in messages[index:]):
        entry = messages[index]
        inside = changed.inside.removeprefix("/content")
        whole = inside == changed.inside
        yield Hit(
            pointer=entry.pointer + inside if whole else _content_pointer(entry) + inside,
            got=changed.got,
            expected=changed.expected,
        )


def _find_untyped_blocks(messages: Sequence[PayloadEntry], _: Options) -> Iterator[Hit]:
    """A11."""
    for entry in messages:
        for block in _blocks(entry, "tool_use"):
            if not isinstance(block.value.get("input"), Mapping):
                yield Hit(pointer=f"{block.pointer}/input", got=block.value.get("input"), expected="an object")
        for block in _blocks(entry, "thinking"):
            if string(block.value, "signature") is None:
                got = value_of(block.value, "signature")
                yield Hit(pointer=f"{block.pointer}/signature", got=got, expected="text")


def _rule(number: int, kind: Kind, *errors: str, **facts: Any) -> Rule:
    return Rule(id=f"A{number}", provider="anthropic", kind=kind, errors=errors, **facts)


RULES: tuple[Rule, ...] = (
    _rule(
        1,
        Kind("anthropic-call-unanswered"),
        "`tool_use` ids were found without `tool_result` blocks immediately after: {ids}. Each `tool_use` block must "
        "have a corresponding `tool_result` block in the next message.",
        source="anthropics/claude-code#8210, #2697",
        confidence=Confidence.REPORTED,
        find=_find_unanswered_calls,
    ),
    _rule(
        2,
        Kind("anthropic-orphan-result"),
        "unexpected `tool_use_id` found in `tool_result` blocks: {ids}. Each `tool_result` block must have a "
        "corresponding `tool_use` block in the previous message.",
        source="anthropics/claude-code#13460, tghamm/Anthropic.SDK#184",
        confidence=Confidence.REPORTED,
        find=_find_orphan_results,
    ),
    _rule(
        3,
        Kind("anthropic-result-after-text"),
        source="platform.claude.com, tool use: handle tool calls",
        confidence=Confidence.DOCUMENTED,
        find=_find_late_results,
    ),
    _rule(
        4,
        Kind("anthropic-text-blank"),
        "text content blocks must be non-empty",
        "text content blocks must contain non-whitespace text",
        source="anthropics/claude-code#59812, #23369, home-assistant/core#175637",
        confidence=Confidence.REPORTED,
        find=_find_blank_texts,
    ),
    _rule(
        5,
        Kind("anthropic-message-empty"),
        "all messages must have non-empty content except for the optional final assistant message",
        source="anthropics/claude-code#6774",
        confidence=Confidence.REPORTED,
        find=_find_empty_messages,
    ),
    _rule(
        6,
        Kind("anthropic-prefill"),
        "This model does not support assistant message prefill. The conversation must end with a user message.",
        source="HKUDS/nanobot#3297, llm-exe#503; anthropic SDK, docstring",
        confidence=Confidence.REPORTED,
        find=_find_prefill,
        only="Claude 4.6 and later",
    ),
    _rule(
        7,
        Kind("anthropic-same-role-twice"),
        source="anthropic SDK, docstring of messages.create",
        confidence=Confidence.SDK,
        find=_find_repeated_roles,
        only="reported on request, because it is accepted",
    ),
    _rule(
        8,
        Kind("anthropic-signature-empty"),
        "Invalid `signature` in `thinking` block",
        source="pydantic/pydantic-ai#7601; NousResearch/hermes-agent#24107",
        confidence=Confidence.REPORTED,
        find=_find_bad_signatures,
    ),
    _rule(
        9,
        Kind("anthropic-call-without-thinking"),
        source="documentation on thinking and tools (a 400) against NousResearch/hermes-agent#24107 (a 200)",
        confidence=Confidence.CONFLICTING,
        find=_find_calls_without_thinking,
        only="conversations in which the model thinks",
    ),
    _rule(
        10,
        Kind("anthropic-prefix-changed"),
        source="platform.claude.com, build with Claude: preserved thinking, prefix checks",
        confidence=Confidence.DOCUMENTED,
        find=_find_changed_prefix,
        only="newer models, and where an earlier payload is given",
    ),
    _rule(
        11,
        Kind("anthropic-block-untyped"),
        source="anthropic SDK, types of blocks",
        confidence=Confidence.SDK,
        find=_find_untyped_blocks,
    ),
)
