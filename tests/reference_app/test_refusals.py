"""What is refused, and that the answer says what, where and what to do; never a 500, never a traceback."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import Any

import pytest
from tests.reference_app.peer import AT, HELLO, Peer, Serve, run_body, user_turn

from tpharness.protocol.parse import Parsed, parse_json
from tpharness.reference_app import Settings, requests
from tpharness.reference_app.fold import ThreadFold

pytestmark = pytest.mark.asyncio

RUNS = "/threads/t/runs"


async def refused(peer: Peer, path: str, body: Any, status: int, *said: str) -> None:
    """Hold an answer to a status, and its message to words."""
    got, told = await peer.answer("POST", path, body)
    assert got == status, told
    assert set(told) == {"error"}
    for word in said:
        assert word in told["error"]["message"]
    assert told["error"]["hint"]


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (lambda body: body.pop("run"), "run"),
        (lambda body: body.pop("agents"), "agents"),
        (lambda body: body["run"].pop("events"), "/run"),
        (lambda body: body["run"].update(events={}), "/run/events"),
        (lambda body: body["run"].update(agent_id=""), "/run/agent_id"),
        (lambda body: body["run"].update(started_at="yesterday"), "/run/started_at"),
        (lambda body: body["run"].update(started_at="2025-02-30T10:00:00Z"), "/run/started_at"),
        (lambda body: body.update(created_at="0001-01-01T00:00:00+14:00"), "/created_at"),
        (lambda body: body.update(hold={}), "/hold"),
        (lambda body: body.update(hold={"at": "2025-13-01T10:00:00Z"}), "/hold/at"),
        (lambda body: body.update(limits={"stream_seconds": 0}), "/limits/stream_seconds"),
        (lambda body: body.update(time_scale=-1), "/time_scale"),
        (lambda body: body.update(on_disconnect="maybe"), "/on_disconnect"),
        (
            lambda body: body.update(user=[{**user_turn("Hi"), "submitted_at": "2025-00-01T10:00:00Z"}]),
            "/user/0/submitted_at",
        ),
        (lambda body: body["run"]["events"].__setitem__(1, {"event_kind": "part_delta"}), "/run/events/1"),
        (lambda body: body["run"]["events"].__setitem__(2, 5), "/run/events/2"),
        (lambda body: body["run"]["events"][0].update(at=7), "/run/events/0/at"),
    ],
)
async def test_a_run_that_does_not_fit_names_the_place(serve: Serve, change: Any, place: str) -> None:
    """422 with the JSON pointer, and the thread is not created."""
    body = json.loads(json.dumps(run_body(HELLO)))
    change(body)
    async with serve() as peer:
        await refused(peer, RUNS, body, 422, place)
        assert (await peer.answer("GET", "/threads/t"))[0] == 404


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b"\xff{}", 400),
        (b'{"a": NaN}', 400),
        (b"[" * 100_000, 400),
        (b"[" * 600 + b"]" * 600, 400),
        (b"[]", 422),
        (b"null", 422),
        (b'"run"', 422),
        (b'{"run": []}', 422),
        (b'{"run": {"events": []}}', 422),
    ],
    ids=repr,
)
async def test_a_body_that_is_no_request_is_refused(serve: Serve, data: bytes, status: int) -> None:
    """400 for what is not JSON, 422 for other JSON."""
    async with serve() as peer:
        headers = {"content-type": "application/json"}
        async with asyncio.timeout(5), peer.session.post(f"{peer.url}{RUNS}", data=data, headers=headers) as answer:
            assert answer.status == status
            assert "Traceback" not in await answer.text()
            assert (await answer.json())["error"]["message"]


async def test_another_media_type_is_refused(serve: Serve) -> None:
    """415: what a web page may send to this machine without asking is not taken."""
    async with serve() as peer:
        data = json.dumps(run_body(HELLO))
        for media_type in ("text/plain", "application/x-www-form-urlencoded"):
            headers = {"content-type": media_type}
            async with asyncio.timeout(5), peer.session.post(f"{peer.url}{RUNS}", data=data, headers=headers) as answer:
                assert answer.status == 415


async def test_sizes_are_limited(serve: Serve) -> None:
    """413 for a body or a script that is too long, with and without a length said beforehand."""

    async def pieces() -> Any:
        for _ in range(5):
            yield b" " * 1000

    async with serve(Settings(max_body=4000, max_events=3)) as peer:
        await refused(peer, RUNS, run_body(HELLO), 413, "5 events", "3")
        await refused(peer, RUNS, run_body(HELLO, padding="x" * 4000), 413, "4000 bytes")
        headers = {"content-type": "application/json"}
        async with asyncio.timeout(5), peer.session.post(f"{peer.url}{RUNS}", data=pieces(), headers=headers) as answer:
            assert answer.status == 413


async def test_threads_and_runs_are_limited(serve: Serve) -> None:
    """503 until some are deleted or have ended."""
    held = run_body(HELLO[:2], hold={"at": AT.format(5)}, marks=True)
    async with serve(Settings(max_threads=2, max_runs=1)) as peer:
        async with peer.post("/threads/a/runs", held) as answer:
            await peer.until(answer, b": tp 2\n\n")
            await refused(peer, "/threads/b/runs", run_body(HELLO), 503, "1 run in progress")
            await peer.answer("POST", "/threads/a/cancel", {"reason": "user_cancelled"})
        await peer.play("b", run_body(HELLO))
        await refused(peer, "/threads/c/runs", run_body(HELLO), 503, "2 threads")
        await peer.answer("DELETE", "/threads/a")
        await peer.play("c", run_body(HELLO))


async def test_other_requests_are_checked_too(serve: Serve) -> None:
    """Each by its own shape."""
    async with serve() as peer:
        await peer.play("t", run_body(HELLO))
        await refused(peer, "/threads/t/cancel", {}, 422, "reason")
        await refused(peer, "/threads/t/cancel", {"reason": ""}, 422, "/reason")
        await refused(peer, "/threads/t/user-turns", {"turn_type": "user"}, 422)
        await refused(peer, "/threads/t/user-turns", {**user_turn("x"), "submitted_at": "2025-02-30T10:00:00Z"}, 422)
        await refused(peer, "/receive", {"thread_id": "t"}, 422)
        await refused(peer, "/adopt", {"threads": {"1.0.0": {}}}, 422)
        await refused(peer, "/resolve", {"content_ref": {"uri": "s3://b/k"}, "data_base64": "%"}, 422)


async def test_paths_and_methods_that_are_not_there(serve: Serve) -> None:
    """404 and 405 are problems of the contract as well; 405 says what is allowed."""
    async with serve() as peer:
        await peer.play("t", run_body(HELLO))
        for method, path, status in (
            ("GET", "/", 404),
            ("GET", "/threads", 404),
            ("GET", "/threads/t/else", 404),
            ("GET", "/threads//runs", 404),
            ("GET", "/threads/t?version=1.0.0", 400),
            ("GET", "/threads/t?version=", 400),
            ("GET", "/threads/none", 404),
            ("GET", "/threads/t/runs", 405),
            ("PUT", "/threads/t", 405),
            ("POST", "/capabilities", 405),
        ):
            got, told = await peer.answer(method, path)
            assert (path, got) == (path, status)
            assert told["error"]["message"]
        async with peer.session.put(f"{peer.url}/threads/t") as answer:
            assert set(answer.headers["allow"].split(", ")) == {"GET", "HEAD", "DELETE"}


async def test_with_a_token_every_request_needs_it(serve: Serve) -> None:
    """401 for none and for another, whatever the path."""
    async with serve(Settings(token="s3cret")) as peer:  # noqa: S106
        for headers in ({}, {"authorization": "Bearer other"}, {"authorization": "Basic s3cret"}):
            for path in ("/capabilities", "/threads/t", "/openapi.json", "/nowhere"):
                async with asyncio.timeout(5), peer.get(path, headers=headers) as answer:
                    assert answer.status == 401
                    assert answer.headers["www-authenticate"] == "Bearer"
                    assert (await answer.json())["error"]["message"]
        right = {"authorization": "bearer s3cret"}
        assert (await peer.answer("GET", "/capabilities", headers=right))[0] == 200


async def test_a_defect_is_told_without_its_inside(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A fold that fails ends its run with `error`, and the server goes on."""

    def broken(*_: object) -> bytes:
        raise KeyError("secret")

    async with serve() as peer:
        with monkeypatch.context() as patch:
            patch.setattr(ThreadFold, "play", broken)
            data = await peer.play("t", run_body(HELLO))
        assert b'{"type":"abort","reason":"error"}' in data
        assert b"secret" not in data
        assert "secret" in caplog.text
        await peer.play("t", run_body(HELLO))


async def test_a_long_body_keeps_nobody_waiting(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes seconds to parse is parsed beside the event loop: another request is answered meanwhile."""
    answered = threading.Event()
    waited = []

    def parse_slowly(data: bytes, *, max_size: int) -> Parsed:
        waited.append(answered.wait(20))
        return parse_json(data, max_size=max_size)

    async with serve() as peer:
        monkeypatch.setattr(requests, "_LONG_BODY", 1)
        monkeypatch.setattr(requests, "parse_json", parse_slowly)
        long = asyncio.create_task(refused(peer, RUNS, {}, 422))
        await asyncio.sleep(0)
        assert (await peer.answer("GET", "/threads/other"))[0] == 404
        answered.set()
        await long
    assert waited == [True]
