"""The server's fold: model events → journal.

In: server events (see `events`), one at a time, with their times; at the end, the interruption if there was one. Out:
the journal, and findings for events that have no place in the run's order. No I/O, no clock, no import of Pydantic AI.

`event_kind` lets an event in when its fields are what `shapes` says, so that the actions here may rely on them. The
order of events is one table from (state, kind) to an action; a missing pair is a violation, named with the event's
index, and the thread is what it would be without that event (R36).
"""

# ruff: noqa: SLF001  # the table at the end names methods of the class above it
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tpharness.facts import interruption_reason, join_text, normalize_finish_reason, normalize_usage
from tpharness.finding_log import FindingLog
from tpharness.findings import Finding, Kind, Place
from tpharness.journal import Entry, Event, Interrupted, Journal, JournalWriter, OpenPart, OpenResponse, UserTurn
from tpharness.protocol.versions import ERROR_EVENT
from tpharness.server_events import events as vocabulary
from tpharness.server_events import violations as v
from tpharness.server_events.calls import RunCalls
from tpharness.server_events.events import EventKind, event_kind, event_time
from tpharness.server_events.parts import extend_part, find_prompts, part_fields, pick_fields
from tpharness.server_events.returns import custom_event, data_events, return_part, system_event
from tpharness.server_events.shapes import DELTA
from tpharness.server_events.states import RunState

__all__ = ["TRANSITIONS", "Recorder"]

_CALLS = ("tool-call", "builtin-tool-call")
_TEXT_FIELDS = {"text": "content", "thinking": "content", **dict.fromkeys(_CALLS, "args")}
_DELTAS = {"text": "text", "thinking": "thinking", **dict.fromkeys(_CALLS, "tool_call")}


