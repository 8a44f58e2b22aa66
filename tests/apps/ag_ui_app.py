"""A chat application on AG-UI whose client keeps the history, built right, and ways to build its stream otherwise."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any

from aiohttp import web
from tests.apps.chat_app import INTERRUPTED, ChatApp, Defect, Json, Stored, Writer

__all__ = ["AgUiApp", "Stream"]


class Stream(StrEnum):
    """How the stream is built."""

    PLAIN = "each event in its long form"
    SHORT = "the short forms, which nothing closes"
    SNAPSHOTS = "results are in snapshots alone, as LlamaIndex sends them"
    OPEN_TEXT = "a text is left open at the end"
    NO_START = "the run does not begin with RUN_STARTED"
    FINISHES_ANYWAY = "RUN_FINISHED follows RUN_ERROR, as where it is written in a finally"


class AgUiApp(ChatApp):
    """Takes the messages from each post, and answers AG-UI's events."""

    def __init__(self, stream: Stream = Stream.PLAIN, *defects: Defect, **more: Any) -> None:
        super().__init__(*defects, **more)
        self.stream = stream

    async def post(self, request: web.Request) -> web.StreamResponse:
        """Take the messages of the client, and stream the run."""
        body = await request.json()
        chat = self.chats.setdefault(body["runId"], Stored())
        chat.messages = list(told(body["messages"]))
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        await self._run(chat, AgUiWriter(response, self.stream, body), {})
        return response


def told(messages: list[Json]) -> Iterator[Json]:
    """Yield the messages for the model: half calls are dropped, and a call without a result gets one."""
    results = {message["toolCallId"]: message["content"] for message in messages if message["role"] == "tool"}
    for message in messages:
        if message["role"] == "user":
            yield {"role": "user", "content": message["content"]}
        elif message["role"] == "assistant":
            calls = [call for call in message.get("toolCalls", ()) if is_whole(call)]
            if calls or message.get("content"):
                known = {"tool_calls": calls} if calls else {}
                yield {"role": "assistant", "content": message.get("content"), **known}
            for call in calls:
                content = results.get(call["id"], INTERRUPTED)
                yield {"role": "tool", "tool_call_id": call["id"], "content": content}


def is_whole(call: Json) -> bool:
    """Whether the arguments of a call came to their end."""
    with contextlib.suppress(ValueError):
        return isinstance(json.loads(call["function"]["arguments"]), dict)
    return False


class AgUiWriter(Writer):
    """Writes events in place of chunks."""

    def __init__(self, response: web.StreamResponse, stream: Stream, body: Json) -> None:
        super().__init__(response)
        self._stream = stream
        self._ids = {"threadId": body["threadId"], "runId": body["runId"]}
        self._messages: list[Json] = list(body["messages"])
        self._parent = ""

    async def send(self, chunk: Mapping[str, Any], *, done: bool = False) -> None:
        """Write the events that a chunk comes to."""
        del done
        for event in self._events(chunk):
            with contextlib.suppress(ConnectionError, RuntimeError):
                await self._response.write(f"data: {json.dumps(event)}\n\n".encode())

    def _events(self, chunk: Mapping[str, Any]) -> Iterator[Json]:
        short, call_id = self._stream is Stream.SHORT, chunk.get("toolCallId")
        match chunk["type"]:
            case "start" if self._stream is not Stream.NO_START:
                yield {"type": "RUN_STARTED", **self._ids}
            case "start-step":
                self._parent = f"{self._ids['runId']}-{len(self._messages)}"
                self._messages.append({"id": self._parent, "role": "assistant", "content": "", "toolCalls": []})
            case "text-start" if not short:
                yield {"type": "TEXT_MESSAGE_START", "messageId": self._parent, "role": "assistant"}
            case "text-delta":
                self._messages[-1]["content"] += chunk["delta"]
                kind = "TEXT_MESSAGE_CHUNK" if short else "TEXT_MESSAGE_CONTENT"
                yield {"type": kind, "messageId": self._parent, "delta": chunk["delta"]}
            case "text-end" if not short and self._stream is not Stream.OPEN_TEXT:
                yield {"type": "TEXT_MESSAGE_END", "messageId": self._parent}
            case "tool-input-start":
                function = {"name": chunk["toolName"], "arguments": ""}
                self._messages[-1]["toolCalls"].append({"id": call_id, "type": "function", "function": function})
                known = {"toolCallId": call_id, "toolCallName": chunk["toolName"], "parentMessageId": self._parent}
                yield {"type": "TOOL_CALL_CHUNK" if short else "TOOL_CALL_START", **known}
            case "tool-input-delta":
                self._messages[-1]["toolCalls"][-1]["function"]["arguments"] += chunk["inputTextDelta"]
                kind = "TOOL_CALL_CHUNK" if short else "TOOL_CALL_ARGS"
                yield {"type": kind, "toolCallId": call_id, "delta": chunk["inputTextDelta"]}
            case "tool-input-available" if not short:
                yield {"type": "TOOL_CALL_END", "toolCallId": call_id}
            case "tool-output-available":
                result = {"id": f"{call_id}-result", "role": "tool", "toolCallId": call_id, "content": chunk["output"]}
                self._messages.append(result)
                if self._stream is Stream.SNAPSHOTS:
                    yield {"type": "MESSAGES_SNAPSHOT", "messages": self._messages}
                else:
                    yield {"type": "TOOL_CALL_RESULT", "messageId": result["id"], **_but(result, "id")}
            case "error":
                yield {"type": "RUN_ERROR", "message": chunk["errorText"]}
                if self._stream is Stream.FINISHES_ANYWAY:
                    yield {"type": "RUN_FINISHED", **self._ids}
            case "finish":
                yield {"type": "RUN_FINISHED", **self._ids}


def _but(value: Mapping[str, Any], name: str) -> Json:
    return {key: one for key, one in value.items() if key != name}
