"""The reference server in virtual time: what takes seconds or fails in the middle, at once and always alike."""

from __future__ import annotations

import asyncio
import random
import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from benchmarks.virtual_serve import Call, Server, be_client
from benchmarks.virtual_time import HangError, run_virtually
from tests.reference_app.peer import AT, HELLO, TOOL_CALL, run_body, user_turn

from tpharness.reference_app.store import SqliteStore


def test_what_waits_for_ever_is_found() -> None:
    """Virtual time goes to the next timer, and there is none."""

    async def wait() -> None:
        await asyncio.sleep(3600)
        await asyncio.Event().wait()

    with pytest.raises(HangError):
        run_virtually(wait())


@asynccontextmanager
async def serving(folder: Path, **limits: Any) -> AsyncIterator[Server]:
    """Serve in virtual time; nothing may be wrong in the end."""
    be_client()
    server = Server(folder, random.Random(1), [], **limits)  # noqa: S311  # how long a write takes
    await server.start()
    yield server
    await server.stop(1.0)
    assert server.wrong == []


async def whole(call: Call) -> bytes:
    """Return all bytes of an answer."""
    data = b""
    await call.begun()
    while piece := await call.read():
        data += piece
    return data


def test_events_that_send_nothing_do_not_put_a_heartbeat_off(tmp_path: Path) -> None:
    """R35: a comment comes after so many seconds without data, whatever the model does meanwhile."""
    silence = [{"event_kind": "stall", "seconds": 10, "at": AT.format(3)}] * 5
    body = run_body([*HELLO[:2], *silence, *HELLO[2:]], user=[user_turn("Hi")], time_scale=1)

    async def play() -> list[float]:
        loop, times = asyncio.get_running_loop(), []
        async with serving(tmp_path) as server:
            call = Call(server, "POST", "/threads/t/runs", body)
            await call.begun()
            while await call.read():
                times.append(loop.time())
        return [later - before for before, later in pairwise(times)]

    silences = run_virtually(play())
    assert sum(silences) >= 50
    assert max(silences) <= 15.1


@pytest.mark.parametrize("stored", [True, False], ids=["with-store", "in-memory"])
def test_a_run_that_is_refused_leaves_no_thread(tmp_path: Path, *, stored: bool) -> None:
    """It would be answered with 200, take up room in memory, and in time keep all others out."""
    held = run_body(HELLO[:1], hold={"at": AT.format(4)})

    async def play() -> None:
        limits: dict[str, Any] = {"max_runs": 1, "max_threads": 2} | ({} if stored else {"store": None})
        async with serving(tmp_path, **limits) as server:
            await Call(server, "POST", "/threads/a/runs", held).begun()
            for name in "bcde":
                refused = Call(server, "POST", f"/threads/{name}/runs", run_body(HELLO))
                assert (await refused.begun(), "1 run in progress" in str(await refused.value())) == (503, True)
                assert await Call(server, "GET", f"/threads/{name}").begun() == 404
            assert server.held["threads"] == 1

    run_virtually(play())


def fail_appends(monkeypatch: pytest.MonkeyPatch, of: str) -> None:
    """Let every append of the store fail after 5 s whose entries have these words."""
    append = SqliteStore.append

    def failing(store: SqliteStore, thread_id: str, entries: Sequence[Any]) -> asyncio.Future[None]:
        if of not in str(entries):
            return append(store, thread_id, entries)
        loop = asyncio.get_running_loop()
        failed: asyncio.Future[None] = loop.create_future()
        loop.call_later(5, failed.set_exception, sqlite3.OperationalError("database or disk is full"))
        return failed

    monkeypatch.setattr(SqliteStore, "append", failing)


