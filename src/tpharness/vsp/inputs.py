"""Which calls a stream has given an input as a whole: what a screen shows, and what a client's own tools run with.

In: the bytes of one stream, in reads of any size. Out: by the id of its call, the chunk that gave the input, since the
call last began. It reads chunks as plain JSON and shares no code with the client's fold.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tpharness.vsp.sse import SseParser

__all__ = ["WholeInputs"]

_GIVES = ("tool-input-available", "tool-input-error")


class WholeInputs:
    """The inputs that one stream has given as whole so far."""

    def __init__(self) -> None:
        self._sse = SseParser()
        self._given: dict[str, Mapping[str, Any]] = {}

    def feed(self, data: bytes) -> None:
        """Take in one read."""
        for event in self._sse.feed_data(data):
            if b"tool-input-" in event:
                self._take(event)

    def given(self, call_id: str) -> Mapping[str, Any] | None:
        """Return the chunk that gave the input of a call, None if none has."""
        return self._given.get(call_id)

    def fork(self) -> WholeInputs:
        """Return a twin that has read the same and reads on by itself."""
        twin = WholeInputs()
        twin._sse, twin._given = self._sse.fork(), dict(self._given)
        return twin

    def _take(self, event: bytes) -> None:
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
