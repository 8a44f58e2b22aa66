"""Chunks to bytes: the writing half of `chunks` and `sse`.

In: chunk records, or plain objects where a scenario sends what no record can hold. Out: JSON-able objects and the
bytes of an event stream, as the AI SDK's own server writes them: compact, real UTF-8, absent fields left out, the
type first and the fields in the order of the record. The same chunk always gives the same bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from tpharness.errors import UsageError
from tpharness.wires.sse.writer import encode_data, encode_json
from tpharness.wires.vsp.records import DONE, RECORDS, DataChunk, Done, Malformed, UnknownChunk, type_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tpharness.wires.vsp.records import Chunk

__all__ = [
    "DONE",
    "encode_sse",
    "encode_stream",
    "to_wire",
]

_DELTAS = frozenset(record for record in RECORDS.values() if record.delta_field)
_FIELDS = {
    record: tuple((field.name, field.encode_name, field.required) for field in msgspec.structs.fields(record))
    for record in RECORDS.values()
}
_DELTA_FIELDS = {
    name: tuple(wire for _, wire, required in _FIELDS[record] if required)
    for name, record in RECORDS.items()
    if record.delta_field
}
"""Type of a delta → the wire names of the id of its part and of its text."""
_encode_delta = msgspec.json.Encoder().encode


def to_wire(chunk: Chunk | dict[str, Any]) -> dict[str, Any]:
    """Return the JSON object of a chunk: camelCase names, fields without a value left out; an object as it is.

    Custom events are written in the first framing, `{"type": "data-NAME", "data": …}` (R33). UsageError for `Done`
    and `Malformed`, which are not objects. Values are shared with the chunk, not copied.
    """
    match chunk:
        case dict():
            return chunk
        case DataChunk():
            wire: dict[str, Any] = {"type": chunk.name}
            if chunk.id is not None:
                wire["id"] = chunk.id
            wire["data"] = chunk.data
            if chunk.transient is not None:
                wire["transient"] = chunk.transient
            return {**wire, **chunk.extra}
        case UnknownChunk():
            return chunk.raw
        case Done() | Malformed():
            raise UsageError(f"{type(chunk).__name__} is not a JSON object", hint="encode_sse writes it as it is")
        case _:
            wire = {"type": type_of(chunk)}
            for attribute, name, required in _FIELDS[type(chunk)]:
                value = getattr(chunk, attribute)
                if required or value is not None:
                    wire[name] = value
            return wire


def encode_sse(chunk: Chunk | Mapping[str, Any]) -> bytes:
    """Write one chunk, or any JSON object, as one event: `data: …` and an empty line.

    `Done` is the end marker; `Malformed` is written as it came.
    """
    if _is_text_alone(chunk):
        try:
            return b"data: %b\n\n" % _encode_delta(chunk)
        except UnicodeEncodeError:
            pass
    if isinstance(chunk, Done):
        return DONE
    if isinstance(chunk, Malformed):
        return encode_data(chunk.raw)
    return b"data: %b\n\n" % encode_json(to_wire(chunk) if isinstance(chunk, msgspec.Struct) else dict(chunk))


def _is_text_alone(chunk: Chunk | Mapping[str, Any]) -> bool:
    """Whether a chunk is a delta with texts only, which both encoders write alike."""
    if type(chunk) is dict:
        fields = _DELTA_FIELDS.get(chunk.get("type", ""))
        if fields is None or len(chunk) != 3:  # its type, and these two
            return False
        part, text = fields
        return type(chunk.get(part)) is str and type(chunk.get(text)) is str
    return type(chunk) in _DELTAS and getattr(chunk, "provider_metadata", None) is None


def encode_stream(chunks: Iterable[Chunk | Mapping[str, Any]], *, done: bool = True) -> bytes:
    """Write a whole body, with the end marker unless `done` is false."""
    return b"".join([*map(encode_sse, chunks), *([DONE] if done else [])])
