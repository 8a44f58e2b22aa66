"""The harness's own server of streams, asked over raw sockets: every byte of what it answers is looked at."""

from __future__ import annotations

import asyncio
import re
import socket
from urllib.parse import urlsplit

import pytest
from tests.targets.clients import dechunked
from tests.targets.running import bounded

from tpharness.targets.resume import resumable
from tpharness.targets.stream_server import Ending, ServedStream, StreamServer

HEAD = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache\r\n"
    b"x-vercel-ai-ui-message-stream: v1\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
)
FRAMES = (b'data: {"type":"start"}\n\n', b"", b'data: {"type":"start-step"}\n\n')
CHUNKS = b'18\r\ndata: {"type":"start"}\n\n\r\n1d\r\ndata: {"type":"start-step"}\n\n\r\n'


async def connected(offer: ServedStream) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connect to where an offer is."""
    url = urlsplit(offer.url)
    return await asyncio.open_connection(url.hostname, url.port)


async def asked(offer: ServedStream, *lines: str, method: str = "GET", path: str = "", http: str = "1.1") -> bytes:
    """Return everything that is answered until the connection ends; ConnectionResetError when it is reset."""
    reader, writer = await connected(offer)
    head = [f"{method} {path or urlsplit(offer.url).path} HTTP/{http}", "Host: x", *lines]
    writer.write("".join(line + "\r\n" for line in (*head, "")).encode())
    try:
        return await reader.read()
    finally:
        writer.close()


@pytest.mark.parametrize(("ending", "last"), [(Ending.PLAIN, b"0\r\n\r\n"), (Ending.BROKEN, b"")])
def test_a_stream_goes_out_piece_by_piece_and_ends_as_told(ending: Ending, last: bytes) -> None:
    """One chunk of the transfer coding for each piece; a broken body lacks its last chunk."""

    async def work() -> None:
        async with StreamServer() as server:
            offer = server.offer(FRAMES, ending)
            assert await asked(offer) == HEAD + CHUNKS + last
            assert (offer.asked, offer.whole, offer.left, offer.stayed) == (1, True, False, False)

    bounded(work())


def test_reads_end_at_the_places_that_careless_clients_get_wrong() -> None:
    """Inside characters, line ends, ends of events and texts of chunks, where a piece ends; else all comes at once."""
    data = 'data: {"type":"a","b":"é€🚀é"}\r\n\r\ndata: {"type":"a"}\n\n'.encode()
    wanted = [
        data.index(b':"a"') + 1,
        data.index("é".encode()) + 1,
        *(data.index("€".encode()) + n for n in (1, 2)),
        *(data.index("🚀".encode()) + n for n in (1, 2, 3)),
        *(data.index(b"\r\n\r\n") + n for n in (1, 2)),
    ]

    async def work(pieces: tuple[bytes, ...]) -> list[int]:
        async with StreamServer() as server:
            reader, writer = await connected(offer := server.offer(pieces, Ending.PLAIN))
            writer.write(f"GET {urlsplit(offer.url).path} HTTP/1.1\r\n\r\n".encode())
            got, ends = b"", []
            while piece := await reader.read(1 << 16):
                got += piece
                ends.append(len(dechunked(got.partition(b"\r\n\r\n")[2])[0]))
            writer.close()
            return ends

    assert bounded(work(tuple(bytes([byte]) for byte in data))) == [*wanted, len(data)]
    assert bounded(work((data[: wanted[2]], data[wanted[2] :]))) == [wanted[2], len(data)]
    assert bounded(work((data,))) == [len(data)]


def test_a_connection_on_which_a_stream_has_ended_takes_the_next_request() -> None:
    """If its client asks for that, until a stream ends in another way, and not where a relay strikes connections."""

    async def work() -> None:
        async with StreamServer() as server:
            keep = "Connection: Keep-Alive\r\n\r\n"
            one, two, broken = (server.offer(FRAMES, e) for e in (Ending.PLAIN, Ending.PLAIN, Ending.BROKEN))
            reader, writer = await connected(one)
            for offer in (one, two, one):  # the second request is there before the first stream has ended
                writer.write(f"GET {urlsplit(offer.url).path} HTTP/1.1\r\n{keep}".encode())
            kept = HEAD.replace(b"Connection: close\r\n", b"") + CHUNKS + b"0\r\n\r\n"
            assert await reader.readexactly(3 * len(kept)) == 3 * kept
            assert [(offer.asked, offer.whole, offer.left) for offer in (one, two)] == [
                (2, True, False),
                (1, True, False),
            ]
            writer.write(f"GET {urlsplit(broken.url).path} HTTP/1.1\r\n{keep}".encode())
            assert await reader.read() == HEAD + CHUNKS
            writer.close()
            one.alone = True
            reader, writer = await connected(one)
            writer.write(f"GET {urlsplit(one.url).path} HTTP/1.1\r\n{keep}".encode())
            assert await reader.read() == HEAD + CHUNKS + b"0\r\n\r\n"
            writer.close()

    bounded(work())


def test_a_connection_may_be_reset() -> None:
    """RST, after everything was sent."""

    async def work() -> None:
        async with StreamServer() as server:
            with pytest.raises(ConnectionResetError):
                await asked(server.offer(FRAMES, Ending.RESET))

    bounded(work())


def test_a_client_of_http_1_0_gets_no_chunked_coding() -> None:
    """The end of the connection is the end of the body then."""

    async def work() -> None:
        async with StreamServer() as server:
            told = await asked(server.offer(FRAMES, Ending.PLAIN), http="1.0")
        assert told.partition(b"\r\n\r\n")[2] == b"".join(FRAMES)
        assert b"chunked" not in told

    bounded(work())


def test_a_reset_waits_until_everything_has_arrived() -> None:
    """Whoever reads slowly still gets all of it: RST throws away what is on its way."""
    body = b"x" * (4 << 20)

    async def work() -> None:
        loop = asyncio.get_running_loop()
        async with StreamServer() as server:
            offer = server.offer((body,), Ending.RESET)
            url = urlsplit(offer.url)
            with socket.socket() as raw:
                raw.setblocking(False)
                raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 13)
                await loop.sock_connect(raw, (str(url.hostname), int(url.port or 0)))
                await loop.sock_sendall(raw, f"GET {url.path} HTTP/1.1\r\n\r\n".encode())
                got = bytearray()
                try:
                    while data := await loop.sock_recv(raw, 1 << 16):
                        got += data
                        await asyncio.sleep(0)
                    pytest.fail("the connection was closed, not reset")
                except ConnectionResetError:
                    pass
        assert got == HEAD + b"%x\r\n%b\r\n" % (len(body), body)

    bounded(work())


@pytest.mark.parametrize("ending", [Ending.PLAIN, Ending.BROKEN])
def test_a_stream_that_is_asked_for_twice_is_told_twice(ending: Ending) -> None:
    """At once or one after the other, each time whole; that it was so is told."""

    async def work() -> None:
        async with StreamServer() as server:
            offer = server.offer(FRAMES, ending)
            both = await asyncio.gather(asked(offer), asked(offer))
            last = b"0\r\n\r\n" if ending is Ending.PLAIN else b""
            assert [*both, await asked(offer)] == [HEAD + CHUNKS + last] * 3
            assert (offer.asked, offer.resumed) == (3, 0)

    bounded(work())


def test_a_client_that_gives_up_in_silence_shows_its_patience() -> None:
    """Long before its limit, about then, never; who never goes is not told again."""

    async def work() -> None:
        seen = []
        for limit, patience, settle in ((20.0, 0.0, 30.0), (0.05, 0.05, 30.0), (0.02, None, 0.05)):
            async with StreamServer(settle=settle) as server:
                offer = server.offer(FRAMES, Ending.SILENT, limit=limit)
                reader, writer = await connected(offer)
                writer.write(f"GET {urlsplit(offer.url).path} HTTP/1.1\r\n\r\n".encode())
                await reader.readexactly(len(HEAD + CHUNKS))
                if patience is None:
                    assert await reader.read() == b""
                    assert (await asked(offer)).startswith(b"HTTP/1.1 404 ")
                else:
                    await asyncio.sleep(patience)
                writer.close()
                await offer.idle.wait()
                seen.append((offer.gave_up, offer.stayed))
        assert seen == [(True, False), (False, False), (False, True)]

    bounded(work())


def test_heartbeats_come_for_longer_than_the_limit() -> None:
    """A client that leaves meanwhile has taken no heartbeat for life (R55); one that stays sees them stop."""

    async def work() -> None:
        async with StreamServer(settle=0.0) as server:
            stays = server.offer(FRAMES, Ending.SILENT, limit=0.02, beats=True)
            body = (await asked(stays)).removeprefix(HEAD + CHUNKS)
            assert re.findall(rb": alive|event: ping", body) == [b": alive", b"event: ping", b": alive", b": alive"]
            assert (stays.cut_alive, stays.stayed) == (False, True)
            leaves = server.offer(FRAMES, Ending.SILENT, limit=0.02, beats=True)
            reader, writer = await connected(leaves)
            writer.write(f"GET {urlsplit(leaves.url).path} HTTP/1.1\r\n\r\n".encode())
            await reader.readuntil(b"event: ping")
            writer.close()
            await leaves.idle.wait()
            assert (leaves.cut_alive, leaves.gave_up, leaves.stayed) == (True, True, False)
            inside = server.offer((b"data: {",), Ending.SILENT, limit=0.02, beats=True)
            assert b"alive" not in await asked(inside), "within a frame it would be data"

    bounded(work())


@pytest.mark.parametrize("last", ['{"type": "finish"}', '{"type":"abort"}', "[DONE]"])
def test_nobody_needs_patience_with_a_stream_that_has_said_its_end(last: str) -> None:
    """Whatever may follow decides nothing."""

    async def work() -> None:
        async with StreamServer() as server:
            offer = server.offer((*FRAMES, f"data: {last}\n\n".encode()), Ending.SILENT, limit=20.0)
            reader, writer = await connected(offer)
            writer.write(f"GET {urlsplit(offer.url).path} HTTP/1.1\r\n\r\n".encode())
            await reader.readuntil(f"data: {last}\n\n".encode())
            writer.close()
            await offer.idle.wait()
            assert not offer.gave_up

    bounded(work())


def test_silence_lasts_until_the_client_goes_or_the_case_is_over() -> None:
    """Withdrawing a stream closes the connections that wait on it."""

    async def work() -> None:
        async with StreamServer() as server:
            offer = server.offer(FRAMES, Ending.SILENT)
            reader, writer = await connected(offer)
            writer.write(f"GET {urlsplit(offer.url).path} HTTP/1.1\r\n\r\n".encode())
            assert await reader.readexactly(len(HEAD + CHUNKS)) == HEAD + CHUNKS
            server.withdraw(offer)
            assert await reader.read() == b""
            writer.close()
            assert (await asked(offer)).startswith(b"HTTP/1.1 404 Not Found\r\n")

    bounded(work())


def test_the_stop_comment_wants_the_client_to_go() -> None:
    """A client that reads on is noticed, and its connection closed."""

    async def work() -> None:
        async with StreamServer(settle=0.05) as server:
            stays = server.offer(FRAMES, Ending.STOPPED)
            assert await asked(stays) == HEAD + CHUNKS + b"c\r\n\n: tp stop\n\n\r\n"
        async with StreamServer(settle=30.0) as server:
            goes = server.offer(FRAMES, Ending.STOPPED)
            reader, writer = await connected(goes)
            writer.write(f"GET {urlsplit(goes.url).path} HTTP/1.1\r\n\r\n".encode())
            await reader.readuntil(b": tp stop\n\n")
            writer.close()
            await writer.wait_closed()
            await goes.idle.wait()
            assert (stays.stayed, goes.stayed) == (True, False)

    bounded(work())


def test_a_client_that_goes_before_the_end_is_noticed() -> None:
    """But one that goes after the stream has said its end may."""

    async def work() -> None:
        body = b"data: " + b"x" * (8 << 20) + b"\n\n"
        async with StreamServer() as server:
            for pieces, left in (((body, body), True), ((b'data: {"type":"finish"}\n\n', body, body), False)):
                offer = server.offer(pieces, Ending.PLAIN)
                reader, writer = await connected(offer)
                writer.write(f"GET {urlsplit(offer.url).path} HTTP/1.1\r\n\r\n".encode())
                await reader.readexactly(len(HEAD))
                writer.transport.abort()
                await offer.idle.wait()
                assert offer.left is left

    bounded(work())


def test_a_client_that_reads_nothing_is_given_up() -> None:
    """After as long as the harness waits for anything."""

    async def work() -> None:
        async with StreamServer(silence=0.1) as server:
            offer = server.offer((b"x" * (64 << 20),), Ending.PLAIN)
            reader, writer = await connected(offer)
            writer.write(f"GET {urlsplit(offer.url).path} HTTP/1.1\r\n\r\n".encode())
            await reader.readexactly(len(HEAD))
            await offer.idle.wait()
            assert offer.left
            writer.transport.abort()

    bounded(work())


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        ({"path": "/elsewhere"}, b"404 Not Found"),
        ({"method": "HEAD"}, b"405 Method Not Allowed"),
        ({"method": "POST"}, b"405 Method Not Allowed"),
        ({"http": "2.0"}, b"400 Bad Request"),
        ({"path": "/\x01"}, b"400 Bad Request"),
    ],
)
def test_other_requests_are_refused(request_: dict[str, str], status: bytes) -> None:
    """With a status that says what is wrong; the stream stays as it was."""

    async def work() -> None:
        async with StreamServer() as server:
            offer = server.offer(FRAMES, Ending.PLAIN)
            assert (await asked(offer, **request_)).startswith(b"HTTP/1.1 " + status)
            assert offer.asked == 0

    bounded(work())


def test_a_head_that_is_too_long_is_refused() -> None:
    """64 KiB are enough for anybody; who is still sending gets the refusal all the same."""

    async def work() -> None:
        async with StreamServer() as server:
            offer = server.offer(FRAMES, Ending.PLAIN)
            assert (await asked(offer, "X: " + "x" * (1 << 20))).startswith(b"HTTP/1.1 431 ")

    bounded(work())


def test_an_answer_to_head_has_no_body() -> None:
    """Whatever it says."""

    async def work() -> None:
        async with StreamServer() as server:
            for path in ("", "/elsewhere"):
                told = await asked(server.offer(FRAMES, Ending.PLAIN), method="HEAD", path=path)
                assert told.endswith(b"\r\n\r\n")

    bounded(work())


def test_a_stream_that_broke_off_goes_on_after_the_last_frame() -> None:
    """With the frame's id; 204 when nothing is left or nothing was ever called so; again from the start without one."""

    async def work() -> None:
        frames = tuple(b'data: {"n":%d}\n\n' % n for n in range(4))
        data, middle = resumable(frames)
        assert data == b"".join(b'id: %d\ndata: {"n":%d}\n\n' % (n + 1, n) for n in range(4))
        assert middle == len(data) // 2
        async with StreamServer() as server:
            offer = server.offer((data,), Ending.PLAIN, breaks_at=middle)
            assert await asked(offer) == HEAD + b"%x\r\n%b\r\n" % (middle, data[:middle])
            rest = b'id: 3\ndata: {"n":2}\n\nid: 4\ndata: {"n":3}\n\n'
            assert await asked(offer, "Last-Event-ID: 2") == HEAD + b"%x\r\n%b\r\n0\r\n\r\n" % (len(rest), rest)
            assert (await asked(offer, "last-event-id:4")).startswith(b"HTTP/1.1 204 No Content\r\n")
            assert (await asked(offer, "Last-Event-ID: never")).startswith(b"HTTP/1.1 204 No Content\r\n")
            assert await asked(offer) == HEAD + b"%x\r\n%b\r\n0\r\n\r\n" % (len(data), data)
            assert (offer.asked, offer.resumed) == (5, 1)

    bounded(work())


