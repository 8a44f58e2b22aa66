"""The relay between a real chat client and the application: it knows every byte of both, and changes none.

In: requests of clients, each to the address of its page. Out: the same request to the application, sent by the owner of
the page, and the application's answer as it comes. A connection that one side closes is closed on the other.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import Mapping
from typing import Protocol, Self

from aiohttp import web
from multidict import CIMultiDict

from tpharness.apps.client.reply import End, Reply
from tpharness.apps.loopback import LOOPBACK, listen

__all__ = ["STREAM_HEADER", "Downstream", "Page", "Relay", "passed_on"]

STREAM_HEADER = "x-tpharness-stream"
_OF_ONE_HOP = frozenset(
    {"accept-encoding", "connection", "content-encoding", "content-length", "host", "keep-alive", "location"}
    | {"te", "trailer", "transfer-encoding", "upgrade"}
)


def passed_on(headers: Mapping[str, str]) -> CIMultiDict[str]:
    """Return the headers that are the same on both sides. A redirect is not: the client would follow it."""
    return CIMultiDict((name, value) for name, value in headers.items() if name.lower() not in _OF_ONE_HOP)


class Page(Protocol):
    """The owner of a client's page."""

    def forward(self, request: web.Request, body: bytes, onward: Downstream) -> Reply:
        """Send the request to the application, and return its answer, which is passed on to `onward`."""
        ...

    async def has_read(self) -> None:
        """Wait until the client has read all that was passed on to it."""
        ...


class Downstream:
    """The client's end of an answer: `number` names it, `sent` are the bytes of its body so far."""

    def __init__(self, request: web.Request, number: int) -> None:
        self._request = request
        self.number = number
        self.response: web.StreamResponse | None = None
        self.sent = 0

    async def begin(self, status: int, headers: Mapping[str, str]) -> None:
        """Send status and headers."""
        self.response = web.StreamResponse(status=status, headers=passed_on(headers))
        self.response.headers[STREAM_HEADER] = str(self.number)
        self.response.force_close()  # the client's next request is a connection of its own
        await self.response.prepare(self._request)

    async def write(self, data: bytes) -> None:
        """Send bytes of the body; a client that has closed its connection gets no more."""
        if self.response is not None:
            with contextlib.suppress(ConnectionError):
                await self.response.write(data)
                self.sent += len(data)


class Relay:
    """The server. As a context it listens on loopback, on any free port."""

    def __init__(self) -> None:
        self._pages: dict[str, Page] = {}
        self._numbers = itertools.count(1)
        self._runner: web.AppRunner | None = None
        self._port = 0

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=1 << 30)
        app.router.add_route("*", "/{page}", self._handle)
        app.router.add_route("*", "/{page}/{rest:.*}", self._handle)
        self._runner, self._port = await listen(app, 0, name="the relay between client and application")
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    def add(self, name: str, page: Page) -> str:
        """Take in a page, and return the address that its client posts to."""
        self._pages[name] = page
        return f"http://{LOOPBACK}:{self._port}/{name}"

    def remove(self, name: str) -> None:
        """Forget a page; what its client asks for later is refused."""
        self._pages.pop(name, None)

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        page = self._pages.get(request.match_info["page"])
        if page is None:
            return web.Response(status=404, text="this page has been closed")
        onward = Downstream(request, next(self._numbers))
        reply = page.forward(request, await request.read(), onward)
        try:
            while reply.end is End.OPEN:
                await reply.ended(reply.limits.answer)
            if reply.end is End.LEFT:
                await asyncio.Event().wait()  # the client closes this connection itself, now that it knows
        except asyncio.CancelledError:
            reply.refuse()  # the client has closed the connection
            raise
        if onward.response is None or reply.end is not End.ENDED:
            await page.has_read()  # a connection that breaks may take with it what nobody has read yet
            if request.transport is not None:
                request.transport.abort()
            return onward.response or web.Response(status=502)
        with contextlib.suppress(ConnectionError):
            await onward.response.write_eof()
        return onward.response