class Recorder:
    """Folds the server's events of one thread; one `begin` … `feed`* … (`interrupt`)? for each run."""

    def __init__(self, *, providers: Mapping[str, str] | None = None, errors_interrupt: bool = True) -> None:
        """Fold for agents of these providers; `errors_interrupt` false is for a program that asks its model again."""
        self._errors_interrupt = errors_interrupt
        self._writer = JournalWriter()
        self._providers = dict(providers or {})
        self._log = FindingLog()
        self.state = RunState.ENDED

    @property
    def version(self) -> int:
        """A number that grows whenever a document could show a change."""
        return self._writer.version

    def add_user_turn(self, turn: UserTurn) -> None:
        """Record what the user submitted."""
        self._writer.add_user_turn(turn)

    def begin(self, agent_id: str, at: str) -> None:
        """Start a run."""
        self._writer.begin_turn(agent_id, at)
        self._started_at = self._at = at
        self._index = -1
        self.state = RunState.BETWEEN
        self._parts: dict[int, OpenPart] = {}
        self._by_call: dict[tuple[str, str], list[OpenPart]] = {}  # those of them that are calls, by kind and id
        self._calls = RunCalls(self._writer)
        self._newest_call: OpenPart | None = None
        self._model: dict[str, Any] = {}
        self._last_finish: str | None = None

    def feed(
        self, event: Mapping[str, Any], judged: EventKind | Finding | None = None, *, index: int | None = None
    ) -> None:
        """Fold one event; `index` says which one it is to the reader, by default the next.

        `judged` is what `event_kind` says of it, if the caller has asked.
        """
        self._index = self._index + 1 if index is None else index
        kind = event_kind(event) if judged is None else judged
        if isinstance(kind, Finding):
            self._log.add(replace(kind, place=self._place()))
            return
        self._at = event_time(event, self._started_at, self._at)
        action = TRANSITIONS.get((self.state, kind))
        if action is None:
            self._report(v.OUT_OF_ORDER, f"{kind.value} came while the run was {self.state.name.lower()}", got=event)
            return
        action(self, event)

    @property
    def findings(self) -> list[Finding]:
        """What was found so far, in the order of the events; bounded (`FindingLog`)."""
        return self._log.findings()

    @property
    def time(self) -> str:
        """When the latest event of the run happened."""
        return self._at

    def tool_name(self, call_id: str) -> str | None:
        """Return the tool that the thread's call of that id names, complete or still streaming; None without a call."""
        for part in self._by_call.get(("tool-call", call_id), ()):
            return str(part.fields["tool_name"])
        return self._writer.tool_name(call_id)

    @property
    def waiting_calls(self) -> frozenset[str]:
        """The ids of the thread's calls that have no return."""
        return self._writer.waiting_calls

    @property
    def waiting_provider_calls(self) -> frozenset[str]:
        """The ids of the thread's calls of the provider that have no output (R42)."""
        return self._writer.provider_calls.waiting

    def has_return(self, call_id: str) -> bool:
        """Whether the thread's call of that id has its return, and does not stream again."""
        return not self._streams(call_id) and self._writer.has_return(call_id)

    def interrupt(self, reason: str, at: str) -> None:
        """Cut the run here; after its end this changes nothing (R26)."""
        if self.state is not RunState.ENDED:
            self._writer.interrupt_turn(reason, at)
            self.state = RunState.ENDED

    def journal(self, cut: Interrupted | None = None, *, partial: bool = False) -> Journal:
        """Return the journal as of now, cut here if `cut` is given and the run has not ended."""
        return self._writer.journal(cut, partial=partial)

    @property
    def written(self) -> Sequence[OpenResponse | Entry]:
        """The entries of the last turn as they are written (`JournalWriter.written`)."""
        return self._writer.written

    # ---------------------------------------------------------------- actions

    def _ignore(self, event: Mapping[str, Any]) -> None:
        """Stalls only take time; the others repeat what parts say."""

    def _progress(self, event: Mapping[str, Any]) -> None:
        """R14: progress is not a return."""
        self._writer.note_running(event["tool_call_id"], self._at, event["content"])

    def _request(self, event: Mapping[str, Any]) -> None:
        self._begin_request(find_prompts(event))
        self._note_model(event)

    def _part_start(self, event: Mapping[str, Any]) -> None:
        index, part = event["index"], event["part"]
        if part["part_kind"] == "tool-call" and self._waits(part["tool_call_id"]):
            self._report(v.OUT_OF_ORDER, f"call {part['tool_call_id']!r} started again before its return", got=part)
            return
        again = self.state is RunState.RESPONDING and index in self._parts
        if self.state is not RunState.RESPONDING or again:
            self._finish_response()
            self._begin_response()
        kind = part["part_kind"]
        fields = part_fields(kind, part)
        text_field = _TEXT_FIELDS.get(kind)
        if kind == "builtin-tool-return":
            call = self._call_of_output(part["tool_call_id"])
            if call is None:
                self._report(v.UNKNOWN_CALL, f"output of the provider's call {part['tool_call_id']!r}", got=part)
                return  # R14, R36, R42
            fields |= pick_fields(call.fields, ("tool_name", "provider_name"))  # a stream repeats neither
        if text_field is None:
            self._writer.add_part(kind, fields)
            self._parts[index] = OpenPart(kind, fields, [], None, complete=True)
            return
        first = fields.pop(text_field, None)
        handle = self._writer.open_part(kind, fields, text_field)
        self._parts[index] = handle
        if kind in _CALLS:
            self._newest_call = handle
            self._by_call.setdefault((kind, fields["tool_call_id"]), []).append(handle)
        if isinstance(first, str):
            handle.pieces.append(first)
        elif first is not None:
            handle.fields[text_field] = first

    def _part_delta(self, event: Mapping[str, Any]) -> None:
        handle = self._parts.get(event["index"])
        if handle is None or handle.complete:
            self._report(v.UNKNOWN_PART, f"delta for part {event['index']}", got=event)
            return
        delta = event["delta"]
        kind = delta["part_delta_kind"]
        if kind != _DELTAS[handle.kind]:
            if kind in DELTA.records:
                self._report(v.UNKNOWN_PART, f"{kind} delta for the {handle.kind} part {event['index']}", got=event)
            else:  # R7
                self._log.add(vocabulary.UNKNOWN.at(self._place(), f"a delta of the unknown kind {kind!r}"))
            return
        if kind == "text":
            handle.append(delta["content_delta"])
            return
        if kind == "tool_call":
            handle.ended = False
            handle.interleaved = handle.interleaved or handle is not self._newest_call
        extend_part(handle, delta)

    def _part_end(self, event: Mapping[str, Any]) -> None:
        handle = self._parts.get(event["index"])
        if handle is None or (handle.complete and handle.text_field is not None):
            self._report(v.UNKNOWN_PART, f"end of part {event['index']}", got=event)
            return
        if event["part"]["part_kind"] != handle.kind:
            self._report(v.UNKNOWN_PART, f"a {handle.kind} part {event['index']} ends as another kind", got=event)
            return
        if handle.complete or handle.kind in _CALLS:
            handle.ended = True
            return  # R10: a call is complete at the end of its response, its deltas may go on after this
        final = event["part"].get("content")
        held = join_text(handle.pieces)
        if isinstance(final, str) and join_text([final]) != held:  # what the client was not sent is not kept
            self._report(v.PART_DIFFERS, f"part {event['index']}", got=final, expected=held)
        extra = part_fields(handle.kind, event["part"])
        extra.pop("content", None)
        if handle.kind == "thinking":
            extra.setdefault("provider_name", handle.fields.get("provider_name") or self._provider())
        self._writer.close_part(handle, **extra)

    def _response_end(self, event: Mapping[str, Any]) -> None:
        facts = {k: event.get(k) for k in ("model_name", "provider_name", "provider_response_id")}
        self._note_model(event)
        self._last_finish = event.get("finish_reason")
        facts["finish_reason"] = normalize_finish_reason(event.get("finish_reason"))
        facts["usage"] = normalize_usage(event.get("usage")) or None
        if not self._writer.response_open:
            executing = self.state is RunState.EXECUTING and self._writer.has_response
            if executing and not self._writer.response_settled:  # one of its tools has started, which ended it (R40)
                self._writer.set_facts(facts)
            else:  # a response without a part: it is not kept, but it was paid for (R17)
                self._writer.add_usage(facts["usage"] or {})
            return
        self._writer.set_facts(facts)
        self._writer.note_failure(failed=False)
        self._finish_response()
        self.state = RunState.EXECUTING

    def _tool_call(self, event: Mapping[str, Any]) -> None:
        part = event["part"]
        call_id = part["tool_call_id"]
        if self.tool_name(call_id) is None:
            self._report(v.UNKNOWN_CALL, f"start of the tool of call {call_id!r}", got=part)
            return  # R36: a call of a history that this thread does not hold
        if self._streams(call_id):
            self._finish_response(part)
            self.state = RunState.EXECUTING
        else:
            self._calls.amend(part, self._report)
        self._writer.note_running(call_id, self._at)

    def _tool_result(self, event: Mapping[str, Any]) -> None:
        part = event["part"]
        call_id = part["tool_call_id"]
        tool_name = self.tool_name(call_id)
        if tool_name is None:
            self._report(v.UNKNOWN_CALL, f"result for call {call_id!r}", got=part)
            return  # R36: it is ignored, so the response continues
        if self._streams(call_id):
            self._finish_response()
            self.state = RunState.EXECUTING
        written = return_part(part, tool_name)
        if written is None:
            return  # R41: the result of a tool that the interruption stopped is not a return, and tells nothing
        if self._writer.has_return(call_id):
            self._report(v.SECOND_RETURN, f"second result for call {call_id!r}", got=part)
            return
        kind, fields = written
        self._writer.add_return(call_id, kind, fields, self._at)
        for name, data in data_events(part.get("metadata")):
            self._writer.add_event(Event(name=name, data=data, at=self._at))

    def _event(self, event: Mapping[str, Any]) -> None:
        written = system_event(event, self._at)
        if written is not None:
            self._writer.add_event(written)

    def _custom(self, event: Mapping[str, Any]) -> None:
        written = custom_event(event, self._at)
        if written is not None:
            self._writer.add_event(written)

    def _enqueued(self, event: Mapping[str, Any]) -> None:
        for message in event.get("messages") or ():
            if prompts := find_prompts(message):
                self._begin_request(prompts)

    def _error(self, event: Mapping[str, Any]) -> None:
        self._writer.note_failure()
        self._writer.add_event(Event(name=ERROR_EVENT, data={"error": event["error_text"]}, at=self._at))
        if self._errors_interrupt:
            self._writer.hold_interruption("error", self._at)  # R27: unless a regular result follows

    def _reset(self, event: Mapping[str, Any]) -> None:
        del event
        self._writer.reset_response()
        self._parts, self._by_call = {}, {}
        self.state = RunState.BETWEEN

    def _agent_start(self, event: Mapping[str, Any]) -> None:
        agent_id = event["agent_id"]
        if agent_id == self._writer.agent_id:
            return
        self._finish_response()
        self._calls.begin_response()
        self._model, self._last_finish = {}, None
        if self._writer.turn_is_empty:
            self._writer.name_agent(agent_id, self._at)
            return
        self._writer.complete_turn(self._at)  # R45
        self._writer.begin_turn(agent_id, self._at)
        self.state = RunState.BETWEEN

    def _result(self, event: Mapping[str, Any]) -> None:
        self._finish_response()
        last = self._last_finish
        finish = event.get("finish_reason") or last
        reason = interruption_reason(finish, error_seen=self._writer.interruption_held, last=last)
        self._writer.take_total_usage(normalize_usage(event.get("usage")))
        if reason is None:
            self._writer.complete_turn(self._at)
        else:
            self._writer.interrupt_turn(reason, self._at)
        self.state = RunState.ENDED

    # ----------------------------------------------------------------- inside

    def _begin_request(self, prompts: Sequence[Mapping[str, Any]]) -> None:
        self._finish_response()
        self._calls.begin_response()
        self.state = RunState.BETWEEN
        if prompts:
            self._writer.add_prompt([pick_fields(p, ("part_kind", "content")) for p in prompts], self._at)

    def _begin_response(self) -> None:
        self._writer.begin_response(self._at, self._model)
        self._last_finish = None  # R27: it is the last response's, and of this one nothing is known yet
        self._parts, self._by_call = {}, {}
        self._calls.begin_response()
        self.state = RunState.RESPONDING

    def _finish_response(self, started: Mapping[str, Any] | None = None) -> None:
        """Finish the open response, if there is one; a tool that `started` may bring the arguments of its call."""
        if not self._writer.response_open:
            return
        for handle in self._parts.values():
            if handle.kind in _CALLS and not handle.complete:
                self._calls.complete(handle, started)
        opened = self._writer.finish_response()
        if opened:
            self._report(v.DISCARDED, f"open parts that are discarded: {opened}")

    def _streams(self, call_id: str) -> bool:
        """Whether a call is one of the response that streams: only its own tools end a response (R40)."""
        return self._writer.response_open and ("tool-call", call_id) in self._by_call

    def _call_of_output(self, call_id: str) -> OpenPart | None:
        """Return the provider's call that has its output now, complete: its input is sent by then (R10, R42).

        It may be one of an earlier response or run. None if the thread has no such call, or if it has had its output.
        """
        for handle in self._by_call.get(("builtin-tool-call", call_id), ()):
            if not handle.complete:
                self._calls.complete(handle, None)
        calls = self._writer.provider_calls
        return None if calls.answered(call_id) else calls.get(call_id)

    def _waits(self, call_id: str) -> bool:
        """Whether the thread has a call of that id, streaming or complete, that has no return yet."""
        return self.tool_name(call_id) is not None and not self.has_return(call_id)

    def _note_model(self, event: Mapping[str, Any]) -> None:
        """A model that was named answers until another is, or until the agent changes: R39, R45."""
        named = {k: event[k] for k in ("model_name", "provider_name") if event.get(k) is not None}
        self._model = {**self._model, **named}

    def _provider(self) -> str:
        return str(self._model.get("provider_name") or self._providers.get(self._writer.agent_id) or "unknown")

    def _place(self) -> Place:
        return Place(side="server", event=self._index)

    def _report(self, kind: Kind, message: str, *, got: Any = None, expected: Any = None) -> None:
        self._log.add(kind.at(self._place(), message, got=got, expected=expected))


