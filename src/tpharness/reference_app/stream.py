"""A buffer over HTTP: one reader's connection.

Written on the bare ASGI interface: thousands of these wait at the same time, and each needs only a task that watches
for the disconnect, an event and a timer.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from tpharness.reference_app.replay_buffer import ReplayBuffer
from tpharness.reference_app.run import Run
from tpharness.wires.sse.writer import KEEP_ALIVE

__all__ = ["STREAM_HEADERS", "ReplayResponse"]

STREAM_HEADERS: Mapping[str, str] = {
    "content-type": "text/event-stream",
    "cache-control": "no-cache",
    "x-accel-buffering": "no",  # otherwise nginx buffers the stream
}
"""What the head of every stream has; `Wire.headers` come to it."""


class ReplayResponse(Response):
    """Sends a buffer from a place on, until its run ends; heartbeat comments when there is nothing to send (R35)."""

    def __init__(self, buffer: ReplayBuffer, run: Run | None, place: tuple[int, int] = (0, 0)) -> None:
        self.status_code = 200
        self.background = None
        self._buffer = buffer
        head = {**STREAM_HEADERS, **buffer.headers}
        self._head = [(name.encode(), value.encode()) for name, value in head.items()]
        self._run = run
        self._place = place
        self._wake = asyncio.Event()
        self._gone = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        await send({"type": "http.response.start", "status": 200, "headers": self._head})
        if scope["method"] == "HEAD":
            await send({"type": "http.response.body"})
            return
        self._buffer.readers[self._wake.set] = None
        if self._run is not None:
            self._run.reader_came()
        watch: asyncio.Task[None] | None = None
        complete = False
        loop = asyncio.get_running_loop()
        sent_at = loop.time()
        try:
            await asyncio.sleep(0)  # a run without waits has ended after this
            while not self._gone:
                data, self._place = self._buffer.read(self._place)
                if self._buffer.at_end(self._place):
                    complete = True
                    await send({"type": "http.response.body", "body": data})
                    return
                if data:
                    await send({"type": "http.response.body", "body": data, "more_body": True})
                    sent_at = loop.time()
                    continue
                if watch is None:
                    watch = asyncio.create_task(self._watch(receive))
                if await self._nothing_new(sent_at):
                    await send({"type": "http.response.body", "body": KEEP_ALIVE, "more_body": True})
                    sent_at = loop.time()
        except OSError:  # the connection broke while we were sending
            self._gone = True
        finally:
            self._buffer.readers.pop(self._wake.set, None)
            if self._run is not None:
                self._run.reader_left(gone=not complete)
            if watch is not None:
                watch.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await watch

    async def _nothing_new(self, sent_at: float) -> bool:
        """Wait for the buffer; return whether a heartbeat is due before it has something.

        An event without bytes wakes it, too: the heartbeat is due by when something was sent, not by when it woke.
        """
        self._wake.clear()
        loop = asyncio.get_running_loop()
        due = False

        def heartbeat() -> None:
            nonlocal due
            due = True
            self._wake.set()

        timer = loop.call_at(sent_at + self._run.heartbeat, heartbeat) if self._run is not None else None
        try:
            await self._wake.wait()
        finally:
            if timer is not None:
                timer.cancel()
        return due and not self._gone and not self._buffer.read(self._place)[0]

    async def _watch(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self._gone = True
        self._wake.set()
