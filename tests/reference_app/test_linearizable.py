"""Requests of several clients at once are answered as if they had come one after the other."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from benchmarks import linearizable
from benchmarks.linearizable import Request, can_be_ordered
from tests.reference_app.peer import HELLO, Serve, run_body

from tpharness.reference_app import Settings
from tpharness.reference_app.run import Run
from tpharness.reference_app.store import SqliteStore

USER, AGENT = ("user", 1, ""), ("agent", 1, "interrupted")


def history(*requests: tuple[str, int, int, Any]) -> list[Request]:
    """Return requests of one run: kind, when it was sent, when it was answered, with what."""
    return [Request(kind, 1 if kind in ("run", "end", "turn") else 0, *more) for kind, *more in requests]


RUN = ("run", 0, 1, 200)
POSSIBLE: dict[str, list[Request]] = {
    "one after the other": history(RUN, ("cancel", 2, 3, True), ("end", 0, 4, "aborted"), ("fetch", 5, 6, (USER,))),
    "an order that is not that of the answers": history(("fetch", 0, 9, 404), ("run", 1, 2, 200)),
    "a run that ends by itself": history(RUN, ("end", 0, 3, "finished"), ("cancel", 2, 4, False)),
    "either of two, while both go on": history(
        RUN, ("delete", 2, 9, 204), ("fetch", 3, 4, (USER,)), ("fetch", 5, 6, 404)
    ),
    "its cycle is kept": history(RUN, ("cancel", 2, 3, True), ("fetch", 4, 5, (USER, AGENT))),
    "a stream": history(RUN, ("read", 2, 3, 1), ("delete", 4, 5, 204), ("read", 6, 7, 404)),
}
IMPOSSIBLE: dict[str, list[Request]] = {
    "a thread that is gone comes back": history(RUN, ("delete", 2, 3, 204), ("fetch", 4, 5, (USER,))),
    "a turn that was acknowledged is not there": history(RUN, ("fetch", 2, 3, ())),
    "what was seen is taken back": history(("run", 0, 9, 200), ("fetch", 2, 3, (USER,)), ("fetch", 4, 5, 404)),
    "a run is stopped twice": history(RUN, ("cancel", 2, 3, True), ("cancel", 4, 5, True)),
    "a run that was stopped ends by itself": history(RUN, ("cancel", 2, 3, True), ("end", 4, 5, "finished")),
    "a run ends without a reason": history(RUN, ("end", 0, 3, "aborted")),
    "a cancel that stopped a run says that it did not": history(
        ("cancel", 0, 3, False), ("run", 1, 4, 200), ("end", 1, 6, "aborted")
    ),
    "two runs at once": [*history(RUN), Request("run", 2, 2, 3, 200)],
    "a turn in a run": history(RUN, ("turn", 2, 3, 204)),
    "the stream of another run": history(RUN, ("read", 2, 3, 2)),
    "a cycle that comes and goes": history(
        RUN, ("cancel", 2, 3, True), ("fetch", 4, 5, (USER, AGENT)), ("fetch", 6, 7, (USER,))
    ),
    "an answer that nothing gives": history(RUN, ("fetch", 2, 3, 500)),
}


@pytest.mark.parametrize("name", POSSIBLE)
def test_what_can_have_happened_is_accepted(name: str) -> None:
    """Some order of the requests explains all answers."""
    assert can_be_ordered(POSSIBLE[name])


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_what_cannot_have_happened_is_found(name: str) -> None:
    """No order does."""
    assert not can_be_ordered(IMPOSSIBLE[name])


@pytest.mark.parametrize("seed", [1, 2])
def test_histories_of_the_server_can_be_ordered(tmp_path: Path, seed: int) -> None:
    """150 of the 10,000 of `python -m benchmarks.linearizable`, which have every kind of answer."""
    played, wrong = linearizable.play(tmp_path, 150, seed)
    assert wrong == []
    assert [one.requests for one in played if not can_be_ordered(one.requests)] == []
    seen = {(request.kind, str(request.answer)) for one in played for request in one.requests}
    assert {("cancel", "True"), ("run", "409"), ("end", "finished"), ("fetch", "404"), ("turn", "204")} < seen


def test_a_server_that_answers_too_early_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As ours did: a cancel was answered before the run that it ended had begun."""

    async def wait(run: Run) -> None:
        if run._task is not None:
            await asyncio.shield(run._task)

    monkeypatch.setattr(Run, "wait", wait)
    played, _ = linearizable.play(tmp_path, 150, 1)
    assert not all(can_be_ordered(one.requests) for one in played)


@pytest.mark.asyncio
async def test_of_two_cancels_at_once_one_has_stopped_the_run(serve: Serve) -> None:
    """Both waited for the same end, and both said that it was theirs."""
    async with serve() as peer:
        body = run_body(HELLO[:1], hold={"at": "2025-01-20T10:00:07Z"})
        async with peer.post("/threads/t/runs", body) as stream:
            await stream.content.readany()
            asked = [peer.answer("POST", "/threads/t/cancel", {"reason": "user_cancelled"}) for _ in range(3)]
            answers = [told["cancelled"] for _, told in await asyncio.gather(*asked)]
    assert sorted(answers) == [False, False, True]


@pytest.mark.asyncio
async def test_a_run_that_is_cancelled_while_it_is_being_stored_is_stopped(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer comes when the thread shows it, and says that a run was stopped."""
    append, arrived, free = SqliteStore.append, asyncio.Event(), asyncio.Event()

    def slowly(store: SqliteStore, thread_id: str, entries: Any) -> asyncio.Future[None]:
        arrived.set()

        async def later() -> None:
            await free.wait()
            await append(store, thread_id, entries)

        return asyncio.ensure_future(later())

    async with serve(Settings(store=tmp_path / "s.db")) as peer:
        monkeypatch.setattr(SqliteStore, "append", slowly)
        playing = asyncio.create_task(peer.play("t", run_body(HELLO[:1], hold={"at": "2025-01-20T10:00:07Z"})))
        await asyncio.wait_for(arrived.wait(), 5)
        cancelling = asyncio.create_task(peer.answer("POST", "/threads/t/cancel", {"reason": "user_cancelled"}))
        await peer.answer("GET", "/capabilities")  # which comes back when the cancel has been read
        free.set()
        assert await cancelling == (200, {"cancelled": True})
        assert b'"type":"abort"' in await playing
