"""Servers of AG-UI that are wrong in one thing each: `examples/plain_ag_ui.py`, changed where its defect is.

`DEFECTS` has what each does, and which finding in which case shows it.
"""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

from tests.modules import load_module

EXAMPLE = Path(__file__).parents[3] / "examples" / "plain_ag_ui.py"


plain = load_module(EXAMPLE)


class Defect(NamedTuple):
    """What is wrong, what finds it, and where first."""

    about: str
    finding: str
    case: str


DEFECTS = {
    "refuses-absent-lists": Defect("asks for tools and context", "endpoint-absent-refused", "input/no-lists"),
    "refuses-unknown-members": Defect("knows no other member", "endpoint-unknown-refused", "input/unknown-member"),
    "takes-malformed-inputs": Defect("a stream says it is wrong", "endpoint-malformed-taken", "input/not-json"),
    "refuses-newer-minors": Defect("takes 1.0 alone", "endpoint-minor-refused", "input/newer-minor"),
    "echoes-the-version": Defect("declares the client's", "endpoint-version-echoed", "input/newer-minor"),
    "refuses-unknown-interrupts": Defect(
        "fails where it asked nothing", "endpoint-interrupt-refused", "input/unknown-interrupt"
    ),
    "keeps-the-body-open": Defect("the body has no end", "endpoint-body-open", "whole/1"),
    "tears-the-body": Defect("the last chunk is missing", "endpoint-body-torn", "whole/1"),
    "ends-without-an-end": Defect("RUN_FINISHED is missing", "endpoint-run-without-end", "whole/1"),
    "breaks-off": Defect("the connection is cut in a run", "endpoint-lost", "whole/1"),
    "hangs": Defect("nothing comes behind the first text", "endpoint-silent", "whole/1"),
    "only-comments": Defect("comments come, and nothing else", "endpoint-silent", "whole/1"),
    "never-ends": Defect("texts come for ever", "endpoint-endless", "whole/1"),
    "fails-at-once": Defect("the model has no key", "endpoint-run-failed", "whole/1"),
    "refuses-half-calls": Defect("half arguments are an error", "endpoint-next-refused", "next/in-arguments"),
    "fails-on-left-calls": Defect("the model refuses the history", "endpoint-next-failed", "next/call-ended"),
    "is-busy": Defect("the run that was left goes on for a while", "endpoint-next-busy", "next/in-text"),
    "runs-left-calls": Defect("the call of the history is run", "endpoint-call-run-unasked", "next/call-ended"),
    "answers-left-calls": Defect("an answer is made up", "endpoint-call-answered", "next/call-ended"),
    "invents-arguments": Defect("half arguments become {}", "endpoint-arguments-invented", "next/in-arguments"),
    "loses-the-message": Defect("the snapshot lacks it", "endpoint-message-lost", "next/in-text"),
    "refuses-the-second-chat": Defect("403 from then on", "endpoint-input-refused", "cut/started"),
    "answers-json": Defect("JSON from then on", "endpoint-not-a-stream", "cut/started"),
    "stops-answering": Defect("no head comes from then on", "endpoint-unreachable", "next/whole"),
    "dies": Defect("the process ends at half a text", "endpoint-gone", "next/in-text"),
    "declares-no-version": Defect("no protocolVersion", "ag-ui-version-missing", "whole/1"),
    "answers-the-page's-tool": Defect("a result of its own", "ag-ui-frontend-answered", "whole/2"),
    "streams-history-again": Defect("the input's texts first", "ag-ui-history-streamed", "next/whole"),
}


class Server(ThreadingHTTPServer):
    """A server with a defect; `released` ends what waits."""

    daemon_threads = True

    def __init__(self, defect: str, address: tuple[str, int]) -> None:
        super().__init__(address, Odd)
        self.defect = defect
        self.threads: list[str] = []
        self.posted: list[tuple[dict[str, str], Any]] = []
        self.released = threading.Event()

    def die(self) -> None:
        """Listen no more."""
        self.socket.close()


