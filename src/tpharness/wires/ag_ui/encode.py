"""Chunks → AG-UI: what the reference server sends over this wire.

In: the chunks of one run, as the encoder of server events makes them. Out: events as JSON objects, and their bytes. A
run keeps AG-UI's rules whatever its chunks are: everything is closed before RUN_FINISHED, and what was cut says so in
its metadata (G3), since the end of a call is not the end of its arguments there. A connection that is lost writes
nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from copy import copy
from typing import TYPE_CHECKING, Any, ClassVar

from tpharness.facts import join_text
from tpharness.protocol.compare import identical
from tpharness.wires.ag_ui.carriers import KEY, carry
from tpharness.wires.ag_ui.contents import parse
from tpharness.wires.sse.writer import encode_data, encode_json
from tpharness.wires.vsp.carrier import CARRIER, facts_of

if TYPE_CHECKING:
    from typing import Self

__all__ = ["AgUiEncoder", "to_bytes"]

Event = dict[str, Any]

_INTERRUPTED = ("error", "interrupted", "content-filter")
"""Words of a `finish` by which a run that reported an error has failed (R27)."""


def to_bytes(events: Iterable[Mapping[str, Any]]) -> bytes:
    """Return events as a server sends them: LF, one event a frame (rule 107)."""
    return b"".join(encode_data(encode_json(event)) for event in events)


class AgUiEncoder:
    """Encodes one run; `feed` takes one chunk after another, as JSON objects.

    `waiting` are calls of earlier runs that have no result: they are answered, and not streamed again (rule 17).
    """

    def __init__(self, *, thread_id: str, run_id: str, waiting: Iterable[str] = ()) -> None:
        self._thread_id, self._run_id = thread_id, run_id
        self._serial = self._steps = 0
        self._began = self._ended = False
        self._texts: dict[str, str] = {}
        self._silent: dict[str, None] = {}  # texts without a word so far
        self._thoughts: dict[str, str] = {}
        self._calls: dict[str, list[str]] = {}
        self._names: dict[str, str] = {}
        self._wire_ids: dict[str, str] = {}
        self._unanswered: dict[str, None] = {}
        self._earlier = dict.fromkeys(waiting)
        self._pending: dict[str, None] = {}  # the same by their ids on the wire, with those that were cut
        self._approvals: dict[str, str] = {}
        self._step = ""
        self._error: str | None = None
        self._agent: str | None = None
        self._message: str | None = None

    def fork(self) -> Self:
        """Return an independent encoder in the same state, to end the run in another way."""
        twin = copy(self)
        for name, value in vars(self).items():
            if isinstance(value, dict):
                setattr(twin, name, dict(value))
        return twin

    def feed(self, chunk: Mapping[str, Any]) -> list[Event]:
        """Return the events of a chunk; nothing behind the end of the run."""
        if self._ended:
            return []
        handler = self.HANDLERS.get(str(chunk.get("type")))
        events = self._carry(chunk) if handler is None else handler(self, chunk)
        if events and not self._began:
            self._began = True
            return [_with(self._started(), {"announced": False}), *events]
        return events

    # ------------------------------------------------------------------ runs

    def _start(self, chunk: Mapping[str, Any]) -> list[Event]:
        if self._began:
            return self._carry(chunk)
        self._began = True
        return [self._started()]

    def _started(self) -> Event:
        ids = {"threadId": self._thread_id, "runId": self._run_id, "protocolVersion": "1.0"}
        return {"type": "RUN_STARTED", **ids}

    def _finish(self, chunk: Mapping[str, Any]) -> list[Event]:
        word = chunk.get("finishReason")
        if self._error is not None and word in _INTERRUPTED:
            return self._failed({} if word == "error" else {"finish_reason": word})  # an error ends in "error"
        if word == "interrupted":
            return self._stopped({"finish_reason": word})  # stopped on purpose is never a success (rule 5)
        made = {**self._earlier, **self._unanswered}
        asked = {id_: call for id_, call in self._approvals.items() if call in made}
        outcome: dict[str, Any] = {"type": "success"}
        if asked:
            ids = {id_: self._wire_ids.get(call, call) for id_, call in asked.items()}
            named = [{"id": id_, "reason": "tool_call", "toolCallId": call} for id_, call in ids.items()]
            outcome = {"type": "interrupt", "interrupts": named}
        elif self._pending:
            outcome["pendingToolCallIds"] = list(self._pending)
        facts = {} if word is None else {"finish_reason": word}
        return [*self._close_all(), *self._end_step({}), self._finished(outcome, facts)]

    def _abort(self, chunk: Mapping[str, Any]) -> list[Event]:
        return self._stopped({} if chunk.get("reason") is None else {"reason": chunk["reason"]})

    def _stopped(self, facts: Mapping[str, Any]) -> list[Event]:
        return [*self._close_all(), *self._end_step({}), self._finished({"type": "cancelled"}, facts)]

    def _failure(self, chunk: Mapping[str, Any]) -> list[Event]:
        """An error; the run may go on, so that what ends it is not known yet (R27)."""
        self._error = str(chunk.get("errorText"))
        return self._carry(chunk)

    def end(self) -> list[Event]:
        """Return the events of the end marker: an error that nothing has followed ends the run."""
        return self._failed({}) if self._error is not None and not self._ended else []

    def _failed(self, facts: Mapping[str, Any]) -> list[Event]:
        """End a run of which the error was reported; what is open ends with it."""
        self._ended = True
        return [_with({"type": "RUN_ERROR", "message": self._error}, {"reported": True, **facts})]

    def _finished(self, outcome: Mapping[str, Any], facts: Mapping[str, Any]) -> Event:
        self._ended = True
        ids = {"threadId": self._thread_id, "runId": self._run_id}
        return _with({"type": "RUN_FINISHED", **ids, "outcome": outcome}, facts)

    def _close_all(self) -> list[Event]:
        """Close what streams; what its model has not ended says that it was cut (G3)."""
        cut = {KEY: {"cut": True}}
        opened = (("TEXT_MESSAGE_END", self._texts), ("REASONING_MESSAGE_END", self._thoughts))
        said = [{"type": kind, "messageId": id_, "metadata": cut} for kind, ids in opened for id_ in ids.values()]
        calls = [{"type": "TOOL_CALL_END", "toolCallId": self._wire_ids[id_], "metadata": cut} for id_ in self._calls]
        for ids in (self._texts, self._silent, self._thoughts, self._calls):
            ids.clear()
        return [*said, *calls]

    def _start_step(self, chunk: Mapping[str, Any]) -> list[Event]:
        del chunk
        ended = self._end_step({})
        self._steps += 1
        self._step = f"response-{self._steps}"
        self._message = None
        return [*ended, {"type": "STEP_STARTED", "stepName": self._step, "metadata": {KEY: {"step": True}}}]

    def _finish_step(self, chunk: Mapping[str, Any]) -> list[Event]:
        return self._end_step({"step": True}) if self._step else self._carry(chunk)

    def _reset_step(self, chunk: Mapping[str, Any]) -> list[Event]:
        return [*self._close_all(), *self._carry(chunk)]

    def _end_step(self, facts: Mapping[str, Any]) -> list[Event]:
        name, self._step = self._step, ""
        return [_with({"type": "STEP_FINISHED", "stepName": name}, facts)] if name else []

    # ------------------------------------------------------------------ what streams

    def _text_start(self, chunk: Mapping[str, Any]) -> list[Event]:
        if chunk["id"] in self._texts:
            return self._carry(chunk)
        self._message = self._texts[chunk["id"]] = self._id()
        self._silent[chunk["id"]] = None
        start = {"type": "TEXT_MESSAGE_START", "messageId": self._message, "role": "assistant"}
        return [_with(start, _provider(chunk))]

    def _text_delta(self, chunk: Mapping[str, Any]) -> list[Event]:
        if chunk["delta"]:
            self._silent.pop(chunk["id"], None)
        return self._content("TEXT_MESSAGE_CONTENT", self._texts, chunk)

    def _text_end(self, chunk: Mapping[str, Any]) -> list[Event]:
        facts = {"empty": True} if chunk["id"] in self._silent else {}
        self._silent.pop(chunk["id"], None)
        return self._end("TEXT_MESSAGE_END", self._texts, chunk, **facts)

    def _thought_start(self, chunk: Mapping[str, Any]) -> list[Event]:
        if chunk["id"] in self._thoughts:
            return self._carry(chunk)
        id_ = self._thoughts[chunk["id"]] = self._id()
        start = {"type": "REASONING_MESSAGE_START", "messageId": id_, "role": "reasoning"}
        return [_with(start, _provider(chunk))]

    def _thought_delta(self, chunk: Mapping[str, Any]) -> list[Event]:
        return self._content("REASONING_MESSAGE_CONTENT", self._thoughts, chunk)

    def _thought_end(self, chunk: Mapping[str, Any]) -> list[Event]:
        return self._end("REASONING_MESSAGE_END", self._thoughts, chunk)

    def _content(self, kind: str, opened: Mapping[str, str], chunk: Mapping[str, Any]) -> list[Event]:
        id_ = opened.get(chunk["id"])
        if id_ is None:
            return self._carry(chunk)
        return [_with({"type": kind, "messageId": id_, "delta": chunk["delta"]}, _provider(chunk))]

    def _end(self, kind: str, opened: dict[str, str], chunk: Mapping[str, Any], **facts: Any) -> list[Event]:
        id_ = opened.pop(chunk["id"], None)
        if id_ is None:
            return self._carry(chunk)
        return [_with({"type": kind, "messageId": id_}, {**_provider(chunk), **facts})]

    # ------------------------------------------------------------------ calls

    def _input_start(self, chunk: Mapping[str, Any]) -> list[Event]:
        call_id = chunk["toolCallId"]
        if call_id in self._calls or call_id in self._unanswered:
            return self._carry(chunk)
        self._calls[call_id] = []
        return [self._call_start(chunk)]

    def _call_start(self, chunk: Mapping[str, Any]) -> Event:
        """Open a call; an id that the run has used before is another call's, and AG-UI would append to that one."""
        call_id, facts = chunk["toolCallId"], _provider(chunk)
        if call_id in self._wire_ids:
            self._wire_ids[call_id] = self._id()
            facts["tool_call_id"] = call_id
        wire_id = self._wire_ids.setdefault(call_id, call_id)
        self._names[call_id] = chunk["toolName"]
        self._pending[wire_id] = None
        if self._message is None:  # calls of one response are of one message, or a client takes them for several
            self._message = self._id()
        if self._message in [self._texts[text] for text in self._silent]:
            facts["text_open"] = True  # a text that has not said a word yet, and no message made for the call (G11)
        named = {"toolCallId": wire_id, "toolCallName": chunk["toolName"], "parentMessageId": self._message}
        return _with({"type": "TOOL_CALL_START", **named}, facts)

    def _input_delta(self, chunk: Mapping[str, Any]) -> list[Event]:
        pieces = self._calls.get(chunk["toolCallId"])
        if pieces is None:
            return self._carry(chunk)
        pieces.append(chunk["inputTextDelta"])
        return [self._arguments(chunk["toolCallId"], chunk["inputTextDelta"])]

    def _arguments(self, call_id: str, delta: str) -> Event:
        return {"type": "TOOL_CALL_ARGS", "toolCallId": self._wire_ids[call_id], "delta": delta}

    def _input_available(self, chunk: Mapping[str, Any]) -> list[Event]:
        call_id, value = chunk["toolCallId"], chunk["input"]
        if call_id in self._unanswered:
            return self._carry(chunk)
        events = [] if call_id in self._calls else [self._call_start(chunk)]
        pieces = self._calls.pop(call_id, [])
        facts = _provider(chunk)
        if not pieces:
            events.append(self._arguments(call_id, encode_json(value).decode()))
        elif not identical(parse(join_text(pieces)), value):  # repaired, or a text: the value is what counts
            facts["input"] = value
        if chunk["toolName"] != self._names[call_id]:
            facts["tool_name"] = chunk["toolName"]
        events.append(_with({"type": "TOOL_CALL_END", "toolCallId": self._wire_ids[call_id]}, facts))
        self._unanswered[call_id] = None
        return events

    def _input_error(self, chunk: Mapping[str, Any]) -> list[Event]:
        """A call that no tool ran: it is made if it was not before, and its result says that it was refused."""
        call_id = chunk["toolCallId"]
        was_made = call_id in self._unanswered or (call_id in self._earlier and call_id not in self._calls)
        made = [] if was_made else self._input_available(chunk)
        return [*made, *self._result(chunk, chunk["errorText"], {"outcome": "refused"})]

    def _approval(self, chunk: Mapping[str, Any]) -> list[Event]:
        self._approvals[chunk["approvalId"]] = chunk["toolCallId"]
        return self._carry(chunk)

    def _output(self, chunk: Mapping[str, Any]) -> list[Event]:
        if chunk.get("preliminary"):
            return self._carry(chunk)
        output = chunk["output"]
        if isinstance(output, str):
            return self._result(chunk, output, {})
        return self._result(chunk, encode_json(output).decode(), {"json": True})

    def _output_error(self, chunk: Mapping[str, Any]) -> list[Event]:
        return self._result(chunk, chunk["errorText"], {"outcome": "error"})

    def _output_denied(self, chunk: Mapping[str, Any]) -> list[Event]:
        return self._result(chunk, "", {"outcome": "denied"})

    def _result(self, chunk: Mapping[str, Any], content: str, facts: Mapping[str, Any]) -> list[Event]:
        call_id = chunk["toolCallId"]
        self._unanswered.pop(call_id, None)
        self._earlier.pop(call_id, None)
        own = {"provider_executed": True} if chunk.get("providerExecuted") else {}
        wire_id = self._wire_ids.get(call_id, call_id)
        self._pending.pop(wire_id, None)
        result = {"type": "TOOL_CALL_RESULT", "messageId": self._id(), "toolCallId": wire_id, "content": content}
        return [_with(result, {**facts, **own})]

    # ------------------------------------------------------------------ inside

    def _carry(self, chunk: Mapping[str, Any]) -> list[Event]:
        """Carry a chunk as it is. Where facts name another agent, an error of the one before is past."""
        if chunk.get("type") == CARRIER:
            agent = facts_of(chunk.get("data")).get("agent_id", self._agent)
            if agent != self._agent:  # R45
                self._agent, self._error = agent, None
        return [carry(chunk)]

    def _id(self) -> str:
        self._serial += 1
        return f"{self._run_id}-{self._serial}"

    HANDLERS: ClassVar[Mapping[str, Callable[[AgUiEncoder, Mapping[str, Any]], list[Event]]]] = {
        "start": _start,
        "finish": _finish,
        "abort": _abort,
        "error": _failure,
        "start-step": _start_step,
        "finish-step": _finish_step,
        "reset-step": _reset_step,
        "text-start": _text_start,
        "text-delta": _text_delta,
        "text-end": _text_end,
        "reasoning-start": _thought_start,
        "reasoning-delta": _thought_delta,
        "reasoning-end": _thought_end,
        "tool-input-start": _input_start,
        "tool-input-delta": _input_delta,
        "tool-input-available": _input_available,
        "tool-input-error": _input_error,
        "tool-approval-request": _approval,
        "tool-output-available": _output,
        "tool-output-error": _output_error,
        "tool-output-denied": _output_denied,
    }
    """Type of a chunk → its events; any other is carried as it is."""


def _provider(chunk: Mapping[str, Any]) -> dict[str, Any]:
    facts = {}
    if chunk.get("providerMetadata") is not None:
        facts["provider_metadata"] = chunk["providerMetadata"]
    if chunk.get("providerExecuted"):
        facts["provider_executed"] = True
    return facts


def _with(event: Event, facts: Mapping[str, Any]) -> Event:
    return {**event, "metadata": {KEY: dict(facts)}} if facts else event
