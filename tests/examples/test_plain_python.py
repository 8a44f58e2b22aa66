"""The plain Python example: certified over both transports on scenarios of each theme, and asked what it declares.

The whole suite is played on it by `tpharness run` (docs/CONTROL.md has the commands); here are the scenarios that are
hardest to get right, so that a change of the example or of the contract is noticed at once.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import shlex
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tpharness.resources import scenarios_dir
from tpharness.run import Outcome, RunOptions, play_one
from tpharness.scenario import load_scenario

EXAMPLE = Path(__file__).parents[2] / "examples" / "plain_python.py"
STDIO = "stdio:" + shlex.join([sys.executable, str(EXAMPLE), "--stdio"])
HARDEST = (
    "basics/cancelled-in-arguments",
    "basics/parallel-returns-in-call-order",
    "carriers/all-facts",
    "carriers/none",
    "cycles/late-return",
    "cycles/provider-executed",
    "cycles/reset-step",
    "documents/2-0-0-example-thread",
    "events/normative-names",
    "events/order-in-time",
    "interruptions/error-then-cut",
    "interruptions/next-turn-after-interruption",
    "interruptions/safety-halt",
    "interruptions/timeout-by-stall",
    "interruptions/usage-of-dropped-response",
    "numbers/arguments-as-text",
    "parts/every-kind-in-one-response",
    "sse/line-ends",
    "sse/surrogates-split-between-deltas",
    "stream/malformed-chunks",
    "threads/handoff-cut-in-second-agent",
    "tools/content-ref",
    "tools/every-status",
)
LIVE = (
    "interruptions/between-steps",  # the client goes away
    "interruptions/every-turn-of-a-thread",  # every reason at every place
    "interruptions/timeout-by-stall",  # the limit runs out
    "tools/every-status",  # the user cancels
)
START = "2025-01-20T10:00:00Z"
AT = "2025-01-20T10:00:01Z"
AGENTS = {"a": {"agent_id": "a", "agent_name": "A", "created_at": START}}
TEXT: list[dict[str, Any]] = [
    {"event_kind": "part_start", "index": 0, "part": {"part_kind": "text", "content": "Hello"}, "at": AT},
    {"event_kind": "part_end", "index": 0, "part": {"part_kind": "text", "content": "Hello"}, "at": AT},
    {"event_kind": "model_response_end", "finish_reason": "stop", "at": AT},
]
RESULT: dict[str, Any] = {"event_kind": "agent_run_result", "at": AT}


def outcomes(name: str, *, server: str = "reference", client: str = "reference") -> set[Outcome]:
    """Play a built-in scenario."""
    scenario = load_scenario(scenarios_dir() / f"{name}.yaml", root=scenarios_dir())
    return {result.outcome for result in play_one(scenario, RunOptions(server=server, client=client))}


def run_request(events: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    """Return what starts a run."""
    run = {"turn_type": "agent", "agent_id": "a", "started_at": START, "events": events}
    return {"created_at": START, "agents": AGENTS, "run": run, **more}


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Start the example as a server on a free port; return host and port."""
    command = [sys.executable, str(EXAMPLE), "--http", "127.0.0.1:0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603
        try:
            assert process.stdout is not None
            yield process.stdout.readline().split("http://")[1].strip()
        finally:
            process.kill()


class Answer:
    """An answer that is still being read."""

    def __init__(self, address: str, method: str, path: str, body: Any = None, headers: Any = None) -> None:
        self.connection = http.client.HTTPConnection(address, timeout=10)
        self.connection.request(method, path, None if body is None else json.dumps(body), headers or {})
        self.response = self.connection.getresponse()

    def until(self, text: str) -> str:
        """Read to a line and return what came before it."""
        seen = ""
        while text not in seen:
            line = self.response.readline().decode()
            assert line, f"the stream ended before {text!r}: {seen}"
            seen += line
        return seen

    def rest(self) -> str:
        """Read to the end and close."""
        with contextlib.closing(self.connection):
            return self.response.read().decode()


def ask(address: str, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    """Return status and document of a plain request."""
    answer = Answer(address, method, path, body)
    text = answer.rest()
    return answer.response.status, json.loads(text) if text else None


@pytest.mark.parametrize("name", HARDEST)
def test_it_passes_as_a_server_and_as_a_client(name: str) -> None:
    """An independent implementation and the reference agree, each in each role."""
    assert outcomes(name, server=STDIO) == {Outcome.PASSED}
    assert outcomes(name, client=STDIO) == {Outcome.PASSED}


@pytest.mark.parametrize("name", LIVE)
def test_it_passes_over_http_with_live_interruptions(name: str, address: str) -> None:
    """What it declares over HTTP it is held to."""
    assert outcomes(name, server=f"http://{address}") == {Outcome.PASSED}


def test_a_stream_is_resumed_where_it_was_left(address: str) -> None:
    """Frames have ids; what comes after one is what comes after it, and the thread never shows the gap."""
    first = Answer(address, "POST", "/threads/resumed/runs", run_request([*TEXT, RESULT], on_disconnect="continue"))
    begun = first.until("text-start")
    last = begun.rpartition("id: ")[2].partition("\n")[0]
    first.connection.close()
    again = Answer(address, "GET", "/threads/resumed/stream", headers={"Last-Event-ID": last})
    text = again.rest()
    assert '"text-start"' not in text
    assert '"delta":"Hello"' in text
    assert text.endswith("data: [DONE]\n\n")
    _, thread = ask(address, "GET", "/threads/resumed")
    assert thread["turns"][0]["completion_status"] == "complete"
    end = text.rpartition("id: ")[2].partition("\n")[0]
    nothing = Answer(address, "GET", "/threads/resumed/stream", headers={"Last-Event-ID": end})
    assert nothing.response.status == 204
    assert nothing.rest() == ""


def test_one_run_at_a_time_and_a_cancel_that_is_told(address: str) -> None:
    """A second run is refused while one is held; the cancel ends it at the time of the hold."""
    hold = {"hold": {"at": "2025-01-20T10:00:09Z"}, "marks": True}
    held = Answer(address, "POST", "/threads/held/runs", run_request(TEXT, **hold))
    held.until(": tp 3")
    status, problem = ask(address, "POST", "/threads/held/runs", run_request(TEXT))
    assert status == 409
    assert "held" in problem["error"]["message"]
    assert ask(address, "POST", "/threads/held/cancel", {"reason": "user_cancelled"}) == (200, {"cancelled": True})
    assert '"abort","reason":"user_cancelled"' in held.rest()
    _, thread = ask(address, "GET", "/threads/held?version=0.0.4")
    assert thread["turns"][0]["interruption"] == {
        "reason": "user_cancelled",
        "interrupted_at": "2025-01-20T10:00:09Z",
    }
    assert ask(address, "POST", "/threads/held/cancel", {"reason": "user_cancelled"}) == (200, {"cancelled": False})


def test_a_heartbeat_while_nothing_is_said(address: str) -> None:
    """The limit says how often; deleting the thread ends the run."""
    quiet = {"hold": {"at": AT}, "limits": {"heartbeat_seconds": 0.05}}
    held = Answer(address, "POST", "/threads/quiet/runs", run_request(TEXT, **quiet))
    held.until(": alive")
    assert ask(address, "DELETE", "/threads/quiet") == (204, None)
    held.rest()
    assert ask(address, "GET", "/threads/quiet")[0] == 404
    assert ask(address, "DELETE", "/threads/quiet") == (204, None)


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("GET", "/nothing", None, 404),
        ("GET", "/threads/nobody", None, 404),
        ("GET", "/threads/nobody/stream", None, 404),
        ("POST", "/threads/nobody/cancel", {"reason": "x"}, 404),
        ("POST", "/threads/nobody/user-turns", {"turn_type": "user", "submitted_at": START, "parts": []}, 404),
        ("POST", "/threads/odd/runs", {}, 400),
        ("POST", "/receive", [1], 400),
    ],
)
def test_what_it_cannot_do_it_says(method: str, path: str, body: Any, status: int, address: str) -> None:
    """A refusal is a problem of the contract, never a broken connection."""
    found, problem = ask(address, method, path, body)
    assert found == status
    assert problem["error"]["message"]