class Odd(plain.Handler):  # type: ignore[misc, name-defined]  # a module that is loaded by its path
    """The example's handler, with one defect."""

    server: Server

    def do_POST(self) -> None:  # noqa: N802  # the name that the base class calls
        """Answer a run."""
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        try:
            posted = plain.validated(body)
        except plain.MalformedError as error:
            if self.server.defect == "takes-malformed-inputs":
                self.stream(iter([{"type": "RUN_ERROR", "message": str(error)}]))
            else:
                self._refuse(str(error))
            return
        self.server.posted.append((dict(self.headers), posted))
        self.server.threads.append(posted["threadId"])
        if self.server.defect == "dies" and any(message.get("content") == "Let me" for message in posted["messages"]):
            self.server.die()
            self.close_connection = True
            return
        why = self.refused(posted)
        if why:
            self._refuse(why)
        elif self.server.defect == "answers-json" and len(set(self.server.threads)) > 1:
            self.answer_json()
        elif self.server.defect == "stops-answering" and len(self.server.threads) > 1:
            self.server.released.wait(30)
            self.close_connection = True
        else:
            self.stream(self.changed(posted))

    def refused(self, posted: dict[str, Any]) -> str:
        """Return why this defect refuses an input, "" where it does not."""
        known = {"threadId", "runId", "messages", "protocolVersion", "state", "tools", "context", "forwardedProps"}
        calls = [call for message in posted["messages"] for call in message.get("toolCalls", ())]
        wrong: dict[str, Callable[[], bool]] = {
            "refuses-absent-lists": lambda: "tools" not in posted,
            "refuses-unknown-members": lambda: not posted.keys() <= known | {"resume"},
            "refuses-newer-minors": lambda: posted.get("protocolVersion") != "1.0",
            "refuses-half-calls": lambda: any(not call["function"]["arguments"].endswith("}") for call in calls),
            "refuses-the-second-chat": lambda: len(set(self.server.threads)) > 1,
        }
        return self.server.defect if wrong.get(self.server.defect, bool)() else ""

    def answer_json(self) -> None:
        """Answer with a document."""
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def changed(self, posted: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Yield the events of a run, as the defect has them."""
        defect = self.server.defect
        if defect == "answers-the-page's-tool" and posted.get("tools"):
            yield from _answering(plain.run(posted))
            return
        if defect == "refuses-unknown-interrupts" and posted.get("resume"):
            yield {"type": "RUN_ERROR", "message": "unknown interrupt"}
            return
        for event in plain.run(posted):
            kind = event["type"]
            if kind == "RUN_STARTED":
                yield self.start(event, posted)
                yield from self.behind_start(posted)
                if defect == "fails-at-once":
                    yield {"type": "RUN_ERROR", "message": "the model has no key"}
                    return
                if defect == "is-busy" and self.comes_at_once(posted):
                    yield {"type": "RUN_ERROR", "message": "another run is in progress"}
                    return
                if defect == "fails-on-left-calls" and _left(posted):
                    yield {"type": "RUN_ERROR", "message": "tool_calls must be followed by tool messages"}
                    return
                continue
            if kind == "RUN_FINISHED" and defect == "ends-without-an-end":
                return
            if kind == "RUN_FINISHED" and defect in ("invents-arguments", "loses-the-message"):
                yield {"type": "MESSAGES_SNAPSHOT", "messages": self.snapshot(posted)}
            yield event
            if kind == "TEXT_MESSAGE_CONTENT":
                yield from self.behind_text(event)

    def comes_at_once(self, posted: dict[str, Any]) -> bool:
        """Whether this is the first post of a chat behind one that was left in its text."""
        left = any(message.get("content") == "Let me" for message in posted["messages"])
        return left and self.server.threads.count(posted["threadId"]) == 2

    def start(self, event: dict[str, Any], posted: dict[str, Any]) -> dict[str, Any]:
        """Return RUN_STARTED."""
        if self.server.defect == "echoes-the-version":
            return {**event, "protocolVersion": posted["protocolVersion"]}
        if self.server.defect == "declares-no-version":
            return {name: value for name, value in event.items() if name != "protocolVersion"}
        return event

    def behind_start(self, posted: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Yield what comes before the model is asked."""
        content = {"runs-left-calls": "18 degrees in Paris", "answers-left-calls": "skipped"}.get(self.server.defect)
        for number, call in enumerate(_left(posted) if content else ()):
            result = {"messageId": f"left-{number}", "toolCallId": call["id"], "content": content}
            yield {"type": "TOOL_CALL_RESULT", **result}
        if self.server.defect == "streams-the-approved-call-again" and posted.get("resume"):
            for call in _left(posted):
                names = {"toolCallId": call["id"]}
                yield {"type": "TOOL_CALL_START", "toolCallName": call["function"]["name"], **names}
                yield {"type": "TOOL_CALL_ARGS", "delta": call["function"]["arguments"], **names}
                yield {"type": "TOOL_CALL_END", **names}
        if self.server.defect == "streams-history-again":
            for message in posted["messages"]:
                if message["role"] == "assistant" and message.get("content"):
                    names = {"messageId": message["id"]}
                    yield {"type": "TEXT_MESSAGE_START", "role": "assistant", **names}
                    yield {"type": "TEXT_MESSAGE_CONTENT", "delta": message["content"], **names}
                    yield {"type": "TEXT_MESSAGE_END", **names}

    def behind_text(self, event: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Do, behind the first piece of a text, what keeps a run from its end."""
        match self.server.defect:
            case "breaks-off":
                self.connection.shutdown(socket.SHUT_RDWR)
            case "hangs":
                self.server.released.wait(30)
            case "only-comments":
                while not self.server.released.wait(0.02):
                    self.wfile.write(b": still there\n\n")
            case "never-ends":
                while not self.server.released.is_set():
                    yield event

    def snapshot(self, posted: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the messages as the defect has them."""
        messages = json.loads(json.dumps(posted["messages"]))
        if self.server.defect == "loses-the-message":
            return list(messages[:-1])
        for message in messages:
            for call in message.get("toolCalls", ()):
                if not call["function"]["arguments"].endswith("}"):
                    call["function"]["arguments"] = "{}"
        return list(messages)

    def stream(self, events: Iterator[dict[str, Any]]) -> None:
        """Send a stream."""
        torn = self.server.defect in ("tears-the-body", "breaks-off")
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header(*(("Transfer-Encoding", "chunked") if torn else ("Connection", "close")))
        self.end_headers()
        try:
            for event in events:
                data = f"data: {json.dumps(event)}\n\n".encode()
                self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data) if torn else data)
            if self.server.defect == "keeps-the-body-open":
                self.server.released.wait(30)
        except OSError:
            pass
        self.close_connection = True

    def finish(self) -> None:
        """End the connection, which may be gone."""
        with suppress(OSError):
            super().finish()


