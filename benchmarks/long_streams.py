"""Streams with many of one kind of event, and a server that sends one: what `growth` and the tests of growth play."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tpharness.targets.contract import Capabilities, Packet, Script, TargetOutput
from tpharness.targets.reference import Reference
from tpharness.wires.vsp.encode import DONE, encode_sse

__all__ = ["KINDS", "LongWinded", "frames", "whole_stream"]


def frames(*chunks: dict[str, Any]) -> bytes:
    """Return chunks as the bytes of a stream."""
    return b"".join(map(encode_sse, chunks))


def _call(i: int, **more: Any) -> bytes:
    return frames({"type": "tool-input-available", "toolCallId": f"c{i}", "toolName": "t", "input": {}, **more})


def _output(i: int, **more: Any) -> bytes:
    return frames({"type": "tool-output-available", "toolCallId": f"c{i}", "output": 1, **more})


def _event(i: int) -> bytes:
    return frames({"type": "data-app-x", "data": i})


def _approval(i: int) -> bytes:
    return _call(i) + frames({"type": "tool-approval-request", "toolCallId": f"c{i}", "approvalId": f"a{i}"})


def _handoff(i: int) -> bytes:
    data = {"source_agent": f"a{i}", "target_agents": [f"a{i + 1}"], "at": "2025-01-20T10:00:05Z"}
    return frames({"type": "data-tp-agent_handoff", "data": data})


def _text(i: int) -> bytes:
    delta = {"type": "text-delta", "id": f"t{i}", "delta": "x"}
    return frames({"type": "text-start", "id": f"t{i}"}, delta, {"type": "text-end", "id": f"t{i}"})


def _each(*kinds: Callable[[int], bytes]) -> Callable[[int], bytes]:
    """Return a stream with many of one kind, then as many of the next."""
    return lambda n: b"".join(kind(i) for kind in kinds for i in range(n))


KINDS: dict[str, Callable[[int], bytes]] = {
    "calls": _each(_call),
    "calls with outputs": _each(_call, _output),
    "calls twice": _each(_call, _call),
    "calls of the provider": _each(
        lambda i: _call(i, providerExecuted=True), lambda i: _output(i, providerExecuted=True)
    ),
    "parts": _each(_text),
    "parts, then errors": _each(_text, lambda _: frames({"type": "error", "errorText": "e"})),
    "steps": _each(lambda _: frames({"type": "finish-step"}, {"type": "start-step"})),
    "steps with calls": _each(
        lambda i: _call(i) + _output(i) + frames({"type": "finish-step"}, {"type": "start-step"})
    ),
    "agents": _each(_handoff),
    "events": _each(_event),
    "events, then starts": _each(_event, lambda _: frames({"type": "start"})),
    "approvals": _each(_approval),
    "parts and events in turn": _each(lambda i: _event(i) + _text(i)),
    "retries": _each(lambda _: b"retry: 10\n\n"),
    "comments": _each(lambda _: b": x\n\n"),
    "lines of a colon": _each(lambda _: b":\n"),
    "keys": lambda n: frames({"type": "data-app-x", "data": {f"k{i}": i for i in range(n)}}),
    "lines of an event": lambda n: b"data:\n" * n + b"\n",
    "unknown chunks": _each(lambda i: frames({"type": "no-such-chunk", "n": i})),
    "events that are not JSON": _each(lambda _: b"data: {\n\n"),
}
"""For each kind of event the bytes of N of them."""


def whole_stream(middle: bytes) -> bytes:
    """Return the bytes of a stream that has this in its only step."""
    start, end = ({"type": "start"}, {"type": "start-step"}), ({"type": "finish-step"}, {"type": "finish"})
    return frames(*start) + middle + frames(*end) + DONE


class LongWinded:
    """The reference, whose first stream is another one."""

    def __init__(self, middle: bytes) -> None:
        self._reference = Reference()
        self._data = whole_stream(middle)

    @property
    def capabilities(self) -> Capabilities:
        """All."""
        return self._reference.capabilities

    async def serve(self, script: Script) -> TargetOutput:
        """Play the script, and send the other stream."""
        served = await self._reference.serve(script)
        at = served.streams[0][0].at
        pieces = (self._data[i : i + 4096] for i in range(0, len(self._data), 4096))
        packets = tuple(Packet(data=piece, at=at) for piece in pieces)
        return replace(served, streams=(packets, *served.streams[1:]))