class Wire(BaseHTTPRequestHandler):
    """Serves a stream whose first connection breaks inside a frame, one to stop, and a silent one."""

    whole = (
        b'id: 1\ndata: {"type":"start"}\n\nid: 2\ndata: {"type":"text-start","id":"t"}\n\n'
        b'id: 3\ndata: {"type":"text-delta","id":"t","delta":"Hi"}\n\nid: 4\ndata: {"type":"text-end","id":"t"}\n\n'
        b'id: 5\ndata: {"type":"finish"}\n\nid: 6\ndata: [DONE]\n\n'
    )
    over: threading.Event

    def do_GET(self) -> None:
        """Answer by path."""
        last = self.headers.get("last-event-id")
        self.send_response(200)
        self.end_headers()
        if self.path == "/broken":
            before, at = self.whole.index(b"id: 3"), self.whole.index(b"id: 4")
            self.wfile.write(self.whole[before:] if last == "3" else self.whole[: at + 30])  # one frame comes twice
        elif self.path == "/stop":
            self.wfile.write(b'data: {"type":"data-tp-thread_spawn","data":{}}\n\n: tp stop\n\n')
            self.wfile.flush()
            self.over.wait(10)
        else:
            self.wfile.write(b'data: {"type":"data-tp-thread_spawn","data":{}}\n\n')
            self.wfile.flush()
            self.over.wait(10)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def wire() -> Iterator[str]:
    """Serve streams to the client under test."""
    over = threading.Event()
    handler = type("BoundWire", (Wire,), {"over": over})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            over.set()
            server.shutdown()
            thread.join(10)


@pytest.mark.parametrize(
    ("path", "reason"),
    [("broken", None), ("stop", "user_cancelled"), ("silent", "timeout"), ("gone", "network_failure")],
)
def test_the_client_tells_how_its_stream_ended(path: str, reason: str | None, wire: str, address: str) -> None:
    """It resumes what broke, stops when the user does, gives up on silence, and misses what is not there."""
    url = f"{wire}/{path}"
    if path == "gone":
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            url = f"http://127.0.0.1:{free.getsockname()[1]}/"
    stream = {
        "turn_type": "agent",
        "agent_id": "a",
        "begun_at": START,
        "url": url,
        "end": {"at": AT},
        "limits": {"stream_seconds": 0.2 if path == "silent" else 5},
    }
    case = {"thread_id": "t", "created_at": START, "agents": AGENTS, "versions": ["0.0.4"], "turns": [stream]}
    status, received = ask(address, "POST", "/receive", case)
    assert status == 200
    turns = received["threads"]["0.0.4"]["turns"]
    if path == "gone":
        assert turns == []  # R24: nothing came
    elif reason is None:
        assert turns[0]["completion_status"] == "complete"
        assert turns[0]["messages"][0]["parts"] == [{"part_kind": "text", "content": "Hi"}]
    else:
        assert turns[0]["interruption"] == {"reason": reason, "interrupted_at": AT}


def test_after_a_loss_it_holds_what_it_was_given(address: str) -> None:
    """R32: the server's threads are the client's."""
    threads = {"0.0.4": {"version": "0.0.4", "thread_id": "t", "turns": []}}
    assert ask(address, "POST", "/adopt", {"threads": threads}) == (200, {"threads": threads})
