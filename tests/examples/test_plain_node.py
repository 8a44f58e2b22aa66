"""What the example in plain Node stands beyond the suite: requests that are wrong, runtimes that differ, its own end.

That it passes the suite, over both transports and with faults, is in test_plain_suite.py, for all examples.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.examples.stdio import Ask, asked

from tpharness.targets.nodejs import find_node

pytestmark = pytest.mark.node

EXAMPLE = str(Path(__file__).parents[2] / "examples" / "plain_node.mjs")
START = "2025-01-20T10:00:00Z"
AT = "2025-01-20T10:00:01Z"
LATER = "2025-01-20T10:00:02Z"
AGENTS = {name: {"agent_id": name, "agent_name": name.upper(), "created_at": START} for name in "ab"}
RESULT = {"event_kind": "agent_run_result", "at": LATER}
LARGE = 64 << 20
FORESEEN = "the run of deep has failed: RangeError: Maximum call stack size exceeded"


@pytest.fixture(scope="module")
def node() -> str:
    """Return where Node is."""
    return str(find_node().executable)


# ---------------------------------------------------------------------------------------------------- stdio


@pytest.fixture(scope="module")
def ask(node: str) -> Iterator[Ask]:
    """Start one process; return what asks it one thing and gives its answer."""
    with asked(node, EXAMPLE, "--stdio") as ask:
        yield ask


def served(ask: Ask, events: list[dict[str, Any]], **more: Any) -> tuple[list[Any], list[Any]]:
    """Play one run on the server; return the turns of 0.0.4 and the chunks of its stream."""
    run = {"turn_type": "agent", "agent_id": "a", "started_at": START, "events": events}
    header = {"thread_id": "t", "created_at": START, "agents": AGENTS, "versions": ["0.0.4"]}
    answer = ask({"op": "serve", "id": 1, "case": {**header, "turns": [run], **more}})["served"]
    frames = "".join(packet["data"] for packet in answer["streams"][0]).split("\n\n")
    chunks = [json.loads(frame.removeprefix("data: ")) for frame in frames if frame.startswith("data: {")]
    return answer["threads"]["0.0.4"]["turns"], chunks


def received(ask: Ask, *chunks: dict[str, Any]) -> list[Any]:
    """Play one stream on the client, each chunk one second after the other; return the turns of 0.0.4."""
    packets = [
        {"data": f"data: {json.dumps(chunk)}\n\n", "at": f"2025-01-20T10:01:{second:02d}Z"}
        for second, chunk in enumerate(chunks)
    ]
    stream = {"turn_type": "agent", "agent_id": "a", "begun_at": START, "packets": packets, "end": {"at": LATER}}
    header = {"thread_id": "t", "created_at": START, "agents": AGENTS, "versions": ["0.0.4"]}
    answer = ask({"op": "receive", "id": 1, "case": {**header, "turns": [stream]}})
    turns: list[Any] = answer["received"]["threads"]["0.0.4"]["turns"]
    return turns


def test_a_line_ends_at_a_line_feed_and_nowhere_else(ask: Ask) -> None:
    """JSON may hold U+2028 as it is; `readline` of Node 24 ends a line there, so it must not be what reads."""
    threads = {"0.0.4": {"version": "0.0.4", "thread_id": "a\u2028b\u2029c\u0085d", "turns": []}}
    assert ask({"op": "adopt", "id": 7, "threads": threads}) == {"id": 7, "received": {"threads": threads}}
    assert "readline" not in Path(EXAMPLE).read_text(encoding="utf-8").partition("class Thread")[0]


@pytest.mark.parametrize(
    ("line", "named"),
    [
        (b"hello", "not JSON"),
        (b"null", "the request"),
        (b'{"id": 1}', "/op"),
        (b'{"id": 1, "op": "dance"}', "dance"),
        (b'{"id": 1, "op": "serve"}', "the request"),
        (b'{"id": 1, "op": "serve", "case": {}}', "/created_at"),
        (b'{"id": 1, "op": "adopt", "threads": {"x": %b%b}}' % (b"[" * 50_000, b"]" * 50_000), "call stack"),
    ],
    ids=["no-json", "null", "no-op", "unknown-op", "no-case", "empty-case", "too-deep"],
)
def test_a_wrong_line_is_answered_and_the_next_one_too(line: bytes, named: str, ask: Ask) -> None:
    """The process goes on, and says what is wrong."""
    assert named in ask(line)["error"]["message"]
    assert "capabilities" in ask({"op": "start", "id": 2, "contract": "1.0"})


def test_an_empty_line_is_nothing(ask: Ask) -> None:
    """It has no answer."""
    assert ask(b"\n\n" + json.dumps({"op": "start", "id": 3, "contract": "1.0"}).encode())["id"] == 3


@pytest.mark.parametrize("name", ["constructor", "toString", "__proto__"])
def test_names_that_every_object_of_javascript_knows_are_names_like_others(name: str, ask: Ask) -> None:
    """R7: events, fields and counts of such names are kept as they are."""
    event = {"event_kind": "system_event", "event_type": f"data-{name}", "event_data": {name: 1}, "at": AT}
    usage = {"event_kind": "model_response_end", "usage": {"input_tokens": 2, name: 3}, "at": AT}
    [turn], chunks = served(ask, [event, usage, usage, RESULT])
    assert turn["messages"][0]["event_type"] == f"data-{name}"
    assert turn["messages"][0]["event_data"] == {name: 1}
    assert turn["total_usage"] == {"input_tokens": 4, name: 6}
    assert {"type": f"data-{name}", "data": {name: 1}} in chunks
    [turn] = received(ask, {"type": name, "a": 1}, {"type": "finish"})
    assert (turn["messages"][0]["event_type"], turn["messages"][0]["event_data"]) == (name, {"a": 1})


def test_half_a_character_becomes_whole_and_one_that_stays_alone_is_told(ask: Ask) -> None:
    """R43: two deltas make one character; R38 is for the harness to find, so half of one has to arrive there."""
    start, end = {"type": "text-start", "id": "1"}, {"type": "text-end", "id": "1"}
    halves = [{"type": "text-delta", "id": "1", "delta": half} for half in ("\ud83d", "\ude00", "\ud83d")]
    [turn] = received(ask, start, *halves, end, {"type": "finish"})
    assert turn["messages"][0]["parts"][0]["content"] == "\U0001f600\ud83d"


@pytest.mark.parametrize(
    "ignored",
    [
        {"type": "text-delta", "id": "1", "delta": "x"},
        {"type": "text-end", "id": "1"},
        {"type": "reasoning-end", "id": "1"},
        {"type": "tool-input-delta", "toolCallId": "c", "inputTextDelta": "x"},
        {"type": "tool-output-available", "toolCallId": "c", "output": 1},
        {"type": "data-x", "data": 1, "transient": True},
        {"type": "steering-message", "parts": []},
        {"type": "steering-message", "id": "s", "parts": [{"type": "file", "url": ""}]},
    ],
    ids=lambda chunk: chunk["type"],
)
def test_what_is_ignored_does_not_begin_the_turn(ignored: dict[str, Any], ask: Ask) -> None:
    """R36: the thread is what it would be without that chunk, the time at which its turn began too."""
    [turn] = received(ask, ignored, {"type": "start"}, {"type": "finish"})
    assert turn["started_at"] == "2025-01-20T10:01:01Z"
    assert received(ask, ignored) == []


def test_a_provider_s_call_that_is_refused_has_its_error_in_its_response(ask: Ask) -> None:
    """R42: the provider's calls and outputs are parts, and never open a request."""
    refused = {"toolCallId": "c", "toolName": "t", "input": 1, "errorText": "bad", "providerExecuted": True}
    [turn] = received(ask, {"type": "tool-input-error", **refused}, {"type": "finish"})
    [message] = turn["messages"]
    assert [part["part_kind"] for part in message["parts"]] == ["builtin-tool-call", "builtin-tool-return"]
    assert message["parts"][1]["content"] == "bad"


