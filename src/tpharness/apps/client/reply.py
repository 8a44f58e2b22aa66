"""Reply: one answer of the application to its client, read as it comes until it ends or the client leaves.

In: a request that is sent when the reply is opened. Out: what was seen (chunks with times, the fold into UI messages,
the findings of `tpharness.wires.vsp`), and how it ended. Every wait has a limit. Times are `loop.time()`.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import aiohttp

from tpharness.apps.client.message import MessageFold
from tpharness.apps.client.own_code import StreamRefusedError
from tpharness.apps.client.reading import Beside, Onward, Translator, translated, type_of
from tpharness.apps.client.text_stream import TEXT_TYPES, TextStream
from tpharness.apps.client.wall_clock import steady_now
from tpharness.errors import UsageError
from tpharness.findings import Finding
from tpharness.wires.sse.parser import Frame, SseParser
from tpharness.wires.vsp.assembler import Assembler

__all__ = ["End", "Limits", "Reply", "SeenChunk", "as_event"]

_EVENT_TYPES = frozenset({"text/event-stream"})
_KEPT_BODY = 2000
_GRACE = 0.05  # seconds for the end of a stream whose client closes the connection
_GOES_ON, _NO_DONE = "output-without-input", "done-missing"


class End(StrEnum):
    """How an answer ended."""

    OPEN = "open"  # it has not ended
    ENDED = "ended"  # the body ended as HTTP has it
    LEFT = "left"  # the client closed the connection, since its user left
    REFUSED = "refused"  # the client closed the connection, at an error or at a chunk that it does not accept
    BROKEN = "broken"  # the connection broke, or none was made
    ENDLESS = "endless"  # more bytes or more time than any answer needs

    @property
    def interruption(self) -> str | None:
        """The reason with which the client closes its turn, None where the stream itself says how it ended (R27)."""
        return {End.LEFT: "user_cancelled", End.BROKEN: "network_failure"}.get(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bounds of a reply: seconds until the headers, seconds and bytes of the whole answer."""

    headers: float = 30.0
    answer: float = 60.0
    size: int = 16 << 20


@dataclass(frozen=True, slots=True)
class SeenChunk:
    """One chunk that the client was sent; `value` is None for an event that is not a JSON object."""

    at: float
    type: str
    value: Mapping[str, Any] | None