@pytest.mark.parametrize(
    "frames",
    [
        (),
        (b"data: 1\n\n",),
        (b"\xef\xbb\xbfdata: 1\n\n", b"data: 2\n\n", b"data: 3\n\n"),
        (b"data: 1\r\n\r\n", b"data: 2\r\n\r\n", b"data: 3\r\n\r\n"),
        (b'data: {"type":"finish"}\n\n', b"data: 2\n\n", b"data: 3\n\n"),
        (b"data: 1\n\n", b"data: 2\nid: 7\n\n", b"data: 3\n\n"),
        (b": 1\n\n", b": 2\n\n", b"data: 3\n\n", b": 4\n\n"),
    ],
    ids=[
        *("empty", "one frame", "a byte order mark", "other line ends", "said its end before the middle"),
        *("an id of its own", "comments and one frame"),
    ],
)
def test_not_every_stream_can_be_broken_off(frames: tuple[bytes, ...]) -> None:
    """Where there is nothing to come back for, or where an id would change what is under test."""
    assert resumable(frames)[1] is None


def test_comments_get_no_ids() -> None:
    """They are nothing that one could go on after (R35), and stay where they are."""
    frames = (b": a\n\n", b"data: 1\n\n", b": b\n: c\n\n", b": d\ndata: 2\n\n", b"data: 3\n\n", b"data: par")
    told, middle = resumable(frames)
    assert told == (b": a\n\nid: 1\ndata: 1\n\n: b\n: c\n\nid: 2\n: d\ndata: 2\n\nid: 3\ndata: 3\n\ndata: par")
    assert middle is not None
    assert middle > told.index(b"data: 1\n\n") + len(b"data: 1\n\n")
