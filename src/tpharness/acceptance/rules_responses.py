"""What OpenAI's Responses API accepts as `input`: rules R1 to R5."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tpharness.acceptance.rule import Confidence, Hit, Options, Rule, malformed_finding
from tpharness.acceptance.shape import PayloadEntry, as_list, entries, string
from tpharness.findings import Finding, Kind

__all__ = ["RULES", "open_payload"]

_ROLES = ("user", "assistant", "system", "developer")
_CALL, _OUTPUT, _REASONING, _REFERENCE = "function_call", "function_call_output", "reasoning", "item_reference"
_NEEDED = {
    _CALL: ("call_id", "name", "arguments"),
    _OUTPUT: ("call_id",),
    _REFERENCE: ("id",),
}


def open_payload(payload: Any) -> tuple[list[PayloadEntry], list[Finding]]:
    """Return the input items, and findings about values of unknown types."""
    found = entries(payload)
    return found, list(_check_items(payload, found))


def _type(item: Mapping[str, Any]) -> str | None:
    """Return the type of an item; messages and references may leave it out."""
    named = string(item, "type")
    if named is None and "role" in item:
        return "message"
    if named is None and set(item) == {"id"}:
        return _REFERENCE
    return named


def _check_items(payload: Any, items: list[PayloadEntry]) -> Iterator[Finding]:
    if not isinstance(payload, list) or not payload:
        yield malformed_finding("", "list of input items", payload)
    for entry, item in zip(items, as_list(payload), strict=True):
        kind = _type(entry.value)
        if kind is None:
            yield malformed_finding(entry.pointer, "item with a type or a role", item)
        elif kind == "message":
            yield from _check_message(entry)
        for name in _NEEDED.get(kind or "", ()):
            if not isinstance(entry.value.get(name), str):
                yield malformed_finding(f"{entry.pointer}/{name}", "text", entry.value.get(name))
        if kind == _OUTPUT and not isinstance(entry.value.get("output"), str | list):
            yield malformed_finding(f"{entry.pointer}/output", "text or list of content", entry.value.get("output"))


def _check_message(entry: PayloadEntry) -> Iterator[Finding]:
    role, content = entry.value.get("role"), entry.value.get("content")
    if role not in _ROLES:
        yield malformed_finding(f"{entry.pointer}/role", f"role of {', '.join(_ROLES)}", role)
    if not isinstance(content, str | list):
        yield malformed_finding(f"{entry.pointer}/content", "text or list of content", content)
    for index, part in enumerate(as_list(content)):
        if string(part, "type") is None:
            yield malformed_finding(f"{entry.pointer}/content/{index}", "content with a type", part)


def _is_output(item: Mapping[str, Any]) -> bool:
    """Whether the model made this item: it is neither an input message nor a tool result."""
    kind = _type(item)
    if kind == "message":
        return item.get("role") == "assistant"
    return kind is not None and not kind.endswith("_output")


def _find_unanswered_calls(items: Sequence[PayloadEntry], options: Options) -> Iterator[Hit]:
    """R1: anywhere later; if outputs must be adjacent, in the run after the run of calls."""
    last = {string(entry.value, "call_id"): index for index, entry in enumerate(items) if _type(entry.value) == _OUTPUT}
    runs_end = _ends_of_call_runs(items) if options.adjacent_outputs else ()
    for index, entry in enumerate(items):
        call = string(entry.value, "call_id")
        if _type(entry.value) != _CALL or call is None:
            continue
        until = runs_end[index] if runs_end else len(items)
        if not index < last.get(call, -1) < until:
            yield Hit(pointer=entry.pointer, ids=(call,))


def _ends_of_call_runs(items: Sequence[PayloadEntry]) -> list[int]:
    """Return for each index where the outputs directly after its run of calls end."""
    ends = [0] * len(items)
    end = len(items)
    for index in range(len(items) - 1, -1, -1):
        kind = _type(items[index].value)
        after = _type(items[index + 1].value) if index + 1 < len(items) else None
        goes_on = after == _OUTPUT or (kind == after == _CALL)
        if kind not in (_CALL, _OUTPUT) or not goes_on:
            end = index + 1
        ends[index] = end
    return ends


def _find_orphan_outputs(items: Sequence[PayloadEntry], _: Options) -> Iterator[Hit]:
    """R2: the call comes before its output."""
    called: set[str | None] = set()
    for entry in items:
        kind, call = _type(entry.value), string(entry.value, "call_id")
        if kind == _CALL:
            called.add(call)
        elif kind == _OUTPUT and call is not None and call not in called:
            yield Hit(pointer=entry.pointer, ids=(call,))


def _find_torn_reasoning(items: Sequence[PayloadEntry], options: Options) -> Iterator[Hit]:
    """R3: both ways. A response is what is between two items of input; what a reference names is not known."""
    reasons = options.reasoning
    if reasons is None:
        reasons = any(_type(entry.value) == _REASONING for entry in items)
    reasoned = False
    waiting: list[PayloadEntry] = []
    for entry in items:
        kind = _type(entry.value)
        if kind == _REASONING:
            waiting.append(entry)
            reasoned = True
            continue
        if _is_output(entry.value):
            waiting = []
            reasoned = reasoned or kind == _REFERENCE
            item_id = string(entry.value, "id")
            if kind == _CALL and reasons and item_id and not reasoned:
                yield Hit(pointer=entry.pointer, ids=(item_id,), error=1)
            continue
        yield from _unfollowed_hits(waiting)
        waiting, reasoned = [], False
    yield from _unfollowed_hits(waiting)


def _unfollowed_hits(waiting: list[PayloadEntry]) -> Iterator[Hit]:
    for entry in waiting:
        yield Hit(pointer=entry.pointer, ids=(string(entry.value, "id") or "without an id",))


def _is_half_reasoning(item: Mapping[str, Any]) -> bool:
    return _type(item) == _REASONING and bool(item.get("encrypted_content")) and string(item, "status") == "in_progress"


def _find_unstored_items(items: Sequence[PayloadEntry], options: Options) -> Iterator[Hit]:
    """R4: an item that is not stored cannot be found by its id, and half of an encrypted text cannot be read."""
    for entry in items:
        kind, item_id = _type(entry.value), string(entry.value, "id")
        if _is_half_reasoning(entry.value):
            yield Hit(pointer=f"{entry.pointer}/encrypted_content", ids=(item_id or "without an id",), error=1)
        elif options.store or item_id is None:
            continue
        elif kind == _REFERENCE or (kind == _REASONING and not entry.value.get("encrypted_content")):
            yield Hit(pointer=entry.pointer, ids=(item_id,))


def _find_unfinished_items(items: Sequence[PayloadEntry], _: Options) -> Iterator[Hit]:
    """R5: an item that was added and not finished comes from a stream that broke off."""
    for entry in items:
        if string(entry.value, "status") == "in_progress" and not _is_half_reasoning(entry.value):
            yield Hit(pointer=f"{entry.pointer}/status", got="in_progress", expected="completed")


RULES: tuple[Rule, ...] = (
    Rule(
        id="R1",
        provider="openai-responses",
        kind=Kind("responses-call-unanswered"),
        errors=("No tool output found for function call {ids}.",),
        source="bytedance/trae-agent#358; adjacency: deepseek-ai/awesome-deepseek-integration#740",
        confidence=Confidence.REPORTED,
        find=_find_unanswered_calls,
    ),
    Rule(
        id="R2",
        provider="openai-responses",
        kind=Kind("responses-orphan-output"),
        errors=("No tool call found for function call output with call_id {ids}.",),
        source="continuedev/continue#10092, microsoft/vscode#320060",
        confidence=Confidence.REPORTED,
        find=_find_orphan_outputs,
    ),
    Rule(
        id="R3",
        provider="openai-responses",
        kind=Kind("responses-reasoning-torn"),
        errors=(
            "Item '{ids}' of type 'reasoning' was provided without its required following item.",
            "Item '{ids}' of type 'function_call' was provided without its required 'reasoning' item.",
        ),
        source="vercel/ai#7099, TanStack/ai#1212; without ids: vercel/workflow#880",
        confidence=Confidence.REPORTED,
        find=_find_torn_reasoning,
        only="the half on function_call: conversations in which the model reasons",
    ),
    Rule(
        id="R4",
        provider="openai-responses",
        kind=Kind("responses-not-stored"),
        errors=(
            "Item with id '{ids}' not found. Items are not persisted when `store` is set to false.",
            "The encrypted content for item {ids} could not be verified.",
        ),
        source="openai-agents-js#546, LibreChat-AI/agents#422; openai SDK, docstring of the reasoning parameter",
        confidence=Confidence.REPORTED,
        find=_find_unstored_items,
        only="the half on ids: requests with store=false (there a 404)",
    ),
    Rule(
        id="R5",
        provider="openai-responses",
        kind=Kind("responses-item-unfinished"),
        source="LibreChat-AI/agents#422",
        confidence=Confidence.REPORTED,
        find=_find_unfinished_items,
    ),
)
