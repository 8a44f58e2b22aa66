"""The course of a stream: how turns, steps and responses begin and end for a client, and what is known meanwhile.

In: chunks that bound things, with the time they were received. Out: the journal, and findings. What the parts are made
of is the business of `fold`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tpharness.facts import interruption_reason, normalize_finish_reason, normalize_usage
from tpharness.findings import Finding, Kind, Place
from tpharness.journal import Event, Interrupted, Journal, JournalWriter, OpenPart, UserTurn
from tpharness.protocol.versions import ERROR_EVENT
from tpharness.vsp import chunks as c
from tpharness.vsp import violations as v
from tpharness.vsp.carrier import CarriedFacts
from tpharness.vsp.states import StreamState

__all__ = ["StreamFold"]

KNOWN_REASONS = frozenset({"user_cancelled", "timeout", "network_failure", "safety_halt", "error"})


class StreamFold:
    """What a fold does whatever its parts are: it begins, steps, ends, and knows the facts in force."""

    table: Mapping[StreamState, Mapping[type, Callable[[Any, Any], Any]]] = {}
    """Which chunk may come when; the class that knows all actions fills it in."""

    def __init__(self, *, agent_id: str, providers: Mapping[str, str] | None = None) -> None:
        self._writer = JournalWriter()
        self._default_agent = agent_id
        self._providers = dict(providers or {})
        self.findings: list[Finding] = []
        self._enter(StreamState.DONE)

    # ------------------------------------------------------------- life cycle

    def add_user_turn(self, turn: UserTurn) -> None:
        """Record what the user submitted."""
        self._writer.add_user_turn(turn)

    def begin(self, at: str, *, agent_id: str | None = None) -> None:
        """Open a stream; `agent_id` is the agent that was asked, until a carrier names one."""
        self._asked = agent_id or self._default_agent
        self._enter(StreamState.IDLE)
        self._at = at
        self._index = -1
        self._facts = CarriedFacts()
        self._texts: dict[str, OpenPart] = {}
        self._reasonings: dict[str, OpenPart] = {}
        self._tools: dict[str, OpenPart] = {}
        self._provider_calls: dict[str, Mapping[str, Any]] = {}
        self._approvals: dict[str, str] = {}
        self._denials: dict[str, str] = {}
        self._input_errors: set[str] = set()
        self._ignored_calls: set[str] = set()
        self._last_finish: str | None = None
        self._in_step = False
        self._step_answered = False
        self._step_responded = False

    def feed(self, chunk: c.Chunk, at: str) -> None:
        """Fold one chunk, received at `at`."""
        self._index += 1
        self._at = at
        action = self._actions.get(type(chunk))
        if action is None:
            self._refuse(chunk)
        else:
            action(self, chunk)

    def feed_events(self, events: Iterable[bytes], at: str) -> None:
        """Fold the data of the events of one read.

        The two chunk types that make up nearly all of a stream are folded here without a call for each: a part that is
        in the map of open parts is open, so the table would come to the same.
        """
        texts, tools = self._texts, self._tools  # cleared, never replaced
        decode, text_delta, input_delta = c.decode_typed, c.TextDeltaChunk, c.ToolInputDeltaChunk
        index = self._index
        for data in events:
            try:
                chunk: c.Chunk = decode(data)
            except c.REFUSED:
                chunk = c.decode_odd(data)
            kind = type(chunk)
            if kind is text_delta:
                handle = texts.get(chunk.id)  # type: ignore[union-attr, arg-type]  # kind says what it is
                if handle is not None:
                    handle.more(chunk.delta)  # type: ignore[union-attr]
                    index += 1
                    continue
            elif kind is input_delta:
                handle = tools.get(chunk.tool_call_id)  # type: ignore[union-attr]
                if handle is not None:
                    handle.more(chunk.input_text_delta)  # type: ignore[union-attr]
                    index += 1
                    continue
            self._index = index
            self.feed(chunk, at)
            index += 1
        self._index = index

    def close(self, reason: str | None, at: str) -> None:
        """End the stream: the reason observed for its end, None for a plain end without `finish` (R27)."""
        if self._writer.running:
            at = str(self._facts.take("interrupted_at") or at)
            self._writer.interrupt_turn(reason or "network_failure", at)
            self._forget_open()
        elif self.state is StreamState.FINISHED:
            self._report(v.NO_DONE, "the stream ended after finish without [DONE]")
        self._enter(StreamState.DONE)

    def journal(self, cut: Interrupted | None = None, *, partial: bool = False) -> Journal:
        """Return the journal as of now, cut here if `cut` is given and the turn has not ended."""
        return self._writer.journal(cut, partial=partial)

    @property
    def version(self) -> int:
        """Grows whenever a document could show a change."""
        return self._writer.version

    @property
    def turn_ended(self) -> bool:
        """Whether the stream has said how its turn ended, or has begun none."""
        return not self._writer.running

    @property
    def open_parts(self) -> int:
        """How many parts have started and not ended."""
        return len(self._texts) + len(self._reasonings) + len(self._tools)

    def _enter(self, state: StreamState) -> None:
        self.state = state
        self._actions = self.table[state]

    # ------------------------------------------------------------ stream ends

    def _start(self, chunk: c.StartChunk) -> None:
        del chunk
        if self._writer.running:
            if not self._writer.only_events:  # an application may write events before it starts the model's stream
                self._report(v.SECOND_START, "start came while a turn was running")
            return
        self._begin_turn()

    def _finish(self, chunk: c.FinishChunk) -> None:
        self._end_response()
        self._ensure_turn()
        word = chunk.finish_reason or self._facts.take("finish_reason")
        reason = interruption_reason(word or self._last_finish, error_seen=self._writer.held)
        at = str(self._facts.take("completed_at") or self._time())
        if reason is None:
            self._writer.complete_turn(at, normalize_usage(self._facts.take("usage")))
        else:
            self._writer.interrupt_turn(reason, at)
        self._forget_open()
        self._enter(StreamState.FINISHED)

    def _abort(self, chunk: c.AbortChunk) -> None:
        self._ensure_turn()
        reason = chunk.reason if chunk.reason in KNOWN_REASONS else "user_cancelled"
        self._writer.interrupt_turn(str(reason), str(self._facts.take("interrupted_at") or self._time()))
        self._forget_open()
        self._enter(StreamState.ABORTED)

    def _error(self, chunk: c.ErrorChunk) -> None:
        self._ensure_turn()
        at = self._time()
        self._writer.add_event(Event(name=ERROR_EVENT, data={"error": chunk.error_text}, at=at))
        self._writer.hold("error", at)  # R27: unless a regular finish follows

    def _done(self, chunk: c.Done) -> None:
        """The end marker: a turn that has not ended by now is judged at `close`."""
        del chunk
        self._forget_open()
        self._enter(StreamState.DONE)

    def _late(self, chunk: c.Chunk) -> None:
        """R40: some servers send chunks after `abort`; they change nothing."""
        self._report(v.AFTER_ABORT, f"{c.type_of(chunk)} came after abort")

    # ------------------------------------------------------------------ steps

    def _start_step(self, chunk: c.StartStepChunk) -> None:
        del chunk
        self._ensure_turn()
        self._end_response()
        self._in_step, self._step_answered, self._step_responded = True, False, False

    def _finish_step(self, chunk: c.FinishStepChunk) -> None:
        del chunk
        if not self._in_step:
            self._report(v.STEP_UNMATCHED, "finish-step came without start-step")
        self._end_response()
        self._in_step, self._step_answered, self._step_responded = False, False, False

    def _reset_step(self, chunk: c.ResetStepChunk) -> None:
        del chunk
        if self._step_answered or not self._in_step:
            self._report(v.RESET_TOO_LATE, "reset-step came after its response had finished")
            return
        if self._writer.response_open:
            self._writer.reset_response()
        self._forget_open()
        self._enter(StreamState.BETWEEN)

    # ----------------------------------------------------------------- inside

    def _time(self) -> str:
        return str(self._facts.get("timestamp") or self._at)

    def _begin_turn(self) -> None:
        agent = self._facts.get("agent_id")
        started = self._facts.take("started_at") or self._time()
        self._writer.begin_turn(str(agent or self._asked), str(started))
        self._last_finish = None
        self._in_step = self._step_answered = self._step_responded = False
        self._forget_open()
        self._enter(StreamState.BETWEEN)

    def _ensure_turn(self) -> None:
        if not self._writer.running:
            self._begin_turn()

    def _ensure_response(self) -> None:
        self._ensure_turn()
        if self._writer.response_open:
            return
        if self._step_answered and self._in_step:
            self._report(v.NEW_RESPONSE_IN_STEP, "a part started after an output in the same step")
        self._writer.begin_response(self._time(), self._facts.at_response_start())
        self._step_responded = True
        self._enter(StreamState.STREAMING)

    def _end_response(self) -> None:
        """R40: finish the response that is streaming, if any; what is still open in it is discarded (R28)."""
        self._response_facts()
        if self._writer.response_open:
            opened = self._writer.finish_response()
            if opened:
                self._report(v.OPEN_DISCARDED, f"{opened} part(s) were still open when their response finished")
            self._forget_open()
            self._enter(StreamState.BETWEEN)
        elif not self._facts.empty and self._writer.running:
            # A response without a single part is not kept, but it was paid for (R17).
            self._writer.add_usage(normalize_usage(self._facts.take("usage")))
            if not self._step_responded:  # what else was told of it is no other response's
                self._last_finish = self._facts.take("finish_reason") or self._last_finish
                self._facts.take("provider_response_id")

    def _response_facts(self) -> None:
        """Give the step's response the facts that carriers told about it, as soon as they are known."""
        if self._facts.empty or not self._step_responded or not self._writer.has_response:
            return
        facts = self._facts.at_response_end()
        if "finish_reason" in facts:
            self._last_finish = str(facts["finish_reason"])
            facts["finish_reason"] = normalize_finish_reason(self._last_finish)
        if "usage" in facts:
            facts["usage"] = normalize_usage(facts["usage"])
        if self._writer.response_settled:  # a message that is canonical does not change; it was paid for (R17)
            self._writer.add_usage(facts.get("usage", {}))
        elif facts:
            self._writer.set_facts(facts)

    def _forget_open(self) -> None:
        self._texts.clear()
        self._reasonings.clear()
        self._tools.clear()

    def _provider(self) -> str:
        """R15: the carrier, else the agent's registry entry, else `unknown`."""
        return str(self._facts.get("provider_name") or self._providers.get(self._writer.agent_id) or "unknown")

    def _refuse(self, chunk: c.Chunk) -> None:
        kind = v.AFTER_FINISH if self.state in (StreamState.FINISHED, StreamState.DONE) else v.OUT_OF_ORDER
        self._report(kind, f"{c.type_of(chunk)} came while the stream was {self.state.name.lower()}")

    @property
    def place(self) -> Place:
        """The place of the latest chunk."""
        return Place(side="client", event=self._index)

    def _report(self, kind: Kind, message: str) -> None:
        self.findings.append(kind.at(self.place, message))
