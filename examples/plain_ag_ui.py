#!/usr/bin/env python3
"""A server of AG-UI 1.0 in one file, without dependencies, written from the specification (docs.ag-ui.com/spec/1.0).

    python examples/plain_ag_ui.py 8000
    tpharness run --server ag-ui+http://127.0.0.1:8000/ --prompt "How warm is it in Paris?"

The model is a few lines that answer by the words of the user; everything around it is what a real server has to do.
What may be surprising, and why it is so:

- The input is validated before the response begins, and what is malformed gets a status. What is unknown is no mistake.
- The history goes to the model without what a page has left behind: a call whose arguments are half, or that has no
  result, is dropped, and no call of the history is run. The texts of a cut answer stay: the user has seen them.
- Before RUN_FINISHED everything is closed, and calls that the page has to answer are named. An exception becomes
  RUN_ERROR, and the body still ends as HTTP has it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Generator, Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from uuid import uuid4

VERSION = "1.0"
Event = dict[str, Any]


class MalformedError(Exception):
    """The input is not a RunAgentInput; the text says why."""


def validated(body: bytes) -> Mapping[str, Any]:
    """Return the input. What it does not have to have may be missing, and what is not known is left alone."""
    try:
        posted = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise MalformedError(f"the body is not JSON: {error}") from error
    if not isinstance(posted, dict):
        raise MalformedError("the body is not an object")
    for name, kind in (("threadId", str), ("runId", str), ("messages", list)):
        if not isinstance(posted.get(name), kind):
            raise MalformedError(f"{name} is missing or of another type")
    for name in ("tools", "context", "resume"):
        if not isinstance(posted.get(name, []), list):
            raise MalformedError(f"{name} is not a list")
    for message in posted["messages"]:
        if not isinstance(message, dict) or not isinstance(message.get("id"), str) or "role" not in message:
            raise MalformedError("a message has no id or no role")
    return posted


def for_the_model(messages: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the history that a model is given: every call has its result, and every result its call."""
    answered = {message["toolCallId"] for message in messages if message["role"] == "tool"}
    kept: list[Mapping[str, Any]] = []
    for message in messages:
        calls = [call for call in message.get("toolCalls", ()) if call["id"] in answered]
        if message["role"] != "assistant" or calls or message.get("content"):
            kept.append({**message, "toolCalls": calls} if "toolCalls" in message else message)
    return kept


# ---------------------------------------------------------------------------------------------------- the model


