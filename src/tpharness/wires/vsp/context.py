"""What the parts of a fold share: the journal they write, the facts in force, the open parts, and the findings."""

from __future__ import annotations

from typing import Any

from tpharness.facts import later_time
from tpharness.finding_log import FindingLog
from tpharness.findings import Kind, Place
from tpharness.journal import JournalWriter, OpenPart
from tpharness.wires.vsp.carrier import CarriedFacts

__all__ = ["OpenParts", "StreamContext"]


class OpenParts:
    """The parts of the streaming response that have started and not ended, by their ids on the wire."""

    __slots__ = ("reasonings", "texts", "tool_inputs")

    def __init__(self) -> None:
        self.texts: dict[str, OpenPart] = {}
        self.reasonings: dict[str, OpenPart] = {}
        self.tool_inputs: dict[str, OpenPart] = {}

    def __len__(self) -> int:
        return len(self.texts) + len(self.reasonings) + len(self.tool_inputs)

    def join_pieces(self) -> None:
        """Join the pieces of each part (`OpenPart.join_pieces`)."""
        for parts in (self.texts, self.reasonings, self.tool_inputs):
            for part in parts.values():
                part.join_pieces()

    def clear(self) -> None:
        """Forget all open parts: nothing can continue them any more (R28)."""
        self.texts.clear()
        self.reasonings.clear()
        self.tool_inputs.clear()


class StreamContext:
    """The writer and the findings of a whole thread; facts, open parts, time and index of the current stream."""

    __slots__ = ("_stated", "at", "facts", "index", "log", "open_parts", "writer")

    def __init__(self) -> None:
        self.writer = JournalWriter()
        self.log = FindingLog()
        self.open_parts = OpenParts()
        self.begin("")

    def begin(self, at: str) -> None:
        """Start a stream at this time: no facts are in force and no parts are open."""
        self.at = at
        """When the current chunk was received."""
        self._stated: str | None = None
        self.index = -1
        """The number of the current chunk in its stream, from 0; -1 before the first."""
        self.facts = CarriedFacts()
        self.open_parts.clear()

    @property
    def time(self) -> str:
        """The time that a carrier sent for what happens now, else when the current chunk was received.

        What comes after an event that stated its own time did not happen before it.
        """
        carried = self.facts.get("timestamp")
        if carried is not None or self._stated is None:
            return str(carried or self.at)
        return later_time(self.at, self._stated)

    def time_of(self, stated: str | None) -> str:
        """Return when an event happened that states its own time: then, if no carrier sent another time.

        Not before what came before it, and what comes next did not happen before it.
        """
        if stated is None or self.facts.get("timestamp") is not None:
            return self.time
        turn = self.writer.journal().last
        if turn is not None:
            entries = turn.tail.entries or (turn.segments[-1].entries if turn.segments else ())
            stated = later_time(entries[-1].at if entries else turn.started_at, stated)
        self._stated = stated
        return stated

    @property
    def place(self) -> Place:
        """The place of the current chunk."""
        return Place(side="client", event=self.index)

    def report(self, kind: Kind, message: str, **values: Any) -> None:
        """Add a finding at the current chunk, with the values that it got and expected where they say more."""
        self.log.add(kind.at(self.place, message, **values))
