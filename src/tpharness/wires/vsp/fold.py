"""The client's fold: chunks → journal.

In: chunk records with the time they were received. Out: the journal, and findings for chunks that have no place where
they came. `states.ORDER` says which chunk may come when; the handlers that fold them belong to the parts of the fold:
the life cycle of turns and steps, the content of responses, tool calls, and events. A violation is named with the
chunk's index, and the thread is what it would be without that chunk (R36). Never a crash, never half a part.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import length_hint
from typing import Any, ClassVar

from tpharness.findings import Finding, Place
from tpharness.journal import Entry, Interrupted, Journal, OpenResponse, UserTurn
from tpharness.wires.vsp import chunks
from tpharness.wires.vsp import records as c
from tpharness.wires.vsp import violations as v
from tpharness.wires.vsp.chunks import CUSTOM, REFUSED, TYPE_AT, decode_typed
from tpharness.wires.vsp.content import ContentParts
from tpharness.wires.vsp.context import StreamContext
from tpharness.wires.vsp.events import TurnEvents
from tpharness.wires.vsp.lifecycle import Lifecycle
from tpharness.wires.vsp.records import TextDeltaChunk, ToolInputDeltaChunk
from tpharness.wires.vsp.states import ORDER, Reaction, StreamState
from tpharness.wires.vsp.tool_calls import ToolCalls

__all__ = ["CHUNKS_BETWEEN_JOINS", "ChunkFold"]

_FOLD = Reaction.FOLD
CHUNKS_BETWEEN_JOINS = 4096
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
        opened = self._context.open_parts
        self._texts, self._inputs = opened.texts, opened.tool_inputs  # which are cleared, and never replaced
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
        self._known, self._first_unknown = False, ""
        self._join_at = CHUNKS_BETWEEN_JOINS
        self._lifecycle.begin(agent_id or self._agent_id)
        self._tool_calls.begin()

    def feed(self, chunk: c.Chunk, at: str) -> None:
        """Fold one chunk, received at `at`."""
        self._context.index += 1
        self._context.at = at
        record = type(chunk)
        if not self._known:
            self._note_known(chunk)
        reaction = ORDER[self._lifecycle.state].get(record)
        if reaction is _FOLD:
            self._handlers[record](chunk)
        elif reaction is None:
            self._refuse(chunk)
        elif reaction is Reaction.OBSERVE:
            self._context.report(v.AFTER_ABORT, f"{c.type_of(chunk)} came after abort")
        else:
            self._report_no_part(chunk)

    def feed_event(self, data: bytes, at: str) -> None:
        """Fold the data of one event.

        The two chunk types that make up nearly all of a stream are folded here without a call: a part that is in a map
        of open parts is open, so the table would lead to the same.
        """
        chunk: Any
        try:
            chunk = decode_typed(data) if data[TYPE_AT] != CUSTOM else chunks.decode_chunk(data)
        except REFUSED:
            chunk = chunks.decode_untyped(data)
        record = type(chunk)
        if record is TextDeltaChunk:
            part, piece = self._texts.get(chunk.id), chunk.delta
        elif record is ToolInputDeltaChunk:
            part, piece = self._inputs.get(chunk.tool_call_id), chunk.input_text_delta
        else:
            part = None
        if part is None:
            self.feed(chunk, at)
            return
        part.append(piece)
        context = self._context
        context.index += 1
        if context.index >= self._join_at:
            self._join_pieces()

    def feed_events(self, events: Sequence[bytes], at: str) -> None:
        """Fold the data of the events of one read: what `feed_event` does for each, in one loop."""
        context, texts, inputs = self._context, self._texts, self._inputs
        chunk: Any
        after = context.index + len(events)
        for data in (left := iter(events)):
            try:
                chunk = decode_typed(data) if data[TYPE_AT] != CUSTOM else chunks.decode_chunk(data)
                record = type(chunk)
                if record is TextDeltaChunk:
                    append = texts[chunk.id].append  # a field, and called at once Python looks for a method first
                    append(chunk.delta)
                    continue
                if record is ToolInputDeltaChunk:
                    append = inputs[chunk.tool_call_id].append
                    append(chunk.input_text_delta)
                    continue
            except KeyError:  # its part is not open
                pass
            except REFUSED:
                chunk = chunks.decode_untyped(data)
            context.index = after - length_hint(left) - 1  # which `feed` counts on
            self.feed(chunk, at)
        context.index = after
        if context.index >= self._join_at:
            self._join_pieces()

    def text_open(self, id_: str) -> Callable[[str], None] | None:
        """Return what takes the deltas of a text as `feed` does, until anything else is fed; None if it is not open."""
        part = self._texts.get(id_)
        return part.append if part is not None else None

    def input_said(self, call_id: str) -> list[str] | None:
        """Return what an open call has said of its arguments so far: it takes deltas as `text_open` does for a text."""
        part = self._inputs.get(call_id)
        return part.pieces if part is not None else None

    def join_pieces(self) -> None:
        """Join the pieces of what is open, now and then: a part that `text_open` has opened takes any number."""
        self._context.open_parts.join_pieces()

    def close(self, reason: str | None, at: str) -> None:
        """End the stream: the reason observed for its end, None for a plain end without `finish` (R27)."""
        # A stream that was cut may have begun with an extension.
        if reason is None and self._first_unknown and not self._known:
            self._context.report(v.NOTHING_KNOWN, f"its first chunk has the type {self._first_unknown!r}")
        self._lifecycle.close(reason, at)

    def journal(self, cut: Interrupted | None = None, *, partial: bool = False) -> Journal:
        """Return the journal as of now, cut here if `cut` is given and the turn has not ended."""
        return self._context.writer.journal(cut, partial=partial)

    @property
    def written(self) -> Sequence[OpenResponse | Entry]:
        """The entries of the last turn as they are written (`JournalWriter.written`)."""
        return self._context.writer.written

    @property
    def findings(self) -> list[Finding]:
        """What was found so far, in the order of the chunks; bounded (`FindingLog`)."""
        return self._context.log.findings()

    @property
    def found(self) -> int:
        """How many findings there were so far."""
        return self._context.log.added

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

    def _join_pieces(self) -> None:
        self._join_at = self._context.index + CHUNKS_BETWEEN_JOINS
        self.join_pieces()

    def _note_known(self, chunk: c.Chunk) -> None:
        if isinstance(chunk, c.UnknownChunk):
            self._first_unknown = self._first_unknown or chunk.type
        elif not isinstance(chunk, c.Done | c.Malformed):
            self._known = True

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
