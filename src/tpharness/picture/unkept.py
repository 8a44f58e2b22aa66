"""What a side has received at a place and would not keep if it were cut there, with the ruling that says so.

In: a journal that ends with a cut. Out: plain JSON values for a page: `[{what, why, text, parts}]`, in order.
"""

from __future__ import annotations

from typing import Any

from tpharness.journal import Entry, Event, Journal, Part, Response, Return
from tpharness.picture.tables import Tables
from tpharness.protocol.versions import Version
from tpharness.readings import Readings
from tpharness.run.tracing.dropped import find_dropped

__all__ = ["unkept"]


def unkept(journal: Journal, version: Version, readings: Readings, tables: Tables, side: str) -> list[dict[str, Any]]:
    """Return what the interruption of the last turn drops; nothing if the turn was not interrupted."""
    number = len(journal.ended) - (journal.last is None)
    return [
        _describe(entry, why, tables, (side, number, *where))
        for where, entry, why in find_dropped(journal, version, readings)
    ]


def _describe(entry: Entry, why: str, tables: Tables, place: tuple[str, int, int, int]) -> dict[str, Any]:
    match entry:
        case Response():
            parts = [_part(part, tables, (*place, index)) for index, part in enumerate(entry.parts)]
            return {"what": "response", "why": why, "finished": entry.finished, "parts": parts}
        case Return():
            return {"what": "return", "why": why, "call": entry.call_id, "value": tables.value(dict(entry.fields))}
        case Event():
            return {"what": "event", "why": why, "name": entry.name, "value": tables.value(entry.data)}
        case _:
            return {"what": "prompt", "why": why, "value": tables.value([dict(part) for part in entry.parts])}


def _part(part: Part, tables: Tables, place: tuple[str, int, int, int, int]) -> dict[str, Any]:
    text = part.raw if part.raw is not None else part.fields.get("content", part.fields.get("args"))
    shown: dict[str, Any] = {"kind": part.kind, "complete": part.complete}
    for name in ("tool_name", "tool_call_id"):
        if part.fields.get(name) is not None:
            shown[name] = part.fields[name]
    if isinstance(text, str):
        shown["text"] = tables.text(place, text)
    else:
        shown["value"] = tables.value(text)
    return shown