def model(history: Sequence[Mapping[str, Any]], tools: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """Yield what a model says next: pieces of a text, or of the arguments of a call with its tool."""
    last = history[-1]
    words = str(last.get("content", "")).lower()
    if last["role"] == "tool":
        yield from (("text", "", piece) for piece in ("It is ", str(last["content"]), "."))
    elif "warm" in words:
        yield from (("text", "", piece) for piece in ("Let me", " look."))
        yield from (("call", "get_weather", piece) for piece in ('{"city": ', '"Paris"}'))
    elif "book" in words:
        yield from (("call", "book_room", piece) for piece in ('{"nights": ', "2}"))
    elif "page" in words and tools:
        yield from (("call", tools[0], piece) for piece in ("{", "}"))
    else:
        yield from (("text", "", piece) for piece in ("O", "K."))


def get_weather(arguments: Mapping[str, Any]) -> str:
    """Return how warm it is."""
    return f"18 degrees in {arguments['city']}"


def book_room(arguments: Mapping[str, Any]) -> str:
    """Book a room, which the user has to approve."""
    return f"booked for {arguments['nights']} nights"


TOOLS = {"get_weather": get_weather, "book_room": book_room}
ASKS = ("book_room",)


# ---------------------------------------------------------------------------------------------------- the run


def run(posted: Mapping[str, Any]) -> Generator[Event, None, None]:
    """Yield the events of a run."""
    names = {"threadId": posted["threadId"], "runId": posted["runId"]}
    yield {"type": "RUN_STARTED", **names, "protocolVersion": VERSION}
    try:
        outcome = yield from answer(posted)
    except Exception as error:  # noqa: BLE001  # whatever a model or a tool raises
        yield {"type": "RUN_ERROR", "message": f"{type(error).__name__}: {error}"}
        return
    yield {"type": "RUN_FINISHED", **names, "outcome": outcome}


def answer(posted: Mapping[str, Any]) -> Generator[Event, None, Event]:
    """Yield the events of model and tools until the model calls no more; return the outcome."""
    page = [tool["name"] for tool in posted.get("tools", [])]
    messages = list(posted["messages"])
    for entry in posted.get("resume", []):
        yield from resumed(entry, messages)
    history = for_the_model(messages)
    while True:
        message_id = str(uuid4())
        text = ""
        call: dict[str, Any] | None = None
        for kind, tool, piece in model(history, page):
            if kind == "text":
                if not text:
                    yield {"type": "TEXT_MESSAGE_START", "messageId": message_id, "role": "assistant"}
                text += piece
                yield {"type": "TEXT_MESSAGE_CONTENT", "messageId": message_id, "delta": piece}
                continue
            if call is None:
                if text:
                    yield {"type": "TEXT_MESSAGE_END", "messageId": message_id}
                call = {"id": str(uuid4()), "type": "function", "function": {"name": tool, "arguments": ""}}
                start = {"type": "TOOL_CALL_START", "toolCallId": call["id"], "toolCallName": tool}
                yield {**start, "parentMessageId": message_id}
            call["function"]["arguments"] += piece
            yield {"type": "TOOL_CALL_ARGS", "toolCallId": call["id"], "delta": piece}
        if call is None:
            yield {"type": "TEXT_MESSAGE_END", "messageId": message_id}
            return {"type": "success"}
        yield {"type": "TOOL_CALL_END", "toolCallId": call["id"]}
        if tool in ASKS:  # the answer comes with the next input, in resume; the call itself is the name of the question
            asked = {"id": call["id"], "reason": "approval", "message": f"Run {tool}?", "toolCallId": call["id"]}
            return {"type": "interrupt", "interrupts": [asked]}
        if tool in page:  # the page runs it, and answers with the next input
            return {"type": "success", "pendingToolCallIds": [call["id"]]}
        result = TOOLS[tool](json.loads(call["function"]["arguments"]))
        told = {"id": str(uuid4()), "role": "tool", "toolCallId": call["id"], "content": result}
        yield {"type": "TOOL_CALL_RESULT", "messageId": told["id"], "toolCallId": call["id"], "content": result}
        history += [{"id": message_id, "role": "assistant", "content": text, "toolCalls": [call]}, told]


def resumed(entry: Mapping[str, Any], messages: list[Any]) -> Iterator[Event]:
    """Yield the result of a call that was asked about, and put it behind the call. An unknown one is left out."""
    for index, message in enumerate(messages):
        for call in message.get("toolCalls", ()):
            if call["id"] == entry["interruptId"]:
                approved = entry["status"] == "resolved" and entry.get("payload", {}).get("approved") is True
                arguments = json.loads(call["function"]["arguments"])
                result = TOOLS[call["function"]["name"]](arguments) if approved else "The user did not approve it."
                told = {"id": str(uuid4()), "role": "tool", "toolCallId": call["id"], "content": result}
                messages.insert(index + 1, told)
                yield {"type": "TOOL_CALL_RESULT", "messageId": told["id"], "toolCallId": call["id"], "content": result}
                return


# ---------------------------------------------------------------------------------------------------- HTTP


class Handler(BaseHTTPRequestHandler):
    """One POST, one stream. Nothing runs on when the client leaves: the write fails, and the generator is closed."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Answer a run."""
        try:
            posted = validated(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        except MalformedError as error:
            self._refuse(str(error))
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        events = run(posted)
        try:
            for event in events:
                self.wfile.write(f"data: {json.dumps(event)}\n\n".encode())
        except OSError:
            pass  # the client has left
        finally:
            events.close()
            self.close_connection = True

    def _refuse(self, why: str) -> None:
        body = json.dumps({"error": why}).encode()
        self.send_response(400)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # its own signature
        """Say nothing."""


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 8000), Handler)
    print(f"http://127.0.0.1:{server.server_port}/", flush=True)
    server.serve_forever()
