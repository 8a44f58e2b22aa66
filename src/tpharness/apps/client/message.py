# ruff: noqa: SLF001  # the table at the end names the actions of the fold that it is made for
"""UI messages: what `useChat` of the AI SDK holds of a stream, chunk by chunk, as it posts it with the next turn.

In: chunks as JSON objects. Out: the assistant's message in the AI SDK's own shape, written whenever the SDK writes it
into the chat. A chunk that the SDK's client does not accept ends the fold with `error`, as it ends the stream there.
`tpharness.wires.vsp` folds the same stream into a thread; this fold exists because an application whose client keeps
the history is sent these messages.
Tested against the recorded results of `ai` 7.0.173 (`conformance/probes`) and against the client itself, run beside it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any

from tpharness.apps.client.client_versions import NEWEST, ClientVersion
from tpharness.apps.client.message_parts import is_tool_part, merged, open_inputs, set_state
from tpharness.findings import Level
from tpharness.wires.vsp.chunks import chunk_from_object
from tpharness.wires.vsp.majors import check_chunk
from tpharness.wires.vsp.partial_json import NOTHING, parse_partial_json
from tpharness.wires.vsp.records import UnknownChunk

__all__ = ["MessageFold"]

Json = dict[str, Any]


class _RefusedError(Exception):
    """The AI SDK's client ends the stream at this chunk."""


class _ReportedError(_RefusedError):
    """The stream says itself that it failed."""


