"""What the program changes in a stored history when it loads it, and before it sends it to a model.

Source: HISTORIES 1.3 (last row), 1.5, 1.6, and both packages. The plan uses a history as it is stored. A retraction
and a rewind take events away when the history is loaded; a compaction takes them away from the model, and in releases
that do not show what was compacted from the replay, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from tpharness.histories.message_parts.records import (
    AssistantMessage,
    CompactionEntry,
    DeveloperMessage,
    ForkSummaryEntry,
    HistoryEvent,
    RetractEntry,
    RewindEntry,
    TextPart,
    ToolCallPart,
    ToolResultMessage,
    UserMessage,
    join_text_parts,
)
from tpharness.histories.message_parts.releases import Program

__all__ = ["TOOL_INTERRUPTED_MESSAGE", "Row", "add_missing_results", "for_model", "load"]

TOOL_INTERRUPTED_MESSAGE = "Tool call was interrupted before completing (session was interrupted or restarted)."
"""The text of the error result that a call without a result gets before the history goes to a model."""

_CHECKPOINT = "<system-reminder>Checkpoint {id}</system-reminder>"
_REWOUND = (
    "<system-reminder>After this, some operations were performed and context was refined via Rewind. "
    "Rationale: {rationale}. Summary: {note}. Please continue.</system-reminder>"
)
_FORKED = (
    "The messages above are kept verbatim from before a rewind. The notes below summarize "
    "everything that happened after them in the original session. Continue the work from "
    "where the notes leave off; do not redo completed work.\n\n"
)

Row = tuple[int, HistoryEvent]
"""An event and the number of its line, from 0."""


def load(events: Iterable[HistoryEvent], lines: Iterable[int], program: Program) -> list[Row]:
    """Return the rows of a history after its retractions and rewinds, whose entries stay."""
    loaded: list[Row] = []
    for line, event in zip(lines, events, strict=True):
        if isinstance(event, RetractEntry):
            index = _retracted(event, loaded)
            if index is not None:
                del loaded[index]
        if isinstance(event, RewindEntry):
            loaded = _rewound(event, loaded)
        loaded.append((line, event))
    if program.shows_compacted:
        return loaded
    found = _last_compaction(loaded)
    if found is None:
        return loaded
    place, entry = found
    kept = [row for row in loaded[max(entry.first_kept_index, 0) :] if not isinstance(row[1], CompactionEntry)]
    return [(loaded[place][0], replace(entry, first_kept_index=1)), *kept]


def _retracted(entry: RetractEntry, loaded: Sequence[Row]) -> int | None:
    """Return the index of the user message that an entry retracts."""
    for index, (line, event) in enumerate(loaded):
        if entry.retracted_line is not None and line == entry.retracted_line and isinstance(event, UserMessage):
            return index
    for index in range(len(loaded) - 1, -1, -1):
        event = loaded[index][1]
        if isinstance(event, UserMessage):
            return index if join_text_parts(event.parts) == entry.retracted_text else None
    return None


def _rewound(entry: RewindEntry, loaded: list[Row]) -> list[Row]:
    mark = _CHECKPOINT.format(id=entry.checkpoint_id)
    for index, (_, event) in enumerate(loaded):
        if isinstance(event, DeveloperMessage) and mark in join_text_parts(event.parts):
            return loaded[: index + 1]
    return loaded


def _last_compaction(loaded: Sequence[Row]) -> tuple[int, CompactionEntry] | None:
    found = [(index, event) for index, (_, event) in enumerate(loaded) if isinstance(event, CompactionEntry)]
    return found[-1] if found else None


def for_model(loaded: Sequence[Row], program: Program) -> list[HistoryEvent]:
    """Return what goes to a model: the last summary and what is kept beside it, and a result for every call."""
    found = _last_compaction(loaded)
    if found is None:
        return add_missing_results([_told(event) for _, event in loaded])
    place, entry = found
    if not program.shows_compacted:
        kept = list(loaded[place + 1 :])
    elif entry.first_kept_line is not None:
        kept = [row for row in loaded if row[0] >= entry.first_kept_line]
    else:
        start = entry.first_kept_index
        kept = list(loaded[place + 1 if start > len(loaded) else start :])
    events = [event for _, event in kept if not isinstance(event, CompactionEntry)]
    while events and isinstance(events[0], ToolResultMessage):
        del events[0]  # its call was compacted
    return add_missing_results([UserMessage(parts=(TextPart(text=entry.summary),)), *map(_told, events)])


def _told(event: HistoryEvent) -> HistoryEvent:
    """Return the message that an entry is for a model, and any other event as it is."""
    if isinstance(event, RewindEntry):
        text = _REWOUND.format(rationale=event.rationale, note=event.note)
        return DeveloperMessage(parts=(TextPart(text=text),))
    if isinstance(event, ForkSummaryEntry):
        return UserMessage(parts=(TextPart(text=_FORKED + event.summary),))
    return event


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
