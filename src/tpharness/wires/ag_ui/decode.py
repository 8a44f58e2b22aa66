"""The data of one frame → one event, or why there is none.

In: bytes. Out: a record of `records`, and notes about what was wrong with it. Material that the protocol does not
describe is left out, a known member with a wrong value makes the event malformed (rules 94 to 96); nothing is repaired.
Nothing here raises for what a peer has sent, except `decode_typed`, which is for the loop.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Union

import msgspec
from msgspec import inspect

from tpharness.findings import Kind, json_type, shorten
from tpharness.wires.ag_ui.objects import SINCE, RunAgentInput
from tpharness.wires.ag_ui.records import EVENTS, BaseEvent, MessagesSnapshot, ReasoningEncryptedValue, RunStartedEvent
from tpharness.wires.ag_ui.violations import (
    INPUT_MALFORMED,
    MALFORMED,
    NOT_AN_EVENT,
    NULL,
    UNKNOWN_EVENT,
    UNKNOWN_FIELD,
    UNKNOWN_VALUE,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["GATED", "NEWEST", "REFUSED", "VERSIONS", "Note", "decode_typed", "read_event", "read_input"]

Version = tuple[int, int]

VERSIONS: dict[str, Version] = {"1.0": (1, 0), "1.1": (1, 1)}
"""The versions that are read, and how they compare; what a version adds is `SINCE`."""

NEWEST: Version = max(VERSIONS.values())

GATED = frozenset({ReasoningEncryptedValue, MessagesSnapshot, RunStartedEvent})
"""The events that may contain a member of a later version: in an earlier stream `read_event` reads them."""

REFUSED = (msgspec.DecodeError, ValueError, RecursionError)
"""What `decode_typed` raises for anything that is not exactly an event of the newest version."""

decode_typed: Callable[[bytes], BaseEvent] = msgspec.json.Decoder(Union[tuple(EVENTS.values())]).decode  # noqa: UP007  # made from a table
"""For the loop: read one event that has nothing wrong with it, or raise one of `REFUSED`."""


class Note(msgspec.Struct, frozen=True):
    """Something wrong with one event: its kind, a JSON pointer into the event, and what to say."""

    kind: Kind
    pointer: str
    message: str
    got: Any = None


def read_event(data: bytes, version: Version = NEWEST) -> tuple[BaseEvent | None, list[Note]]:
    """Read what `decode_typed` refused. The event is None if it was dropped or is malformed; then the notes say why."""
    value, wrong = _read_json(data)
    if wrong is not None:
        return None, [wrong]
    kind = value.get("type") if isinstance(value, dict) else None
    if not isinstance(kind, str):
        what = f"not an object but {json_type(value)}" if not isinstance(value, dict) else _no_type(value)
        return None, [Note(NOT_AN_EVENT, "", f"the data of the frame is not an event: {what}", value)]
    record = EVENTS.get(kind)
    if record is None:
        hint = ", which was retired before 1.0" if kind.startswith("THINKING_") else ""
        message = f"{shorten(kind, 60)} is not an event of AG-UI{hint}"
        return None, [Note(UNKNOWN_EVENT, "/type", message, kind)]
    return _convert(value, record, version)


def read_input(data: bytes, version: Version = NEWEST) -> tuple[RunAgentInput | None, list[Note]]:
    """Read the input that a client has posted."""
    value, wrong = _read_json(data)
    if wrong is not None:
        return None, [Note(INPUT_MALFORMED, "", "the input is not JSON", data[:80])]
    if not isinstance(value, dict):
        return None, [Note(INPUT_MALFORMED, "", f"the input is not an object but {json_type(value)}")]
    found, notes = _convert(value, RunAgentInput, version)
    return found, [
        Note(INPUT_MALFORMED, note.pointer, note.message, note.got) if note.kind in (MALFORMED, NULL) else note
        for note in notes
    ]


def _no_type(value: Mapping[str, Any]) -> str:
    return f"its type is {json_type(value['type'])}" if "type" in value else "it does not have a type"


def _read_json(data: bytes) -> tuple[Any, Note | None]:
    try:
        return json.loads(data.decode("utf-8", "replace"), parse_int=_integer), None
    except RecursionError:
        return None, Note(NOT_AN_EVENT, "", "the JSON is nested too deeply")
    except ValueError:
        what = ": AG-UI does not have an end marker" if data.strip() == b"[DONE]" else ""
        return None, Note(NOT_AN_EVENT, "", f"the data of the frame is not one JSON object{what}", data[:80])


def _integer(digits: str) -> float:
    try:
        return int(digits)
    except ValueError:  # more digits than Python converts; JavaScript reads such a number as infinite too
        return float(digits)


def _convert(value: Any, record: type[Any], version: Version) -> tuple[Any, list[Note]]:
    reading = _Reading(version)
    try:
        cleaned = reading.walk(value, _type_of(record), "")
        return msgspec.convert(cleaned, record), reading.notes
    except (_MalformedError, _UnknownError) as problem:  # unknown in a member that the event cannot be without
        return None, [*reading.notes, problem.note]
    except (*REFUSED, OverflowError, UnicodeEncodeError) as problem:
        return None, [*reading.notes, Note(MALFORMED, "", shorten(str(problem)))]


class _MalformedError(Exception):
    def __init__(self, pointer: str, message: str, got: Any = None, kind: Kind = MALFORMED) -> None:
        super().__init__(message)
        self.note = Note(kind, pointer, message, got)


class _UnknownError(Exception):
    def __init__(self, pointer: str, message: str, got: Any = None) -> None:
        super().__init__(message)
        self.note = Note(UNKNOWN_VALUE, pointer, message, got)


_JSON_NAMES: dict[type, str] = {
    inspect.StrType: "a string",
    inspect.IntType: "an integer",
    inspect.FloatType: "a number",
    inspect.BoolType: "a boolean",
    inspect.ListType: "an array",
    inspect.DictType: "an object",
    inspect.StructType: "an object",
    inspect.LiteralType: "a string",
}


class _Reading:
    """Reads one value by the types of the records; `notes` is what was left out."""

    def __init__(self, version: Version) -> None:
        self._version = version
        self.notes: list[Note] = []

    def walk(self, value: Any, kind: inspect.Type, at: str) -> Any:  # noqa: C901  # one case a type
        """Return the value without what is unknown; raise where it is malformed or itself unknown."""
        if isinstance(kind, inspect.Metadata):
            return self.walk(value, kind.type, at)
        if isinstance(kind, inspect.AnyType):
            return value
        if isinstance(kind, inspect.StructType):
            return self._object(value, kind, at)
        if isinstance(kind, inspect.UnionType):
            return self.walk(value, self._member(value, kind, at), at)
        if isinstance(kind, inspect.ListType) and isinstance(value, list):
            return self._list(value, kind, at)
        if isinstance(kind, inspect.DictType) and isinstance(value, dict):
            if isinstance(kind.value_type, inspect.AnyType):
                return value
            return {key: self.walk(item, kind.value_type, f"{at}/{key}") for key, item in value.items()}
        if isinstance(kind, inspect.LiteralType) and isinstance(value, str):
            if value in kind.values:
                return value
            if len(kind.values) == 1:  # fixed, not one of a set that may grow
                raise _MalformedError(at, f"{_name(at)} has to be {kind.values[0]!r}", value)
            raise _UnknownError(at, f"{_name(at)} is not one of {', '.join(map(str, kind.values))}", value)
        if isinstance(kind, inspect.StrType) and isinstance(value, str):
            return value
        if isinstance(kind, inspect.BoolType) and isinstance(value, bool):
            return value
        if isinstance(kind, inspect.IntType) and _is_whole(value):
            if (kind.ge is not None and value < kind.ge) or (kind.le is not None and value > kind.le):
                raise _MalformedError(at, f"{_name(at)} has to be from {kind.ge} to {kind.le}", value)
            return int(value)
        if isinstance(kind, inspect.FloatType) and isinstance(value, int | float) and not isinstance(value, bool):
            return value
        raise _MalformedError(at, f"{_name(at)} has to be {_JSON_NAMES[type(kind)]}, not {json_type(value)}", value)

    def _object(self, value: Any, kind: inspect.StructType, at: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise _MalformedError(at, f"{_name(at)} has to be an object, not {json_type(value)}", value)
        known = {field.encode_name: field for field in kind.fields}
        kept: dict[str, Any] = {}
        for name, item in value.items():
            field = known.get(name)
            where = f"{at}/{name}"
            if name == kind.tag_field:
                kept[name] = item
            elif field is None or SINCE.get(name, (0, 0)) > self._version:
                later = " before 1.1" if name in SINCE else ""
                what = f"{shorten(name, 60)} is not a member of {_owner(kind)}{later}"
                self.notes.append(Note(UNKNOWN_FIELD, where, what, item))
            elif item is None and not field.required:
                what = f"{name} is null; an optional member without a value is left out"
                raise _MalformedError(where, what, kind=NULL)
            else:
                self._keep(kept, name, item, field, where)
        for name, needed in known.items():
            if needed.required and name not in value:
                raise _MalformedError(at, f"{_owner(kind)} does not have {name}")
        return kept

    def _keep(self, kept: dict[str, Any], name: str, item: Any, field: inspect.Field, where: str) -> None:
        try:
            kept[name] = self.walk(item, field.type, where)
        except _UnknownError as problem:
            if field.required:
                raise
            self.notes.append(problem.note)

    def _list(self, value: list[Any], kind: inspect.ListType, at: str) -> list[Any]:
        kept = []
        for index, item in enumerate(value):
            try:
                kept.append(self.walk(item, kind.item_type, f"{at}/{index}"))
            except _UnknownError as problem:
                self.notes.append(problem.note)
        if kind.min_length and len(value) < kind.min_length:
            raise _MalformedError(at, f"{_name(at)} has to have at least {kind.min_length} element", value)
        return kept

    def _member(self, value: Any, kind: inspect.UnionType, at: str) -> inspect.Type:
        """Return the member of a union that a value belongs to."""
        structs = [one for one in kind.types if isinstance(one, inspect.StructType)]
        if structs and isinstance(value, dict):
            tag_field = str(structs[0].tag_field)
            tag = value.get(tag_field)
            if not isinstance(tag, str):
                raise _MalformedError(at, f"{_name(at)} does not have a {tag_field}", value)
            for one in structs:
                if one.tag == tag:
                    return one
            raise _UnknownError(
                f"{at}/{tag_field}", f"{shorten(tag, 60)} is not a {tag_field} that AG-UI describes", tag
            )
        for other in kind.types:
            if _fits(value, other):
                return other
        names = dict.fromkeys(_JSON_NAMES[type(one)] for one in kind.types)
        raise _MalformedError(at, f"{_name(at)} has to be {' or '.join(names)}, not {json_type(value)}", value)


def _fits(value: Any, kind: inspect.Type) -> bool:
    match value:
        case bool():
            return isinstance(kind, inspect.BoolType)
        case str():
            return isinstance(kind, inspect.StrType)
        case int():
            return isinstance(kind, inspect.IntType)
        case float():
            return isinstance(kind, inspect.FloatType)
        case list():
            return isinstance(kind, inspect.ListType)
        case dict():
            return isinstance(kind, inspect.DictType)
    return False


def _is_whole(value: Any) -> bool:
    return not isinstance(value, bool) and (isinstance(value, int) or (isinstance(value, float) and value.is_integer()))


def _name(pointer: str) -> str:
    return pointer.rpartition("/")[2] or "the event"


def _owner(kind: inspect.StructType) -> str:
    return str(kind.tag or kind.cls.__name__)


_TYPES: dict[type[Any], inspect.Type] = {}


def _type_of(record: type[Any]) -> inspect.Type:
    if record not in _TYPES:
        _TYPES[record] = inspect.type_info(record)
    return _TYPES[record]