def test_a_provider_s_call_is_not_for_a_tool_to_answer(ask: Ask) -> None:
    """R42: its output is a part, so the event of a tool has no place (R36)."""
    call = {"part_kind": "builtin-tool-call", "tool_name": "t", "tool_call_id": "c", "args": "{}"}
    events: list[dict[str, Any]] = [
        {"event_kind": "part_start", "index": 0, "part": call},
        {"event_kind": "tool_progress", "tool_call_id": "c", "content": 1},
        {"event_kind": "function_tool_result", "part": {"tool_call_id": "c", "content": 1}},
    ]
    [turn], chunks = served(ask, [*({**event, "at": AT} for event in events), RESULT])
    assert [message["message_type"] for message in turn["messages"]] == ["response"]
    assert "tool-output-available" not in [chunk["type"] for chunk in chunks]


def test_an_interrupted_tool_has_started_so_its_response_is_over(ask: Ask) -> None:
    """R40, R41: its result is no return, and the text behind it is another response."""
    call = {"part_kind": "tool-call", "tool_name": "t", "tool_call_id": "c", "args": "{}"}
    text = {"part_kind": "text", "content": "x"}
    events: list[dict[str, Any]] = [
        {"event_kind": "part_start", "index": 0, "part": call},
        {"event_kind": "function_tool_result", "part": {"tool_call_id": "c", "content": 1, "outcome": "interrupted"}},
        {"event_kind": "part_start", "index": 1, "part": text},
        {"event_kind": "part_end", "index": 1, "part": text},
        {"event_kind": "model_response_end", "finish_reason": ""},  # R16: of no word that is known
    ]
    [turn], _ = served(ask, [*({**event, "at": AT} for event in events), RESULT])
    kinds = [[part["part_kind"] for part in message["parts"]] for message in turn["messages"]]
    assert kinds == [["tool-call"], ["text"]]
    assert turn["messages"][1]["finish_reason"] == "error"


