"""AG-UI as a wire: what `wires.contract` asks, answered for its events.

The two halves are `fold` and `encode`; here is what ties them to a model's events and to bytes, and what faults, sweeps
and checks ask about single frames.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping
from typing import Any

from tpharness.findings import Finding, Kind
from tpharness.server_events import EventKind
from tpharness.wires.ag_ui import violations
from tpharness.wires.ag_ui.carriers import FACTS
from tpharness.wires.ag_ui.encode import AgUiEncoder, to_bytes
from tpharness.wires.ag_ui.fold import AgUiAssembler
from tpharness.wires.ag_ui.inputs import EndedCalls
from tpharness.wires.ag_ui.judge import judge_input, judge_stream
from tpharness.wires.ag_ui.said import read_said
from tpharness.wires.contract import Wire
from tpharness.wires.vsp.encode import to_wire
from tpharness.wires.vsp.server import Chunks, Encoder

__all__ = ["WIRE", "EventWriter", "check_input", "check_stream"]

_CARRIES = f'"{FACTS}"'.encode()
_ENDS = ("RUN_FINISHED", "RUN_ERROR")
_DELTAS = ("TEXT_MESSAGE_CONTENT", "REASONING_MESSAGE_CONTENT", "TOOL_CALL_ARGS")
_RESULT = re.compile(rb'"type":"TOOL_CALL_RESULT","messageId":"[^"]*","toolCallId":"([^"]*)"')
_THREAD = "thread"


class EventWriter:
    """The server's half: the chunks of server events as events of AG-UI."""

    def __init__(
        self,
        *,
        agent_id: str,
        carriers: bool = True,
        message_id: str | None = None,
        tool_name: Callable[[str], str | None] = lambda _: "",
        has_return: Callable[[str], bool] = lambda _: False,
        waiting: Collection[str] | None = None,
        waiting_provider_calls: Collection[str] = (),
    ) -> None:
        self._chunks = Encoder(
            agent_id=agent_id,
            carriers=carriers,
            message_id=message_id,
            tool_name=tool_name,
            has_return=has_return,
            waiting=waiting,
            waiting_provider_calls=waiting_provider_calls,
        )
        self._message_id, self._waiting = message_id, waiting or ()
        self._events = AgUiEncoder(thread_id=_THREAD, run_id="run")

    def start(self, at: str, user_parts: tuple[Mapping[str, Any], ...] = ()) -> bytes:
        """Return the bytes that open the stream; a run is named by its message and by when it began."""
        run_id = f"{self._message_id or 'run'}-{at}"
        self._events = AgUiEncoder(thread_id=_THREAD, run_id=run_id, waiting=self._waiting)
        return self._write(self._chunks.start(at, user_parts))

    def feed(self, event: Mapping[str, Any], judged: EventKind | Finding | None = None, at: str | None = None) -> bytes:
        """Return the bytes of one event."""
        return self._write(self._chunks.feed(event, judged, at))

    def stop(self, reason: str, at: str) -> bytes:
        """Return the bytes that close everything, and say that the run was stopped; nothing is stopped by asking."""
        events = self._events.fork()
        return to_bytes(event for chunk in self._chunks.abort(reason, at) for event in events.feed(to_wire(chunk)))

    def finish(self) -> bytes:
        """Return what is left to say at the end: that the run has failed, where only its error was reported."""
        return to_bytes(self._events.end())

    def _write(self, chunks: Chunks) -> bytes:
        return to_bytes(event for chunk in chunks for event in self._events.feed(to_wire(chunk)))


def check_stream(data: bytes, major: int | None = None, posted: bytes | None = None) -> list[Finding]:
    """Return what is wrong with a stream, and with the input that it answers if it is given."""
    del major  # both versions are read, and the stream says which it is
    return judge_stream(data, posted).findings


def check_input(posted: bytes) -> list[Finding]:
    """Return what is wrong with an input that was posted."""
    return judge_input(posted)


def _is_carrier(event: Mapping[str, Any]) -> bool:
    return event.get("type") == "CUSTOM" and event.get("name") == FACTS


def _frame_carries(frame: bytes) -> bool:
    return _CARRIES in frame


def _output_of(frame: bytes) -> bytes | None:
    found = _RESULT.search(frame)
    return None if found is None or b'"provider_executed"' in frame else found[1]


def _is_last(event: Mapping[str, Any]) -> bool:
    return event.get("type") in _ENDS


def _needs_no_event(event: Mapping[str, Any]) -> bool:
    return event.get("type") in ("RUN_STARTED", *_ENDS) or _is_carrier(event)


def _split_delta(frame: bytes) -> list[bytes]:
    """Return a delta one UTF-16 unit at a time, as a JavaScript server may send it (R43)."""
    data = frame.removeprefix(b"data: ")
    try:
        event = json.loads(data)
    except ValueError:
        return [frame]
    if not isinstance(event, dict) or event.get("type") not in _DELTAS or "metadata" in event:
        return [frame]
    raw = event["delta"].encode("utf-16-le", "surrogatepass")
    units = (raw[i : i + 2].decode("utf-16-le", "surrogatepass") for i in range(0, len(raw), 2))
    return [to_bytes([{**event, "delta": unit}]) for unit in units]


WIRE = Wire(
    name="ag-ui",
    title="the events of AG-UI",
    headers={},
    open_reader=AgUiAssembler,
    open_writer=EventWriter,
    open_inputs=EndedCalls,
    read_said=read_said,
    read_owed=lambda _: (),
    check=check_stream,
    violations=tuple(kind for kind in vars(violations).values() if isinstance(kind, Kind)),
    encode=to_bytes,
    is_carrier=_is_carrier,
    frame_carries=_frame_carries,
    begins_text=re.compile(rb'"(?:delta|content)":"'),
    output_of=_output_of,
    is_last=_is_last,
    ends_stream=re.compile(rb'"type"\s*:\s*"(?:RUN_FINISHED|RUN_ERROR)"'),
    says_stopped=re.compile(rb'"type"\s*:\s*"cancelled"'),
    needs_no_event=_needs_no_event,
    split_delta=_split_delta,
)