class Reply:
    """An answer, which `fold` makes a message of.

    `says` is the message of the user that it answers, empty where it goes on with an earlier answer; `repeats` whether
    it sends that answer again from its beginning; `posted` is the body that asked for it. `status` is 0 while there is
    no answer; `problem` says why where none comes; `body` is the beginning of the body, `size` its length in bytes so
    far. `events` are the data of the stream's events, each with the time at which it came; `begun` and `over` are such
    times, too (ISO 8601). `after_leaving` is called when the client has left: another client than this one has to close
    its own connection. `unread` counts the events that came to no chunk, by their types.
    """

    def __init__(
        self,
        fold: MessageFold,
        *,
        limits: Limits | None = None,
        translator: Translator | None = None,
        says: str = "",
        after_leaving: Callable[[], Awaitable[None]] | None = None,
        beside: Beside | None = None,
    ) -> None:
        self.limits = limits or Limits()
        self.fold = fold
        self.says = says
        self.repeats = False
        self.events: list[tuple[str, bytes]] = []
        self.begun = self.over = ""
        self.status = 0
        self.content_type = ""
        self.location = ""
        self.body = b""
        self.size = 0
        self.problem = ""
        self.end = End.OPEN
        self.chunks: list[SeenChunk] = []
        self.posted_at = self.latest_at = 0.0
        self.posted = b""
        self.ended_at: float | None = None
        self._translator = translator
        self.unread: Counter[str] = Counter()
        self._text = translator if isinstance(translator, TextStream) else None
        self._after_leaving = after_leaving
        self._beside = beside
        self._onward: Onward | None = None
        self._reading: asyncio.Timeout | None = None
        self._refuses = False
        self._refused_by_wire = ""
        self._assembler = Assembler()
        self._frames = SseParser()
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._failure: UsageError | None = None
        self._response: aiohttp.ClientResponse | None = None

    # ------------------------------------------------------------------------------------------------ what was seen

    @property
    def is_stream(self) -> bool:
        """Whether the answer is a stream that this client reads: one of events, or the text that a translator takes."""
        kinds = _EVENT_TYPES if self._text is None else TEXT_TYPES
        return self.status == 200 and self.content_type in kinds

    @property
    def refused(self) -> str:
        """Why the client of this wire would have ended the stream itself, or the error that the application sent."""
        own_rules = self._translator is not None and (self._refused_by_wire or not self.fold.is_reported)
        return self._refused_by_wire if own_rules else self.fold.error

    @property
    def reports_error(self) -> bool:
        """Whether the stream ended for the client with an error chunk, and with nothing behind it that it refuses."""
        return self.fold.is_reported and not self._refused_by_wire

    @property
    def finish_reason(self) -> str | None:
        """The reason of the last finish chunk, None without one; also behind an error, where the fold has ended."""
        values = (chunk.value for chunk in reversed(self.chunks) if chunk.type == "finish" and chunk.value is not None)
        return next((value.get("finishReason") for value in values), None)

    @property
    def findings(self) -> list[Finding]:
        """What is wrong with the stream by the rules of its order and form; another wire has others."""
        if self._translator is not None:
            return []
        # The call is in the message that goes on; and whoever has left an answer is not owed the end of its stream.
        excused = {_GOES_ON: self.fold.resumed is not None, _NO_DONE: self.end is End.LEFT}
        return [finding for finding in self._assembler.findings if not excused.get(finding.code)]

    def has(self, *types: str) -> bool:
        """Whether a chunk of one of these types has come."""
        return any(chunk.type in types for chunk in self.chunks)

    # ------------------------------------------------------------------------------------------------ waiting

    async def until(self, wanted: Callable[[Reply], bool], limit: float) -> bool:
        """Wait until something was seen; False when the answer ended without it or the seconds have passed.

        UsageError as said at `fail`.
        """
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(limit):
                while not wanted(self) and self.end is End.OPEN:
                    await self._next_change()
        self._raise_failure()
        return wanted(self)

    async def ended(self, limit: float) -> bool:
        """Wait until the answer has ended; False when the seconds have passed."""
        return await self.until(lambda reply: reply.end is not End.OPEN, limit)

    async def quiet(self, seconds: float, limit: float) -> float:
        """Wait until nothing has come for so many seconds, at most `limit`; return the seconds that it took.

        A client behind the relay asks a little after its button was pressed: the silence counts from then.
        """
        loop = asyncio.get_running_loop()
        begun = loop.time()
        while self.end is End.OPEN and loop.time() - begun < limit:
            silent_at = max(self.latest_at, begun) + seconds if self._task is not None else begun + limit
            rest = silent_at - loop.time()
            if rest <= 0:
                break
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(rest):
                    await self._next_change()
        return loop.time() - begun

    # ------------------------------------------------------------------------------------------------ the exchange

    def open(
        self,
        session: aiohttp.ClientSession,
        method: str,
        url: str,
        *,
        later: Callable[[], tuple[str, bytes]] | None = None,
        onward: Onward | None = None,
        **request: Any,
    ) -> None:
        """Send the request, and read from now on; what comes is passed on to `onward`, too.

        `later` is called when the request can be sent: it returns an address and a body that are known only then.
        """
        loop = asyncio.get_running_loop()
        self._onward, self.posted = onward, request.get("data") or b""
        self.posted_at = self.latest_at = loop.time()
        self.begun = steady_now()
        self._assembler.begin(self.begun)
        self._task = loop.create_task(self._read(session, method, url, request, later), name=f"reply to {method} {url}")
        self._touch()

    async def leave(self) -> None:
        """Close the connection at once, as a closed tab does. Nothing happens where the answer has ended.

        UsageError as said at `fail`.
        """
        self._raise_failure()
        if self.end is not End.OPEN:
            return
        self._finish(End.LEFT)
        if self._task is not None:
            if self._response is not None:
                self._response.close()
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
        if self._after_leaving is not None:
            await self._after_leaving()

    def refuse(self) -> None:
        """Close the connection, as the AI SDK's client does at an error; what ends right now is read to its end."""
        if self.end is End.OPEN and self._reading is not None and not self._refuses:
            self._refuses = True
            self._reading.reschedule(asyncio.get_running_loop().time() + _GRACE)

    def fail_unasked(self, problem: str) -> None:
        """End an answer that nobody has asked for; nothing happens to one that somebody has."""
        if self._task is None:
            self._finish(End.BROKEN, problem)

    def fail(self, error: UsageError) -> None:
        """End an answer that our side cannot ask for or read; whoever waits for it or leaves it gets the error."""
        self._failure = error
        self._finish(End.BROKEN, str(error))

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure

    async def _read(
        self,
        session: aiohttp.ClientSession,
        method: str,
        url: str,
        request: dict[str, Any],
        later: Callable[[], tuple[str, bytes]] | None,
    ) -> None:
        end, problem = End.BROKEN, ""
        try:
            async with asyncio.timeout(self.limits.answer):
                refused = None if self._beside is None else await self._beside.begin()
                if refused is not None:
                    self.status, self.content_type = refused.status, "application/json"
                    self.body = refused.text.encode()[:_KEPT_BODY]
                    self._finish(End.ENDED if refused.status else End.BROKEN, "" if refused.status else refused.text)
                    return
                if later is not None:
                    url, self.posted = later()
                    request["data"] = self.posted
                async with asyncio.timeout(self.limits.headers):
                    response = await session.request(method, url, allow_redirects=False, **request)
                async with response:
                    end = await self._read_body(response)
                if self._beside is not None and end is End.ENDED and self.is_stream:
                    self._take_chunks(await self._beside.end())
        except TimeoutError:
            waited = self.limits.answer if self.status else self.limits.headers
            problem = f"{'the answer has not ended' if self.status else 'no answer'} after {waited:g} s"
            end = End.ENDLESS if self.status else End.BROKEN
        except (aiohttp.ClientError, OSError) as error:
            problem = f"{type(error).__name__}: {error}"
        except UsageError as error:
            self.fail(error)
        self._finish(end, problem)

    async def _read_body(self, response: aiohttp.ClientResponse) -> End:
        self._response = response
        self.status, self.content_type = response.status, response.content_type
        self.location = response.headers.get("location", "")
        if self._beside is not None:
            self._beside.answered(response.headers)
        self._touch()
        if self._onward is not None:
            await self._onward.begin(response.status, response.headers)
        try:
            async with asyncio.timeout(None) as self._reading:
                return await self._read_pieces(response)
        except TimeoutError:
            if not self._refuses:
                raise
            response.close()
            return End.REFUSED

    async def _read_pieces(self, response: aiohttp.ClientResponse) -> End:
        async for data in response.content.iter_any():
            self.size += len(data)
            if self.size > self.limits.size:
                self.problem = f"the answer has more than {self.limits.size} bytes"
                return End.ENDLESS
            self._take(data)
            if self._onward is not None:
                await self._onward.write(data)
            elif self.fold.error and self._translator is None:
                self.refuse()
        if self._text is not None and self.is_stream:
            self._take_chunks(self._text.close())
        return End.ENDED

    def _take(self, data: bytes) -> None:
        if len(self.body) < _KEPT_BODY:
            self.body += data[: _KEPT_BODY - len(self.body)]
        if self._text is not None and self.is_stream:
            self._take_chunks(self._text.feed(data))
        elif self.is_stream:
            if self._translator is None:
                for event in self._frames.feed_data(data):
                    self._take_event(event)
            else:
                for frame in self._frames.feed(data):
                    if frame.data and frame.event != "ping":
                        self._take_translated(self._translator, frame)
        self._touch()

    def _take_translated(self, translator: Translator, frame: Frame) -> None:
        before = len(self.chunks)
        try:
            for chunk in translated(translator, frame):
                self._take_event(chunk)
            if len(self.chunks) == before:
                self.unread[type_of(frame)] += 1
        except StreamRefusedError as error:
            self._refused_by_wire = self._refused_by_wire or str(error)

    def _take_chunks(self, chunks: Iterable[Mapping[str, Any]]) -> None:
        for chunk in chunks:
            self._take_event(json.dumps(chunk).encode())

    def _take_event(self, data: bytes) -> None:
        now = steady_now()
        self.events.append((now, data))
        self.fold.feed_data(data)
        self._assembler.feed(as_event(data), now)
        value: Any = None
        with contextlib.suppress(ValueError, RecursionError):
            value = json.loads(data)
        kind = "[DONE]" if data == b"[DONE]" else str(value.get("type", "")) if isinstance(value, dict) else ""
        at = asyncio.get_running_loop().time()
        self.chunks.append(SeenChunk(at, kind, value if isinstance(value, dict) else None))

    def _finish(self, end: End, problem: str = "") -> None:
        if self.end is not End.OPEN:
            return
        if self._task is None:
            self._assembler.begin(steady_now())  # nothing was ever asked for
        self.end, self.problem = end, problem or self.problem
        self.ended_at = asyncio.get_running_loop().time()
        self.over = steady_now()
        self._assembler.close(end.interruption, self.over)
        self._touch()

    def _touch(self) -> None:
        self.latest_at = asyncio.get_running_loop().time()
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    async def _next_change(self) -> None:
        await self._changed.wait()


def as_event(data: bytes) -> bytes:
    """Return the data of an event as it is written in a stream."""
    return b"data: " + data.replace(b"\n", b"\ndata: ") + b"\n\n"