@pytest.mark.parametrize(("content", "kinds"), [("", ["response", "request", "response"]), ([], ["response"])])
def test_a_queued_message_ends_the_response_before_it_if_it_says_anything(
    content: Any, kinds: list[str], ask: Ask
) -> None:
    """R44; an empty text is a text (R13), and an empty list says nothing (R52)."""
    text = {"part_kind": "text", "content": "x"}
    events: list[dict[str, Any]] = [
        {"event_kind": "part_start", "index": 0, "part": text},
        {"event_kind": "part_end", "index": 0, "part": text},
        {
            "event_kind": "enqueued_messages",
            "messages": [{"parts": [{"part_kind": "user-prompt", "content": content}]}],
        },
        {"event_kind": "part_start", "index": 1, "part": text},
        {"event_kind": "part_end", "index": 1, "part": text},
    ]
    [turn], _ = served(ask, [*({**event, "at": AT} for event in events), RESULT])
    assert [message["message_type"] for message in turn["messages"]] == kinds


def test_a_file_of_thoughts_is_told_with_its_content(ask: Ask) -> None:
    """`part.custom-kind`; a file without an identifier has that of its bytes (R63), here of three zeros."""
    content = {"kind": "binary", "data": "AAAA", "media_type": "image/png"}
    part = {"part_kind": "custom:reasoning-file", "content": content}
    [turn], chunks = served(ask, [{"event_kind": "part_start", "index": 0, "part": part, "at": AT}, RESULT])
    assert {"type": "reasoning-file", "url": "data:image/png;base64,AAAA", "mediaType": "image/png"} in chunks
    identifier = hashlib.sha1(b"\0\0\0", usedforsecurity=False).hexdigest()[:6]
    assert turn["messages"][0]["parts"][0]["content"] == {**content, "identifier": identifier}


def test_a_source_outside_of_a_step_is_a_fact_of_its_own(ask: Ask) -> None:
    """R40: a response begins at a part, and a source is none, so that no cut can take it along."""
    source = {"type": "source-url", "sourceId": "s", "url": "https://example.org"}
    [turn] = received(ask, source, {"type": "data-tp-thread_spawn", "data": {}})
    assert [message["event_type"] for message in turn["messages"]] == ["source.url", "data-tp-thread_spawn"]


def test_a_turn_changes_hands_only_to_somebody_else_and_not_before_it_has_begun(ask: Ask) -> None:
    """R45: the same agent goes on in its turn, and an empty turn gets its agent's name."""
    spawn = {"event_kind": "system_event", "event_type": "data-tp-thread_spawn", "event_data": {}, "at": AT}
    to_a, to_b = ({"event_kind": "agent_start", "agent_id": agent, "at": AT} for agent in "ab")
    turns, _ = served(ask, [to_b, spawn, to_b, spawn, to_a, spawn, RESULT])
    seen = [(turn["agent_id"], turn["started_at"], len(turn["messages"])) for turn in turns]
    assert seen == [("b", AT, 2), ("a", AT, 1)]


def test_the_wire_has_the_chunks_of_its_table(ask: Ask) -> None:
    """Strict clients refuse a chunk that has more fields than its kind, or a kind that they do not know."""
    call = {"part_kind": "tool-call", "tool_name": "t", "tool_call_id": "c", "args": {}}
    denied = {"part_kind": "tool-return", "tool_name": "t", "tool_call_id": "c", "content": "no", "outcome": "denied"}
    events: list[dict[str, Any]] = [
        {"event_kind": "part_start", "index": 0, "part": call, "at": AT},
        {"event_kind": "function_tool_result", "part": denied, "at": AT},
        {"event_kind": "system_event", "event_type": "mine", "event_data": {"a": 1}, "at": AT},
        RESULT,
    ]
    _, chunks = served(ask, events)
    decision = next(chunk for chunk in chunks if chunk["type"] == "tool-approval-response")
    assert sorted(decision) == ["approvalId", "approved", "reason", "type"]
    assert {"type": "data-mine", "data": {"a": 1}} in chunks