def test_an_end_that_cannot_be_stored_is_told_as_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread is interrupted, since its log lacks the end; a stream without `abort` would say something else."""
    fail_appends(monkeypatch, "agent_run_result")

    async def play() -> tuple[bytes, bytes, Any]:
        async with serving(tmp_path) as server:
            body = run_body([*TOOL_CALL, *HELLO], user=[user_turn("Hi")])
            told = await whole(Call(server, "POST", "/threads/t/runs", body))
            again = await whole(Call(server, "GET", "/threads/t/stream"))
            return told, again, await Call(server, "GET", "/threads/t").value()

    told, again, thread = run_virtually(play())
    assert thread["turns"][-1]["interruption"]["reason"] == "error"
    assert b'{"type":"abort","reason":"error"}' in told
    assert told.endswith(b"data: [DONE]\n\n")
    assert b'"type":"finish"}' not in told
    assert again == told


@pytest.mark.parametrize("lost", ["sunny", "agent_run_result"])
def test_what_cannot_be_stored_is_never_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lost: str) -> None:
    """Also to those who asked while it was to be stored."""
    fail_appends(monkeypatch, lost)

    async def play() -> tuple[Any, Any]:
        async with serving(tmp_path) as server:
            Call(server, "POST", "/threads/t/runs", run_body([*TOOL_CALL, *HELLO], user=[user_turn("Hi")]))
            await asyncio.sleep(2)
            meanwhile = await Call(server, "GET", "/threads/t").value()
            return meanwhile, await Call(server, "GET", "/threads/t").value()

    meanwhile, later = run_virtually(play())
    assert later["turns"][-1].get("completion_status") != "complete"
    assert meanwhile == later


def test_a_cancel_that_cannot_be_stored_has_ended_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread says that it was an error, and so does the answer."""
    fail_appends(monkeypatch, "user_cancelled")
    held = run_body([*TOOL_CALL, *HELLO[:1]], user=[user_turn("Hi")], hold={"at": AT.format(4)})

    async def play() -> tuple[Any, Any]:
        async with serving(tmp_path) as server:
            await Call(server, "POST", "/threads/t/runs", held).begun()
            await asyncio.sleep(1)
            asked = Call(server, "POST", "/threads/t/cancel", {"reason": "user_cancelled"})
            return await asked.value(), await Call(server, "GET", "/threads/t").value()

    said, thread = run_virtually(play())
    assert said == {"cancelled": False}
    assert thread["turns"][-1]["interruption"]["reason"] == "error"


def test_a_run_that_comes_while_the_end_of_another_is_stored_waits_for_it(tmp_path: Path) -> None:
    """It was given the other's end, and the other's stream stayed open for ever."""

    async def play() -> tuple[bytes, bytes]:
        async with serving(tmp_path) as server:
            first = Call(server, "POST", "/threads/t/runs", run_body(HELLO[:1], hold={"at": AT.format(4)}))
            await asyncio.sleep(1)
            cancel = Call(server, "POST", "/threads/t/cancel", {"reason": "user_cancelled"})
            while server.app.threads._live["t"].fold.running:  # noqa: ASYNC110  # virtual time passes at once
                await asyncio.sleep(0)
            second = Call(server, "POST", "/threads/t/runs", run_body(HELLO))
            assert await cancel.value() == {"cancelled": True}
            async with asyncio.timeout(60):
                return await whole(first), await whole(second)

    first, second = run_virtually(play())
    assert b'"reason":"user_cancelled"' in first
    assert first.endswith(b"data: [DONE]\n\n")
    assert b'{"type":"finish-step"}' in second
    assert b"abort" not in second


def test_a_reader_who_comes_back_stops_every_watch(tmp_path: Path) -> None:
    """One watch began when the reader left, another when the run began to wait for its end (60 s each)."""
    silence = {"event_kind": "stall", "seconds": 20, "at": AT.format(2)}
    body = run_body([HELLO[0], silence], hold={"at": AT.format(4)}, time_scale=1, on_disconnect="continue")

    async def play() -> None:
        async with serving(tmp_path) as server:
            first = Call(server, "POST", "/threads/t/runs", body)
            await first.begun()
            await asyncio.sleep(1)
            first.leave()
            await asyncio.sleep(40)
            again = Call(server, "GET", "/threads/t/stream")
            assert await again.begun() == 200
            await asyncio.sleep(300)
            assert server.app.threads._live["t"].fold.running

    run_virtually(play())
