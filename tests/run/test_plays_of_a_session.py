"""A session in this process: several plays, one after the other."""

from __future__ import annotations

import asyncio
import gc
import inspect
from typing import Any

import pytest

from tpharness.run.session import Session


async def one() -> int:
    """Play at once."""
    return 1


async def interrupted() -> int:
    """Ctrl-C comes while this is played, when the loop has turned once."""
    await asyncio.sleep(0)
    raise KeyboardInterrupt


def test_ctrl_c_before_a_play_begins_leaves_no_warning(
    monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder
) -> None:
    """Python warns on standard error of a coroutine that nobody has awaited."""
    work = one()

    def interrupt(_: object) -> None:
        raise KeyboardInterrupt

    with Session() as session:
        with monkeypatch.context() as patch:
            patch.setattr(session._runner.get_loop(), "run_until_complete", interrupt)
            with pytest.raises(KeyboardInterrupt):
                session.run(work)
        assert inspect.getcoroutinestate(work) == inspect.CORO_CLOSED
        del work
        gc.collect()
    assert not recwarn.list


def test_ctrl_c_leaves_no_play_behind() -> None:
    """The loop has nothing to tell afterwards, as it would on standard error; what was played has been yielded."""
    told: list[dict[str, Any]] = []
    with Session() as session:
        session._runner.get_loop().set_exception_handler(lambda _, context: told.append(context))
        results = session.run_concurrently([one, interrupted, one])
        assert next(results) == 1
        with pytest.raises(KeyboardInterrupt):
            next(results)
        gc.collect()
    assert told == []
