"""Measure how late the event loop's timers are, to know whether timeouts can be trusted.

In: the running loop. Out: the longest delay of its timers. A machine that stands still for a second – it is overloaded,
moved or suspended – makes a correct target look slow; a loop whose own timers were late cannot blame the target.
"""

from __future__ import annotations

import asyncio
from typing import Self

__all__ = ["LoopLag"]

_INTERVAL = 0.05


class LoopLag:
    """Runs a timer while it is entered; `max_delay` is the longest delay of that timer, in seconds."""

    def __init__(self) -> None:
        self.max_delay = 0.0
        self._due_at = 0.0
        self._timer: asyncio.TimerHandle | None = None

    async def __aenter__(self) -> Self:
        self._schedule()
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._measure()

    def _schedule(self) -> None:
        loop = asyncio.get_running_loop()
        self._due_at = loop.time() + _INTERVAL
        self._timer = loop.call_at(self._due_at, self._on_timer)

    def _on_timer(self) -> None:
        self._measure()
        self._schedule()

    def _measure(self) -> None:
        self.max_delay = max(self.max_delay, asyncio.get_running_loop().time() - self._due_at)