class MessageFold:
    """The message of one answer of the assistant.

    `write` is called with the message whenever the client shows it. `message_id` makes the id that the client gives the
    message until the stream names it, when the stream begins; `resumed` is the message that the answer continues, as it
    is the case after an approval; `replays` is whether the stream begins the answer anew, as one that is taken up after
    a reload does. `error` says why the fold ended early, empty if not; `is_reported` whether the stream said so itself,
    with an error chunk.
    """

    def __init__(
        self,
        *,
        message_id: Callable[[], str],
        write: Callable[[Json], None],
        resumed: Mapping[str, Any] | None = None,
        replays: bool = False,
        version: ClientVersion = NEWEST,
    ) -> None:
        new: Json = {"id": "", "role": "assistant", "parts": []}
        self._new_id: Callable[[], str] | None = message_id
        self._message = new if resumed is None else deepcopy(dict(resumed))
        self._write_to = write
        self._version = version
        self._replays, self._restarts = replays, replays and version.resumes_anew
        self._texts: dict[str, Json] = {}
        self._reasonings: dict[str, Json] = {}
        self._inputs: dict[str, Json] = open_inputs(self._step())
        self.resumed = resumed
        self.error = ""
        self.is_reported = False

    def feed_data(self, data: bytes | str) -> None:
        """Take in the data of one event of the stream: a chunk as JSON text, or the end marker."""
        if data in (b"[DONE]", "[DONE]"):
            return
        try:
            chunk = json.loads(data)
        except (ValueError, RecursionError) as error:
            self.error = self.error or f"an event is not JSON: {error}"
            return
        if isinstance(chunk, dict):
            self.feed(chunk)
        else:
            self.error = self.error or "an event is not a JSON object"

    def feed(self, chunk: Mapping[str, Any]) -> None:
        """Take in one chunk; chunks after one that was refused change nothing."""
        if self.error:
            return
        self._begin()
        if isinstance(chunk_from_object(dict(chunk)), UnknownChunk):
            self.error = f"chunk type {chunk.get('type')!r} is unknown"
            return
        refused = [finding for finding in check_chunk(chunk, self._version.major) if finding.level is not Level.MAY]
        if refused:
            self.error = refused[0].message
            return
        kind = str(chunk["type"])
        action = _ACTIONS.get("data-*" if kind.startswith("data-") else kind)
        if action is None:
            return
        try:
            action(self, chunk)
        except _RefusedError as error:
            self.error, self.is_reported = str(error), isinstance(error, _ReportedError)

    # ------------------------------------------------------------------------------------------------ the message

    def _begin(self) -> None:
        """Give the message its first id, once."""
        if self._new_id is not None:
            made, self._new_id = self._new_id(), None
            if self.resumed is None:
                self._message["id"] = made

    def _write(self) -> None:
        self._write_to(self._message)

    def _parts(self) -> list[Json]:
        parts: list[Json] = self._message["parts"]
        return parts

    def _add(self, part: Json) -> Json:
        added = {key: value for key, value in part.items() if value is not NOTHING}
        self._parts().append(added)
        self._write()
        return added

    def _step(self) -> list[Json]:
        """Return the parts since the last step began."""
        parts = self._parts()
        begins = [index for index, part in enumerate(parts) if part["type"] == "step-start"]
        return parts[begins[-1] + 1 :] if begins else list(parts)

    def _start(self, chunk: Mapping[str, Any]) -> None:
        name = chunk.get("messageId")
        restarts = self._restarts or (self._replays and name is not None and name != self._message["id"])
        self._restarts = False
        if restarts:
            self._message = {"id": self._message["id"], "role": "assistant", "parts": []}
            self._forget_open_parts()
        if name is not None:
            self._message["id"] = name
        if chunk.get("messageMetadata") is not None:
            self._merge_metadata(chunk)
        if restarts or name is not None or chunk.get("messageMetadata") is not None:
            self._write()

    def _metadata(self, chunk: Mapping[str, Any]) -> None:
        if chunk.get("messageMetadata") is not None:
            self._merge_metadata(chunk)
            self._write()

    def _merge_metadata(self, chunk: Mapping[str, Any]) -> None:
        held, metadata = self._message.get("metadata"), chunk["messageMetadata"]
        self._message["metadata"] = merged(held, metadata) if held is not None else metadata

    def _error(self, chunk: Mapping[str, Any]) -> None:
        raise _ReportedError(str(chunk["errorText"]))

    def _start_step(self, _: Mapping[str, Any]) -> None:
        self._parts().append({"type": "step-start"})

    def _reset_step(self, _: Mapping[str, Any]) -> None:
        self._forget_open_parts()
        count = len(self._step())
        if count:
            del self._parts()[-count:]
            self._write()

    def _forget_open_parts(self) -> None:
        for active in (self._texts, self._reasonings, self._inputs):
            active.clear()

    # ------------------------------------------------------------------------------------------------ texts

    def _text_start(self, chunk: Mapping[str, Any]) -> None:
        part = {"type": "text", "text": "", "state": "streaming", "providerMetadata": _get(chunk, "providerMetadata")}
        self._texts[chunk["id"]] = self._add(part)

    def _reasoning_start(self, chunk: Mapping[str, Any]) -> None:
        part = {"type": "reasoning", "id": chunk["id"], "text": "", "state": "streaming"}
        part["providerMetadata"] = _get(chunk, "providerMetadata")
        self._reasonings[chunk["id"]] = self._add(part)

    def _text_delta(self, chunk: Mapping[str, Any]) -> None:
        _more(self._texts, chunk)
        self._write()

    def _reasoning_delta(self, chunk: Mapping[str, Any]) -> None:
        _more(self._reasonings, chunk)
        self._write()

    def _text_end(self, chunk: Mapping[str, Any]) -> None:
        part = _more(self._texts, chunk)
        if chunk.get("citations") is not None:
            part["citations"] = chunk["citations"]
        part["state"] = "done"
        del self._texts[chunk["id"]]
        self._write()

    def _reasoning_end(self, chunk: Mapping[str, Any]) -> None:
        _more(self._reasonings, chunk)["state"] = "done"
        del self._reasonings[chunk["id"]]
        self._write()

    # ------------------------------------------------------------------------------------------------ calls

    def _input_start(self, chunk: Mapping[str, Any]) -> None:
        self._inputs[chunk["toolCallId"]] = {"text": "", "start": chunk}
        self._call(chunk, "input-streaming")

    def _input_delta(self, chunk: Mapping[str, Any]) -> None:
        call = self._inputs.get(chunk["toolCallId"])
        if call is None:
            raise _RefusedError(f"tool-input-delta for {chunk['toolCallId']!r}, which has not started")
        call["text"] += chunk["inputTextDelta"]
        text, start = call["text"], call["start"]
        plain = start.get("inputEncoding") == "text" and self._version.keeps_call_details
        value = text if plain else parse_partial_json(text)
        names = ("toolCallId", "toolName", "dynamic", "inputEncoding", "title", "toolMetadata")
        known = {name: start[name] for name in names if start.get(name) is not None}
        self._call({**known, "input": value, "rawInput": text}, "input-streaming")

    def _input_available(self, chunk: Mapping[str, Any]) -> None:
        self._call(chunk, "input-available")

    def _input_error(self, chunk: Mapping[str, Any]) -> None:
        known = next((p for p in self._step() if is_tool_part(p) and p["toolCallId"] == chunk["toolCallId"]), None)
        dynamic = bool(chunk.get("dynamic"))
        if known is not None and self._version.finds_any_call:
            dynamic = known["type"] == "dynamic-tool"
        refused = "input" if dynamic or self._version.keeps_refused_as_input else "rawInput"
        rest = {key: value for key, value in chunk.items() if key != "input"}
        self._call({**rest, refused: chunk["input"], "dynamic": dynamic}, "output-error")

    def _call(self, chunk: Mapping[str, Any], state: str) -> None:
        """Set the state of a call in the current step, or add the call."""
        dynamic, name = bool(chunk.get("dynamic")), chunk["toolName"]
        for part in self._step():
            same_kind = (part["type"] == "dynamic-tool") is dynamic and is_tool_part(part)
            if same_kind and part["toolCallId"] == chunk["toolCallId"]:
                break
        else:
            part = {"type": "", "toolCallId": chunk["toolCallId"]}
            self._parts().append(part)
            if not self._version.keeps_call_details and state == "output-error" and chunk.get("providerMetadata"):
                part["callProviderMetadata"] = chunk["providerMetadata"]
        part["type"] = "dynamic-tool" if dynamic else f"tool-{name}"
        if dynamic:
            part["toolName"] = name
        self._set_state(part, chunk, state)

    def _of_call(self, chunk: Mapping[str, Any]) -> Json:
        """Return the part of a call: that of the current step, else the latest."""
        for part in (*self._step(), *reversed(self._parts())):
            same = is_tool_part(part) and part["toolCallId"] == chunk["toolCallId"]
            kind = (part["type"] == "dynamic-tool") is bool(chunk.get("dynamic"))
            if same and (kind or self._version.finds_any_call):
                return part
        raise _RefusedError(f"no call has the id {chunk['toolCallId']!r}")

    def _output(self, chunk: Mapping[str, Any]) -> None:
        part = self._of_call(chunk)
        self._set_state(part, {**chunk, "input": part.get("input", NOTHING)}, "output-available")

    def _output_error(self, chunk: Mapping[str, Any]) -> None:
        part = self._of_call(chunk)
        kept: Json = {name: part[name] for name in ("input", "rawInput") if name in part}
        if part["type"] == "dynamic-tool":
            kept.pop("rawInput", None)
        self._set_state(part, {**chunk, **kept}, "output-error")

    def _output_denied(self, chunk: Mapping[str, Any]) -> None:
        self._of_call(chunk)["state"] = "output-denied"
        self._write()

    def _set_state(self, part: Json, chunk: Mapping[str, Any], state: str) -> None:
        set_state(part, chunk, state, details=self._version.keeps_call_details)
        self._write()

    def _approval_request(self, chunk: Mapping[str, Any]) -> None:
        part = self._of_call(chunk)
        names = {"approvalDescriptor": "descriptor", "signature": "signature"}
        if self._version.keeps_approval_details:
            names["reason"] = "requestReason"
        approval = {"id": chunk["approvalId"]}
        approval |= {own: chunk[name] for name, own in names.items() if chunk.get(name) is not None}
        if "inputSchemaInput" in chunk:
            approval["inputSchemaInput"] = chunk["inputSchemaInput"]
        if chunk.get("isAutomatic") is True and self._version.keeps_approval_details:
            approval["isAutomatic"] = True
        part.update(state="approval-requested", approval=approval)
        self._write()

    def _approval_response(self, chunk: Mapping[str, Any]) -> None:
        asked = [p for p in self._parts() if is_tool_part(p) and p.get("approval", {}).get("id") == chunk["approvalId"]]
        if not asked:
            raise _RefusedError(f"no call waits for the approval {chunk['approvalId']!r}")
        reason = {} if chunk.get("reason") is None else {"reason": chunk["reason"]}
        asked[0]["approval"] = {**asked[0]["approval"], "approved": chunk["approved"], **reason}
        asked[0]["state"] = "approval-responded"
        own = {"providerExecuted": "providerExecuted", "providerMetadata": "callProviderMetadata"}
        asked[0].update({name: chunk[key] for key, name in own.items() if chunk.get(key) is not None})
        self._write()

    # ------------------------------------------------------------------------------------------------ other parts

    def _whole(self, chunk: Mapping[str, Any]) -> None:
        """Add a part that comes in one chunk and has its fields."""
        self._add({key: value for key, value in chunk.items() if value is not None})

    def _data(self, chunk: Mapping[str, Any]) -> None:
        if chunk.get("transient"):
            return
        known = [
            part
            for part in self._parts()
            if chunk.get("id") is not None and part["type"] == chunk["type"] and part.get("id") == chunk["id"]
        ]
        if known:
            known[0]["data"] = chunk["data"]
            self._write()
        else:
            self._add(dict(chunk))


