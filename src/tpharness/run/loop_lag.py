"""Whether the clock could be trusted while something was measured by it.

In: the running loop. Out: how late its timers were. A machine that stops for a second – another one wants its core, it
is moved, it is suspended – makes a target that keeps its word look as if it did not; a loop whose own timers were late
has no business to say so.
"""

from __future__ import annotations

import asyncio
from typing import Self

__all__ = ["LoopLag"]

_BEAT = 0.05


class LoopLag:
    """Beats while it is entered; `late` is by how many seconds a beat was too late at most."""

    def __init__(self) -> None:
        self.late = 0.0
        self._due = 0.0
        self._timer: asyncio.TimerHandle | None = None

    async def __aenter__(self) -> Self:
        self._next()
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._look()

    def _next(self) -> None:
        loop = asyncio.get_running_loop()
        self._due = loop.time() + _BEAT
        self._timer = loop.call_at(self._due, self._beat)

    def _beat(self) -> None:
        self._look()
        self._next()

    def _look(self) -> None:
        self.late = max(self.late, asyncio.get_running_loop().time() - self._due)
