"""Lets a story happen in a framework, event by event in the order of its script.

In: the number of events, and what ends the run after the last of them. Out: gates at which the framework's model and
tools wait for their turn; marks in the stream when the bytes of an event are out; a virtual clock that shows the time
of the event whose turn it is. After the last event of a run that is to be cut, everything waits until it is cut.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Coroutine, Sequence
from typing import Any

__all__ = ["Outlet", "Playback"]

_QUIET_ROUNDS = 25  # rounds of the event loop: more than any hop between a framework's tasks takes


class Outlet:
    """The bytes of one response on their way to the client: text from the framework, marks from the playback."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[bytes | None] = asyncio.Queue()
        self.written = 0

    def write(self, data: bytes) -> None:
        """Send bytes."""
        self.written += 1
        self._queue.put_nowait(data)

    def close(self) -> None:
        """End the body."""
        self._queue.put_nowait(None)

    async def read(self) -> bytes | None:
        """Return the next bytes, None at the end."""
        return await self._queue.get()


class Playback:
    """The order of one run.

    `times` are those of its events; those at `quiet` places happen by themselves. `waiting` says whether the
    framework's consumer waits for more, that is, whether everything that the framework has said so far is out.
    """

    def __init__(
        self,
        times: Sequence[str],
        outlet: Outlet,
        *,
        started_at: str,
        marks: bool,
        waiting: Callable[[], bool],
        quiet: Collection[int] = (),
        at_end: Callable[[], None] | None = None,
    ) -> None:
        self._times = times
        self._outlet = outlet
        self._marks = marks
        self._waiting = waiting
        self._quiet = quiet
        self._at_end = at_end
        self._changed = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._begun = False
        self.done = 0
        """How many events have happened."""
        self.now = started_at
        self._run(self._opened())

    @property
    def times(self) -> Sequence[str]:
        """When each event happens."""
        return self._times

    async def turn(self, index: int) -> None:
        """Wait until it is the turn of an event; for ever when the run is cut before it."""
        while self.done < index:
            changed = self._changed
            await changed.wait()
        if self.done == len(self._times) and self._at_end is not None:
            await asyncio.Event().wait()  # whoever cuts the run cancels this
        self.now = self._times[index] if index < len(self._times) else self.now

    async def happened(self, index: int) -> None:
        """An event has been taken by the framework: wait until its bytes are out, then it is the next one's turn."""
        await self._settled()
        self._advance(index)

    def happens(self, index: int) -> None:
        """The same without waiting, for what happens when the caller returns."""
        self._run(self.happened(index))

    def over(self) -> None:
        """The stream has ended by itself: nothing more will happen."""
        self._at_end = None
        self.now = self._times[-1] if self._times else self.now
        self._advance(len(self._times) - 1)

    def stop(self) -> None:
        """Let go of what still waits."""
        for task in self._tasks:
            task.cancel()

    # ------------------------------------------------------------------------------------------------ inside

    async def _opened(self) -> None:
        await self._settled()
        if not self._begun:
            self._advance(-1)

    def _advance(self, index: int) -> None:
        if not self._begun:
            self._begun = True
            self._mark(0)
        while self.done <= index or (self.done in self._quiet and self.done < len(self._times)):
            self.done += 1
            self._mark(self.done)
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()
        if self.done == len(self._times):
            self._ended()

    def _ended(self) -> None:
        if self._at_end is not None:
            self._at_end()

    def _mark(self, count: int) -> None:
        if self._marks:
            self._outlet.write(b": tp %d\n\n" % count)

    async def _settled(self) -> None:
        """Return when the framework has nothing more to say for now."""
        quiet, seen = 0, self._outlet.written
        while quiet < _QUIET_ROUNDS:
            await asyncio.sleep(0)
            still = self._waiting() and self._outlet.written == seen
            quiet, seen = (quiet + 1 if still else 0), self._outlet.written

    def _run(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