_Action = Callable[[Recorder, Mapping[str, Any]], None]
_S, _K = RunState, EventKind
_ANYTIME: dict[EventKind, _Action] = {
    _K.MODEL_REQUEST: Recorder._request,
    _K.PART_START: Recorder._part_start,
    _K.FUNCTION_TOOL_CALL: Recorder._tool_call,
    _K.OUTPUT_TOOL_CALL: Recorder._tool_call,
    _K.FUNCTION_TOOL_RESULT: Recorder._tool_result,
    _K.OUTPUT_TOOL_RESULT: Recorder._tool_result,
    _K.MODEL_RESPONSE_END: Recorder._response_end,
    _K.SYSTEM_EVENT: Recorder._event,
    _K.CUSTOM: Recorder._custom,
    _K.ENQUEUED_MESSAGES: Recorder._enqueued,
    _K.ERROR: Recorder._error,
    _K.AGENT_START: Recorder._agent_start,
    _K.AGENT_RUN_RESULT: Recorder._result,
    _K.TOOL_PROGRESS: Recorder._progress,
    **dict.fromkeys(
        (_K.FINAL_RESULT, _K.DEFERRED_TOOL_REQUESTS, _K.DEFERRED_TOOL_RESULTS, _K.STALL),
        Recorder._ignore,
    ),
}
TRANSITIONS: Mapping[tuple[RunState, EventKind], _Action] = {
    **{
        (state, kind): action
        for state in (_S.BETWEEN, _S.RESPONDING, _S.EXECUTING)
        for kind, action in _ANYTIME.items()
    },
    (_S.RESPONDING, _K.PART_DELTA): Recorder._part_delta,
    (_S.RESPONDING, _K.PART_END): Recorder._part_end,
    (_S.RESPONDING, _K.RESPONSE_RESET): Recorder._reset,
    (_S.BETWEEN, _K.RESPONSE_RESET): Recorder._ignore,  # R44: before any part there is nothing to drop
    # Pydantic AI reports the result object after an event that already ended the run's last response.
    **{(_S.ENDED, kind): Recorder._ignore for kind in (_K.STALL, _K.FINAL_RESULT)},
}
"""Which event may come when, and what it does; a pair that is not here is a violation (R36)."""
