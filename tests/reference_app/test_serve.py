"""`tpharness serve` as a process: where it says it listens, what it refuses, how it ends, and what a SIGKILL leaves."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from tests.reference_app.peer import AT, HELLO, TOOL_CALL, run_body, user_turn

from tpharness.cli import main

HELD: dict[str, Any] = {"hold": {"at": AT.format(7)}, "marks": True}


class Served:
    """A server process."""

    def __init__(self, process: asyncio.subprocess.Process, url: str, session: aiohttp.ClientSession) -> None:
        self.process = process
        self.url = url
        self.session = session

    async def answer(self, method: str, path: str, body: Any = None, **more: Any) -> tuple[int, Any]:
        """Return status and decoded body."""
        async with asyncio.timeout(5), self.session.request(method, self.url + path, json=body, **more) as answer:
            data = await answer.read()
            return answer.status, json.loads(data) if data else None

    async def end(self, number: int) -> tuple[int, str]:
        """Send a signal; return the exit code and what was written to standard error."""
        self.process.send_signal(number)
        async with asyncio.timeout(10):
            _, err = await self.process.communicate()
        assert self.process.returncode is not None
        return self.process.returncode, err.decode()


@contextlib.asynccontextmanager
async def serving(*options: str) -> AsyncIterator[Served]:
    """Run `tpharness serve` on a free port; nothing of it is left in the end."""
    process = await start(*options)
    try:
        assert process.stdout is not None
        async with asyncio.timeout(20):
            line = (await process.stdout.readline()).decode()
        assert line.startswith("listening on http://127.0.0.1:")
        async with aiohttp.ClientSession() as session:
            yield Served(process, line.split()[2], session)
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.communicate()


async def start(*options: str) -> asyncio.subprocess.Process:
    """Start the command."""
    command = [sys.executable, "-m", "tpharness", "serve", "--port", "0", *options]
    pipe = asyncio.subprocess.PIPE
    env = {k: v for k, v in os.environ.items() if k != "TPHARNESS_TOKEN"}
    return await asyncio.create_subprocess_exec(*command, stdout=pipe, stderr=pipe, env=env)


async def until(answer: aiohttp.ClientResponse, wanted: bytes) -> bytes:
    """Read a stream until it has said something."""
    data = b""
    async with asyncio.timeout(5):
        while wanted not in data:
            data += await answer.content.readany()
    return data


@pytest.mark.asyncio
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_a_signal_ends_it_cleanly(number: int) -> None:
    """Open streams are told `error`, the exit code is 0, and standard error stays empty."""
    async with serving() as served:
        async with served.session.post(f"{served.url}/threads/t/runs", json=run_body(TOOL_CALL, **HELD)) as answer:
            await until(answer, b": tp 3\n\n")
            ended = asyncio.create_task(served.end(number))
            async with asyncio.timeout(5):
                assert b'{"type":"abort","reason":"error"}' in await answer.read()
        assert await ended == (0, "")


@pytest.mark.asyncio
@pytest.mark.parametrize("more", [(), ("--no-sync",)])
async def test_what_is_canonical_survives_a_sigkill(tmp_path: Path, more: tuple[str, ...]) -> None:
    """The cycle is there, the half answer is not, the run is interrupted with `error`, its stream can be resumed."""
    store = ("--store", str(tmp_path / "threads.db"), *more)
    events = [*TOOL_CALL, *HELLO[:2]]
    async with serving(*store) as served:
        body = run_body(events, user=[user_turn("Hi")], **HELD)
        async with served.session.post(f"{served.url}/threads/t/runs", json=body) as answer:
            seen = await until(answer, b": tp 5\n\n")
            assert (await served.answer("GET", "/threads/t"))[0] == 200  # what it shows is stored: the hold as well
            assert (await served.end(signal.SIGKILL))[0] == -signal.SIGKILL
    async with serving(*store) as served:
        status, document = await served.answer("GET", "/threads/t")
        assert status == 200
        assert document["turns"] == [
            user_turn("Hi"),
            {
                "turn_type": "agent",
                "agent_id": "a",
                "started_at": AT.format(1),
                "completion_status": "interrupted",
                "interruption": {"reason": "error", "interrupted_at": AT.format(7)},
                "messages": [
                    {
                        "message_type": "response",
                        "timestamp": AT.format(2),
                        "agent_id": "a",
                        "parts": [
                            {"part_kind": "tool-call", "tool_name": "get", "tool_call_id": "c1", "args": {"q": 1}}
                        ],
                    },
                    {
                        "message_type": "request",
                        "timestamp": AT.format(3),
                        "agent_id": "a",
                        "parts": [
                            {
                                "part_kind": "tool-return",
                                "tool_name": "get",
                                "tool_call_id": "c1",
                                "status": "success",
                                "content": "sunny",
                            }
                        ],
                    },
                ],
            },
        ]
        end = b'id: 1.end.0\ndata: {"type":"abort","reason":"error"}\n\nid: 1.end.1\ndata: [DONE]\n\n'
        last = seen.rsplit(b"id: ", 1)[1].split(b"\n")[0].decode()
        async with served.session.get(f"{served.url}/threads/t/stream", headers={"Last-Event-ID": last}) as answer:
            assert await answer.read() == b": tp 5\n\n" + end
        async with served.session.get(f"{served.url}/threads/t/stream") as answer:
            assert await answer.read() == seen + end
        body = run_body(HELLO, turn={"started_at": AT.format(8)}, user=[user_turn("Go on", 8)])
        async with served.session.post(f"{served.url}/threads/t/runs", json=body) as answer:
            assert answer.status == 200
            await answer.read()
        _, document = await served.answer("GET", "/threads/t")
        assert [t["turn_type"] for t in document["turns"]] == ["user", "agent", "user", "agent"]
        assert (await served.end(signal.SIGTERM))[0] == 0


@pytest.mark.asyncio
async def test_a_run_killed_between_its_events_ended_at_the_last_that_was_kept(tmp_path: Path) -> None:
    """A stall stores what is known before it; the server does not wait for the rest after it came back."""
    store = ("--store", str(tmp_path / "threads.db"))
    events = [*TOOL_CALL, {"event_kind": "stall", "seconds": 3600, "at": AT.format(4)}, *HELLO]
    async with serving(*store) as served:
        body = run_body(events, marks=True, time_scale=1)
        async with served.session.post(f"{served.url}/threads/t/runs", json=body) as answer:
            await until(answer, b": tp 3\n\n")
            await served.end(signal.SIGKILL)
    async with serving(*store) as served:
        _, document = await served.answer("GET", "/threads/t")
        assert document["turns"][0]["interruption"] == {"reason": "error", "interrupted_at": AT.format(3)}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--host", "0.0.0.0"), "--token"),  # noqa: S104  # it is refused
        (("--host", "0.0.0.0", "--token", ""), "the token is empty"),  # noqa: S104  # it is refused
        (("--token", " "), "the token is empty"),
        (("--host", "203.0.113.7", "--token", "x"), "cannot listen on 203.0.113.7"),
        (("--store", "/nowhere/threads.db"), "/nowhere/threads.db"),
        (("--on-disconnect", "maybe"), "on-disconnect"),
        (("--port", "99999"), "port"),
    ],
)
def test_what_cannot_be_served_is_refused(
    options: tuple[str, ...],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Exit code 2 and a reason, no traceback; an address beyond this machine needs a token."""
    monkeypatch.delenv("TPHARNESS_TOKEN", raising=False)
    monkeypatch.setattr(sys, "argv", ["tpharness", "serve", "--port", "0", *options])
    with pytest.raises(SystemExit) as ended:
        main()
    out, err = capfd.readouterr()
    assert (ended.value.code, out) == (2, "")
    assert said in err
    assert "Traceback" not in err


@pytest.mark.asyncio
async def test_options_reach_the_server() -> None:
    """The token is wanted, and heartbeats come as often as was said."""
    async with serving("--token", "s3cret", "--heartbeat", "0.02", "--on-disconnect", "stop") as served:
        assert (await served.answer("GET", "/capabilities"))[0] == 401
        headers = {"authorization": "Bearer s3cret"}
        body = run_body(TOOL_CALL, **HELD)
        async with served.session.post(f"{served.url}/threads/t/runs", json=body, headers=headers) as answer:
            await until(answer, b": keep-alive\n\n")
            answer.close()
        async with asyncio.timeout(5):
            while True:
                _, document = await served.answer("GET", "/threads/t", headers=headers)
                if document["turns"]:
                    break
                await asyncio.sleep(0.01)
        assert document["turns"][0]["interruption"]["reason"] == "network_failure"
