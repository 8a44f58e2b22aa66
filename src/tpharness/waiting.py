"""Waiting for a future, in a thread that has to heed Ctrl-C meanwhile."""

from __future__ import annotations

from concurrent import futures
from concurrent.futures import Future
from typing import TypeVar

__all__ = ["await_result"]

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
