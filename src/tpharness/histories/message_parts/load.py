"""What the current program changes in a stored history when it loads it, and before it sends it to a model.

Source: HISTORIES 1.3 (last row), 1.5, 1.6. The plan uses a history as it is stored. `RewindEntry` and `CompactionEntry`
also change what is loaded, by rules that our sources do not describe, so a history with one of them raises an error.
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

__all__ = ["TOOL_INTERRUPTED_MESSAGE", "add_missing_results", "apply_retractions"]

TOOL_INTERRUPTED_MESSAGE = "Tool call was interrupted before completing (session was interrupted or restarted)."
"""The text of the error result that a call without a result gets before the history goes to a model."""

_UNKNOWN_EFFECT = ("RewindEntry", "CompactionEntry")


def apply_retractions(events: Iterable[HistoryEvent]) -> list[HistoryEvent]:
    """Return a history without its retracted messages; the retract entries stay.

    An entry retracts the nearest user message before it if that message has exactly the entry's text. Raises
    `UsageError` for a history with an entry whose effect is unknown.
    """
    loaded: list[HistoryEvent] = []
    for event in events:
        if isinstance(event, OtherEntry) and event.kind in _UNKNOWN_EFFECT:
            raise UsageError(
                f"a history with a {event.kind} cannot be loaded",
                hint="use a history that was not rewound or compacted",
            )
        if isinstance(event, RetractEntry):
            latest = next((i for i in range(len(loaded) - 1, -1, -1) if isinstance(loaded[i], UserMessage)), None)
            message = None if latest is None else loaded[latest]
            if isinstance(message, UserMessage) and join_text_parts(message.parts) == event.retracted_text:
                loaded = [other for other in loaded if other is not message]
        loaded.append(event)
    return loaded


def add_missing_results(events: Sequence[HistoryEvent]) -> list[HistoryEvent]:
    """Return a history in which every call has a result: an error is inserted after the message of each open call.

    So the inserted result of one call comes before the real result of another call of the same message.
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
