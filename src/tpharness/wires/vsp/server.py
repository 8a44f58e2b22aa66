"""Server events → the chunks that a server sends for them: the reference server's wire.

In: the events of one run, in order. Out: for each event the chunks it gives rise to, deltas as records and all others
as JSON objects, so that a cut after an event is a cut after its chunks. The order is that of `ai` 7: start, one step
for each model call, the calls' inputs when the response ends, outputs as they come, finish-step as soon as nothing of
the step is outstanding. With `carriers` every fact that the wire does not say goes ahead of the chunk it belongs to. An
event that is not what `shapes` says gives rise to nothing, here as in the recorder (R36).
"""

# ruff: noqa: SLF001  # the table at the end names methods of the class above it
from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from tpharness.facts import new_prompts, normalize_finish_reason, normalize_usage, parse_tool_args, recorded_reason
from tpharness.findings import Finding
from tpharness.protocol.versions import NORMATIVE_PREFIX
from tpharness.server_events.events import EventKind, approvals_of, event_kind, event_time
from tpharness.server_events.parts import find_prompts
from tpharness.server_events.returns import (
    DENIAL,
    SOURCES,
    custom_data,
    custom_name,
    data_events,
    denial,
    event_name,
    outcome_of,
)
from tpharness.wires.vsp.carrier import CARRIER
from tpharness.wires.vsp.lifecycle import KNOWN_REASONS
from tpharness.wires.vsp.records import KnownChunk, ReasoningDeltaChunk, TextDeltaChunk, ToolInputDeltaChunk
from tpharness.wires.vsp.server_parts import custom_chunk, end_metadata, file_fields, provider_fields, steering_parts

__all__ = ["Chunks", "Encoder"]

Chunks = list[dict[str, Any] | KnownChunk]
"""What `encode_sse` writes; `to_wire` makes objects of all of them."""

_SOURCE_FIELDS = {"source_id": "sourceId", "media_type": "mediaType"}
# What these say counts when they are complete, or known to have a call.
_SAID_LATER = ("text", "thinking", "tool-call", "builtin-tool-call", "builtin-tool-return")
_DELTAS = {"text": "text", "reasoning": "thinking", "tool-input": "tool_call"}
_WIRE_REASONS = {"stop": "stop", "length": "length", "content_filter": "content-filter", "tool_call": "tool-calls"}


