"""One stream that a client reads over HTTP: connecting, reconnecting, and observing how it ends.

In: a URL and the longest silence. Out: the data of each event to a function, once each (R31), and what was observed of
the end: `user_cancelled` for the comment `: tp stop`, `timeout` after a silence in which no comment came either (R55),
`network_failure` if the stream broke off and could not be resumed, None if it had signalled its end.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

import aiohttp

from tpharness.targets.marks import find_stop
from tpharness.wires.sse.parser import SseParser

__all__ = ["StreamListener"]

_BROKEN = "broken off"
_LEAD = 32  # bytes: longer than the comment, which may come in several reads
_FIRST_DELAY = 0.05
_LONGEST_DELAY = 1.0
_MOST_FAILURES = 3  # in a row without anything new: the guide's
_LOOKS = 4  # turns of the loop from what a socket has to who reads it, and one more


@dataclass(slots=True, kw_only=True)
class StreamListener:
    """Reads the stream at one URL.

    `feed` takes the data of an event; `ended` returns whether the stream has signalled its end, `done` whether nothing
    follows. `resumes`: a stream that breaks off is requested again. At most `most` bytes are read. `silence` is in
    seconds.
    """

    session: aiohttp.ClientSession
    url: str
    silence: float
    most: int
    resumes: bool
    feed: Callable[[bytes], object]
    ended: Callable[[], bool]
    done: Callable[[], bool]
    _seen: set[str] = field(default_factory=set)
    _last_id: str = ""
    _retry: float | None = None
    _read: int = 0
    _heard_at: float = 0.0

    async def listen(self) -> str | None:
        """Read until the end; return the reason that was observed."""
        self._heard_at = asyncio.get_running_loop().time()
        failures = 0
        while True:
            seen = frozenset(self._seen)
            reason = await self._until_silent(self._connection(seen))
            if self.ended():
                return None
            if reason != _BROKEN:
                return reason
            failures = 0 if len(self._seen) > len(seen) else failures + 1
            if not self.resumes or not self._last_id or failures >= _MOST_FAILURES:
                return "network_failure"
            delay = self._retry if self._retry is not None else _FIRST_DELAY * failures
            await asyncio.sleep(min(delay, _LONGEST_DELAY))

    async def _until_silent(self, connection: Coroutine[Any, Any, str | None]) -> str | None:
        """Return what was observed of a connection's end, "timeout" after a silence.

        A loop that was kept from running finds its timer and what was sent meanwhile at the same time. What waits to be
        read was sent before the limit was over, so the timer alone decides nothing: it has to find nothing to read.
        """
        loop = asyncio.get_running_loop()
        reading = loop.create_task(connection)
        try:
            while not reading.done():
                heard_at = self._heard_at
                await asyncio.wait([reading], timeout=max(0.0, heard_at + self.silence - loop.time()))
                for _ in range(_LOOKS):
                    await asyncio.sleep(0)
                if not reading.done() and self._heard_at == heard_at:
                    return "timeout"
            return reading.result()
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)

    async def _connection(self, seen: frozenset[str]) -> str | None:
        """Read one connection; return what was observed of its end."""
        headers = {"accept": "text/event-stream", "cache-control": "no-cache", "connection": "keep-alive"}
        if self._last_id:
            headers["last-event-id"] = self._last_id
        try:
            async with self.session.get(self.url, headers=headers, allow_redirects=False) as response:
                if response.status != 200:
                    return _BROKEN if response.status >= 500 else "network_failure"
                try:
                    return await self._body(response, seen)
                finally:
                    if not response.content.at_eof():
                        response.close()  # so that the server notices the disconnect
        except (aiohttp.ClientError, OSError):
            return _BROKEN

    async def _body(self, response: aiohttp.ClientResponse, seen: frozenset[str]) -> str | None:
        loop = asyncio.get_running_loop()
        parser = SseParser()
        tail = b"\n"
        while data := await response.content.readany():
            self._read += len(data)
            stop = find_stop(tail + data)
            kept = data if stop is None else data[: max(0, stop - len(tail))]
            tail = (tail + data)[-_LEAD:]
            self._frames(parser, kept, seen)
            self._heard_at = loop.time()  # R55: whatever arrives shows that the connection lives
            if stop is not None:
                return "user_cancelled"
            if self.done():
                return None
            if self._read > self.most:
                return "network_failure"
        return _BROKEN

    def _frames(self, parser: SseParser, data: bytes, seen: frozenset[str]) -> None:
        for frame in parser.feed(data):
            if frame.id:
                self._last_id = frame.id
                self._seen.add(frame.id)
            if frame.event != "ping" and frame.data and frame.id not in seen:
                self.feed(frame.data)
        if parser.retry is not None:
            self._retry = parser.retry / 1000
