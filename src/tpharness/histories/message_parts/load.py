"""A history as the program holds it after loading, and as it gives it to a model.

Source: HISTORIES 1.3 (last row), 1.5, 1.6. Both only under `current`; the plan takes a history as it lies on disk.
`RewindEntry` and `CompactionEntry` also change what is loaded, by rules that no source of ours states: a history with
one of them is refused rather than told wrongly.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tpharness.errors import UsageError
from tpharness.histories.message_parts.records import (
    AssistantMessage,
    HistoryEvent,
    OtherEntry,
    RetractEntry,
    ToolCallPart,
    ToolResultMessage,
    UserMessage,
    join_text_parts,
)

__all__ = ["TOOL_INTERRUPTED_MESSAGE", "answered", "rebuilt"]

TOOL_INTERRUPTED_MESSAGE = "Tool call was interrupted before completing (session was interrupted or restarted)."
"""The text of the result that a call without one gets on its way to a model."""

_UNTOLD = ("RewindEntry", "CompactionEntry")


def rebuilt(events: Iterable[HistoryEvent]) -> list[HistoryEvent]:
    """Return a history with its withdrawn messages taken out; the entries that withdraw them stay.

    A withdrawal counts for the nearest user message before it, if that has exactly its text. Raises `UsageError` for a
    history whose loading is not known.
    """
    loaded: list[HistoryEvent] = []
    for event in events:
        if isinstance(event, OtherEntry) and event.kind in _UNTOLD:
            raise UsageError(f"a history with a {event.kind} cannot be loaded", hint="use one that was not cut back")
        if isinstance(event, RetractEntry):
            latest = next((i for i in range(len(loaded) - 1, -1, -1) if isinstance(loaded[i], UserMessage)), None)
            message = None if latest is None else loaded[latest]
            if isinstance(message, UserMessage) and join_text_parts(message.parts) == event.retracted_text:
                loaded = [other for other in loaded if other is not message]
        loaded.append(event)
    return loaded


def answered(events: Sequence[HistoryEvent]) -> list[HistoryEvent]:
    """Return a history in which every call has a result: those without get an error right after their message.

    So the made-up result of one call stands before the real one of another, although it came later.
    """
    results = {event.call_id for event in events if isinstance(event, ToolResultMessage)}
    repaired: list[HistoryEvent] = []
    for event in events:
        repaired.append(event)
        if isinstance(event, AssistantMessage):
            repaired += [
                ToolResultMessage(
                    call_id=part.call_id,
                    tool_name=part.tool_name,
                    status="error",
                    output_text=TOOL_INTERRUPTED_MESSAGE,
                )
                for part in event.parts
                if isinstance(part, ToolCallPart) and part.call_id not in results
            ]
    return repaired
