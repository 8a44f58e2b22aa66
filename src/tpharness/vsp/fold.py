"""The client's fold: chunks → journal.

In: chunk records with the time they were received. Out: the journal, and findings for chunks that have no place where
they came. The order of chunks is one table, `TRANSITIONS`, from (state, chunk record) to an action; a missing pair is a
violation, named with the chunk's index, and the thread is what it would be without that chunk (R36). Never a crash,
never half a part.
"""

# ruff: noqa: SLF001  # the table at the end names methods of the class above it
from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import Enum, auto
from typing import Any

from tpharness.facts import end_reason, finish_reason, usage
from tpharness.findings import Finding, Kind, Place
from tpharness.journal import Event, Interrupted, Journal, JournalWriter, OpenPart, UserTurn
from tpharness.vsp import chunks as c
from tpharness.vsp import violations as v
from tpharness.vsp.carrier import CARRIER, CarriedFacts, carried_return
from tpharness.vsp.parts import (
    DENIAL,
    call_fields,
    custom_part,
    file_fields,
    provider_facts,
    source_event,
    steering_prompt,
)

__all__ = ["TRANSITIONS", "ChunkFold", "StreamState"]

KNOWN_REASONS = frozenset({"user_cancelled", "timeout", "network_failure", "safety_halt", "error"})


class StreamState(Enum):
    """Where a stream stands between two chunks."""

    IDLE = auto()  # no turn has begun
    BETWEEN = auto()  # a turn runs, no response is streaming
    STREAMING = auto()  # parts of a response are streaming
    ABORTED = auto()  # the server said abort: nothing finishes any more (R40)
    FINISHED = auto()  # the server said finish (R35)
    DONE = auto()  # the end marker came


