"""The examples in plain Python and plain Node, asked what they declare. Node is needed for the second one.

That they pass the suite is in test_plain_suite.py.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import shlex
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.patience import SLOW

from tpharness.explore.campaigns.campaign import Campaign, CampaignOptions
from tpharness.explore.generate.kinds import FuzzKind
from tpharness.run.session import Session
from tpharness.targets.nodejs import find_node

EXAMPLES = Path(__file__).parents[2] / "examples"
START = "2025-01-20T10:00:00Z"
AT = "2025-01-20T10:00:01Z"
AGENTS = {"a": {"agent_id": "a", "agent_name": "A", "created_at": START}}
TEXT: list[dict[str, Any]] = [
    {"event_kind": "part_start", "index": 0, "part": {"part_kind": "text", "content": "Hello"}, "at": AT},
    {"event_kind": "part_end", "index": 0, "part": {"part_kind": "text", "content": "Hello"}, "at": AT},
    {"event_kind": "model_response_end", "finish_reason": "stop", "at": AT},
]
RESULT: dict[str, Any] = {"event_kind": "agent_run_result", "at": AT}


def run_request(events: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    """Return what starts a run."""
    run = {"turn_type": "agent", "agent_id": "a", "started_at": START, "events": events}
    return {"created_at": START, "agents": AGENTS, "run": run, **more}


@pytest.fixture(scope="module", params=["python", pytest.param("node", marks=pytest.mark.node)])
def command(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """Return how an example is started."""
    if request.param == "node":
        return (str(find_node().executable), str(EXAMPLES / "plain_node.mjs"))
    return (sys.executable, str(EXAMPLES / "plain_python.py"))


@pytest.fixture(scope="module")
def address(command: tuple[str, ...]) -> Iterator[str]:
    """Start an example as a server on a free port; return host and port."""
    with subprocess.Popen([*command, "--http", "127.0.0.1:0"], stdout=subprocess.PIPE, text=True) as process:
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


def test_it_agrees_with_the_reference_on_generated_programs(command: tuple[str, ...], tmp_path: Path) -> None:
    """What no scenario says: agents that hand over, failures and the provider's calls in odd orders, cut anywhere."""
    agree_on_programs(command, tmp_path, "vsp")


@pytest.mark.node
def test_node_agrees_with_the_reference_on_generated_programs_over_ag_ui(tmp_path: Path) -> None:
    """The same over the other wire, each case over both."""
    agree_on_programs((str(find_node().executable), str(EXAMPLES / "plain_node.mjs")), tmp_path, "ag-ui")


def agree_on_programs(command: tuple[str, ...], tmp_path: Path, wire: str) -> None:
    """Play generated programs on both sides of an example."""
    spec = f"stdio:{shlex.join([*command, '--stdio'])}"
    with Session(server=spec, client=spec, patience=SLOW, wire=wire) as session:
        options = CampaignOptions(db=tmp_path, kinds=(FuzzKind.PROGRAMS,), cases=120, seed=5, shrink_seconds=0.0)
        state = Campaign(session, options).run()
    assert state.failures == {}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it(number: int, command: tuple[str, ...]) -> None:
    """At once, whatever is open."""
    with subprocess.Popen([*command, "--http", "127.0.0.1:0"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(number)
        assert process.wait(5) in (0, -number)


def test_it_says_how_it_is_used(command: tuple[str, ...]) -> None:
    """And exits with 2."""
    told = subprocess.run([*command, "--what"], capture_output=True, text=True, check=False)
    assert told.returncode == 2
    assert "--stdio" in told.stderr
    assert "--http HOST:PORT" in told.stderr


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


def test_a_content_without_hash_and_size_is_given_out(address: str) -> None:
    """R56: what the reference does not name is not compared."""
    reference = {"uri": "s3://b/k", "hash": None}
    request = {"content_ref": reference, "data_base64": "eA=="}
    assert ask(address, "POST", "/resolve", request) == (200, {"data_base64": "eA=="})


def test_after_a_loss_it_holds_what_it_was_given(address: str) -> None:
    """R32: the server's threads are the client's."""
    threads = {"0.0.4": {"version": "0.0.4", "thread_id": "t", "turns": []}}
    assert ask(address, "POST", "/adopt", {"threads": threads}) == (200, {"threads": threads})
