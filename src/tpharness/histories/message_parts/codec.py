"""A history as lines of JSON, and back.

In: text, or a document: the list of the lines' objects, `{"type": NAME, "data": {…}}`. Out: events, and findings for
lines that do not decode. The program that writes these files skips such lines silently; this codec skips the same
lines and reports each of them. If only the `ui_extra` of a tool result or developer message is wrong, only that is
dropped, as in the program. Unknown fields are dropped without a finding, as in the program; those of a developer
message are the plan's fields for the UI, which names a few of them and keeps all.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from tpharness.findings import Finding, Kind, Place
from tpharness.histories.message_parts.records import (
    CURRENT_EVENTS,
    PLAN_EVENTS,
    DeveloperMessage,
    HistoryEvent,
    OtherEntry,
    Variant,
)

__all__ = ["DecodeResult", "decode", "dumps", "encode", "loads"]

DROPPED = Kind("history-line-dropped")
UI_DROPPED = Kind("history-ui-extra-dropped")


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodeResult:
    """The events of a history in order, and one finding for each line that did not decode completely."""

    events: tuple[HistoryEvent, ...]
    findings: tuple[Finding, ...]

    @property
    def dropped(self) -> int:
        """How many lines did not decode."""
        return sum(1 for finding in self.findings if finding.kind is DROPPED)


def encode(event: HistoryEvent) -> dict[str, Any]:
    """Return an event as the object of its line, without fields that are None."""
    if isinstance(event, OtherEntry):
        return {"type": event.kind, "data": dict(event.data)}
    data = _without_none(msgspec.to_builtins(event))
    data |= data.pop("ui_fields", {})
    if "parts" in data:
        data["parts"] = [_without_none(part) for part in data["parts"]]
    return {"type": type(event).__name__, "data": data}


def dumps(document: Iterable[Mapping[str, Any]]) -> str:
    """Return a document as text with one object on each line; text outside ASCII is not escaped."""
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in document)


def loads(text: str, variant: Variant) -> DecodeResult:
    """Decode text. Only a line feed ends a line; `Place.line` counts from 1."""
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    return _decode_all([_parsed(line) for line in lines], variant, numbered=True)


def decode(document: Any, variant: Variant) -> DecodeResult:
    """Decode a document, the list of its lines' objects; `Place.pointer` names the item.

    A document that is not a list gives no events and one finding.
    """
    if not isinstance(document, list | tuple):
        return DecodeResult(
            events=(), findings=(DROPPED.at(Place(pointer=""), "the document is not a list", got=document),)
        )
    return _decode_all([(item, "") for item in document], variant, numbered=False)


# ------------------------------------------------------------------------------------------------ inside


def _without_none(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _parsed(line: str) -> tuple[Any, str]:
    if not line.strip():
        return None, "a blank line"
    try:
        return json.loads(line), ""
    except (ValueError, RecursionError):
        return None, "not JSON"


def _decode_all(items: list[tuple[Any, str]], variant: Variant, *, numbered: bool) -> DecodeResult:
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
    return DecodeResult(events=tuple(events), findings=tuple(findings))


def _with_ui_fields(
    event: HistoryEvent, data: Mapping[str, Any], known: Mapping[str, type[HistoryEvent]]
) -> HistoryEvent:
    """Return a developer message of the plan with its fields for the UI, and any other event as it is."""
    if known is not PLAN_EVENTS or not isinstance(event, DeveloperMessage):
        return event
    fields = {name: value for name, value in data.items() if name not in DeveloperMessage.__struct_fields__}
    return msgspec.structs.replace(event, ui_fields=fields or None)


def _decode(item: Any, known: Mapping[str, type[HistoryEvent]]) -> tuple[HistoryEvent | None, str, bool]:
    """Return the event or None, why it did not decode, and whether its `ui_extra` was dropped."""
    if not isinstance(item, Mapping):
        return None, "not an object", False
    name, data = item.get("type"), item.get("data", {})
    if not isinstance(name, str) or not isinstance(data, Mapping):
        return None, "not a type and its data", False
    record = known.get(name)
    if record is None:
        return None, f"{name!r} is not the name of an event", False
    if record is OtherEntry:
        return OtherEntry(kind=name, data=data), "", False
    try:
        return _with_ui_fields(msgspec.convert(data, record), data, known), "", False
    except (msgspec.ValidationError, RecursionError) as error:
        if "ui_extra" not in data:
            return None, str(error), False
    try:
        return msgspec.convert({**data, "ui_extra": None}, record), "", True
    except (msgspec.ValidationError, RecursionError) as error:
        return None, str(error), False