class ChunkFold:
    """Folds the chunks of one thread; one `begin` for each stream, then `feed`, then `close`."""

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
                    handle.pieces.append(chunk.delta)  # type: ignore[union-attr]
                    index += 1
                    continue
            elif kind is input_delta:
                handle = tools.get(chunk.tool_call_id)  # type: ignore[union-attr]
                if handle is not None:
                    handle.pieces.append(chunk.input_text_delta)  # type: ignore[union-attr]
                    index += 1
                    continue
            self._index = index
            self.feed(chunk, at)
            index = self._index
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
        self._actions = TRANSITIONS[state]

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
        reason = end_reason(word or self._last_finish, error_seen=self._writer.held)
        at = str(self._facts.take("completed_at") or self._time())
        if reason is None:
            self._writer.complete_turn(at, usage(self._facts.take("usage")))
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
        self._writer.add_event(Event(name="data-tp-error", data={"error": chunk.error_text}, at=at))
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

    # ------------------------------------------------------- text and reasoning

    def _text_start(self, chunk: c.TextStartChunk) -> None:
        if chunk.id in self._texts:
            self._report(v.DUPLICATE_START, f"text-start for {chunk.id!r}, which is open")
            return
        self._ensure_response()
        fields = {k: w for k, w in provider_facts(chunk.provider_metadata).items() if k == "id"}
        self._texts[chunk.id] = self._writer.open_part("text", fields, "content")

    def _text_delta(self, chunk: c.TextDeltaChunk) -> None:
        handle = self._texts.get(chunk.id)
        if handle is None:
            self._report(v.NO_START, f"text-delta for {chunk.id!r}")
        else:
            handle.pieces.append(chunk.delta)

    def _text_end(self, chunk: c.TextEndChunk) -> None:
        handle = self._texts.pop(chunk.id, None)
        if handle is None:
            self._report(v.NO_START, f"text-end for {chunk.id!r}")
        else:
            self._writer.close_part(handle, id=provider_facts(chunk.provider_metadata).get("id"))

    def _reasoning_start(self, chunk: c.ReasoningStartChunk) -> None:
        if chunk.id in self._reasonings:
            self._report(v.DUPLICATE_START, f"reasoning-start for {chunk.id!r}, which is open")
            return
        self._ensure_response()
        self._reasonings[chunk.id] = self._writer.open_part("thinking", {}, "content")
        self._reasoning_facts(self._reasonings[chunk.id], chunk.provider_metadata)

    def _reasoning_delta(self, chunk: c.ReasoningDeltaChunk) -> None:
        handle = self._reasonings.get(chunk.id)
        if handle is None:
            self._report(v.NO_START, f"reasoning-delta for {chunk.id!r}")
            return
        handle.pieces.append(chunk.delta)
        if chunk.provider_metadata is not None:
            self._reasoning_facts(handle, chunk.provider_metadata)

    def _reasoning_end(self, chunk: c.ReasoningEndChunk) -> None:
        handle = self._reasonings.pop(chunk.id, None)
        if handle is None:
            self._report(v.NO_START, f"reasoning-end for {chunk.id!r}")
            return
        self._reasoning_facts(handle, chunk.provider_metadata)
        handle.fields.setdefault("provider_name", self._provider())
        self._writer.close_part(handle)

    def _reasoning_facts(self, handle: OpenPart, metadata: Mapping[str, Any] | None) -> None:
        facts = provider_facts(metadata)
        if "id" in facts:
            facts["thinking_id"] = facts.pop("id")
        handle.fields.update(facts)

    # ------------------------------------------------------------------ calls

    def _input_start(self, chunk: c.ToolInputStartChunk) -> None:
        call_id = chunk.tool_call_id
        if call_id in self._tools or (
            self._writer.call_key(call_id) is not None and not self._writer.answered(call_id)
        ):
            self._report(v.DUPLICATE_START, f"tool-input-start for {call_id!r}, which is waiting for its output")
            self._ignored_calls.add(call_id)
            return
        self._ensure_response()
        kind = "builtin-tool-call" if chunk.provider_executed else "tool-call"
        self._tools[call_id] = self._writer.open_part(kind, call_fields(chunk), "args")

    def _input_delta(self, chunk: c.ToolInputDeltaChunk) -> None:
        handle = self._tools.get(chunk.tool_call_id)
        if handle is not None:
            handle.pieces.append(chunk.input_text_delta)
        elif chunk.tool_call_id not in self._ignored_calls:
            self._report(v.NO_START, f"tool-input-delta for {chunk.tool_call_id!r}")

    def _input_available(self, chunk: c.ToolInputAvailableChunk | c.ToolInputErrorChunk) -> bool:
        call_id = chunk.tool_call_id
        handle = self._tools.pop(call_id, None)
        if handle is None:
            if call_id in self._ignored_calls:
                self._ignored_calls.discard(call_id)
                return False
            if self._writer.call_key(call_id) is not None and not self._writer.answered(call_id):
                if isinstance(chunk, c.ToolInputErrorChunk):
                    return True  # complete before, refused now
                if self._writer.in_open_response(call_id):
                    self._report(v.DUPLICATE_START, f"{c.type_of(chunk)} for {call_id!r}, which is complete")
                return False  # a call of an earlier response, said again (R31)
            self._ensure_response()
            handle = self._writer.open_part("tool-call", {}, "args")
        if chunk.provider_executed or handle.kind == "builtin-tool-call":
            handle.kind = "builtin-tool-call"
            self._provider_calls[call_id] = handle.fields
        self._writer.close_part(handle, **call_fields(chunk), args=chunk.input)
        handle.fields.setdefault("args", None)
        return True

    def _input_error(self, chunk: c.ToolInputErrorChunk) -> None:
        """A call that was refused before any tool ran: its response goes on, only an output ends it (R40)."""
        if not self._input_available(chunk):
            return
        self._input_errors.add(chunk.tool_call_id)
        if chunk.tool_call_id in self._provider_calls:
            self._provider_output(chunk.tool_call_id, chunk.error_text)
        else:
            self._add_return(chunk.tool_call_id, "validation_error", chunk.error_text)

    # ---------------------------------------------------------------- outputs

    def _output(self, chunk: c.ToolOutputAvailableChunk) -> None:
        if chunk.preliminary:  # R14: progress, not a return
            self._known_call(chunk.tool_call_id, chunk)
        elif chunk.tool_call_id in self._provider_calls:
            self._provider_output(chunk.tool_call_id, chunk.output)
        elif self._answerable(chunk.tool_call_id, chunk):
            self._add_return(chunk.tool_call_id, "success", chunk.output)

    def _output_error(self, chunk: c.ToolOutputErrorChunk) -> None:
        if chunk.tool_call_id in self._input_errors:
            self._input_errors.discard(chunk.tool_call_id)
            self._report(v.ERROR_REPEATED, f"tool-output-error for {chunk.tool_call_id!r} after its tool-input-error")
        elif chunk.tool_call_id in self._provider_calls:
            self._provider_output(chunk.tool_call_id, chunk.error_text)
        elif self._answerable(chunk.tool_call_id, chunk):
            self._add_return(chunk.tool_call_id, "error", chunk.error_text)

    def _output_denied(self, chunk: c.ToolOutputDeniedChunk) -> None:
        if self._answerable(chunk.tool_call_id, chunk):  # R22: a denied call is an error return
            self._add_return(chunk.tool_call_id, "error", self._denials.get(chunk.tool_call_id, DENIAL))

    def _approval_request(self, chunk: c.ToolApprovalRequestChunk) -> None:
        if self._known_call(chunk.tool_call_id, chunk):
            self._approvals[chunk.approval_id] = chunk.tool_call_id

    def _approval_response(self, chunk: c.ToolApprovalResponseChunk) -> None:
        call_id = self._approvals.get(chunk.approval_id)
        if call_id is None:
            self._report(v.NO_CALL, f"tool-approval-response for {chunk.approval_id!r}, which was never asked for")
        elif not chunk.approved and chunk.reason:
            self._denials[call_id] = chunk.reason

    def _known_call(self, call_id: str, chunk: c.Chunk) -> bool:
        if call_id in self._tools:
            self._report(v.NO_CALL, f"{c.type_of(chunk)} for {call_id!r}, whose input is still streaming")
            return False
        if self._writer.call_key(call_id) is None and call_id not in self._provider_calls:
            self._report(v.NO_CALL, f"{c.type_of(chunk)} for {call_id!r}, which was never called")
            return False
        return True

    def _answerable(self, call_id: str, chunk: c.Chunk) -> bool:
        if not self._known_call(call_id, chunk):
            return False
        if self._writer.answered(call_id):
            self._report(v.SECOND_OUTPUT, f"{c.type_of(chunk)} for {call_id!r}, which has its return")
            return False
        self._ensure_turn()
        if self._writer.in_open_response(call_id):  # R40: tools run only after their response
            self._end_response()
            self._step_answered = True
        return True

    def _add_return(self, call_id: str, status: str, content: Any) -> None:
        """Record a return; a carrier may say more of it than the wire does."""
        fields = {
            "tool_name": self._writer.tool_name(call_id) or "",
            "tool_call_id": call_id,
            "status": status,
            "content": content,
        }
        kind, fields = carried_return(fields, self._facts.take("tool_return"))
        self._writer.add_return(call_id, kind, fields, self._time())

    def _provider_output(self, call_id: str, content: Any) -> None:
        """R42: what a provider executed itself is part of its response, and ends nothing."""
        if not self._writer.response_open:
            self._report(v.LATE_PROVIDER_OUTPUT, f"output of {call_id!r} came after its response had finished")
            return
        call = self._provider_calls[call_id]
        fields = {"tool_name": call.get("tool_name", ""), "tool_call_id": call_id, "content": content}
        if "provider_name" in call:
            fields["provider_name"] = call["provider_name"]
        self._writer.add_part("builtin-tool-return", fields)

    # --------------------------------------------------- content that is whole

    def _file(self, chunk: c.FileChunk) -> None:
        self._ensure_response()
        self._writer.add_part("file", file_fields(chunk))

    def _custom(self, chunk: c.CustomChunk | c.ReasoningFileChunk) -> None:
        self._ensure_response()
        self._writer.add_part(*custom_part(chunk))

    def _source(self, chunk: c.SourceUrlChunk | c.SourceDocumentChunk) -> None:
        self._ensure_turn()
        if self._in_step:
            self._ensure_response()
        name, data = source_event(chunk)
        self._writer.add_event(Event(name=name, data=data, at=self._time(), bound=self._writer.response_open))

    def _steering(self, chunk: c.SteeringMessageChunk) -> None:
        self._ensure_turn()
        self._end_response()
        self._writer.add_prompt([steering_prompt(chunk)], self._time())  # R44

    def _data(self, chunk: c.DataChunk) -> None:
        if chunk.name == CARRIER:
            self._carrier(chunk.data)
            return
        if chunk.transient and not chunk.name.startswith("data-tp-"):
            return  # said to be seen, not kept; a normative event is a fact all the same
        self._ensure_turn()
        source, targets = self._facts.take("source_agent"), self._facts.take("target_agents")
        self._writer.add_event(
            Event(
                name=chunk.name.removeprefix("data-") if chunk.name.startswith("data-meta:") else chunk.name,
                data=chunk.data,
                at=self._time(),
                source_agent=source,
                target_agents=tuple(targets) if isinstance(targets, list) else None,
            )
        )

    def _carrier(self, data: Any) -> None:
        self._facts.update(data)
        agent, started = self._facts.get("agent_id"), self._facts.take("started_at")
        if not self._writer.running or not isinstance(agent, str):
            return
        if agent != self._writer.agent_id:
            if self._writer.turn_is_empty:
                self._writer.name_agent(agent)
            else:  # R45: the carrier names another agent, so the turn before is complete here
                self._end_response()
                self._writer.complete_turn(self._time())
                self._begin_turn()
        if isinstance(started, str):
            self._writer.start_time(started)
        self._response_facts()

    def _metadata(self, chunk: c.Chunk) -> None:
        """Message metadata is the application's own; it is no part of the thread."""

    def _unknown(self, chunk: c.UnknownChunk) -> None:
        """R7: a chunk of an unknown type is kept as an event."""
        self._report(v.UNKNOWN_TYPE, f"chunk of unknown type {chunk.type!r}")
        self._ensure_turn()
        data = {k: w for k, w in chunk.raw.items() if k != "type"}
        self._writer.add_event(Event(name=chunk.type, data=data, at=self._time()))

    def _no_start(self, chunk: c.KnownChunk) -> None:
        """A delta or an end while nothing is streaming."""
        if not (isinstance(chunk, c.ToolInputDeltaChunk) and chunk.tool_call_id in self._ignored_calls):
            name = getattr(chunk, "id", None) or getattr(chunk, "tool_call_id", None)
            self._report(v.NO_START, f"{c.type_of(chunk)} for {name!r}")

    def _malformed(self, chunk: c.Malformed) -> None:
        self.findings.append(chunk.finding(self.place))

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
        elif (
            not self._facts.empty and self._writer.running
        ):  # a response without a single part is not kept, but it was paid for (R17)
            self._writer.add_usage(usage(self._facts.take("usage")))

    def _response_facts(self) -> None:
        """Give the step's response the facts that carriers told about it, as soon as they are known."""
        if self._facts.empty or not self._step_responded or not self._writer.has_response:
            return
        facts = self._facts.at_response_end()
        if "finish_reason" in facts:
            self._last_finish = str(facts["finish_reason"])
            facts["finish_reason"] = finish_reason(self._last_finish)
        if "usage" in facts:
            facts["usage"] = usage(facts["usage"])
        if facts:
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


