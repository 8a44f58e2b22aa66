"""The streams that a client under test gets, served by the harness to the byte.

In: the pieces of a response body and how it ends. Out: a URL for each, and what the client did: how often it requested
the stream, whether it stayed to the end, whether it disconnected when it had to. The HTTP is written here, without a
framework, since frameworks do not end a body in the middle, fall silent or reset a connection on demand.

A stream that is requested twice, at once or one after the other, is sent twice, each time whole; with `Last-Event-ID`
only what follows that frame, 204 if nothing does. HTTP/1.0 gets a body without chunks. A connection is closed after
its stream, unless the client asks to keep it (`Connection: keep-alive`), the body ends as it should, and no relay is
between: then it takes the next request. Other requests are refused with
a status and a sentence: another path (404), another method (405), not HTTP (400), a head of more than 64 KiB (431) or
one that does not arrive (408).
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import accumulate, pairwise
from typing import Literal, Self

from tpharness.faults.rechunk import awkward_places
from tpharness.targets.connection import delivered, reset
from tpharness.targets.listener import Listener
from tpharness.targets.marks import STOP
from tpharness.targets.resume import has_signalled_end, rest_after
from tpharness.trace.tape import Tape, current_tape
from tpharness.wires.registry import default_wire

__all__ = ["Ending", "ServedStream", "StreamServer"]

_HEAD_LIMIT = 64 << 10  # bytes of a request's head
_HEAD_SECONDS = 5.0
_BURST = 2048  # chunks of a body that are sent at once
_APART = 0.005  # seconds between two bursts, so that a client reads them one by one
_LINGER = 1.0  # seconds in which a refused client may still send
_REQUEST = re.compile(rb"([A-Z]+) (/[!-~]*) HTTP/1\.([01])\r?\n")
_KEEP_ALIVE = re.compile(rb"^connection:[^\r\n]*\bkeep-alive\b", re.IGNORECASE | re.MULTILINE)
_LAST_CHUNK = b"0\r\n\r\n"
_LAST_ID = re.compile(rb"^last-event-id:[ \t]*(.*?)[ \t]*\r?$", re.IGNORECASE | re.MULTILINE)
_STOP = b"\n" + STOP  # on a line of its own, wherever the body ended
_BEATS = (b": alive\n\n", b"event: ping\ndata: \n\n", b": alive\n\n", b": alive\n\n")


class Ending(Enum):
    """How a body ends."""

    PLAIN = "plain"
    BROKEN = "broken"  # the connection is closed before the body is at its end
    RESET = "reset"  # and is closed with RST
    SILENT = "silent"  # nothing is sent any more, and the connection stays open
    STOPPED = "stopped"  # with the comment that stands for the user pressing stop


@dataclass(slots=True, kw_only=True)
class ServedStream:
    """One stream under its URL.

    `headers` are those of its wire.

    `limit`: seconds of silence after which the client should give up, `beats`: heartbeats before it. `breaks_at`: bytes
    after which the first connection is closed. `repeats`: frames before the rest that are sent again on resuming.
    `alone`: its connection is closed after it, as a relay needs it, which strikes one connection and not another.

    What the client did: `asked` counts requests, `resumed` those with a Last-Event-ID; `whole`: everything was sent;
    `left`: it disconnected before the stream had signalled its end; `unread`: it did not read what was sent; `hasty`:
    it disconnected long before its limit; `cut_alive`: it disconnected while heartbeats arrived; `stayed`: it did not
    disconnect when it had to. What is sent is noted on `tape` as that of `run`.
    """

    url: str
    pieces: tuple[bytes, ...]
    ending: Ending
    headers: Mapping[str, str] = field(default_factory=lambda: default_wire().headers)
    limit: float = 0.0
    beats: bool = False
    breaks_at: int | None = None
    repeats: int = 0
    alone: bool = False
    asked: int = 0
    resumed: int = 0
    whole: bool = False
    left: bool = False
    unread: bool = False
    hasty: bool = False
    cut_alive: bool = False
    stayed: bool = False
    run: int = 0
    tape: Tape | None = field(default_factory=current_tape)
    withdrawn: asyncio.Event = field(default_factory=asyncio.Event)
    idle: asyncio.Event = field(default_factory=asyncio.Event)
    _open: int = 0

    @property
    def gave_up(self) -> bool:
        """Whether the client gave up a silent stream before its limit, perhaps before it had received all of it."""
        missed = not (self.whole or self.unread) and (self.left or not self.asked or self.breaks_at is not None)
        return self.ending is Ending.SILENT and (self.hasty or self.cut_alive or missed)

    def __enter__(self) -> Self:
        self._open += 1
        self.idle.clear()
        return self

    def __exit__(self, *_: object) -> None:
        self._open -= 1
        if not self._open:
            self.idle.set()


class StreamServer:
    """Serves streams on a free port of one host. `settle`: seconds within which a client has to disconnect."""

    def __init__(self, *, host: str = "127.0.0.1", settle: float = 2.0, silence: float = 10.0) -> None:
        self._settle = settle
        self._silence = silence
        self._offers: dict[str, ServedStream] = {}
        self._listener = Listener(self._serve_connection, host, limit=_HEAD_LIMIT)
        self._base = ""

    async def __aenter__(self) -> Self:
        await self._listener.start()
        host, port = self.address
        self._base = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
        return self

    async def __aexit__(self, *_: object) -> None:
        for offer in self._offers.values():
            offer.withdrawn.set()
        await self._listener.close()

    @property
    def address(self) -> tuple[str, int]:
        """The host and port on which it listens."""
        return self._listener.address

    def offer(
        self,
        pieces: tuple[bytes, ...],
        ending: Ending,
        *,
        limit: float = 0.0,
        beats: bool = False,
        breaks_at: int | None = None,
        repeats: int = 0,
    ) -> ServedStream:
        """Return a stream under a URL of its own, which stays until `withdraw`."""
        path = f"/streams/{secrets.token_urlsafe(12)}"
        url = self._base + path
        self._offers[path] = offer = ServedStream(
            url=url, pieces=pieces, ending=ending, limit=limit, beats=beats, breaks_at=breaks_at, repeats=repeats
        )
        return offer

    def withdraw(self, offer: ServedStream) -> None:
        """Stop serving a stream; connections that still wait on it are closed."""
        self._offers.pop(offer.url.removeprefix(self._base), None)
        offer.withdrawn.set()

    async def finish(self, offer: ServedStream) -> None:
        """Withdraw a stream whose client has answered, and wait until it is known what the client did.

        A client that was stopped has to close its connection; for a silent stream there is nothing to wait for.
        """
        if offer.asked and offer.ending is Ending.STOPPED:
            await offer.idle.wait()
        self.withdraw(offer)
        if offer.asked:
            await offer.idle.wait()

    # ------------------------------------------------------------------------------------------------ a connection

    async def _serve_connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.transport.set_write_buffer_limits(0)
        try:
            seconds: float | None = _HEAD_SECONDS
            while await self._answer(reader, writer, seconds):
                seconds = None  # a client keeps a connection as long as it likes
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        except asyncio.CancelledError:
            reset(writer.transport)
        finally:
            writer.close()
            with contextlib.suppress(OSError, asyncio.CancelledError):
                await writer.wait_closed()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, seconds: float | None) -> bool:
        """Answer the request that comes within so many seconds; return whether the connection takes another one."""
        try:
            async with asyncio.timeout(seconds):
                head = await reader.readuntil(b"\r\n\r\n")
        except TimeoutError:
            return await _refuse(reader, writer, b"408 Request Timeout", b"the head of the request did not arrive")
        except asyncio.LimitOverrunError:
            why = b"a head of more than 64 KiB"
            return await _refuse(reader, writer, b"431 Request Header Fields Too Large", why)
        request = _REQUEST.match(head)
        if request is None:
            return await _refuse(reader, writer, b"400 Bad Request", b"not a request of HTTP/1.1")
        bodiless = request[1] == b"HEAD"
        offer = self._offers.get(request[2].decode("ascii"))
        if offer is None or offer.stayed:  # a client that did not disconnect is not served again
            why = b"there is no stream here, or no longer"
            return await _refuse(reader, writer, b"404 Not Found", b"" if bodiless else why)
        if request[1] != b"GET":
            why = b"" if bodiless else b"a stream is requested with GET"
            return await _refuse(reader, writer, b"405 Method Not Allowed", why, b"Allow: GET\r\n")
        offer.asked += 1
        named = _LAST_ID.search(head)
        chunked = request[3] == b"1"
        with offer:
            kept = chunked and not offer.alone and _KEEP_ALIVE.search(head) is not None
            return await self._stream(offer, named and named[1], reader, writer, chunked=chunked, kept=kept)

    async def _stream(
        self,
        offer: ServedStream,
        after: bytes | None,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        *,
        chunked: bool,
        kept: bool,
    ) -> bool:
        """Send a stream; return whether its connection is kept."""
        pieces, breaks = offer.pieces, offer.breaks_at if offer.asked == 1 else None
        if after:
            rest = rest_after(b"".join(pieces), after, offer.repeats)
            if rest is None:  # nothing is left, or the id is unknown: there is nothing to wait for
                writer.write(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
                await writer.drain()
                return False
            offer.resumed += 1
            pieces = (rest,)
        if breaks is not None:
            pieces = (b"".join(pieces)[:breaks],)
        kept = kept and breaks is None and offer.ending is Ending.PLAIN
        # On a connection that is kept the next request may come. On any other one nothing comes but its end.
        gone = None if kept else asyncio.ensure_future(_wait_for_disconnect(reader))
        loop = asyncio.get_running_loop()
        sent_at = loop.time()
        try:
            async with asyncio.timeout_at(sent_at + self._silence) as patience:
                head = _head(offer.headers, chunked=chunked, kept=kept)
                end = _LAST_CHUNK if chunked and breaks is None and offer.ending is Ending.PLAIN else b""
                for burst, body in _bursts(pieces, end, chunked=chunked):
                    if chunked and not head:
                        await asyncio.sleep(_APART)
                    sent_at = loop.time()
                    patience.reschedule(sent_at + self._silence)
                    writer.write(head + body)
                    head = b""
                    await writer.drain()
                    if offer.tape is not None:
                        for piece in burst:
                            what = "the stream that the client fetches"
                            offer.tape.note_bytes("sent", what, run=offer.run, data=piece)
            if breaks is not None:
                return False
            offer.whole = True
            if gone is None:
                return True
            await self._end(offer, gone, writer, sent_at, chunked=chunked)
        except (TimeoutError, ConnectionError) as error:
            # It stopped reading, or disconnected: both are allowed once the stream has signalled its end.
            offer.left = offer.left or not has_signalled_end(b"".join(pieces))
            offer.unread = offer.unread or isinstance(error, TimeoutError)
            reset(writer.transport)
        finally:
            if gone is not None:
                gone.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await gone
        return False

    async def _end(
        self,
        offer: ServedStream,
        gone: asyncio.Future[None],
        writer: asyncio.StreamWriter,
        sent_at: float,
        *,
        chunked: bool,
    ) -> None:
        """End a body as its stream says; its last bytes were sent from `sent_at` on, by the loop's clock."""
        match offer.ending:
            case Ending.PLAIN:
                pass  # the end was sent with the last piece
            case Ending.BROKEN if chunked:
                pass  # the end of the body is missing
            case Ending.BROKEN | Ending.RESET:
                await delivered(writer.transport, self._silence)
                reset(writer.transport)
            case Ending.SILENT if not await _beat(offer, gone, writer, sent_at, chunked=chunked):
                sent_at = asyncio.get_running_loop().time() if offer.beats else sent_at
                if not await _wait_for_either(gone, offer.withdrawn, offer.limit + self._settle):
                    offer.stayed = True
                elif asyncio.get_running_loop().time() - sent_at < offer.limit / 2:
                    # A client may disconnect once a stream has signalled its end.
                    offer.hasty = not has_signalled_end(b"".join(offer.pieces))
            case Ending.STOPPED:
                writer.write(b"%x\r\n%b\r\n" % (len(_STOP), _STOP) if chunked else _STOP)
                await writer.drain()
                if not await _wait_for_either(gone, offer.withdrawn, self._settle):
                    offer.stayed = True


