"""The end of a run cannot be stored, and meanwhile somebody wants something else of its thread, or its room."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from benchmarks.virtual_serve import Call, Server
from benchmarks.virtual_time import run_virtually
from tests.reference_app.peer import AT, HELLO, TOOL_CALL, run_body, user_turn
from tests.reference_app.test_in_virtual_time import fail_appends, serving, whole

HELD = run_body([*TOOL_CALL, *HELLO[:1]], hold={"at": AT.format(9)})


@asynccontextmanager
async def ending(folder: Path, **limits: Any) -> AsyncIterator[Server]:
    """Serve with a thread "t" whose run has ended and has nobody who reads it, while its end is being stored."""
    async with serving(folder, **limits) as server:
        body = run_body([*TOOL_CALL, *HELLO], user=[user_turn("Hi")], on_disconnect="continue")
        call = Call(server, "POST", "/threads/t/runs", body)
        await call.begun()
        call.leave()
        await asyncio.sleep(1)
        assert not server.app.threads._live["t"].fold.running
        yield server


@pytest.fixture(autouse=True)
def _failing_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    fail_appends(monkeypatch, "agent_run_result")


def test_its_thread_is_not_put_away_before_that(tmp_path: Path) -> None:
    """It was loaded again, and got two ends: the second one ended the run that had begun in between."""

    async def play() -> tuple[bytes, Any]:
        async with ending(tmp_path, max_threads=2) as server:
            for name in ("u", "v"):  # room for two
                await Call(server, "POST", f"/threads/{name}/user-turns", user_turn("Ho")).begun()
            second = Call(server, "POST", "/threads/t/runs", HELD)
            await second.begun()
            await asyncio.sleep(10)
            await Call(server, "POST", "/threads/t/cancel", {"reason": "user_cancelled"}).value()
            return await whole(second), await Call(server, "GET", "/threads/t").value()

    heard, thread = run_virtually(play())
    assert b'"reason":"user_cancelled"' in heard
    reasons = [turn["interruption"]["reason"] for turn in thread["turns"] if turn["turn_type"] == "agent"]
    assert reasons == ["error", "user_cancelled"]


def test_a_deletion_waits_for_it(tmp_path: Path) -> None:
    """A thread that was made anew under the name got the error of the run that had been deleted."""

    async def play() -> Any:
        async with ending(tmp_path) as server:
            assert await Call(server, "DELETE", "/threads/t").begun() == 204
            held = Call(server, "POST", "/threads/t/runs", HELD)
            assert await held.begun() == 200
            await asyncio.sleep(10)
            assert server.app.threads._live["t"].fold.running
            await Call(server, "DELETE", "/threads/t").begun()
            return await Call(server, "GET", "/threads/t").begun()

    assert run_virtually(play()) == 404


def test_a_thread_that_is_asked_for_before_it_is_deleted_does_not_come_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that cannot begin has it forgotten: who asks then loads it again, before its log is deleted."""
    fail_appends(monkeypatch, "Again")

    async def play() -> tuple[int, int, int]:
        async with serving(tmp_path) as server:
            await whole(Call(server, "POST", "/threads/t/runs", run_body(TOOL_CALL)))
            refused = Call(server, "POST", "/threads/t/runs", run_body(HELLO, user=[user_turn("Again", 5)]))
            await asyncio.sleep(1)
            reads = [Call(server, "GET", "/threads/t") for _ in range(2)]
            await asyncio.sleep(1)
            deletion = Call(server, "DELETE", "/threads/t")
            for read in reads:
                await read.begun()
            answered = await refused.begun(), await deletion.begun()
            return *answered, await Call(server, "GET", "/threads/t").begun()

    assert run_virtually(play()) == (503, 204, 404)