class Encoder:
    """Encodes one run: call `start`, then `feed` for each event, then `abort` if the run was stopped.

    `tool_name` says which tool a call of the thread names, None for a call that the thread does not have: its result is
    not carried (R36). `has_return` says whether a call of the thread has its return; `waiting` has the ids of those
    that have none as the run begins, None if that is not known, and `waiting_provider_calls` those of the provider's
    calls that have no output then.
    """

    def __init__(
        self,
        *,
        agent_id: str,
        carriers: bool = True,
        message_id: str | None = None,
        tool_name: Callable[[str], str | None] = lambda _: "",
        has_return: Callable[[str], bool] = lambda _: False,
        waiting: Collection[str] | None = None,
        waiting_provider_calls: Collection[str] = (),
    ) -> None:
        self._waiting = waiting
        self._tool_name = tool_name
        self._has_return = has_return
        self._agent_id = agent_id
        self._carriers = carriers
        self._message_id = message_id
        self._parts: dict[int, tuple[str, str]] = {}
        self._metadata: dict[int, dict[str, Any]] = {}  # what the end of a text or thinking part will say
        self._calls: dict[str, dict[str, Any]] = {}
        self._unsent: dict[str, None] = {}  # those of the calls whose input has not been sent
        self._looked_through = False  # whether what of these can be sent has been, since the last delta
        self._provider_calls = set(waiting_provider_calls)  # those that have no output yet (R42)
        self._provider_outputs: set[str] = set()  # of the response that streams
        self._outstanding: set[str] = set()
        self._announced: set[str] = set()
        self._returned: set[str] = set()
        self._facts: dict[str, Any] = {}
        self._in_step = self._responding = self._usage_sent = False
        self._said = False  # whether a complete part, a return or a prompt has come (R9),
        self._said_by_response = False  # or a part of the response that streams, which a reset takes back
        self._begun_again: set[str] = set()  # calls of it whose id an answered call had
        self._last_finish: str | None = None
        self._serial = 0
        self._user: Sequence[Mapping[str, Any]] = ()

    def start(self, at: str, user_parts: tuple[Mapping[str, Any], ...] = ()) -> Chunks:
        """Return the chunks that open the stream."""
        self._at = self._started_at = at
        self._user = user_parts
        opening: dict[str, Any] = {"type": "start"}
        if self._message_id is not None:
            opening["messageId"] = self._message_id
        return [opening, *self._carry(agent_id=self._agent_id, started_at=at)]

    def feed(
        self, event: Mapping[str, Any], judged: EventKind | Finding | None = None, at: str | None = None
    ) -> Chunks:
        """Return the chunks of one event; an empty list for an event that is not sent, or that is malformed.

        `judged` is what `event_kind` says of it, and `at` when it happened, if the caller knows them.
        """
        kind = event_kind(event) if judged is None else judged
        if isinstance(kind, Finding):
            return []  # the recorder reports it
        self._at = event_time(event, self._started_at, self._at) if at is None else at
        action = _ACTIONS.get(kind)
        return [] if action is None else action(self, event)

    def abort(self, reason: str, at: str) -> Chunks:
        """Return the chunks that report that the run was stopped; a carrier says a reason of one's own (R27)."""
        own = {} if reason in KNOWN_REASONS else {"reason": recorded_reason(reason)}
        return [*self._carry(at, interrupted_at=at, **own), {"type": "abort", "reason": reason}]

    # ---------------------------------------------------------------- actions

    def _request(self, event: Mapping[str, Any]) -> Chunks:
        chunks = self._end_step()
        self._note_model(event)
        return [*chunks, *self._prompts(find_prompts(event))]

    def _enqueued(self, event: Mapping[str, Any]) -> Chunks:
        chunks: Chunks = []
        for message in event.get("messages") or ():
            prompts = find_prompts(message)
            if prompts:
                chunks += [*self._end_step(), *self._prompts(prompts)]
        return chunks

    def _prompts(self, prompts: Sequence[Mapping[str, Any]]) -> Chunks:
        if not (self._said or self._said_by_response):
            prompts = new_prompts(prompts, self._user)  # R9
        if not prompts:
            return []
        self._said = True
        said = [
            {"type": "steering-message", "id": self._id("steering"), "parts": steering_parts(p["content"])}
            for p in prompts
        ]
        return [*self._carry(), *said]

    def _part_start(self, event: Mapping[str, Any]) -> Chunks:
        index, part = event["index"], event["part"]
        if part["part_kind"] == "tool-call" and self._waits(part["tool_call_id"]):
            return []  # R36: the recorder reports it
        chunks: Chunks = []
        if not self._responding or index in self._parts:
            chunks += [*self._end_step(), *self._carry(**self._facts), {"type": "start-step"}]
            self._in_step = self._responding = True
            self._parts, self._calls, self._unsent = {}, {}, {}
            self._provider_outputs, self._begun_again, self._last_finish = set(), set(), None
            self._said, self._said_by_response = self._said or self._said_by_response, False
        kind, content = part["part_kind"], part.get("content")
        self._said_by_response = self._said_by_response or kind not in _SAID_LATER
        match kind:
            case "text" | "thinking":
                word = "text" if kind == "text" else "reasoning"
                ident = self._id(word)
                self._parts[index] = (word, ident)
                self._metadata[index] = end_metadata(word, part)
                chunks.append({"type": f"{word}-start", "id": ident})
                if content:
                    chunks.append({"type": f"{word}-delta", "id": ident, "delta": content})
            case "tool-call" | "builtin-tool-call":
                chunks += self._call_start(index, part)
            case "builtin-tool-return":
                chunks += self._provider_return(part)
                self._parts[index] = ("whole", "")
            case "file":
                chunks.append({"type": "file", **file_fields(content, part.get("id"))})
                self._parts[index] = ("whole", "")
            case _:
                self._parts[index] = ("whole", "")
                if kind.startswith("custom:"):
                    chunks.append(custom_chunk(part))
        return chunks

    def _call_start(self, index: int, part: Mapping[str, Any]) -> Chunks:
        call_id, name, args = part["tool_call_id"], part["tool_name"], part.get("args")
        self._parts[index] = ("tool-input", call_id)
        if call_id in self._returned:
            self._begun_again.add(call_id)
            self._returned.discard(call_id)
        self._announced.discard(call_id)
        more = provider_fields(part)
        self._provider_calls.discard(call_id)
        if more:
            self._provider_calls.add(call_id)
        held = args if isinstance(args, Mapping) else None
        self._calls[call_id] = {"toolName": name, "args": held, "held": [], "more": more}
        self._unsent[call_id] = None
        self._looked_through = False
        chunks: Chunks = [{"type": "tool-input-start", "toolCallId": call_id, **more, "toolName": name}]
        if isinstance(args, str) and args:
            self._calls[call_id]["held"].append(args)
            chunks.append({"type": "tool-input-delta", "toolCallId": call_id, "inputTextDelta": args})
        return chunks

    def _provider_return(self, part: Mapping[str, Any]) -> Chunks:
        call_id = part["tool_call_id"]
        if call_id not in self._provider_calls:
            return []  # R36: the recorder reports it
        self._said_by_response = True
        self._provider_calls.discard(call_id)
        self._provider_outputs.add(call_id)
        output = {"type": "tool-output-available", "toolCallId": call_id, "providerExecuted": True}
        return [*self._announce_call(call_id), {**output, "output": part.get("content")}]

    def _part_delta(self, event: Mapping[str, Any]) -> Chunks:
        word, ident = self._parts.get(event["index"], ("", ""))
        delta = event["delta"]
        if not self._responding or delta["part_delta_kind"] != _DELTAS.get(word):
            return []  # R36: the recorder reports it
        if word == "text":
            return [TextDeltaChunk(id=ident, delta=delta["content_delta"])]
        if word == "reasoning":
            held = self._metadata[event["index"]]
            if delta.get("signature_delta") is not None:
                held["signature"] = held.get("signature", "") + delta["signature_delta"]
            if delta.get("provider_name") is not None:
                held["provider_name"] = delta["provider_name"]
            piece = delta.get("content_delta")
            return [] if piece is None else [ReasoningDeltaChunk(id=ident, delta=piece)]
        self._looked_through = False
        self._calls[ident]["toolName"] += delta.get("tool_name_delta") or ""
        piece = delta.get("args_delta")
        if isinstance(piece, str):
            self._calls[ident]["held"].append(piece)
            return [ToolInputDeltaChunk(tool_call_id=ident, input_text_delta=piece)]
        if piece is not None:
            self._calls[ident]["args"] = {**(self._calls[ident]["args"] or {}), **piece}
        return []

    def _part_end(self, event: Mapping[str, Any]) -> Chunks:
        word, ident = self._parts.get(event["index"], ("", ""))
        if not self._responding or word not in ("text", "reasoning") or event["part"]["part_kind"] != _DELTAS[word]:
            return []  # R10: a call is complete at the end of its response
        self._parts[event["index"]] = ("whole", "")
        self._said_by_response = True
        facts = {**self._metadata[event["index"]], **end_metadata(word, event["part"])}
        metadata = {"providerMetadata": {"pydantic_ai": facts}} if facts else {}
        return [{"type": f"{word}-end", "id": ident, **metadata}]

    def _response_end(self, event: Mapping[str, Any]) -> Chunks:
        names = ("usage", "finish_reason", "provider_response_id", "model_name", "provider_name")
        reported = {**event, "usage": normalize_usage(event.get("usage")) or None}
        facts = {k: reported[k] for k in names if reported.get(k) is not None}
        self._note_model(event)
        self._last_finish = event.get("finish_reason")
        self._usage_sent |= "usage" in facts
        chunks: Chunks = []
        if not self._in_step:  # a response without a single part
            chunks.append({"type": "start-step"})
            self._in_step = True
        if facts:
            chunks += self._carry(**facts)
        return [*chunks, *self._announce(waiting=True), *self._settle_step()]

    def _tool_call(self, event: Mapping[str, Any]) -> Chunks:
        part = event["part"]
        call_id = part["tool_call_id"]
        if self._tool_name(call_id) is None or self._has_return(call_id):
            return []  # R36: the recorder reports it; what has its return does not start again
        if call_id in self._calls and part.get("args") is not None and call_id not in self._announced:
            self._calls[call_id]["given"] = parse_tool_args(part["args"])
        chunks = self._announce_of(call_id)
        if call_id not in self._announced:  # a call of the history before this run
            self._announced.add(call_id)
            name, args = part["tool_name"], parse_tool_args(part.get("args"))
            chunks += [
                *self._carry(),
                {"type": "tool-input-available", "toolCallId": call_id, "toolName": name, "input": args},
            ]
        return chunks

    def _tool_result(self, event: Mapping[str, Any]) -> Chunks:
        part = event["part"]
        call_id = part["tool_call_id"]
        tool_name = self._tool_name(call_id)
        if tool_name is None or call_id in self._returned or not self._is_known(call_id):
            return []  # R36, R14: the recorder reports it
        outcome, retry = outcome_of(part), part.get("part_kind") == "retry-prompt"
        chunks = self._announce_of(call_id)
        if outcome == "interrupted":
            return chunks  # R41
        self._returned.add(call_id)
        self._said = True
        carried = {k: part[k] for k in ("content_ref", "metadata") if part.get(k) is not None and not retry}
        events = list(data_events(part.get("metadata")))
        if events:
            carried.pop("metadata", None)
        content = denial(part)
        error = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False, separators=(",", ":"))
        if (retry or outcome != "success") and not isinstance(content, str) and "content_ref" not in carried:
            carried["content"] = content
        if retry:
            carried["part_kind"] = "retry-prompt"
        chunks += self._carry(**({"tool_return": carried} if carried else {}))
        base = {"toolCallId": call_id}
        if retry or outcome not in ("success", "retried", "denied"):  # R22: an unknown outcome is not a success
            chunks.append({"type": "tool-output-error", **base, "errorText": error})
        elif outcome == "retried":
            call = self._calls.get(call_id, {})
            known = {"toolName": call.get("toolName") or tool_name or part.get("tool_name"), "input": call.get("input")}
            chunks.append({"type": "tool-input-error", **base, **known, "errorText": error})
        elif outcome == "denied":
            if error != DENIAL:
                approval = self._id("approval")
                chunks += [
                    {"type": "tool-approval-request", "approvalId": approval, **base},
                    {"type": "tool-approval-response", "approvalId": approval, "approved": False, "reason": error},
                ]
            chunks.append({"type": "tool-output-denied", **base})
        else:
            chunks.append({"type": "tool-output-available", **base, "output": content})
        self._outstanding.discard(call_id)
        chunks += [{"type": name, "data": data} for name, data in events]
        return [*chunks, *self._settle_step()]

    def _deferred(self, event: Mapping[str, Any]) -> Chunks:
        """Ask for the approval of each call that waits for one, under the id of the call (R64)."""
        chunks: Chunks = []
        for call in dict.fromkeys(approvals_of(event)):
            made = call in self._announced or (call in self._calls and not self._responding)
            if made and call not in self._returned:
                asks = {"type": "tool-approval-request", "approvalId": call, "toolCallId": call}
                chunks += [*self._announce_call(call), asks]
        return chunks

    def _progress(self, event: Mapping[str, Any]) -> Chunks:
        if self._tool_name(event["tool_call_id"]) is None:
            return []  # R36
        base = {"toolCallId": event["tool_call_id"], "output": event["content"]}
        return [{"type": "tool-output-available", **base, "preliminary": True}]

    def _event(self, event: Mapping[str, Any]) -> Chunks:
        name = event_name(event["event_type"])
        facts = {k: event[k] for k in ("source_agent", "target_agents") if event.get(k) is not None}
        if name in SOURCES and event.get("transient"):
            return []  # its chunk cannot say that it is transient
        if name in SOURCES:
            return [*self._carry(**facts), {**_camel(event.get("event_data")), "type": name.replace(".", "-")}]
        wire = {"type": f"data-{name}" if name.startswith("meta:") else name, "data": event.get("event_data")}
        if event.get("transient"):
            wire["transient"] = True
            facts = facts if name.startswith(NORMATIVE_PREFIX) else {}  # not kept: the next event would take them
        return [*self._carry(**facts), wire]

    def _custom_event(self, event: Mapping[str, Any]) -> Chunks:
        name = custom_name(event)
        if not name:
            return []
        return self._event({"event_type": name, "event_data": custom_data(event)})

    def _error(self, event: Mapping[str, Any]) -> Chunks:
        return [*self._carry(), {"type": "error", "errorText": event["error_text"]}]

    def _reset(self, event: Mapping[str, Any]) -> Chunks:
        del event
        if not self._responding:
            return []  # R36: nothing streams that could be taken back
        self._provider_calls = (self._provider_calls | self._provider_outputs) - self._calls.keys()
        self._parts, self._calls, self._unsent = {}, {}, {}
        self._outstanding, self._provider_outputs = set(), set()
        self._returned |= self._begun_again
        self._responding = self._said_by_response = False
        return [{"type": "reset-step"}]

    def _agent_start(self, event: Mapping[str, Any]) -> Chunks:
        if event["agent_id"] == self._agent_id:
            return []  # it is running already
        chunks = self._end_step()
        self._facts, self._last_finish, self._usage_sent = {}, None, False  # those of the agent before (R17, R27, R45)
        self._agent_id, self._said, self._said_by_response = event["agent_id"], False, False
        return [*chunks, *self._carry(agent_id=self._agent_id, started_at=self._at)]

    def _result(self, event: Mapping[str, Any]) -> Chunks:
        chunks = [*self._announce(), *self._end_step()]
        facts: dict[str, Any] = {"completed_at": self._at}
        usage = normalize_usage(event.get("usage"))
        if usage and not self._usage_sent:
            facts["usage"] = usage
        finish: dict[str, Any] = {"type": "finish"}
        last = self._last_finish
        halted = normalize_finish_reason(last) == "content_filter"  # R27: whatever the run says
        word = last if halted else event.get("finish_reason") or last
        if word is not None:
            plain = word in ("error", "interrupted")
            finish["finishReason"] = word if plain else _WIRE_REASONS.get(str(normalize_finish_reason(word)), "other")
        return [*chunks, *self._carry(**facts), finish]

    # ----------------------------------------------------------------- inside

    def _note_model(self, event: Mapping[str, Any]) -> None:
        """A model that was named answers until another is, or until the agent changes: R39, R45."""
        named = {k: event[k] for k in ("model_name", "provider_name") if event.get(k) is not None}
        self._facts = {**self._facts, **named}

    def _carry(self, at: Any = None, **facts: Any) -> Chunks:
        if not self._carriers:
            return []
        return [{"type": CARRIER, "data": {"timestamp": at or self._at, **facts}, "transient": True}]

    def _announce(self, now: str = "", *, waiting: bool = False) -> Chunks:
        """Send the inputs of the response's calls, which are complete once it has finished (R10).

        With `waiting`, a call without arguments waits for its event, which may have them, unless it is the call `now`.
        """
        self._responding = False
        if waiting and self._looked_through:  # each of the others waits for its event
            return self._announce_call(now)
        self._looked_through = waiting
        chunks: Chunks = []
        for call_id in tuple(self._unsent):
            call = self._calls[call_id]
            unsaid = not any(call["held"]) and call["args"] is None
            if not (waiting and call_id != now and unsaid and not call["more"]):
                chunks += self._announce_call(call_id)
        return chunks

    def _announce_of(self, call_id: str) -> Chunks:
        """Send the inputs of a response that a tool shows to be over: only one of its own tools does (R40)."""
        return [] if self._responding and call_id not in self._calls else self._announce(call_id, waiting=True)

    def _announce_call(self, call_id: str) -> Chunks:
        """Send the input of a call, once."""
        call = self._calls.get(call_id)
        if call is None or "input" in call:
            return []
        text = "".join(call["held"])
        held = call["args"] if call["args"] is not None else parse_tool_args(text) if text else {}
        call["input"] = call.get("given", held)
        del self._unsent[call_id]
        self._said_by_response = True
        if not call["more"]:  # R42: nobody waits for what the provider executes
            self._announced.add(call_id)
            self._outstanding.add(call_id)
        named = {"toolCallId": call_id, **call["more"], "toolName": call["toolName"]}
        return [{"type": "tool-input-available", **named, "input": call["input"]}]

    def _is_known(self, call_id: str) -> bool:
        """Whether a call is one of the run, or one of an earlier run that waits for its return."""
        return call_id in self._calls or call_id in self._announced or self._waiting is None or call_id in self._waiting

    def _waits(self, call_id: str) -> bool:
        """Whether a call of the run with that id has no return yet; a provider's waits for none (R42)."""
        streams = call_id in self._calls and not self._calls[call_id]["more"]
        return call_id not in self._returned and (
            streams or call_id in self._announced or call_id in (self._waiting or ())
        )

    def _settle_step(self) -> Chunks:
        """Send finish-step as soon as no call of the step is outstanding."""
        return [] if self._outstanding or self._unsent or self._responding else self._end_step()

    def _end_step(self) -> Chunks:
        if not self._in_step:
            return []
        chunks = self._announce()
        self._in_step = False
        self._outstanding = set()
        return [*chunks, {"type": "finish-step"}]

    def _id(self, word: str) -> str:
        self._serial += 1
        return f"{word}-{self._serial}"


