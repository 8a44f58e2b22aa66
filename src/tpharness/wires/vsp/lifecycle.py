"""How turns, steps and responses begin and end for a client.

In: the chunks that bound them (`start`, `finish`, `abort`, `error`, the steps, the end marker) and the carriers that
name an agent. Out: turns and responses in the journal, and the state of the stream. What is in a response is written by
`content` and `tool_calls`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import msgspec

from tpharness.facts import interruption_reason, normalize_finish_reason, normalize_usage
from tpharness.journal import Event
from tpharness.protocol.versions import ERROR_EVENT
from tpharness.wires.vsp import records as c
from tpharness.wires.vsp import violations as v
from tpharness.wires.vsp.carrier import STANDING, facts_of
from tpharness.wires.vsp.context import StreamContext
from tpharness.wires.vsp.states import StreamState

__all__ = ["KNOWN_REASONS", "Lifecycle"]

KNOWN_REASONS = frozenset({"user_cancelled", "timeout", "network_failure", "safety_halt", "error"})
"""The reasons of an interruption that `abort` may name; a carrier names any other (R27)."""


_ENDED = {StreamState.FINISHED: "finish", StreamState.ABORTED: "abort"}


class _Step(msgspec.Struct, gc=False):
    """One model call as the stream shows it."""

    announced: bool = False  # start-step came
    responded: bool = False  # a part of its response came
    answered: bool = False  # an output came, so its response has finished


class Lifecycle:
    """The turns, steps and responses of one thread's streams; `begin` for each stream, `close` at its end."""

    def __init__(self, context: StreamContext) -> None:
        self._context = context
        self._writer = context.writer
        self.state = StreamState.DONE
        """Where the stream stands."""

    def begin(self, agent_id: str) -> None:
        """Start a stream; `agent_id` is the agent that was asked, until a carrier names one."""
        self._asked = agent_id
        self._last_finish: str | None = None
        self._step = _Step()
        self.state = StreamState.IDLE

    def close(self, reason: str | None, at: str) -> None:
        """End the stream: the reason observed for its end, None for a plain end without `finish` (R27)."""
        context = self._context
        if self._writer.running:
            at = str(context.facts.take("interrupted_at") or at)
            self._interrupt(reason or "network_failure", at)
            context.open_parts.clear()
        elif self.state in _ENDED:
            context.report(v.NO_DONE, f"the stream ended after {_ENDED[self.state]} without [DONE]")
        self.state = StreamState.DONE

    # --------------------------------------------------------- for other parts

    @property
    def step_is_new(self) -> bool:
        """Whether a step was announced, and nothing of its response has come."""
        return self._step.announced and not self._step.responded

    def ensure_turn(self) -> None:
        """Begin a turn unless one is running: a stream without `start` begins it with its first chunk (R45)."""
        if not self._writer.running:
            self._begin_turn()

    def ensure_response(self) -> None:
        """Begin a response unless one is streaming."""
        if self._writer.response_open:
            return
        self.ensure_turn()
        if self._step.answered and self._step.announced:
            self._context.report(v.NEW_RESPONSE_IN_STEP, "a part started after an output in the same step")
        self._writer.begin_response(self._context.time, self._context.facts.at_response_start())
        self._last_finish = None  # R27: it is the last response's, and of this one nothing is known yet
        self._step.responded = True
        self.state = StreamState.STREAMING

    def end_response(self) -> None:
        """R40: finish the response that is streaming, if any; what is still open in it is discarded (R28)."""
        self._apply_response_facts()
        facts = self._context.facts
        if self._writer.response_open:
            opened = self._writer.finish_response()
            if opened:
                self._context.report(v.OPEN_DISCARDED, f"parts still open when their response finished: {opened}")
            self._context.open_parts.clear()
            self.state = StreamState.BETWEEN
        elif facts and self._writer.running:
            # A response without a single part is not kept, but it was paid for (R17).
            self._writer.add_usage(normalize_usage(facts.take("usage")))
            if not self._step.responded:  # its other facts do not belong to any other response
                self._last_finish = facts.take("finish_reason") or self._last_finish
                facts.take("provider_response_id")

    def answer_call(self, call_id: str) -> None:
        """R40: the final output of a call finishes the response that made it, because tools run only after that."""
        self.ensure_turn()
        if self._writer.in_open_response(call_id):
            self.end_response()
            self._step.answered = True

    def apply_carrier(self, data: Any) -> None:
        """Take in the data of a carrier; one that names another agent ends the turn of the agent before it (R45)."""
        facts, writer = self._context.facts, self._writer
        fresh = facts_of(data)
        named = fresh.get("agent_id")
        current = writer.agent_id if writer.running else facts.get("agent_id") or self._asked
        handed_over = named is not None and named != current
        if handed_over:
            if writer.running:
                self.end_response()  # with the facts that were in force, without those of this carrier
            self._last_finish = None
            facts.leave_agent()
        facts.take_in(data)
        if not writer.running:
            return
        if handed_over:
            if writer.turn_is_empty:
                writer.name_agent(str(named))
            else:
                writer.complete_turn(str(facts.get("started_at") or self._context.time))
                self._begin_turn()
        started = facts.take("started_at")
        if started is not None:
            writer.start_time(started)
        if writer.response_open and (model := {k: fresh[k] for k in STANDING if k in fresh}):
            writer.set_facts(model)  # the end of a response may name the model that answered
        self._apply_response_facts()

    # ------------------------------------------------------------ stream ends

    def _start(self, chunk: c.StartChunk) -> None:
        del chunk
        if self._writer.running:
            if not self._writer.only_events:  # an application may write events before it starts the model's stream
                self._context.report(v.SECOND_START, "start came while a turn was running")
            return
        self._begin_turn()

    def _finish(self, chunk: c.FinishChunk) -> None:
        facts = self._context.facts
        self.ensure_turn()
        if not self._step.announced and not self._step.responded:  # outside of a step it is the usage of the result
            self._writer.take_total_usage(normalize_usage(facts.take("usage")))
        self.end_response()
        self._judge_finish_reason(chunk.finish_reason)
        word = chunk.finish_reason or facts.take("finish_reason")
        last = self._last_finish
        reason = interruption_reason(word or last, error_seen=self._writer.interruption_held, last=last)
        completed = facts.take("completed_at") or self._context.time
        if reason is None:
            self._writer.complete_turn(str(completed))
        else:
            self._writer.interrupt_turn(reason, str(facts.take("interrupted_at") or completed))
        self._context.open_parts.clear()
        self.state = StreamState.FINISHED

    def _judge_finish_reason(self, said: str | None) -> None:
        """Report a word that no client knows, and one that is not what carriers said of the last response (R16)."""
        if said is not None and not any(said in words for words in c.FINISH_REASONS.values()):
            self._context.report(v.FINISH_UNKNOWN, f"finish says {said!r}")
        elif said not in (None, "error", "interrupted") and self._last_finish is not None:
            carried = normalize_finish_reason(self._last_finish)
            if carried != normalize_finish_reason(said):
                self._context.report(
                    v.FINISH_CONTRADICTS, f"finish says {said!r}, the carrier of its response {carried!r}"
                )

    def _abort(self, chunk: c.AbortChunk) -> None:
        context = self._context
        self.ensure_turn()
        own = context.facts.take("reason")  # R27: a word of the server's own, for which a stranger may write anything
        reason = own or (chunk.reason if chunk.reason in KNOWN_REASONS else "user_cancelled")
        self._interrupt(str(reason), str(context.facts.take("interrupted_at") or context.time))
        context.open_parts.clear()
        self.state = StreamState.ABORTED

    def _error(self, chunk: c.ErrorChunk) -> None:
        self.ensure_turn()
        at = self._context.time
        self._writer.add_event(Event(name=ERROR_EVENT, data={"error": chunk.error_text}, at=at))
        self._writer.hold_interruption("error", at)  # R27: unless a regular finish follows

    def _done(self, chunk: c.Done) -> None:
        """The end marker: a turn that has not ended by now is judged at `close`."""
        del chunk
        self._context.open_parts.clear()
        self.state = StreamState.DONE

    # ------------------------------------------------------------------ steps

    def _start_step(self, chunk: c.StartStepChunk) -> None:
        del chunk
        self.ensure_turn()
        self.end_response()
        self._step = _Step(announced=True)

    def _finish_step(self, chunk: c.FinishStepChunk) -> None:
        del chunk
        if not self._step.announced:
            self._context.report(v.STEP_UNMATCHED, "finish-step came without start-step")
        self.end_response()
        self._step = _Step()

    def _reset_step(self, chunk: c.ResetStepChunk) -> None:
        """R44: drop the parts of the response that is streaming."""
        del chunk
        if self._writer.response_open:
            self._writer.reset_response()
        elif self._step.answered or not self._step.announced:
            self._context.report(v.RESET_TOO_LATE, "reset-step came after its response had finished")
            return
        self._context.open_parts.clear()
        self.state = StreamState.BETWEEN

    # ----------------------------------------------------------------- inside

    def _interrupt(self, reason: str, at: str) -> None:
        # Usage of a response of which no part has come is that of the turn, which was paid for (R17).
        self._writer.add_usage(normalize_usage(self._context.facts.take("usage")))
        self._writer.interrupt_turn(reason, at)

    def _begin_turn(self) -> None:
        facts = self._context.facts
        agent = facts.get("agent_id")
        started = facts.take("started_at") or self._context.time
        self._writer.begin_turn(str(agent or self._asked), str(started))
        self._last_finish = None
        self._step = _Step()
        self._context.open_parts.clear()
        self.state = StreamState.BETWEEN

    def _apply_response_facts(self) -> None:
        """Give the step's response the facts that carriers sent about it, as soon as they are known."""
        carried = self._context.facts
        if not carried or not self._step.responded or not self._writer.has_response:
            return
        facts = carried.at_response_end()
        if "finish_reason" in facts:
            self._last_finish = str(facts["finish_reason"])
            facts["finish_reason"] = normalize_finish_reason(self._last_finish)
        if "usage" in facts:
            facts["usage"] = normalize_usage(facts["usage"])
        if self._writer.response_settled:  # a message that is canonical does not change; it was paid for (R17)
            self._writer.add_usage(facts.get("usage", {}))
        elif facts:
            self._writer.set_facts(facts)

    HANDLERS: ClassVar[Mapping[type, Callable[..., None]]] = {
        c.StartChunk: _start,
        c.FinishChunk: _finish,
        c.AbortChunk: _abort,
        c.ErrorChunk: _error,
        c.Done: _done,
        c.StartStepChunk: _start_step,
        c.FinishStepChunk: _finish_step,
        c.ResetStepChunk: _reset_step,
    }
    """Record → what a chunk of that kind does, in a state in which it is folded."""
