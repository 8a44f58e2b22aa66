"""Which calls a stream has given an input as a whole: what a screen shows, and what a client's own tools run with.

In: the bytes of one stream, in reads of any size. Out: by the id of its call, the chunk that gave the input, since the
call last began. It reads chunks as plain JSON and shares no code with the client's fold.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgspec

from tpharness.wires.sse.parser import SseParser

__all__ = ["WholeInputs"]

_GIVES = ("tool-input-available", "tool-input-error")
_NAMES = (*_GIVES, "tool-input-start")


class _Kind(msgspec.Struct, gc=False):
    """What a chunk is, without the rest of it: nearly all of them are deltas."""

    type: Any = None


_kind_of = msgspec.json.Decoder(_Kind).decode


class WholeInputs:
    """The inputs that one stream has given as whole so far."""

    def __init__(self) -> None:
        self._sse = SseParser()
        self._given: dict[str, Mapping[str, Any]] = {}

    def feed(self, data: bytes) -> None:
        """Take in one read."""
        whole = self._sse.feed_event(data)
        for event in self._sse.feed_data(data) if whole is None else (whole,):
            if b"tool-input-" in event:
                self._take(event)

    def given(self, call_id: str) -> Mapping[str, Any] | None:
        """Return the chunk that gave the input of a call, None if none has."""
        return self._given.get(call_id)

    def after(self, data: bytes) -> WholeInputs:
        """Return what it would be after one more read, and do not take that in."""
        if not self._sse.in_event and b"tool-input-" not in data:
            return self
        twin = WholeInputs()
        twin._sse, twin._given = self._sse.fork(), dict(self._given)
        twin.feed(data)
        return twin

    def _take(self, event: bytes) -> None:
        try:
            if _kind_of(event).type not in _NAMES:
                return
        except (msgspec.DecodeError, UnicodeError):
            pass  # it may be odd JSON
        try:
            chunk = json.loads(event)
        except ValueError:
            return
        if not isinstance(chunk, dict):
            return
        kind, call = chunk.get("type"), chunk.get("toolCallId")
        if kind == "tool-input-start":
            self._given.pop(str(call), None)
        elif kind in _GIVES:
            self._given[str(call)] = chunk