def _camel(data: Any) -> dict[str, Any]:
    return {_SOURCE_FIELDS.get(str(k), str(k)): v for k, v in data.items()} if isinstance(data, Mapping) else {}


_ACTIONS: Mapping[EventKind, Callable[[Encoder, Mapping[str, Any]], Chunks]] = {
    EventKind.MODEL_REQUEST: Encoder._request,
    EventKind.PART_START: Encoder._part_start,
    EventKind.PART_DELTA: Encoder._part_delta,
    EventKind.PART_END: Encoder._part_end,
    EventKind.MODEL_RESPONSE_END: Encoder._response_end,
    EventKind.FUNCTION_TOOL_CALL: Encoder._tool_call,
    EventKind.OUTPUT_TOOL_CALL: Encoder._tool_call,
    EventKind.FUNCTION_TOOL_RESULT: Encoder._tool_result,
    EventKind.OUTPUT_TOOL_RESULT: Encoder._tool_result,
    EventKind.DEFERRED_TOOL_REQUESTS: Encoder._deferred,
    EventKind.TOOL_PROGRESS: Encoder._progress,
    EventKind.SYSTEM_EVENT: Encoder._event,
    EventKind.CUSTOM: Encoder._custom_event,
    EventKind.ENQUEUED_MESSAGES: Encoder._enqueued,
    EventKind.ERROR: Encoder._error,
    EventKind.RESPONSE_RESET: Encoder._reset,
    EventKind.AGENT_START: Encoder._agent_start,
    EventKind.AGENT_RUN_RESULT: Encoder._result,
}
