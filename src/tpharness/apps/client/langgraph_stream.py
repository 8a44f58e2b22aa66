"""The stream of a run of the LangGraph server, read as its pages read it.

In: one event after another, by name: `messages` (from `messages-tuple`, deltas), `messages/partial` and
`messages/complete` (a text as far as it has come), `values` (the whole thread at each step), `updates` (what a node
added), `error`.
Out: chunks of a UI message stream. The end of the stream says nothing: `end` is given the status of the run.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from tpharness.apps.client.foreign import dict_of, load_event, objects_in
from tpharness.apps.client.own_code import StreamRefusedError

__all__ = ["LangGraphStream", "messages_in_state", "outputs_of", "words_of"]

Json = dict[str, Any]
Chunks = Iterator[Json]
_REASONS = {"length": "length", "max_tokens": "length", "content_filter": "content-filter"}
_FAILED = ("error", "timeout")


class LangGraphRefusedError(StreamRefusedError):
    """The SDK ends the stream at this event; the text says why."""


class LangGraphStream:
    """One answer. `run_id` is the run that it streams, as its headers and its first event say."""

    def __init__(self) -> None:
        self.run_id = ""
        self._message_id = ""
        self._texts: dict[str, str] = {}
        self._open: str | None = None
        self._calls: dict[tuple[str, Any], Json] = {}
        self._known: set[str] = set()  # calls whose arguments are whole
        self._answered: set[str] = set()
        self._reason = ""
        self._failed = self._begun = self._in_step = False

    def feed_event(self, event: str, data: bytes) -> Chunks:
        """Yield the chunks that an event comes to; what follows a `|` in its name is the subgraph that it is of."""
        value = load_event(data, LangGraphRefusedError, f"the data of an event {event!r}")
        match event.partition("|")[0]:
            case "metadata":
                self.run_id = str(dict_of(value).get("run_id") or self.run_id)
            case "messages":
                yield from self._message(dict_of(value[0] if isinstance(value, list) and value else None))
            case "messages/partial" | "messages/complete" as name:
                for message in objects_in(value):
                    yield from self._message(message, is_whole=name.endswith("complete"))
            case "values":
                messages = objects_in(dict_of(value).get("messages"))
                last = max((at for at, one in enumerate(messages) if one.get("type") == "human"), default=-1)
                for message in messages[last + 1 :]:
                    yield from self._message(message, is_whole=True)
            case "updates":
                for added in dict_of(value).values():
                    for message in objects_in(dict_of(added).get("messages")):
                        yield from self._message(message, is_whole=True)
            case "error":
                self._failed = True
                yield from self._begin("")
                said = dict_of(value)
                yield {"type": "error", "errorText": str(said.get("message") or said.get("error") or value)}

    def feed(self, data: bytes) -> Chunks:
        """Read an event without a name, of which this wire has none."""
        yield from self.feed_event("message", data)

    def end(self, status: str) -> Chunks:
        """Yield the chunks that the end of a run comes to, by its status; one that was deleted was rolled back."""
        if self._failed:
            return
        if status in _FAILED:
            yield {"type": "error", "errorText": f"the run has the status {status!r}"}
        elif status == "success":
            yield from self._begin("")
            yield from self._end_step()
            yield {"type": "finish", "finishReason": _REASONS.get(self._reason, "stop")}
        else:
            yield {"type": "abort"}

    # ------------------------------------------------------------------------------------------------ inside

    def _message(self, message: Json, *, is_whole: bool = False) -> Chunks:
        match message.get("type"):
            case "AIMessageChunk" | "ai":
                yield from self._answer(message, is_whole=is_whole)
            case "tool":
                yield from self._result(message)

    def _answer(self, message: Json, *, is_whole: bool) -> Chunks:
        message_id = str(message.get("id"))
        if message_id not in self._texts:
            yield from self._end_step()
            yield from self._begin(message_id)
            self._in_step = True
            self._texts[message_id] = ""
            yield {"type": "start-step"}
        self._reason = str(dict_of(message.get("response_metadata")).get("finish_reason") or self._reason)
        yield from self._words(message_id, words_of(message), is_delta=message["type"] == "AIMessageChunk")
        for chunk in objects_in(message.get("tool_call_chunks")):
            yield from self._piece(message_id, chunk)
        for call in objects_in(message.get("tool_calls")) if message["type"] == "ai" else ():
            yield from self._call(message_id, call, is_whole=is_whole)
        if message.get("chunk_position") == "last":
            for call in [one for (of, _), one in self._calls.items() if of == message_id]:
                yield from self._whole(call)

    def _words(self, message_id: str, text: str, *, is_delta: bool) -> Chunks:
        shown = self._texts[message_id]
        new = text if is_delta else text.removeprefix(shown) if text.startswith(shown) else ""
        if not new:
            return
        if self._open != message_id:
            self._open = message_id
            yield {"type": "text-start", "id": message_id}
        self._texts[message_id] += new
        yield {"type": "text-delta", "id": message_id, "delta": new}

    def _piece(self, message_id: str, chunk: Json) -> Chunks:
        """Take a piece of a call: the first has its id and name, `index` says to which one the others belong."""
        key = (message_id, chunk.get("index"))
        if chunk.get("id") and chunk.get("name") and key not in self._calls:
            self._calls[key] = {"id": chunk["id"], "name": chunk["name"], "text": ""}
            yield {"type": "tool-input-start", "toolCallId": chunk["id"], "toolName": chunk["name"]}
        call = self._calls.get(key)
        if call is not None and chunk.get("args"):
            call["text"] += chunk["args"]
            yield {"type": "tool-input-delta", "toolCallId": call["id"], "inputTextDelta": chunk["args"]}

    def _call(self, message_id: str, call: Json, *, is_whole: bool) -> Chunks:
        """Take a call as a message has it: in a text that is not whole its arguments are a guess."""
        if not call.get("id") or not call.get("name"):
            return
        if all(one["id"] != call["id"] for one in self._calls.values()):
            self._calls[message_id, call["id"]] = {"id": call["id"], "name": call["name"], "text": ""}
            yield {"type": "tool-input-start", "toolCallId": call["id"], "toolName": call["name"]}
        known = next(one for one in self._calls.values() if one["id"] == call["id"])
        known["args"] = call.get("args")
        if is_whole:
            yield from self._available(known, call.get("args"))

    def _whole(self, call: Json) -> Chunks:
        """Take the arguments of a call from its pieces, where they are whole."""
        try:
            arguments = json.loads(call["text"] or "{}")
        except (ValueError, RecursionError):
            return
        yield from self._available(call, arguments)

    def _available(self, call: Json, arguments: Any) -> Chunks:
        if call["id"] not in self._known:
            self._known.add(call["id"])
            yield {
                "type": "tool-input-available",
                "toolCallId": call["id"],
                "toolName": call["name"],
                "input": arguments,
            }

    def _result(self, message: Json) -> Chunks:
        call_id = message.get("tool_call_id")
        call = next((one for one in self._calls.values() if one["id"] == call_id), None)
        if call is None or call_id in self._answered:
            return
        self._answered.add(str(call_id))
        if "args" in call:
            yield from self._available(call, call["args"])
        else:
            yield from self._whole(call)
        output = outputs_of(message)
        yield {"type": f"tool-{output.pop('state')}", "toolCallId": call_id, **output}

    def _begin(self, message_id: str) -> Chunks:
        if not self._begun:
            self._begun = True
            yield {"type": "start", **({"messageId": message_id} if message_id else {})}

    def _end_step(self) -> Chunks:
        if self._open is not None:
            yield {"type": "text-end", "id": self._open}
        if self._in_step:
            yield {"type": "finish-step"}
        self._open, self._in_step = None, False


def words_of(message: Mapping[str, Any]) -> str:
    """Return the text of a message: its content, or the texts of its blocks."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    return "".join(str(block.get("text", "")) for block in objects_in(content) if block.get("type") == "text")


def outputs_of(message: Mapping[str, Any]) -> Json:
    """Return the result in a message of a tool, as a part of a UI message has it."""
    content = message.get("content")
    if message.get("status") == "error":
        return {"state": "output-error", "errorText": words_of(message)}
    return {"state": "output-available", "output": content}


def messages_in_state(value: Any) -> list[Json] | None:
    """Return the messages of a state, or of a thread with its values; None where it has none."""
    values = dict_of(dict_of(value).get("values")) if isinstance(value, dict) and "values" in value else None
    return None if values is None else objects_in(values.get("messages"))
