"""The streams that a client under test gets, served by the harness to the byte.

In: the pieces of a response body and how it ends. Out: a URL for each, and what was done there: how often it was asked
for, whether the client stayed to the end, whether it went away when that was due. The HTTP is written here, without a
framework, since nobody else ends a body in the middle, falls silent or resets a connection on demand.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import secrets
import socket
import struct
from dataclasses import dataclass, field
from enum import Enum
from typing import Self

__all__ = ["Ending", "Offer", "StreamServer", "resumable"]

_HEAD_LIMIT = 64 << 10  # bytes of a request's head
_HEAD_SECONDS = 5.0
_REQUEST = re.compile(rb"([A-Z]+) (/[!-~]*) HTTP/1\.([01])\r?\n")
_LAST_ID = re.compile(rb"^last-event-id:[ \t]*(.*?)[ \t]*\r?$", re.IGNORECASE | re.MULTILINE)
_STOP = b"\n: tp stop\n\n"
_ENDS = (b'"type":"finish"', b'"type":"abort"', b"[DONE]")


class Ending(Enum):
    """How a body ends."""

    PLAIN = "plain"
    BROKEN = "broken"  # the connection is closed before the body is at its end
    RESET = "reset"  # and is closed with RST
    SILENT = "silent"  # nothing comes any more, and the connection stays open
    STOPPED = "stopped"  # the comment that is the user pressing stop


@dataclass(slots=True, kw_only=True)
class Offer:
    """One stream that may be asked for.

    `breaks_at`: the first connection is broken off after so many bytes. `repeats`: so many frames before the rest are
    told again to a client that comes back for it.

    What was done there: `asked` counts connections, `resumed` those that named a frame; `whole` says that all was
    sent, `left` that the client went before the stream had said its end, `stayed` that it did not go when it was to.
    """

    url: str
    pieces: tuple[bytes, ...]
    ending: Ending
    breaks_at: int | None = None
    repeats: int = 0
    asked: int = 0
    resumed: int = 0
    whole: bool = False
    left: bool = False
    stayed: bool = False
    withdrawn: asyncio.Event = field(default_factory=asyncio.Event)


class StreamServer:
    """Serves streams on one address, a free port of it. `settle` is how long a client may take to go, in seconds."""

    def __init__(self, *, host: str = "127.0.0.1", settle: float = 2.0, silence: float = 10.0) -> None:
        self._host = host
        self._settle = settle
        self._silence = silence
        self._offers: dict[str, Offer] = {}
        self._server: asyncio.Server | None = None
        self._base = ""
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._connected, self._host, 0, limit=_HEAD_LIMIT)
        host, port = self._server.sockets[0].getsockname()[:2]
        self._base = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._server is not None:
            self._server.close()
        for offer in self._offers.values():
            offer.withdrawn.set()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._server is not None:
            await self._server.wait_closed()
            self._server = None

    @property
    def address(self) -> tuple[str, int]:
        """Where it listens."""
        host, _, port = self._base.removeprefix("http://").rpartition(":")
        return host.strip("[]"), int(port)

    def offer(
        self, pieces: tuple[bytes, ...], ending: Ending, *, breaks_at: int | None = None, repeats: int = 0
    ) -> Offer:
        """Return a stream under a URL of its own, which stays until `withdraw`."""
        path = f"/streams/{secrets.token_urlsafe(12)}"
        offer = Offer(url=self._base + path, pieces=pieces, ending=ending, breaks_at=breaks_at, repeats=repeats)
        self._offers[path] = offer
        return offer

    def withdraw(self, offer: Offer) -> None:
        """Take a stream away; connections that still wait on it are closed."""
        self._offers.pop(offer.url.removeprefix(self._base), None)
        offer.withdrawn.set()

    # ------------------------------------------------------------------------------------------------ a connection

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        writer.transport.set_write_buffer_limits(0)
        try:
            await self._answer(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        except asyncio.CancelledError:
            _reset(writer)
        finally:
            writer.close()
            with contextlib.suppress(OSError, asyncio.CancelledError):
                await writer.wait_closed()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(_HEAD_SECONDS):
                head = await reader.readuntil(b"\r\n\r\n")
        except TimeoutError:
            return await _refuse(writer, b"408 Request Timeout", b"the head of the request did not come")
        except asyncio.LimitOverrunError:
            return await _refuse(writer, b"431 Request Header Fields Too Large", b"a head of more than 64 KiB")
        request = _REQUEST.match(head)
        if request is None:
            return await _refuse(writer, b"400 Bad Request", b"no request of HTTP/1.1")
        offer = self._offers.get(request[2].decode("ascii"))
        if offer is None:
            return await _refuse(writer, b"404 Not Found", b"no stream is offered here, or it is offered no more")
        if request[1] != b"GET":
            return await _refuse(
                writer, b"405 Method Not Allowed", b"a stream is asked for with GET", b"Allow: GET\r\n"
            )
        offer.asked += 1
        named = _LAST_ID.search(head)
        return await self._stream(offer, named and named[1], reader, writer, chunked=request[3] == b"1")

    async def _stream(
        self,
        offer: Offer,
        after: bytes | None,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        *,
        chunked: bool,
    ) -> None:
        pieces, breaks = offer.pieces, offer.breaks_at if offer.asked == 1 else None
        if after:
            rest = _after(b"".join(pieces), after, offer.repeats)
            if rest is None:  # nothing is left, or nothing was ever called so: there is nothing to wait for
                writer.write(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
                return await writer.drain()
            offer.resumed += 1
            pieces = (rest,)
        if breaks is not None:
            pieces = (b"".join(pieces)[:breaks],)
        gone = asyncio.ensure_future(_gone(reader))
        try:
            async with asyncio.timeout(self._silence):
                writer.write(_head(chunked=chunked))
                for piece in pieces:
                    if piece:
                        writer.write(b"%x\r\n%b\r\n" % (len(piece), piece) if chunked else piece)
                        await writer.drain()
            if breaks is not None:
                return None
            offer.whole = True
            await self._end(offer, gone, writer, chunked=chunked)
        except (TimeoutError, ConnectionError):
            # It reads no more, or went away: both are the client's choice once the stream has said its end.
            offer.left = offer.left or not any(end in b"".join(pieces) for end in _ENDS)
            _reset(writer)
        finally:
            gone.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await gone
        return None

    async def _end(
        self, offer: Offer, gone: asyncio.Future[None], writer: asyncio.StreamWriter, *, chunked: bool
    ) -> None:
        match offer.ending:
            case Ending.PLAIN:
                writer.write(b"0\r\n\r\n" if chunked else b"")
                await writer.drain()
            case Ending.BROKEN if chunked:
                pass  # the end of the body is missing
            case Ending.BROKEN | Ending.RESET:
                _reset(writer)
            case Ending.SILENT:
                await _first(gone, offer.withdrawn)
            case Ending.STOPPED:
                writer.write(b"%x\r\n%b\r\n" % (len(_STOP), _STOP) if chunked else _STOP)
                await writer.drain()
                try:
                    async with asyncio.timeout(self._settle):
                        await asyncio.shield(gone)
                except TimeoutError:
                    offer.stayed = True


def resumable(pieces: tuple[bytes, ...]) -> tuple[bytes, int | None]:
    """Return the same frames, each with an `id:` line (R31), and where to break off in the middle of them.

    None for a stream that has no frame to go on after, has frames of another form, or has said its end by then.
    """
    frames = b"".join(pieces).split(b"\n\n")
    if len(frames) < 3 or not all(frame.startswith((b"data:", b":")) for frame in frames[:-1]):
        return b"".join(pieces), None
    named = [b"id: %d\n%b" % (number, frame) for number, frame in enumerate(frames[:-1], 1)]
    data = b"\n\n".join([*named, frames[-1]])
    middle = max(len(data) // 2, len(named[0]) + 3)
    return data, None if any(end in data[:middle] for end in _ENDS) else middle


def _after(data: bytes, name: bytes, repeats: int) -> bytes | None:
    """Return what follows the frame of that id, and some frames before; None when there is none or nothing follows."""
    frames = re.split(rb"(?<=\n\n)", data)
    at = next((i for i, frame in enumerate(frames) if frame.startswith(b"id: %b\n" % name)), None)
    if at is None or not b"".join(frames[at + 1 :]):
        return None
    return b"".join(frames[max(0, at + 1 - repeats) :])


def _head(*, chunked: bool) -> bytes:
    coding = b"Transfer-Encoding: chunked\r\n" if chunked else b""
    return (
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache\r\n"
        b"x-vercel-ai-ui-message-stream: v1\r\n" + coding + b"Connection: close\r\n\r\n"
    )


async def _refuse(writer: asyncio.StreamWriter, status: bytes, why: bytes, more: bytes = b"") -> None:
    head = b"HTTP/1.1 %b\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n%bConnection: close\r\n\r\n"
    writer.write(head % (status, len(why), more) + why)
    await writer.drain()


async def _gone(reader: asyncio.StreamReader) -> None:
    """Return when the client has closed its side."""
    with contextlib.suppress(ConnectionError):
        while await reader.read(1 << 16):
            pass


async def _first(gone: asyncio.Future[None], withdrawn: asyncio.Event) -> None:
    waiting: asyncio.Future[object] = asyncio.ensure_future(withdrawn.wait())
    try:
        await asyncio.wait((gone, waiting), return_when=asyncio.FIRST_COMPLETED)
    finally:
        waiting.cancel()


def _reset(writer: asyncio.StreamWriter) -> None:
    """Close with RST."""
    connection = writer.get_extra_info("socket")
    if connection is not None:
        with contextlib.suppress(OSError):
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
