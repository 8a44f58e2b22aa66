"""Which texts and thoughts of a run are open: they stream, and the model has not ended them (R10, R60).

In: the events of one run, one at a time, as the server is given them. Out: how many texts and thoughts have begun, and
which of them are open, each counted from 0 in the order in which they began. As `open_calls` it is written from the
rulings alone, since servers are judged by it; where an event is malformed it takes a text for ended.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from tpharness.server_events.open_calls import END_OF_A_RESPONSE

__all__ = ["OpenTexts"]

_KINDS = ("text", "thinking")


class OpenTexts:
    """The open texts and thoughts of one run; `feed` it each event."""

    def __init__(self) -> None:
        self.begun: Counter[str] = Counter()
        """How many texts and how many thoughts have begun in the run, by the kind of their parts."""
        self._parts: dict[Any, tuple[str, int] | None] = {}  # of the streaming response, by the index of the part

    @property
    def open(self) -> tuple[tuple[str, int], ...]:
        """The kind and the number of each that is open now."""
        return tuple(part for part in self._parts.values() if part is not None)

    def feed(self, event: Mapping[str, Any]) -> None:
        """Take in one event."""
        kind, index = event.get("event_kind"), event.get("index")
        if kind in END_OF_A_RESPONSE or (kind == "part_start" and index in self._parts):
            self._parts = {}
        part = event.get("part")
        named = part.get("part_kind") if isinstance(part, Mapping) else None
        if kind == "part_start":
            self._parts[index] = None
            if named in _KINDS:
                self._parts[index] = named, self.begun[named]
                self.begun[named] += 1
        elif kind == "part_end" and index in self._parts:
            self._parts[index] = None
