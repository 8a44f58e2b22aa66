"""Which calls a stream has given an input as a whole: what a page shows, and what its own tools run with.

In: the bytes of one stream, in reads of any size. Out: by the id of its call, the event that ended it, since the call
last began; none for a call that was only closed because its run was cut (G3). It reads events as plain JSON and shares
no code with the client's fold.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tpharness.wires.ag_ui.carriers import read_facts
from tpharness.wires.sse.parser import SseParser

__all__ = ["EndedCalls"]


class EndedCalls:
    """The calls that one stream has ended so far."""

    def __init__(self) -> None:
        self._sse = SseParser()
        self._given: dict[str, Mapping[str, Any]] = {}
        self._names: dict[str, str] = {}

    def feed(self, data: bytes) -> None:
        """Take in one read."""
        for frame in self._sse.feed(data):
            if b"TOOL_CALL_" in frame.data:
                self._take(frame.data)

    def given(self, call_id: str) -> Mapping[str, Any] | None:
        """Return the event that ended a call, None if none has."""
        return self._given.get(call_id)

    def after(self, data: bytes) -> EndedCalls:
        """Return what it would be after one more read, and do not take that in."""
        if not self._sse.in_event and b"TOOL_CALL_" not in data:
            return self
        twin = EndedCalls()
        twin._sse, twin._given, twin._names = self._sse.fork(), dict(self._given), dict(self._names)
        twin.feed(data)
        return twin

    def _take(self, data: bytes) -> None:
        try:
            event = json.loads(data)
        except ValueError:
            return
        if not isinstance(event, dict):
            return
        facts = read_facts(event.get("metadata"))
        on_wire = str(event.get("toolCallId"))
        if event.get("type") == "TOOL_CALL_START":
            self._names[on_wire] = facts.get("tool_call_id", on_wire)
            self._given.pop(self._names[on_wire], None)
        elif event.get("type") == "TOOL_CALL_END" and not facts.get("cut"):
            self._given[self._names.get(on_wire, on_wire)] = event
