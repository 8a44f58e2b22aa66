"""Bytes → frames → chunks → journal: the reference client.

In: reads of a response body, of any size, each with the time it arrived. Out: the journal, and every finding of the
layers below. No I/O and no clock.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tpharness.findings import Finding, Place
from tpharness.journal import Entry, Interrupted, Journal, OpenResponse, UserTurn
from tpharness.wires.sse.parser import SseParser
from tpharness.wires.vsp.carrier import CARRIER
from tpharness.wires.vsp.chunks import chunk_from_object
from tpharness.wires.vsp.fold import ChunkFold
from tpharness.wires.vsp.records import Chunk, Done
from tpharness.wires.vsp.states import StreamState

__all__ = ["Assembler"]

_ENDED = (StreamState.FINISHED, StreamState.ABORTED, StreamState.DONE)


class Assembler:
    """Folds the streams of one thread. For each run: `begin`, `feed` for each read, `close` at the end."""

    def __init__(self, *, agent_id: str = "assistant", providers: Mapping[str, str] | None = None) -> None:
        self._fold = ChunkFold(agent_id=agent_id, providers=providers)
        self._sse: SseParser | None = None
        self._sse_findings: list[Finding] = []

    def add_user_turn(self, turn: UserTurn) -> None:
        """Record what the user submitted."""
        self._fold.add_user_turn(turn)

    def begin(self, at: str, *, agent_id: str | None = None) -> None:
        """Open a stream; `agent_id` is the agent that was asked, until a carrier names one."""
        self._sse = SseParser()
        self._fold.begin(at, agent_id=agent_id)

    def feed(self, data: bytes, at: str) -> int:
        """Take in the next bytes of the body, received at `at`; return how many chunks they completed."""
        if self._sse is None:
            raise RuntimeError("begin() opens a stream")
        event = self._sse.feed_event(data)
        if event is not None:
            self._fold.feed_event(event, at)
            return 1
        if self._sse.feed_part(data):
            return 0
        events = self._sse.feed_data(data)
        if events:
            self._fold.feed_events(events, at)
        return len(events)

    def feed_chunks(self, chunks: Iterable[Mapping[str, Any] | Chunk], at: str) -> None:
        """Take in chunks that are decoded already, records or JSON objects."""
        for chunk in chunks:
            self._fold.feed(chunk_from_object(dict(chunk)) if isinstance(chunk, Mapping) else chunk, at)

    def close(self, reason: str | None, at: str) -> None:
        """End the stream; `reason` is what was observed of its end, None for a plain end of the body (R27)."""
        if self._sse is not None:
            self._sse.close()
            self._sse_findings += [f.with_place(side="client") for f in self._sse.findings]
            self._sse = None
        self._fold.close(reason, at)

    def fail(self, error: str, at: str) -> None:
        """Take in that the run has failed with this text, as the server would have reported it."""
        carrier = {"type": CARRIER, "data": {"timestamp": at}, "transient": True}
        self.feed_chunks([carrier, {"type": "error", "errorText": error}], at)

    def done(self, at: str) -> None:
        """Take in the end marker of a stream that was given as decoded chunks."""
        self._fold.feed(Done(), at)

    @property
    def findings(self) -> list[Finding]:
        """Everything found so far, in order of layers."""
        live = [f.with_place(side="client") for f in self._sse.findings] if self._sse is not None else []
        return [*self._sse_findings, *live, *self._fold.findings]

    @property
    def found(self) -> int:
        """How many findings the chunks have given so far: it costs nothing to ask after each of them."""
        return self._fold.found

    @property
    def version(self) -> int:
        """A number that grows whenever a document could show a change."""
        return self._fold.version

    @property
    def state(self) -> StreamState:
        """Where the stream stands."""
        return self._fold.state

    @property
    def state_name(self) -> str:
        """Where the stream stands, as a word for people."""
        return self._fold.state.name.lower()

    @property
    def signalled_end(self) -> bool:
        """Whether the stream has said how its turn ends: what comes after that is ignored."""
        return self._fold.state in _ENDED

    @property
    def complete(self) -> bool:
        """Whether the end marker has come, so that nobody has to wait for the end of the body."""
        return self._fold.state is StreamState.DONE

    @property
    def turn_ended(self) -> bool:
        """Whether no turn is running: the stream has ended its turn, or has not begun one."""
        return self._fold.turn_ended

    @property
    def time(self) -> str:
        """When the latest chunk happened."""
        return self._fold.time

    @property
    def open_parts(self) -> int:
        """How many parts have started and not ended."""
        return self._fold.open_parts

    @property
    def place(self) -> Place:
        """The place of the latest chunk."""
        return self._fold.place

    def journal(self, cut: Interrupted | None = None, *, partial: bool = False) -> Journal:
        """Return the journal as of now, cut here if `cut` is given and the turn has not ended."""
        return self._fold.journal(cut, partial=partial)

    @property
    def written(self) -> Sequence[OpenResponse | Entry]:
        """The entries of the last turn as they are written (`JournalWriter.written`)."""
        return self._fold.written
