"""The AI SDK's UI message stream as a wire: what `wires.contract` asks, answered for VSP.

The two halves are `assembler` and `writer`; here is what ties them to bytes, and what faults, sweeps and checks ask
about single frames.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from functools import cache
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from tpharness.findings import Finding, Kind
from tpharness.wires import vsp
from tpharness.wires.contract import Said, Wire, Writer
from tpharness.wires.vsp import violations
from tpharness.wires.vsp.assembler import Assembler
from tpharness.wires.vsp.carrier import CARRIER
from tpharness.wires.vsp.inputs import WholeInputs
from tpharness.wires.vsp.records import DONE, MAJORS, RECORDS

if TYPE_CHECKING:
    from tpharness.wires.owed import Owed

__all__ = ["HEADERS", "WIRE", "check_stream"]

HEADERS = {"x-vercel-ai-ui-message-stream": "v1"}

_AROUND_EVENTS = frozenset(("start", "finish", "abort", CARRIER))
_DELTA_FIELDS = {name: record.delta_field for name, record in RECORDS.items() if record.delta_field}
_PREFIX, _END = b"data: ", b"\n\n"
_CARRIES = f'"{CARRIER}"'.encode()
_OUTPUT = re.compile(rb'"type":"tool-output-(?:available|error)","toolCallId":"([^"]*)"')
_write = json.JSONEncoder(separators=(",", ":")).encode


@cache
def _writing(name: str) -> Any:
    """Return something of the writing half, which whoever only reads a stream does not need."""
    return resolve_name(f"tpharness.wires.vsp.{name}")


def _open_writer(**options: Any) -> Writer:
    writer: Writer = _writing("writer:ChunkWriter")(**options)
    return writer


def _read_owed(data: bytes) -> tuple[Owed, ...]:
    found: tuple[Owed, ...] = resolve_name("tpharness.wires.vsp.owed:read_owed")(data)
    return found


def _read_said(data: bytes) -> Said:
    return vsp.read_said(data)


def _encode_objects(events: Iterable[Mapping[str, Any]]) -> bytes:
    return b"".join(map(_writing("encode:encode_sse"), events))


def check_stream(data: bytes, major: int | None = None, posted: bytes | None = None) -> list[Finding]:
    """Return what is wrong with the bytes of a whole stream, and with `major` what that release refuses."""
    del posted  # what a client of this wire posts has no rules of its own
    found: list[Finding] = resolve_name("tpharness.wires.vsp.check:check_bytes")(data, major)
    return found


def _is_carrier(event: Mapping[str, Any]) -> bool:
    return event.get("type") == CARRIER


def _frame_carries(frame: bytes) -> bool:
    return _CARRIES in frame


def _output_of(frame: bytes) -> bytes | None:
    found = _OUTPUT.search(frame)
    if found is None or b'"preliminary"' in frame or b'"providerExecuted"' in frame:
        return None
    return found[1]


def _needs_no_event(event: Mapping[str, Any]) -> bool:
    return event.get("type") in _AROUND_EVENTS


def _is_last(event: Mapping[str, Any]) -> bool:
    return event.get("type") in ("finish", "abort")


def _split_delta(frame: bytes) -> list[bytes]:
    """Return a delta one UTF-16 unit at a time, as a JavaScript server may send it (R43)."""
    chunk = _delta_chunk(frame)
    if chunk is None:
        return [frame]
    field = _DELTA_FIELDS[chunk["type"]]
    raw = chunk[field].encode("utf-16-le", "surrogatepass")
    units = (raw[i : i + 2].decode("utf-16-le", "surrogatepass") for i in range(0, len(raw), 2))
    return [_PREFIX + _write({**chunk, field: unit}).encode() + _END for unit in units]


def _delta_chunk(frame: bytes) -> dict[str, Any] | None:
    """Return the chunk of a plain `data: {…}` frame that is a delta and nothing else; None for any other frame."""
    data = frame.removesuffix(_END)
    if not data.startswith(_PREFIX) or b"\n" in data or b"\r" in data or b"-delta" not in data:
        return None
    try:
        chunk = json.loads(data[len(_PREFIX) :])
    except ValueError:
        return None
    if not isinstance(chunk, dict) or chunk.get("type") not in _DELTA_FIELDS or "providerMetadata" in chunk:
        return None
    return chunk if isinstance(chunk.get(_DELTA_FIELDS[chunk["type"]]), str) else None


WIRE = Wire(
    name="vsp",
    title="the UI message stream of the AI SDK",
    headers=HEADERS,
    open_reader=Assembler,
    open_writer=_open_writer,
    open_inputs=WholeInputs,
    read_said=_read_said,
    read_owed=_read_owed,
    check=check_stream,
    majors=tuple(sorted(MAJORS)),
    violations=tuple(kind for kind in vars(violations).values() if isinstance(kind, Kind)),
    encode=_encode_objects,
    end=DONE,
    is_carrier=_is_carrier,
    frame_carries=_frame_carries,
    begins_text=re.compile(rb'"(?:delta|inputTextDelta|text|output|input)":"?'),
    output_of=_output_of,
    ends_stream=re.compile(rb'"type"\s*:\s*"(?:finish|abort|error)"|\[DONE\]'),
    says_stopped=re.compile(rb'"abort"'),
    is_last=_is_last,
    needs_no_event=_needs_no_event,
    split_delta=_split_delta,
    resumable=True,
)
