"""One run, as a task of its own: it plays its script with or without readers, and ends once.

In: a request that was checked, and the thread's fold. Out: entries of the log, and packets on the buffer. What shows
a canonical cycle to a client is written to the buffer after the log has it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tpharness.reference_app.content import content_bytes, large_content
from tpharness.reference_app.fold import Entry, ThreadFold
from tpharness.reference_app.requests import RunRequest
from tpharness.reference_app.settings import Settings
from tpharness.reference_app.store import Store, append
from tpharness.server_events import event_time, shift

__all__ = ["Run", "RunTools"]

_LOG = logging.getLogger("tpharness.reference_app")
_QUIET = frozenset(
    (
        *("part_start", "part_delta", "part_end", "tool_progress", "final_result", "stall"),
        *("deferred_tool_requests", "deferred_tool_results"),
    )
)
"""Events that do not change the thread."""
_TURN = 64  # events played before other tasks run
_LONGEST = 1e7


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTools:
    """What runs share."""

    settings: Settings
    store: Store
    forget: Callable[[str], None]
    """Forget a thread whose fold may have more than its log; it is loaded again from its log."""
    settle: Callable[[str], Awaitable[ThreadFold | None]]
    """Return what the log of a thread has, with an end of its run, which is stored; None if it cannot be read."""
    running: dict[Any, None] = field(default_factory=dict)
    """The runs in progress, in the order in which they began."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stop:
    reason: str
    at: str | None = None