_Action = Callable[[ChunkFold, Any], Any]
_F = ChunkFold

_STARTS: dict[type, _Action] = {
    c.StartChunk: _F._start,
    c.FinishChunk: _F._finish,
    c.AbortChunk: _F._abort,
    c.ErrorChunk: _F._error,
    c.StartStepChunk: _F._start_step,
    c.FinishStepChunk: _F._finish_step,
    c.ResetStepChunk: _F._reset_step,
    c.TextStartChunk: _F._text_start,
    c.ReasoningStartChunk: _F._reasoning_start,
    c.ToolInputStartChunk: _F._input_start,
    c.ToolInputAvailableChunk: _F._input_available,
    c.ToolInputErrorChunk: _F._input_error,
    c.ToolOutputAvailableChunk: _F._output,
    c.ToolOutputErrorChunk: _F._output_error,
    c.ToolOutputDeniedChunk: _F._output_denied,
    c.ToolApprovalRequestChunk: _F._approval_request,
    c.ToolApprovalResponseChunk: _F._approval_response,
    c.FileChunk: _F._file,
    c.ReasoningFileChunk: _F._custom,
    c.CustomChunk: _F._custom,
    c.SourceUrlChunk: _F._source,
    c.SourceDocumentChunk: _F._source,
    c.SteeringMessageChunk: _F._steering,
    c.MessageMetadataChunk: _F._metadata,
}
_ALWAYS: dict[type, _Action] = {c.Malformed: _F._malformed}
_OPEN: dict[type, _Action] = {**_ALWAYS, c.DataChunk: _F._data, c.UnknownChunk: _F._unknown, c.Done: _F._done}
_DELTAS: dict[type, _Action] = {
    c.TextDeltaChunk: _F._text_delta,
    c.TextEndChunk: _F._text_end,
    c.ReasoningDeltaChunk: _F._reasoning_delta,
    c.ReasoningEndChunk: _F._reasoning_end,
    c.ToolInputDeltaChunk: _F._input_delta,
}

TRANSITIONS: Mapping[StreamState, Mapping[type, _Action]] = {
    StreamState.IDLE: {**_OPEN, **_STARTS, **dict.fromkeys(_DELTAS, _F._no_start)},
    StreamState.BETWEEN: {**_OPEN, **_STARTS, **dict.fromkeys(_DELTAS, _F._no_start)},
    StreamState.STREAMING: {**_OPEN, **_STARTS, **_DELTAS},
    StreamState.ABORTED: {
        **_ALWAYS,
        **dict.fromkeys((*_STARTS, *_DELTAS, c.DataChunk, c.UnknownChunk), _F._late),
        c.Done: _F._done,
    },
    StreamState.FINISHED: {**_ALWAYS, c.Done: _F._done},
    StreamState.DONE: {**_ALWAYS},
}
"""Which chunk may come when, and what it does; a pair that is not here is a violation (R35, R36)."""
