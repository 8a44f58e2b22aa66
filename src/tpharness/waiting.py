"""Waiting for a future in a thread that has to heed Ctrl-C meanwhile, and whether an event loop runs in it."""

from __future__ import annotations

import sys
from concurrent import futures
from concurrent.futures import Future
from typing import TypeVar

__all__ = ["await_result", "in_event_loop"]

_TICK = 0.2  # seconds

T = TypeVar("T")


def await_result(future: Future[T]) -> T:
    """Wait for a future and return its result, or raise its exception.

    A signal that comes just before a thread begins to wait, or in another thread, does not wake it: without a look now
    and then, Ctrl-C would be heeded when the result comes, which may be never.
    """
    while not futures.wait((future,), timeout=_TICK).done:
        pass
    return future.result()


def in_event_loop() -> bool:
    """Whether an event loop runs in this thread, as in an `async def` test."""
    loops = sys.modules.get("asyncio")  # where nobody has imported it no loop runs, and a command need not load it
    try:
        return loops is not None and loops.get_running_loop() is not None
    except RuntimeError:
        return False
