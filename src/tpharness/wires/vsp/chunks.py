"""The data of one frame to one chunk.

In: the bytes of a frame, or decoded JSON. Out: one record of `records`, always.
Nothing here raises for what a peer has sent, except `decode_typed`, which is for tight loops. The order of chunks is
checked elsewhere, by `fold`.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Union

import msgspec

from tpharness.findings import json_type
from tpharness.wires.vsp.records import (
    CHUNK_BAD_FIELD,
    CHUNK_NOT_JSON,
    CHUNK_NOT_OBJECT,
    RECORDS,
    Chunk,
    DataChunk,
    Done,
    KnownChunk,
    Malformed,
    UnknownChunk,
)

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "CUSTOM",
    "REFUSED",
    "TYPE_AT",
    "chunk_from_object",
    "decode_chunk",
    "decode_custom",
    "decode_typed",
    "decode_untyped",
]

_FIELDS = {
    kind: tuple(field.encode_name for field in msgspec.structs.fields(record)) for kind, record in RECORDS.items()
}
_NAMED = {kind: frozenset((*fields, "type")) for kind, fields in _FIELDS.items()}

_PYTHON_TYPE = re.compile("(?<=`)(str|int|float|bool)(?=[` ])")
_JSON_TYPES = {"str": "string", "int": "number", "float": "number", "bool": "boolean"}

REFUSED = (msgspec.DecodeError, ValueError, RecursionError, IndexError)
"""What `decode_typed` raises for anything that is not a well-formed typed chunk, and `data[TYPE_AT]` for short data."""

TYPE_AT, CUSTOM = len(b'{"type":"'), ord("d")
"""Where the name of a compact chunk begins, and the letter with which it begins for `data-*` and for no typed chunk."""

decode_typed: Callable[[bytes], KnownChunk] = msgspec.json.Decoder(Union[tuple(RECORDS.values())]).decode  # noqa: UP007  # made from a table
"""For tight loops: decode one typed chunk, or raise one of `REFUSED`; `decode_untyped` then decodes it."""

decode_custom: Callable[[bytes], DataChunk] = msgspec.json.Decoder(DataChunk).decode
"""For tight loops: decode one chunk framed as `data-*`, or raise one of `REFUSED`. The caller looks at its name."""

_decode_any: Callable[[bytes], Any] = msgspec.json.Decoder().decode


def decode_chunk(data: bytes) -> Chunk:
    """Decode the data of one frame. Never raises."""
    try:
        if data[TYPE_AT] != CUSTOM:
            return decode_typed(data)
        custom = decode_custom(data)
        if custom.name[:5] == "data-":
            return custom
    except REFUSED:
        pass
    return decode_untyped(data)


def decode_untyped(data: bytes) -> Chunk:
    """Decode what `decode_typed` refused: custom, unknown and malformed chunks, the end marker, odd JSON.

    Odd JSON is read as a JavaScript client does, chunk by chunk: lone surrogates stay in the text (R43), the last of
    duplicate keys wins. NaN, infinities and huge integers are kept and judged later, where they matter (R38).
    """
    if data == b"[DONE]":
        return Done()
    try:
        value = _decode_any(data)
    except REFUSED:
        try:
            value = json.loads(data.decode("utf-8", "replace"), parse_int=_integer)
        except RecursionError:
            return Malformed(kind=CHUNK_NOT_JSON, reason="the JSON is nested too deeply", raw=data)
        except ValueError as error:
            return Malformed(kind=CHUNK_NOT_JSON, reason=f"not JSON: {error}", raw=data)
    return chunk_from_object(value, raw=data)


def chunk_from_object(value: Any, *, raw: bytes = b"") -> Chunk:
    """Make a chunk of decoded JSON, such as a line of a scenario; `raw` is kept in `Malformed` only. Never raises."""
    if not isinstance(value, dict):
        return Malformed(kind=CHUNK_NOT_OBJECT, reason=f"not an object but {json_type(value)}", raw=raw)
    kind = value.get("type")
    if not isinstance(kind, str) or not kind:
        wrong = "empty" if kind == "" else f"not text but {json_type(kind)}"
        reason = f"`type` is {wrong}" if "type" in value else "no field `type`"
        return Malformed(kind=CHUNK_NOT_OBJECT, reason=reason, raw=raw)
    if kind == "data":  # the amendments' framing (R33)
        name = value.get("name")
        if isinstance(name, str) and name.startswith("data-"):
            return _data_chunk(name, value, "value", frozenset({"type", "name", "value", "id", "transient"}), raw)
        return UnknownChunk(type=kind, raw=value)
    if kind.startswith("data-"):
        return _data_chunk(kind, value, "data", frozenset({"type", "data", "id", "transient"}), raw)
    spelled = "reasoning-" + kind.removeprefix("thinking-") if kind.startswith("thinking-") else kind  # R33
    record = RECORDS.get(spelled)
    if record is None:
        return UnknownChunk(type=kind, raw=value)
    # Only the named fields: msgspec cannot look at a name that holds a lone surrogate, and would ignore it anyway.
    only_named = spelled is kind and value.keys() <= _NAMED[kind]
    named = value if only_named else {name: value[name] for name in _FIELDS[spelled] if name in value}
    try:
        return msgspec.convert(named, record)
    except UnicodeEncodeError:  # msgspec looks for a time in text where another type is expected
        return Malformed(
            kind=CHUNK_BAD_FIELD, reason=f"{kind}: text with a lone surrogate stands for another type", raw=raw
        )
    except (*REFUSED, OverflowError) as error:
        return Malformed(kind=CHUNK_BAD_FIELD, reason=f"{kind}: {_in_words_of_json(str(error))}", raw=raw)


def _data_chunk(name: str, value: dict[str, Any], payload: str, own: frozenset[str], raw: bytes) -> Chunk:
    identity, transient = value.get("id"), value.get("transient")
    wrong = ""
    if payload not in value:
        wrong = f"Object missing required field `{payload}`"
    elif not (identity is None or isinstance(identity, str)):
        wrong = f"Expected `string | null`, got {json_type(identity)} - at `$.id`"
    elif not (transient is None or isinstance(transient, bool)):
        wrong = f"Expected `boolean | null`, got {json_type(transient)} - at `$.transient`"
    if wrong:
        return Malformed(kind=CHUNK_BAD_FIELD, reason=f"{name}: {wrong}", raw=raw)
    extra = {key: item for key, item in value.items() if key not in own}
    by_name = payload == "value"
    return DataChunk(name=name, data=value[payload], id=identity, transient=transient, by_name=by_name, extra=extra)


def _integer(digits: str) -> float:
    try:
        return int(digits)
    except ValueError:  # more digits than Python converts; JavaScript reads such a number as infinite too
        return float(digits)


def _in_words_of_json(reason: str) -> str:
    """Return a message of msgspec with its names of types, which are those of Python, in the words of JSON."""
    return _PYTHON_TYPE.sub(lambda name: _JSON_TYPES[name[0]], reason)
