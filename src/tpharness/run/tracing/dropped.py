"""What the interruption of the last turn of a journal takes away, with the ruling that says so. Pure.

What is kept is decided by `journal.survivors` alone; the ruling named here says which of its rules it was.
`protocol.diff` has only documents, and names every ruling that may have decided what one of them lacks.
"""

from __future__ import annotations

from collections.abc import Iterator

from tpharness.journal import AgentTurn, Entry, Event, Interrupted, Journal, Response, Return, survivors
from tpharness.protocol.versions import Version
from tpharness.readings import Readings

__all__ = ["Where", "dropped_words", "find_dropped"]


Where = tuple[int, int]
"""The index of a segment in its turn, that of the tail being the next one, and the index of an entry in it."""


def find_dropped(journal: Journal, version: Version, readings: Readings) -> Iterator[tuple[Where, Entry, str]]:
    """Yield what is dropped: where it is, the entry, the ruling. Nothing if the turn was not interrupted."""
    turn = journal.last if journal.last is not None else (journal.ended[-1] if journal.ended else None)
    if not isinstance(turn, AgentTurn) or not isinstance(turn.end, Interrupted):
        return
    if not version.features.interrupted_turns:
        for number, segment in enumerate((*turn.segments, turn.tail)):
            yield from (((number, index), entry, "R18") for index, entry in enumerate(segment.entries))
        return
    kept = {id(entry) for entry in survivors(turn.tail, readings)}
    for index, entry in enumerate(turn.tail.entries):
        if id(entry) not in kept:
            yield (len(turn.segments), index), entry, _ruling(entry)


def _ruling(entry: Entry) -> str:
    match entry:
        case Response(finished=False):
            return "R20"
        case Response():
            return "R21"
        case Event():
            return "R25"
        case _:
            return "R23"


def dropped_words(entry: Entry) -> str:
    """Return what an entry is, as outlines have it: `response(text tool-call:c1)`."""
    match entry:
        case Response():
            ids = [str(part.fields.get("tool_call_id") or "") for part in entry.parts]
            parts = [f"{part.kind}{f':{name}' if name else ''}" for part, name in zip(entry.parts, ids, strict=True)]
            return f"response({' '.join(parts)})"
        case Return():
            return f"request(tool-return:{entry.call_id})"
        case Event():
            return f"event({entry.name})"
        case _:
            return "request(prompt)"