class Run:
    """A run in progress. `start` begins it, `stop` asks it to end, `wait` returns when its thread shows the end."""

    def __init__(self, fold: ThreadFold, request: RunRequest, tools: RunTools) -> None:
        self.readers = 0
        self.stopped = False
        """Whether a request to stop ended it."""
        self.heartbeat = request.heartbeat_seconds or tools.settings.heartbeat
        self._fold = fold
        self._request = request
        self._tools = tools
        self._continues = tools.settings.continues if request.continues is None else request.continues
        self._stop: _Stop | None = None
        self._wake = asyncio.Event()
        self._pending: list[Mapping[str, Any]] = []
        self._last: list[bytes] = []  # of the event that ends the run, and of what comes after it
        self._storing: asyncio.Future[Any] | None = None
        self._indices: set[Any] = set()
        self._unread: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[None] | None = None
        self._has_begun = asyncio.Event()
        """Set when the start has been stored, or has failed."""

    async def start(self, before: Sequence[Entry]) -> None:
        """Store what comes before the run and its beginning, then start to play.

        Raises what the store raises; then the run has not begun, and its fold has more than its log.
        """
        request = self._request
        script = request.script
        run = {"agent_id": script.agent_id, "started_at": script.started_at}
        if script.message_id is not None:
            run["message_id"] = script.message_id
        begin = {
            "kind": "begin",
            "run": run,
            "carriers": request.carriers,
            "marks": request.marks,
            "wire": request.wire,
            "hold": request.hold_at,
        }
        entries = [*before, begin]
        for entry in entries:
            self._fold.apply(entry)
        self._tools.running[self] = None
        try:
            await append(self._tools.store, self._fold.thread_id, entries)
        except BaseException:
            self._tools.running.pop(self, None)
            self._fold.end("error", self._fold.at, tell=True)
            self._has_begun.set()
            raise
        self._has_begun.set()
        self._task = asyncio.create_task(self._live(), name=f"run of {self._fold.thread_id}")

    def stop(self, reason: str) -> bool:
        """Ask the run to end; return whether nobody had before. The first reason counts (R26)."""
        if self._stop is not None:
            return False
        self._stop = _Stop(reason=reason)
        self._wake.set()
        return True

    async def wait(self) -> None:
        """Return when the run has ended and its thread shows it. May be cancelled without harm to the run.

        One that is stopped while its start is being stored ends after that.
        """
        await self._has_begun.wait()
        if self._task is not None:
            await asyncio.shield(self._task)

    async def wait_until_stored(self) -> None:
        """Return when the log has everything that the fold has."""
        while self._storing is not None:
            await asyncio.wait([self._storing])

    def reader_came(self) -> None:
        """A reader has connected."""
        self.readers += 1
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    def reader_left(self, *, gone: bool) -> None:
        """A reader has left; `gone`: it disconnected before the stream had ended."""
        self.readers -= 1
        if self.readers or not gone or not self._fold.running:
            return
        if not self._continues:
            self.stop("network_failure")
        else:
            self._watch_unread()

    # ------------------------------------------------------------------- inside

    def _watch_unread(self) -> None:
        """End a run that only waits for its end if no reader reconnects for a while."""
        if self._unread is not None:
            self._unread.cancel()
        self._unread = asyncio.get_running_loop().call_later(self._tools.settings.unread_seconds, self._still_unread)

    def _still_unread(self) -> None:
        self._unread = None
        if self._fold.held:
            self.stop("timeout")
        elif self._fold.running:
            self._watch_unread()

    async def _live(self) -> None:
        try:
            await self._play()
        except Exception:  # noqa: BLE001  # any error has to end the run
            _LOG.exception("a run of thread %r failed", self._fold.thread_id)
            await self._fail()
        finally:
            self._tools.running.pop(self, None)
            if self._unread is not None:
                self._unread.cancel()

    async def _play(self) -> None:
        fold, script = self._fold, self._request.script
        for count, event in enumerate(script.events, 1):
            if self._stop is None and event.get("event_kind") == "stall" and self._request.time_scale:
                await self._stall(event)
            if self._stop is not None:
                await self._end(self._stop.reason, self._stop.at or fold.at, tell=True)
                return
            await self._play_event(event)
            if count % _TURN == 0:
                await asyncio.sleep(0)
        cut = script.interruption
        if fold.ended:
            await self._end(None, fold.at, tell=True)
        elif cut is not None:
            await self._end(cut.reason, cut.at, tell=script.abort)
        elif self._request.hold_at is not None:
            await self._hold(self._request.hold_at)
        else:  # the script ends without a result
            await self._end("error", fold.at, tell=True)

    async def _play_event(self, event: Mapping[str, Any]) -> None:
        fold = self._fold
        content = large_content(event)
        stored = None if content is None else content_bytes(content)
        if stored is not None:
            await self._tools.store.put_content(fold.thread_id, stored[0])
        data = fold.play(event)
        self._pending.append(event)
        if self._settles(event) and not fold.ended:  # the end is stored together with the event that brings it
            await self._commit()
        if fold.ended:
            self._last.append(data)
        else:
            fold.send(data)

    def _settles(self, event: Mapping[str, Any]) -> bool:
        """Whether a thread may show more after this event than before it."""
        kind = event.get("event_kind")
        if kind not in _QUIET:
            self._indices.clear()
            return True
        if kind == "part_start":  # a part with an index that was there begins a new response and finishes the old one
            again = event["index"] in self._indices
            if again:
                self._indices.clear()
            self._indices.add(event["index"])
            return again
        return False

    async def _commit(self, *more: Entry) -> None:
        entries: list[Entry] = [{"kind": "events", "events": self._pending}] if self._pending else []
        self._pending = []
        stored = self._tools.store.append(self._fold.thread_id, [*entries, *more])
        if stored is not None:
            self._storing = stored
            try:
                await stored
            finally:
                self._storing = None

    async def _stall(self, event: Mapping[str, Any]) -> None:
        """Wait, at most to the limit; what is known so far is stored first, since this may take long."""
        await self._commit()
        seconds = min(float(event["seconds"]) * self._request.time_scale, _LONGEST)
        limit = self._request.stream_seconds
        if limit is None or seconds <= limit:
            await self._silence(seconds)
            return
        await self._silence(limit)
        if self._stop is None:
            began = event_time(event, self._request.script.started_at, self._fold.at)
            self._stop = _Stop(reason="timeout", at=shift(began, limit / self._request.time_scale))

    async def _hold(self, at: str) -> None:
        """Wait until a request or a limit ends the run; `at` is the time of that end."""
        self._fold.held = True
        await self._commit({"kind": "held"})
        if not self.readers:
            self._watch_unread()
        await self._silence(self._request.stream_seconds)
        reason = self._stop.reason if self._stop is not None else "timeout"
        await self._end(reason, at, tell=True)

    async def _silence(self, seconds: float | None) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._wake.wait()

    async def _end(self, reason: str | None, at: str, *, tell: bool) -> None:
        fold = self._fold
        last, self._last = self._last, []
        self.stopped = self._stop is not None and reason is not None and not fold.ended
        fold.cut(reason, at)
        await self._commit({"kind": "end", "reason": reason, "at": at, "tell": tell})
        for data in last:
            fold.send(data)
        fold.finish(reason, at, tell=tell)

    async def _fail(self) -> None:
        """End a run that cannot continue because of the server: the disk is full, or a defect."""
        fold = self._fold
        at = fold.failed_at
        self.stopped = False
        self._storing = asyncio.ensure_future(self._tools.settle(fold.thread_id))
        stored = await self._storing
        self._storing = None
        fold.fail(at, stored)
        self._tools.forget(fold.thread_id)