def test_it_ends_with_its_input_and_at_a_signal(node: str) -> None:
    """With 0, and without a word of complaint."""
    ended = subprocess.run([node, EXAMPLE, "--stdio"], input=b"", capture_output=True, check=False, timeout=20)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"", b"")
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([node, EXAMPLE, "--stdio"], **pipes) as process:  # type: ignore[call-overload]
        process.stdin.write(b'{"op": "start", "id": 1, "contract": "1.0"}\n')
        process.stdin.flush()
        assert process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0
        assert process.stderr.read() == b""


# ----------------------------------------------------------------------------------------------------- HTTP


@pytest.fixture(scope="module")
def address(node: str) -> Iterator[str]:
    """Start one server for all tests here: whatever they send it, it has to be there at the end, and end well."""
    command = [node, EXAMPLE, "--http", "127.0.0.1:0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            yield process.stdout.readline().split("http://")[1].strip()
            assert process.poll() is None, f"it has died: {process.stderr.read()}"
            process.terminate()
            assert process.wait(10) == 0
            told = {line for line in process.stderr.read().splitlines() if not line.startswith(" ")}
            assert told <= {FORESEEN}
        finally:
            process.kill()


def call(address: str, method: str, path: str, body: Any = None, timeout: float = 10) -> tuple[int, Any]:
    """Return status and JSON of an answer; a body that is bytes is sent as it is."""
    connection = http.client.HTTPConnection(address, timeout=timeout)
    try:
        connection.request(method, path, body if body is None or isinstance(body, bytes) else json.dumps(body))
        response = connection.getresponse()
        text = response.read()
        is_json = response.headers.get_content_type() == "application/json"
        return response.status, json.loads(text) if is_json else text.decode()
    finally:
        connection.close()


def run_request(*events: Any, **more: Any) -> dict[str, Any]:
    """Return what starts a run."""
    run = {"turn_type": "agent", "agent_id": "a", "started_at": START, "events": list(events)}
    return {"created_at": START, "agents": AGENTS, "run": run, **more}


HOLD = {"hold": {"at": LATER}}
CASE = {"thread_id": "t", "created_at": START, "agents": AGENTS, "versions": ["0.0.4"]}
STREAM = {"turn_type": "agent", "agent_id": "a", "begun_at": START, "end": {"at": LATER}}


@pytest.mark.parametrize(
    ("path", "body", "named"),
    [
        ("/threads/wrong/runs", b"{", "not JSON"),
        ("/threads/wrong/runs", b"null", "the request"),
        ("/threads/wrong/runs", {"run": run_request(RESULT)["run"]}, "/created_at"),
        ("/threads/wrong/runs", {"created_at": START, "agents": AGENTS, "run": {}}, "/run/agent_id"),
        ("/threads/wrong/runs", run_request(RESULT, None), "/run/events/1"),
        ("/threads/wrong/runs", run_request({"event_kind": 5}), "/run/events/0/event_kind"),
        ("/threads/wrong/runs", run_request(RESULT, user=5), "/user"),
        ("/threads/wrong/runs", run_request(RESULT, user=[None]), "/user/0"),
        ("/threads/wrong/runs", run_request(hold=5), "/hold"),
        ("/threads/wrong/runs", run_request(**HOLD, limits={"heartbeat_seconds": 0}), "/limits/heartbeat_seconds"),
        ("/threads/wrong/user-turns", {}, "/turn_type"),
        ("/threads/wrong/cancel", {}, "/reason"),
        ("/threads/%ff/runs", {}, "not a path"),
        ("/adopt", {}, "/threads"),
        ("/receive", {**CASE, "versions": ["9"], "turns": []}, "/versions/0"),
        ("/receive", {**CASE, "turns": [None]}, "/turns/0"),
        ("/receive", {**CASE, "turns": [{**STREAM, "url": "file:///etc/passwd"}]}, "/turns/0/url"),
    ],
)
def test_a_wrong_request_is_refused_and_leaves_nothing_behind(path: str, body: Any, named: str, address: str) -> None:
    """With the place that is wrong, before anything of it has happened."""
    status, problem = call(address, "POST", path, body)
    assert status == 400
    assert named in problem["error"]["message"]
    assert call(address, "GET", "/threads/wrong")[0] == 404


@pytest.mark.parametrize(
    "sent",
    [
        b"hello\r\n\r\n",
        b"GET / HTTP/1.1\r\nbad header\r\n\r\n",
        b"GET / HTTP/1.1\r\nx: %b\r\n\r\n" % (b"a" * 100_000),
        b"POST /adopt HTTP/1.1\r\nhost: x\r\ncontent-length: -1\r\n\r\n",
    ],
    ids=["no-http", "no-header", "large-header", "no-length"],
)
def test_what_is_no_http_is_told_so(sent: bytes, address: str) -> None:
    """With 400 and a problem, like all else that is wrong."""
    host, port = address.split(":")
    with socket.create_connection((host, int(port)), timeout=10) as wire:
        wire.sendall(sent)
        head, _, body = wire.makefile("rb").read().partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 ")
    assert json.loads(body)["error"]["message"]


@pytest.mark.parametrize("length", [b"content-length: %d" % (LARGE + 1), b"transfer-encoding: chunked"])
def test_a_body_that_is_too_large_is_refused_before_it_is_held(length: bytes, address: str) -> None:
    """By what it says of itself, or else as soon as it is."""
    host, port = address.split(":")
    with socket.create_connection((host, int(port)), timeout=10) as wire:
        wire.sendall(b"POST /adopt HTTP/1.1\r\nhost: x\r\n%b\r\n\r\n" % length)
        if b"chunked" in length:
            wire.sendall(b"%x\r\n" % (LARGE + 1) + b" " * (LARGE + 1))
        assert wire.makefile("rb").readline().startswith(b"HTTP/1.1 413 ")


def test_a_run_that_nobody_has_foreseen_is_interrupted_and_the_server_goes_on(address: str) -> None:
    """Nesting deeper than the stack of JSON.stringify: the client is told, and the thread too (R27)."""
    event = json.dumps({"event_kind": "custom", "name": "x", "data": None, "at": AT})
    body = json.dumps(run_request("@")).replace('"@"', event.replace("null", "[" * 50_000 + "]" * 50_000))
    status, stream = call(address, "POST", "/threads/deep/runs", body.encode())
    assert status == 200
    assert '"type":"abort","reason":"error"' in stream
    assert call(address, "GET", "/capabilities")[0] == 200
    assert call(address, "DELETE", "/threads/deep")[0] == 204


def test_a_limit_longer_than_a_timer_can_wait_is_not_over_at_once(address: str) -> None:
    """Node's timers end at 2^31 ms; beyond it they would fire after one millisecond, again and again."""
    long = {"stream_seconds": 1e9, "heartbeat_seconds": 1e9}
    connection = http.client.HTTPConnection(address, timeout=10)
    connection.request("POST", "/threads/long/runs", json.dumps(run_request(**HOLD, marks=True, limits=long)))
    response = connection.getresponse()
    while response.readline() != b": tp 0\n":
        pass
    assert call(address, "POST", "/threads/long/cancel", {"reason": "user_cancelled"}) == (200, {"cancelled": True})
    rest = response.read().decode()
    connection.close()
    assert '"reason":"user_cancelled"' in rest
    assert ": alive" not in rest


class Hostile(BaseHTTPRequestHandler):
    """Serves a stream with an event that no stack can hold."""

    def do_GET(self) -> None:
        """Answer, and close."""
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'data: {"type":"data-x","data":%b%b}\n\n' % (b"[" * 50_000, b"]" * 50_000))
        self.wfile.write(b'data: {"type":"error","errorText":"x"}\n\ndata: {"type":"finish"}\n\n')

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