def _get(chunk: Mapping[str, Any], name: str) -> Any:
    value = chunk.get(name)
    return NOTHING if value is None else value


def _more(open_parts: Mapping[str, Json], chunk: Mapping[str, Any]) -> Json:
    """Append a delta, or nothing for an end, to the part that is open under the id of the chunk."""
    part = open_parts.get(chunk["id"])
    if part is None:
        raise _RefusedError(f"{chunk['type']} for {chunk['id']!r}, which is not open")
    part["text"] += chunk.get("delta", "")
    if chunk.get("providerMetadata") is not None:
        part["providerMetadata"] = chunk["providerMetadata"]
    return part


_ACTIONS: Mapping[str, Callable[[MessageFold, Mapping[str, Any]], None]] = {
    "start": MessageFold._start,
    "finish": MessageFold._metadata,
    "message-metadata": MessageFold._metadata,
    "error": MessageFold._error,
    "start-step": MessageFold._start_step,
    "reset-step": MessageFold._reset_step,
    "text-start": MessageFold._text_start,
    "text-delta": MessageFold._text_delta,
    "text-end": MessageFold._text_end,
    "reasoning-start": MessageFold._reasoning_start,
    "reasoning-delta": MessageFold._reasoning_delta,
    "reasoning-end": MessageFold._reasoning_end,
    "tool-input-start": MessageFold._input_start,
    "tool-input-delta": MessageFold._input_delta,
    "tool-input-available": MessageFold._input_available,
    "tool-input-error": MessageFold._input_error,
    "tool-output-available": MessageFold._output,
    "tool-output-error": MessageFold._output_error,
    "tool-output-denied": MessageFold._output_denied,
    "tool-approval-request": MessageFold._approval_request,
    "tool-approval-response": MessageFold._approval_response,
    "source-url": MessageFold._whole,
    "source-document": MessageFold._whole,
    "file": MessageFold._whole,
    "reasoning-file": MessageFold._whole,
    "custom": MessageFold._whole,
    "steering-message": MessageFold._whole,
    "data-*": MessageFold._data,
}
