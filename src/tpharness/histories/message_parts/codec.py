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
    EVENTS,
    REQUIRED,
    DeveloperMessage,
    HistoryEvent,
    OtherEntry,
    ToolResultMessage,
    UserMessage,
    Variant,
)
from tpharness.histories.message_parts.releases import PROGRAMS

__all__ = ["DROPPED", "DecodeResult", "decode", "dumps", "encode", "loads"]

DROPPED = Kind("history-line-dropped")
UI_DROPPED = Kind("history-ui-extra-dropped")


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodeResult:
    """The events of a history in order, and one finding for each line that did not decode completely.

    `lines` has for each event the number of its line, from 0; lines that did not decode count.
    """

    events: tuple[HistoryEvent, ...]
    findings: tuple[Finding, ...]
    lines: tuple[int, ...] = ()

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
    events: list[HistoryEvent] = []
    findings: list[Finding] = []
    lines: list[int] = []
    for index, (item, wrong) in enumerate(items):
        place = Place(line=index + 1) if numbered else Place(pointer=f"/{index}")
        event, why, ui_dropped = (None, wrong, False) if wrong else _decode(item, variant)
        if event is None:
            findings.append(DROPPED.at(place, why, got=item))
            continue
        if ui_dropped:
            findings.append(UI_DROPPED.at(place, got=item["data"]["ui_extra"]))
        events.append(event)
        lines.append(index)
    return DecodeResult(events=tuple(events), findings=tuple(findings), lines=tuple(lines))


def _decode(item: Any, variant: Variant) -> tuple[HistoryEvent | None, str, bool]:
    """Return the event or None, why it did not decode, and whether its `ui_extra` was dropped."""
    if not isinstance(item, Mapping):
        return None, "not an object", False
    name, data = item.get("type"), item.get("data", {})
    if not isinstance(name, str) or not isinstance(data, Mapping):
        return None, "not a type and its data", False
    record = EVENTS[variant].get(name)
    if record is None:
        return None, f"{name!r} is not the name of an event", False
    if record is OtherEntry:
        missing = [field for field in REQUIRED[name] if field not in data]
        return (None, f"without {missing[0]}", False) if missing else (OtherEntry(kind=name, data=data), "", False)
    event, why = _converted(data, record, variant)
    if event is not None and (variant not in PROGRAMS or _is_for_ui(event)):
        return event, "", False
    if "ui_extra" not in data:
        return None, why, False
    event, why = _converted({**data, "ui_extra": None}, record, variant)
    return event, why, event is not None


def _converted(
    data: Mapping[str, Any], record: type[HistoryEvent], variant: Variant
) -> tuple[HistoryEvent | None, str]:
    """Return the event, or None and why the data is not one."""
    try:
        event = msgspec.convert(data, record)
    except (msgspec.ValidationError, RecursionError) as error:
        return None, str(error)
    if isinstance(event, DeveloperMessage) and variant == "plan":
        fields = {name: value for name, value in data.items() if name not in DeveloperMessage.__struct_fields__}
        return msgspec.structs.replace(event, ui_fields=fields or None), ""
    if isinstance(event, UserMessage) and event.source is not None:
        program = PROGRAMS.get(variant)
        if program is not None and event.source not in program.user_sources:
            return None, f"a user message from {event.source!r}"
    return event, ""


_DEVELOPER_UI = (
    *("memory_loaded", "external_file_changes", "todo_attachment", "at_file_ops", "user_images", "skill_activated"),
    *("skill_discovered", "skill_listing", "at_file_images", "paste_files"),
)
_TOOL_UI = (
    *("diff", "todo_list", "session_id", "image", "bash", "web_search", "shell_task", "control", "markdown_doc"),
    *("read_preview", "ask_user_question_summary", "session_stats", "multi"),
)


def _is_for_ui(event: HistoryEvent) -> bool:
    """Whether `ui_extra` has the types that the program knows; the fields of each are not checked."""
    if isinstance(event, DeveloperMessage) and event.ui_extra is not None:
        items = event.ui_extra.get("items", [])
        return isinstance(items, list) and all(
            isinstance(item, Mapping) and item.get("type") in _DEVELOPER_UI for item in items
        )
    if isinstance(event, ToolResultMessage) and event.ui_extra is not None:
        return event.ui_extra.get("type") in _TOOL_UI
    return True
