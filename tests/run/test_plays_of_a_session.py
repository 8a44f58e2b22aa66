"""A session in this process: several plays, one after the other."""

from __future__ import annotations

import asyncio
import gc
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
