"""A history as lines of JSON, and back.

In: text, or a document: the list of the lines' objects, `{"type": NAME, "data": {…}}`. Out: events, and what decoded to
nothing. The program that writes these files reads past a line that it cannot decode and says nothing; this codec reads
past the same lines and reports each one. Of a tool result or a developer message whose `ui_extra` alone is wrong only
that is dropped, as the program does. Fields that no record names are dropped without a word, as it does too.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from tpharness.findings import Finding, Kind, Place
from tpharness.histories.message_parts.records import CURRENT_EVENTS, PLAN_EVENTS, HistoryEvent, OtherEntry, Variant

__all__ = ["Decoded", "decode", "dumps", "encode", "loads", "without_times"]

DROPPED = Kind("history-line-dropped")
UI_DROPPED = Kind("history-ui-extra-dropped")


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoded:
    """The events of a history in order, and one finding for each line that is not, or not wholly, among them."""

    events: tuple[HistoryEvent, ...]
    findings: tuple[Finding, ...]

    @property
    def dropped(self) -> int:
        """How many lines decoded to nothing."""
        return sum(1 for finding in self.findings if finding.kind is DROPPED)


def encode(event: HistoryEvent) -> dict[str, Any]:
    """Return an event as the object of its line; fields that are None are left out."""
    if isinstance(event, OtherEntry):
        return {"type": event.kind, "data": dict(event.data)}
    data = _present(msgspec.to_builtins(event))
    if "parts" in data:
        data["parts"] = [_present(part) for part in data["parts"]]
    return {"type": type(event).__name__, "data": data}


def dumps(document: Iterable[Mapping[str, Any]]) -> str:
    """Return a document as text, a line for each object; text outside ASCII stays as it is."""
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in document)


def loads(text: str, variant: Variant) -> Decoded:
    """Decode text; only a line feed ends a line, and `Place.line` counts from 1."""
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    return _decode_all([_parsed(line) for line in lines], variant, numbered=True)


def decode(document: Any, variant: Variant) -> Decoded:
    """Decode a document, the list of its lines' objects; `Place.pointer` names the item. What is no list is empty."""
    if not isinstance(document, list | tuple):
        return Decoded(events=(), findings=(DROPPED.at(Place(pointer=""), "the document is no list", got=document),))
    return _decode_all([(item, "") for item in document], variant, numbered=False)


def without_times(document: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return a document without the times of its events, for comparing what two histories tell."""
    return [
        {"type": line["type"], "data": {k: v for k, v in line["data"].items() if k != "created_at"}}
        for line in document
    ]


# ------------------------------------------------------------------------------------------------ inside


def _present(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _parsed(line: str) -> tuple[Any, str]:
    if not line.strip():
        return None, "a blank line"
    try:
        return json.loads(line), ""
    except (ValueError, RecursionError):
        return None, "not JSON"


def _decode_all(items: list[tuple[Any, str]], variant: Variant, *, numbered: bool) -> Decoded:
    known = PLAN_EVENTS if variant == "plan" else CURRENT_EVENTS
    events: list[HistoryEvent] = []
    findings: list[Finding] = []
    for index, (item, wrong) in enumerate(items):
        place = Place(line=index + 1) if numbered else Place(pointer=f"/{index}")
        event, why, ui_dropped = (None, wrong, False) if wrong else _decode(item, known)
        if event is None:
            findings.append(DROPPED.at(place, why, got=item))
            continue
        if ui_dropped:
            findings.append(UI_DROPPED.at(place, got=item["data"]["ui_extra"]))
        events.append(event)
    return Decoded(events=tuple(events), findings=tuple(findings))


def _decode(item: Any, known: Mapping[str, type[HistoryEvent]]) -> tuple[HistoryEvent | None, str, bool]:
    """Return the event, or why there is none; and whether its `ui_extra` was dropped."""
    if not isinstance(item, Mapping):
        return None, "not an object", False
    name, data = item.get("type"), item.get("data", {})
    if not isinstance(name, str) or not isinstance(data, Mapping):
        return None, "not a type and its data", False
    record = known.get(name)
    if record is None:
        return None, f"no event is called {name!r}", False
    if record is OtherEntry:
        return OtherEntry(kind=name, data=data), "", False
    try:
        return msgspec.convert(data, record), "", False
    except (msgspec.ValidationError, RecursionError) as error:
        if "ui_extra" not in data:
            return None, str(error), False
    try:
        return msgspec.convert({**data, "ui_extra": None}, record), "", True
    except (msgspec.ValidationError, RecursionError) as error:
        return None, str(error), False