def test_a_hostile_stream_cannot_end_the_client(address: str) -> None:
    """The case is refused as one that this client cannot do; other cases go on."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Hostile) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            url = f"http://127.0.0.1:{server.server_address[1]}/"
            status, problem = call(address, "POST", "/receive", {**CASE, "turns": [{**STREAM, "url": url}]})
        finally:
            server.shutdown()
            thread.join(10)
    assert status == 500
    assert "call stack" in problem["error"]["message"]
    assert call(address, "GET", "/capabilities")[0] == 200


@pytest.mark.parametrize(
    ("place", "code", "told"),
    [
        ("0.0.0.0:0", 2, "not a loopback address"),
        ("example.org:0", 2, "not a loopback address"),
        ("127.0.0.1", 2, "--http HOST:PORT"),
        ("127.0.0.1:99999", 2, "--http HOST:PORT"),
        ("taken", 1, "EADDRINUSE"),
    ],
)
def test_it_listens_on_loopback_or_says_why_not(place: str, code: int, told: str, node: str, address: str) -> None:
    """In one line: whoever reaches it could make it do anything."""
    command = [node, EXAMPLE, "--http", address if place == "taken" else place]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=20)
    assert ended.returncode == code
    assert told in ended.stderr
    assert len(ended.stderr.splitlines()) == 1
