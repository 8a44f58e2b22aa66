"""What OpenAI's Responses API accepts as `input`: rules R1 to R5."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tpharness.findings import Kind
from tpharness.model_apis.openai_responses.items import (
    CALLS,
    REASONING,
    REFERENCE,
    is_call,
    is_output,
    is_tool_output,
    item_type,
)
from tpharness.model_apis.rule import ApiRule, Confidence, Hit, Options
from tpharness.model_apis.shape import PayloadEntry, string

__all__ = ["RULES"]


def _find_unanswered_calls(items: Sequence[PayloadEntry], options: Options) -> Iterator[Hit]:
    """R1: anywhere later; if outputs must be adjacent, in the run after the run of calls."""
    last = {string(entry.value, "call_id"): index for index, entry in enumerate(items) if is_tool_output(entry.value)}
    runs_end = _ends_of_call_runs(items) if options.adjacent_outputs else ()
    for index, entry in enumerate(items):
        call = string(entry.value, "call_id")
        if not is_call(entry.value) or call is None:
            continue
        until = runs_end[index] if runs_end else len(items)
        if not index < last.get(call, -1) < until:
            yield Hit(pointer=entry.pointer, ids=(call,), words={"call": CALLS[item_type(entry.value) or ""]})


def _ends_of_call_runs(items: Sequence[PayloadEntry]) -> list[int]:
    """Return for each index where the outputs directly after its run of calls end."""
    ends = [0] * len(items)
    end = len(items)
    for index in range(len(items) - 1, -1, -1):
        item = items[index].value
        after = items[index + 1].value if index + 1 < len(items) else {}
        goes_on = is_tool_output(after) or (is_call(item) and is_call(after))
        if not (is_call(item) or is_tool_output(item)) or not goes_on:
            end = index + 1
        ends[index] = end
    return ends


def _find_orphan_outputs(items: Sequence[PayloadEntry], options: Options) -> Iterator[Hit]:
    """R2: the call comes before its output; what a reference or an earlier response holds is not known."""
    called: set[str | None] = set()
    for entry in items:
        call = string(entry.value, "call_id")
        if options.continued or item_type(entry.value) == REFERENCE:
            return
        if is_output(entry.value):  # a search for tools that the client makes, too
            called.add(call)
        elif is_tool_output(entry.value) and call is not None and call not in called:
            named = CALLS[(item_type(entry.value) or "").removesuffix("_output")]
            yield Hit(pointer=entry.pointer, ids=(call,), words={"call": named})


def _find_torn_reasoning(items: Sequence[PayloadEntry], _: Options) -> Iterator[Hit]:
    """R3."""
    waiting: list[PayloadEntry] = []
    for entry in items:
        if item_type(entry.value) == REASONING:
            waiting.append(entry)
        elif is_output(entry.value):
            waiting = []
        else:
            yield from _unfollowed_hits(waiting)
            waiting = []
    yield from _unfollowed_hits(waiting)


def _unfollowed_hits(waiting: list[PayloadEntry]) -> Iterator[Hit]:
    for entry in waiting:
        yield Hit(pointer=entry.pointer, ids=(string(entry.value, "id") or "without an id",))


def _is_half_reasoning(item: Mapping[str, Any]) -> bool:
    return (
        item_type(item) == REASONING and bool(item.get("encrypted_content")) and string(item, "status") == "in_progress"
    )


def _find_unstored_items(items: Sequence[PayloadEntry], options: Options) -> Iterator[Hit]:
    """R4: an item that is not stored cannot be found by its id, and half of an encrypted text cannot be read."""
    for entry in items:
        kind, item_id = item_type(entry.value), string(entry.value, "id")
        if _is_half_reasoning(entry.value):
            yield Hit(pointer=f"{entry.pointer}/encrypted_content", ids=(item_id or "without an id",), error=1)
        elif options.store or item_id is None:
            continue
        elif kind == REFERENCE or (kind == REASONING and not entry.value.get("encrypted_content")):
            yield Hit(pointer=entry.pointer, ids=(item_id,))


def _find_unfinished_items(items: Sequence[PayloadEntry], _: Options) -> Iterator[Hit]:
    """R5: an item that was added and not finished comes from a stream that broke off."""
    for entry in items:
        if string(entry.value, "status") == "in_progress" and not _is_half_reasoning(entry.value):
            yield Hit(pointer=f"{entry.pointer}/status", got="in_progress", expected="completed")


RULES: tuple[ApiRule, ...] = (
    ApiRule(
        id="R1",
        provider="openai-responses",
        kind=Kind("responses-call-unanswered"),
        errors=("No tool output found for {call} {ids}.",),
        source="bytedance/trae-agent#358; custom tools: Soju06/codex-lb#1168; local shell: "
        "openai/openai-agents-python#1855; adjacency: deepseek-ai/awesome-deepseek-integration#740",
        confidence=Confidence.REPORTED,
        find=_find_unanswered_calls,
    ),
    ApiRule(
        id="R2",
        provider="openai-responses",
        kind=Kind("responses-orphan-output"),
        errors=("No tool call found for {call} output with call_id {ids}.",),
        source="continuedev/continue#10092, microsoft/vscode#320060; the output of a tool_search_call taken: recorded "
        "by pydantic/pydantic-ai (gpt-5.6)",
        confidence=Confidence.REPORTED,
        find=_find_orphan_outputs,
    ),
    ApiRule(
        id="R3",
        provider="openai-responses",
        kind=Kind("responses-reasoning-torn"),
        errors=("Item '{ids}' of type 'reasoning' was provided without its required following item.",),
        source="vercel/ai#7099, openai/openai-agents-python#1660, continuedev/continue#8933",
        confidence=Confidence.REPORTED,
        find=_find_torn_reasoning,
    ),
    ApiRule(
        id="R4",
        provider="openai-responses",
        kind=Kind("responses-not-stored"),
        errors=(
            "Item with id '{ids}' not found. Items are not persisted when `store` is set to false.",
            "The encrypted content for item {ids} could not be verified.",
        ),
        source="openai/openai-agents-js#546, LibreChat-AI/agents#422; openai SDK, docstring of the reasoning parameter",
        confidence=Confidence.REPORTED,
        find=_find_unstored_items,
        only="the half on ids: requests with store=false (there a 404)",
    ),
    ApiRule(
        id="R5",
        provider="openai-responses",
        kind=Kind("responses-item-unfinished"),
        source="LibreChat-AI/agents#422",
        confidence=Confidence.REPORTED,
        find=_find_unfinished_items,
    ),
)
