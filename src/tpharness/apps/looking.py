"""until: waiting for what an application does, with a limit that is longer on a busy machine."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

__all__ = ["until"]

_POLL = 0.004
_LEAST_TURNS, _MOST_TURNS = 0.5, 250  # looks that a wait has, of those on a quiet machine, and at most


async def until(wanted: Callable[[], bool], limit: float) -> bool:
    """Wait for what is wanted; False when the seconds have passed, and half as many looks as fit into them.

    Where others have the processor we look less often, and the application, which shares it, needs more time.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + limit
    turns = min(_MOST_TURNS, _LEAST_TURNS * limit / _POLL)
    while not wanted():
        if loop.time() >= deadline and turns <= 0:
            return False
        turns -= 1
        await asyncio.sleep(_POLL)
    return True
