"""A connection of a server, which is not held by who says nothing: limits before there is a request to decide about.

In: the bytes of a connection. Out: requests to the application, as from uvicorn. A head that is too long is answered
with 431, one that does not come in time with 408, and a connection too many with 503; then the connection is closed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from tpharness.reference_app.settings import Settings
from tpharness.wires.sse.writer import encode_json

__all__ = ["protocol_for"]


def protocol_for(settings: Settings) -> Callable[..., asyncio.Protocol]:
    """Return what makes the protocol of a new connection, for uvicorn's `http`."""
    return partial(_Connection, settings)


class _Connection(HttpToolsProtocol):
    """uvicorn's, with limits on what comes before a request, its time, and the number of connections."""

    __slots__ = ("_head", "_settings", "_timer")  # with more than 30 names a dict of its own takes 1.5 KB more

    def __init__(self, settings: Settings, **given: Any) -> None:
        super().__init__(**given)
        self._settings = settings
        self._head: int | None = 0
        """Bytes of the head that is arriving; None from its end to the next request."""
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Refuse the connection if there are too many, else give it time for a request."""
        super().connection_made(transport)
        if len(self.connections) > self._settings.max_connections:
            self._refuse("503 Service Unavailable", "this server has as many connections as it takes")
            return
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget it."""
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read what arrived. The parser holds a head that is incomplete, however long it is."""
        if self.transport.is_closing():
            return
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self._head is None:
            if self._timer is None and self._is_answered():
                self._wait()  # for the rest of a body that nobody reads any more
            return
        self._head += len(data)
        if self._head > self._settings.max_head:
            most = self._settings.max_head
            self._refuse("431 Request Header Fields Too Large", f"the head has more than {most} bytes")

    def on_message_begin(self) -> None:
        """Give a later request the time that the first one has."""
        super().on_message_begin()
        self._head = 0
        if self._timer is None:
            self._wait()

    def on_headers_complete(self) -> None:
        """Leave the request to the application."""
        self._stop_waiting()
        super().on_headers_complete()

    def _is_answered(self) -> bool:
        """Whether all that was asked so far has been answered; `cycle` is None before the first request."""
        return getattr(self.cycle, "response_complete", True)

    def _wait(self) -> None:
        self._timer = self.loop.call_later(self._settings.head_seconds, self._give_up)

    def _stop_waiting(self) -> None:
        self._head = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_up(self) -> None:
        if self._head:
            seconds = self._settings.head_seconds
            self._refuse("408 Request Timeout", f"the head of a request did not come within {seconds:g} s")
        elif not self.transport.is_closing():  # nothing was asked, so nothing is answered
            self.transport.close()

    def _refuse(self, status: str, message: str) -> None:
        """Say why, unless an answer is being written, and close."""
        self._stop_waiting()
        if self._is_answered():
            body = encode_json({"error": {"message": message}})
            head = f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\nconnection: close\r\n"
            self.transport.write(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
        self.transport.close()
