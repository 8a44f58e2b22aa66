"""Measure how late the event loop's timers are, to know whether timeouts can be trusted.

In: the running loop. Out: the longest delay of its timers. A machine that stands still for a second – it is overloaded,
moved or suspended – makes a correct target look slow; a loop whose own timers were late cannot blame the target. While
a case is judged, it waits for no target: that the loop then stands still says nothing.
"""

from __future__ import annotations

import asyncio
from typing import Self

from tpharness.judging_time import JudgingTime

__all__ = ["LoopLag"]

_INTERVAL = 0.05


class LoopLag:
    """Runs a timer while it is entered; `max_delay` is its longest delay in seconds, without the case's judging."""

    def __init__(self, judged: JudgingTime) -> None:
        self.max_delay = 0.0
        self._judged = judged
        self._due_at = self._judged_before = 0.0
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
        self._due_at, self._judged_before = loop.time() + _INTERVAL, self._judged.clocked
        self._timer = loop.call_at(self._due_at, self._on_timer)

    def _on_timer(self) -> None:
        self._measure()
        self._schedule()

    def _measure(self) -> None:
        late = asyncio.get_running_loop().time() - self._due_at
        self.max_delay = max(self.max_delay, late - (self._judged.clocked - self._judged_before))
