"""What a side has received at a place and would not keep if it were cut there, with the ruling that says so.

In: a journal that ends with a cut. Out: plain JSON values for a page: `[{what, why, text, parts}]`, in order; `parts`
is a chain of the tables, since a response that grows by one part at each place is shown at each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tpharness.journal import Entry, Event, Journal, OpenPart, OpenResponse, Part, Response, Return
from tpharness.picture.tables import Tables
from tpharness.protocol.versions import Version
from tpharness.readings import Readings
from tpharness.run.tracing.dropped import find_dropped

__all__ = ["unkept"]


def unkept(
    journal: Journal,
    written: Sequence[OpenResponse | Entry],
    version: Version,
    readings: Readings,
    tables: Tables,
    side: str,
) -> list[dict[str, Any]]:
    """Return what the interruption of the last turn drops; nothing if the turn was not interrupted.

    `written` are the entries of the turn's tail as their writer has them: the parts that are open are found there.
    """
    number = len(journal.ended) - (journal.last is None)
    tail = len(journal.last.segments) if journal.last is not None else -1
    found = []
    for where, entry, why in find_dropped(journal, version, readings):
        source = written[where[1]] if where[0] == tail and written else entry
        found.append(_describe(entry, source, why, tables, (side, number, *where)))
    return found


def _describe(
    entry: Entry, source: OpenResponse | Entry, why: str, tables: Tables, place: tuple[str, int, int, int]
) -> dict[str, Any]:
    match entry:
        case Response():
            held: Sequence[Part | OpenPart] = source.parts if isinstance(source, OpenResponse) else entry.parts
            parts = tables.grown(place, held, lambda index: _part(held[index], tables, (*place, index)))
            return {"what": "response", "why": why, "finished": entry.finished, "parts": parts}
        case Return():
            return {"what": "return", "why": why, "call": entry.call_id, "value": tables.value(dict(entry.fields))}
        case Event():
            return {"what": "event", "why": why, "name": entry.name, "value": tables.value(entry.data)}
        case _:
            return {"what": "prompt", "why": why, "value": tables.value([dict(part) for part in entry.parts])}


def _part(part: Part | OpenPart, tables: Tables, place: tuple[str, int, int, int, int]) -> dict[str, Any]:
    shown: dict[str, Any] = {"kind": part.kind, "complete": part.complete}
    for name in ("tool_name", "tool_call_id"):
        if part.fields.get(name) is not None:
            shown[name] = part.fields[name]
    text = part.raw if part.raw is not None else part.fields.get("content", part.fields.get("args"))
    if isinstance(part, OpenPart) and not part.complete and part.streams_text:
        shown["text"] = tables.open_text(place, part)
    elif isinstance(text, str):
        shown["text"] = tables.text(place, text)
    else:
        shown["value"] = tables.value(text)
    return shown
