"""The client's fold: chunks → journal.

In: chunk records with the time they were received. Out: the journal, and findings for chunks that have no place where
they came. `states.ORDER` says which chunk may come when; the handlers that fold them belong to the parts of the fold:
the life cycle of turns and steps, the content of responses, tool calls, and events. A violation is named with the
chunk's index, and the thread is what it would be without that chunk (R36). Never a crash, never half a part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar

from tpharness.findings import Finding, Place
from tpharness.journal import Interrupted, Journal, UserTurn
from tpharness.vsp import chunks
from tpharness.vsp import records as c
from tpharness.vsp import violations as v
from tpharness.vsp.content import ContentParts
from tpharness.vsp.context import StreamContext
from tpharness.vsp.events import TurnEvents
from tpharness.vsp.lifecycle import Lifecycle
from tpharness.vsp.states import ORDER, Reaction, StreamState
from tpharness.vsp.tool_calls import ToolCalls

__all__ = ["ChunkFold"]

_CHUNKS_BETWEEN_JOINS = 4096
"""Chunks after which the pieces of open parts are joined: few enough to take no memory, enough to cost no time."""


class ChunkFold:
    """Folds the chunks of one thread; one `begin` for each stream, then `feed`, then `close`."""

    def __init__(self, *, agent_id: str, providers: Mapping[str, str] | None = None) -> None:
        self._agent_id = agent_id
        self._context = StreamContext()
        self._lifecycle = Lifecycle(self._context)
        self._tool_calls = ToolCalls(self._context, self._lifecycle)
        content = ContentParts(self._context, self._lifecycle, dict(providers or {}))
        events = TurnEvents(self._context, self._lifecycle)
        self._handlers: dict[type, Callable[[Any], None]] = {
            record: handler.__get__(part)
            for part in (self, self._lifecycle, content, self._tool_calls, events)
            for record, handler in part.HANDLERS.items()
        }

    def add_user_turn(self, turn: UserTurn) -> None:
        """Record what the user submitted."""
        self._context.writer.add_user_turn(turn)

    def begin(self, at: str, *, agent_id: str | None = None) -> None:
        """Open a stream; `agent_id` is the agent that was asked, until a carrier names one."""
        self._context.begin(at)
        self._join_at = _CHUNKS_BETWEEN_JOINS
        self._lifecycle.begin(agent_id or self._agent_id)
        self._tool_calls.begin()

    def feed(self, chunk: c.Chunk, at: str) -> None:
        """Fold one chunk, received at `at`."""
        self._context.index += 1
        self._context.at = at
        record = type(chunk)
        reaction = ORDER[self._lifecycle.state].get(record)
        if reaction is None:
            self._refuse(chunk)
        elif reaction is Reaction.OBSERVE:
            self._context.report(v.AFTER_ABORT, f"{c.type_of(chunk)} came after abort")
        elif reaction is Reaction.NO_PART_OPEN:
            self._report_no_part(chunk)
        else:
            self._handlers[record](chunk)

    def feed_events(self, events: Iterable[bytes], at: str) -> None:
        """Fold the data of the events of one read.

        The two chunk types that make up nearly all of a stream are folded here without a call for each: a part that is
        in the map of open parts is open, so the table would lead to the same.
        """
        context = self._context
        texts, inputs = context.open_parts.texts, context.open_parts.tool_inputs  # cleared, never replaced
        decode, text_delta, input_delta = chunks.decode_typed, c.TextDeltaChunk, c.ToolInputDeltaChunk
        at_type, custom = chunks.TYPE_AT, chunks.CUSTOM
        chunk: c.Chunk
        index = context.index
        for data in events:
            try:
                chunk = decode(data) if data[at_type] != custom else chunks.decode_chunk(data)
            except chunks.REFUSED:
                chunk = chunks.decode_untyped(data)
            record = type(chunk)
            if record is text_delta:
                part = texts.get(chunk.id)  # type: ignore[union-attr, arg-type]  # `record` says what it is
                if part is not None:
                    part.append(chunk.delta)  # type: ignore[union-attr]
                    index += 1
                    continue
            elif record is input_delta:
                part = inputs.get(chunk.tool_call_id)  # type: ignore[union-attr]
                if part is not None:
                    part.append(chunk.input_text_delta)  # type: ignore[union-attr]
                    index += 1
                    continue
            context.index = index
            self.feed(chunk, at)
            index += 1
        context.index = index
        if index >= self._join_at:
            self._join_at = index + _CHUNKS_BETWEEN_JOINS
            context.open_parts.join_pieces()

    def close(self, reason: str | None, at: str) -> None:
        """End the stream: the reason observed for its end, None for a plain end without `finish` (R27)."""
        self._lifecycle.close(reason, at)

    def journal(self, cut: Interrupted | None = None, *, partial: bool = False) -> Journal:
        """Return the journal as of now, cut here if `cut` is given and the turn has not ended."""
        return self._context.writer.journal(cut, partial=partial)

    @property
    def findings(self) -> list[Finding]:
        """What was found so far, in the order of the chunks; bounded (`FindingLog`)."""
        return self._context.log.findings()

    @property
    def version(self) -> int:
        """A number that grows whenever a document could show a change."""
        return self._context.writer.version

    @property
    def state(self) -> StreamState:
        """Where the stream stands."""
        return self._lifecycle.state

    @property
    def turn_ended(self) -> bool:
        """Whether no turn is running: the stream has ended its turn, or has not begun one."""
        return not self._context.writer.running

    @property
    def time(self) -> str:
        """When the latest chunk happened."""
        return self._context.time

    @property
    def open_parts(self) -> int:
        """How many parts have started and not ended."""
        return len(self._context.open_parts)

    @property
    def place(self) -> Place:
        """The place of the latest chunk."""
        return self._context.place

    def _refuse(self, chunk: c.Chunk) -> None:
        state = self._lifecycle.state
        kind = v.AFTER_FINISH if state in (StreamState.FINISHED, StreamState.DONE) else v.OUT_OF_ORDER
        self._context.report(kind, f"{c.type_of(chunk)} came while the stream was {state.name.lower()}")

    def _report_no_part(self, chunk: c.Chunk) -> None:
        if isinstance(chunk, c.ToolInputDeltaChunk):
            if not self._tool_calls.ignores(chunk.tool_call_id):
                self._context.report(v.NO_START, f"{c.type_of(chunk)} for {chunk.tool_call_id!r}")
        else:
            self._context.report(v.NO_START, f"{c.type_of(chunk)} for {getattr(chunk, 'id', None)!r}")

    def _malformed(self, chunk: c.Malformed) -> None:
        self._context.log.add(chunk.finding(self._context.place))

    HANDLERS: ClassVar[Mapping[type, Callable[..., None]]] = {c.Malformed: _malformed}
    """What is folded in every state: what is not a chunk is a finding and nothing else."""