def _bursts(pieces: Sequence[bytes], end: bytes, *, chunked: bool) -> Iterator[tuple[Sequence[bytes], bytes]]:
    """Yield what is sent at once, as pieces and as bytes: pieces that are not empty, each alone unless in chunks.

    Many clients get chunks that arrive together as one read. So a burst ends where a piece does that ends at an awkward
    place. What is sent alone arrives as the network has it. `end` follows the last piece.
    """
    there = [piece for piece in pieces if piece]
    stops = list(range(1, len(there)))
    if chunked:
        ends = list(accumulate(map(len, there)))
        awkward = (ends.index(at) + 1 for at in awkward_places(b"".join(there)) if at in ends)
        stops = sorted({*awkward, *range(_BURST, len(there), _BURST)} - {len(there)})
    for start, stop in pairwise([0, *stops, len(there)]):
        burst = there[start:stop]
        body = b"".join([b"%x\r\n%b\r\n" % (len(piece), piece) for piece in burst] if chunked else burst)
        yield burst, body if stop < len(there) else body + end


async def _beat(
    offer: ServedStream, gone: asyncio.Future[None], writer: asyncio.StreamWriter, sent_at: float, *, chunked: bool
) -> bool:
    """Send heartbeats for longer than the client's limit (R55); return whether the client has gone meanwhile."""
    body = b"".join(offer.pieces)
    for beat in _BEATS if offer.beats and body.endswith(b"\n\n") else ():  # within a frame a heartbeat would be data
        if await _wait_for_either(gone, offer.withdrawn, offer.limit / (len(_BEATS) - 1)):
            if not has_signalled_end(body):
                offer.hasty = asyncio.get_running_loop().time() - sent_at < offer.limit / 2
                offer.cut_alive = not offer.hasty
            return True
        writer.write(b"%x\r\n%b\r\n" % (len(beat), beat) if chunked else beat)
        await writer.drain()
    return False


