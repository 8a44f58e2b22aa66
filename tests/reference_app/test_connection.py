"""What holds a connection and says nothing: long heads, heads and bodies that do not come, connections too many."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
import pytest_asyncio
import uvicorn
from tests.reference_app.peer import Peer, Serve, say
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from tpharness.reference_app import Settings
from tpharness.reference_app.connection import protocol_for

pytestmark = pytest.mark.asyncio

HEAD = b"GET /capabilities HTTP/1.1\r\nHost: localhost\r\n"
POST = b"POST /adopt HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
PassTime = Callable[[int], Awaitable[None]]
SHORT = Settings(max_head=1000, token="s3cret")  # noqa: S106
HOUR = Settings(head_seconds=3600.0)


@contextlib.asynccontextmanager
async def connected(peer: Peer) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """Connect for the length of a block, five seconds at most."""
    reader, writer = await asyncio.open_connection("127.0.0.1", int(peer.url.rpartition(":")[2]))
    try:
        async with asyncio.timeout(5):
            yield reader, writer
    finally:
        writer.close()


@pytest.mark.parametrize(
    "data",
    [
        HEAD + b"X: " + b"a" * 2000,
        HEAD + b"X: a\r\n" * 400,
        HEAD + b"X: " + b"a" * 2000 + b"\r\n\r\n",
        b"GET /" + b"a" * 2000,
    ],
    ids=["an endless header", "endless headers", "a whole head", "an endless path"],
)
async def test_a_head_that_is_too_long_is_refused_before_the_token_is_looked_at(serve: Serve, data: bytes) -> None:
    """It was held whole, however long it was, for anybody."""
    async with serve(SHORT) as peer, connected(peer) as (reader, writer):
        writer.write(data)
        assert (await reader.readline()).startswith(b"HTTP/1.1 431 ")


async def test_a_head_that_is_just_short_enough_is_read(serve: Serve) -> None:
    """And a body does not count."""
    async with serve(Settings(max_head=1000)) as peer:
        head = HEAD + b"Connection: close\r\nContent-Length: 5000\r\nX: "
        data = head + b"a" * (900 - len(head)) + b"\r\n\r\n" + b"b" * 5000
        assert (await say(peer, data)).startswith(b"HTTP/1.1 200 ")


@pytest_asyncio.fixture
async def pass_the_time(monkeypatch: pytest.MonkeyPatch) -> PassTime:
    """Return what lets the hour of `HOUR` pass, as soon as so many bytes of a head have arrived."""
    loop = asyncio.get_running_loop()
    waiting: list[tuple[asyncio.TimerHandle, Any]] = []
    later = loop.call_later

    def remember(delay: float, callback: Callable[..., object], *given: Any, **more: Any) -> asyncio.TimerHandle:
        handle = later(delay, callback, *given, **more)
        if delay == HOUR.head_seconds:
            waiting.append((handle, callback))
        return handle

    async def pass_it(size: int) -> None:
        async with asyncio.timeout(5):
            while not any(  # noqa: ASYNC110
                not handle.cancelled() and size == (give_up.__self__._head or 0) for handle, give_up in waiting
            ):
                await asyncio.sleep(0)  # the protocol has no event
        handle, give_up = next(one for one in waiting if not one[0].cancelled())
        handle.cancel()
        give_up()

    monkeypatch.setattr(loop, "call_later", remember)
    return pass_it


@pytest.mark.parametrize(
    ("data", "status"),
    [(b"", b""), (b"GET /capa", b"408"), (HEAD, b"408")],
    ids=["nothing", "half a line", "half a head"],
)
async def test_a_head_that_does_not_come_in_time_is_given_up(
    serve: Serve, pass_the_time: PassTime, data: bytes, status: bytes
) -> None:
    """Who sends half a request would keep its connection for ever."""
    async with serve(HOUR) as peer, connected(peer) as (reader, writer):
        writer.write(data)
        await pass_the_time(len(data))
        assert (await reader.read())[9:12] == status


async def test_a_body_that_stops_is_given_up(serve: Serve) -> None:
    """The same, later."""
    async with serve(Settings(body_seconds=0.05)) as peer:
        assert (await say(peer, POST + b"Content-Length: 9\r\n\r\n{")).startswith(b"HTTP/1.1 408 ")


async def test_a_later_request_has_as_long(serve: Serve, pass_the_time: PassTime) -> None:
    """The time begins with its first byte."""
    async with serve(HOUR) as peer, connected(peer) as (reader, writer):
        writer.write(HEAD + b"\r\n")
        assert (await reader.readline()).startswith(b"HTTP/1.1 200 ")
        writer.write(b"GET /capa")
        await pass_the_time(9)
        assert b"HTTP/1.1 408 " in await reader.read()


async def test_a_body_that_nobody_reads_does_not_hold_its_connection(serve: Serve, pass_the_time: PassTime) -> None:
    """The request was refused before its body; a byte of it now and then kept the connection open."""
    async with serve(HOUR) as peer, connected(peer) as (reader, writer):
        writer.write(b"POST /nowhere HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n")
        assert (await reader.readline()).startswith(b"HTTP/1.1 404 ")
        writer.write(b"a")
        await pass_the_time(0)
        await reader.read()


async def test_a_connection_too_many_is_refused_and_a_stream_goes_on(serve: Serve) -> None:
    """When one is closed there is room again."""
    async with serve(Settings(max_connections=2)) as peer:
        async with connected(peer), connected(peer) as (reader, writer):
            writer.write(HEAD + b"\r\n")
            assert (await reader.readline()).startswith(b"HTTP/1.1 200 ")
            assert (await say(peer, HEAD)).startswith(b"HTTP/1.1 503 ")
        while True:
            answer = await say(peer, HEAD + b"Connection: close\r\n\r\n")
            if not answer.startswith(b"HTTP/1.1 503 "):  # the server has seen that the two were closed
                break
        assert answer.startswith(b"HTTP/1.1 200 ")


async def test_a_connection_takes_hardly_more_memory_than_uvicorn_s() -> None:
    """A held stream is one: with three more names beside the some thirty of uvicorn Python gives up sharing them."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        """Never asked."""

    config = uvicorn.Config(app, lifespan="off", ws="none")
    config.load()
    given: dict[str, Any] = {"config": config, "server_state": ServerState(), "app_state": {}}
    ours: Any = protocol_for(Settings())
    bare, limited = HttpToolsProtocol(**given), ours(**given)
    assert vars(limited).keys() == vars(bare).keys()
    assert sys.getsizeof(vars(limited)) <= sys.getsizeof(vars(bare))
