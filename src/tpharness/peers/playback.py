"""Plays a script in a framework, event by event in the order of the script.

In: the number of events, and what ends the run after the last event. Out: gates at which the framework's model and
tools wait for their turn; marks in the stream when the bytes of an event are out; a virtual clock that shows the time
of the event whose turn it is. After the last event of a run that will be cut, everything waits for the cut.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from typing import Any

__all__ = ["Playback", "ResponseBody"]

_QUIET_ROUNDS = 25  # rounds of the event loop: more than any hop between a framework's tasks takes


class ResponseBody:
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

    `times` are those of its events. Events at `quiet` places finish by themselves, as do `notices`, which are bytes
    that the application sends beside the framework. `waiting` says whether the framework's consumer waits for more,
    that is, whether all output of the framework so far has been sent.
    """

    def __init__(
        self,
        times: Sequence[str],
        body: ResponseBody,
        *,
        started_at: str,
        marks: bool,
        waiting: Callable[[], bool],
        quiet: Collection[int] = (),
        notices: Mapping[int, bytes] | None = None,
        at_end: Callable[[], None] | None = None,
    ) -> None:
        self._times = times
        self._body = body
        self._marks = marks
        self._waiting = waiting
        self._notices = notices or {}
        self._quiet = {*quiet, *self._notices}
        self._at_end = at_end
        self._changed = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._begun = False
        self.done = 0
        """How many events have been played."""
        self.now = started_at
        self._run(self._start())

    @property
    def times(self) -> Sequence[str]:
        """The time of each event."""
        return self._times

    async def turn(self, index: int) -> None:
        """Wait until it is the turn of an event; without end if the run is cut before it."""
        while self.done < index:
            changed = self._changed
            await changed.wait()
        if self.done == len(self._times) and self._at_end is not None:
            await asyncio.Event().wait()  # cancelled when the run is cut
        self.now = self._times[index] if index < len(self._times) else self.now

    async def ready(self) -> None:
        """Wait until the playback has begun: all before the first event that a framework acts on has been played."""
        while not self._begun:
            changed = self._changed
            await changed.wait()

    async def finish_event(self, index: int) -> None:
        """Finish an event that the framework has taken: wait until its bytes are sent, then go on to the next."""
        await self._wait_until_quiet()
        self._advance(index)

    def finish_event_soon(self, index: int) -> None:
        """Do the same in a task, for an event that takes effect when the caller returns."""
        self._run(self.finish_event(index))

    def end(self) -> None:
        """End the playback of a stream that has ended by itself."""
        self._at_end = None
        self.now = self._times[-1] if self._times else self.now
        self._advance(len(self._times) - 1)

    def stop(self) -> None:
        """Cancel everything that still waits."""
        for task in self._tasks:
            task.cancel()

    # ------------------------------------------------------------------------------------------------ inside

    async def _start(self) -> None:
        await self._wait_until_quiet()
        if not self._begun:
            self._advance(-1)

    def _advance(self, index: int) -> None:
        if not self._begun:
            self._begun = True
            self._mark(0)
        while self.done <= index or (self.done in self._quiet and self.done < len(self._times)):
            if self.done in self._notices:
                self.now = self._times[self.done]
                self._body.write(self._notices[self.done])
            self.done += 1
            self._mark(self.done)
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()
        if self.done == len(self._times):
            self._notify_end()

    def _notify_end(self) -> None:
        if self._at_end is not None:
            self._at_end()

    def _mark(self, count: int) -> None:
        if self._marks:
            self._body.write(b": tp %d\n\n" % count)

    async def _wait_until_quiet(self) -> None:
        """Return when the framework has no more output for now."""
        quiet, seen = 0, self._body.written
        while quiet < _QUIET_ROUNDS:
            await asyncio.sleep(0)
            still = self._waiting() and self._body.written == seen
            quiet, seen = (quiet + 1 if still else 0), self._body.written

    def _run(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