def _head(headers: Mapping[str, str], *, chunked: bool, kept: bool) -> bytes:
    coding = b"Transfer-Encoding: chunked\r\n" if chunked else b""
    return (
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache\r\n"
        + b"".join(b"%b: %b\r\n" % (name.encode(), value.encode()) for name, value in headers.items())
        + coding
        + (b"\r\n" if kept else b"Connection: close\r\n\r\n")
    )


async def _refuse(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, status: bytes, why: bytes, more: bytes = b""
) -> Literal[False]:
    """Refuse a request; its connection is not kept."""
    head = b"HTTP/1.1 %b\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n%bConnection: close\r\n\r\n"
    writer.write(head % (status, len(why), more) + why)
    await writer.drain()
    # A connection that is closed with unread bytes is reset, and the refusal is lost.
    with contextlib.suppress(OSError, TimeoutError):
        writer.write_eof()
        async with asyncio.timeout(_LINGER):
            await _wait_for_disconnect(reader)
    return False


async def _wait_for_disconnect(reader: asyncio.StreamReader) -> None:
    """Return when the client has closed its side."""
    with contextlib.suppress(ConnectionError):
        while await reader.read(1 << 16):
            pass


async def _wait_for_either(gone: asyncio.Future[None], withdrawn: asyncio.Event, seconds: float) -> bool:
    """Wait until the client has disconnected or its stream is withdrawn; False after this many seconds."""
    waiting: asyncio.Future[object] = asyncio.ensure_future(withdrawn.wait())
    try:
        done, _ = await asyncio.wait((gone, waiting), timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        waiting.cancel()
    return bool(done)