def _left(posted: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the whole calls of the history without a result."""
    answered = {message.get("toolCallId") for message in posted["messages"]}
    calls = [call for message in posted["messages"] for call in message.get("toolCalls", ())]
    return [call for call in calls if call["id"] not in answered and call["function"]["arguments"].endswith("}")]


def _answering(events: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the events of a run with a result for each call, which only the page may give."""
    for event in events:
        if event["type"] == "RUN_FINISHED":
            yield {**event, "outcome": {"type": "success"}}
            continue
        yield event
        if event["type"] == "TOOL_CALL_END":
            yield {
                "type": "TOOL_CALL_RESULT",
                "messageId": f"made-{event['toolCallId']}",
                "toolCallId": event["toolCallId"],
                "content": "ok",
            }


@contextmanager
def serving(defect: str = "") -> Iterator[Server]:
    """Serve with a defect, or without one, on a free port."""
    server = Server(defect, ("127.0.0.1", 0))
    thread = threading.Thread(target=_serve, args=(server,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.released.set()
        if defect == "dies":
            server.socket.close()
        else:
            server.shutdown()
        server.server_close()


def _serve(server: Server) -> None:
    with contextlib.suppress(OSError, ValueError):  # its socket was closed
        server.serve_forever(poll_interval=0.01)
