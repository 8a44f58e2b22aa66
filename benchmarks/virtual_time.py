"""An event loop whose clock is moved, never waited for: a week takes as long as what happens in it.

When nothing is ready, the clock goes to the next timer at once. When there is no timer either, everything waits for
something that never comes, and `HangError` says so. Sockets and other threads are not waited for: what runs here has
none.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

__all__ = ["HangError", "VirtualLoop", "run_virtually", "virtual_loop"]

T = TypeVar("T")


class HangError(Exception):
    """Every task waits, and no timer is set."""


class _Selector(selectors.DefaultSelector):
    """Lets time pass in place of waiting."""

    loop: VirtualLoop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Return what is ready; if that is nothing, the time is `timeout` seconds later."""
        ready = super().select(0)
        if not ready and timeout is None:
            raise HangError("every task waits, and no timer is set")
        if not ready and timeout is not None:
            self.loop.jump(timeout)
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """Begins at second 0."""

    def __init__(self) -> None:
        selector = _Selector()
        selector.loop = self
        self._now = 0.0
        super().__init__(selector)

    def time(self) -> float:
        """Return the seconds since the beginning."""
        return self._now

    def jump(self, seconds: float) -> None:
        """Let time pass with nothing done in it, as on a machine that was suspended."""
        self._now += seconds


def virtual_loop() -> VirtualLoop:
    """Return the loop that runs. TypeError if its time is real."""
    loop = asyncio.get_running_loop()
    if not isinstance(loop, VirtualLoop):
        raise TypeError("this runs in virtual time only")
    return loop


def run_virtually(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in virtual time, and return its result."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)
