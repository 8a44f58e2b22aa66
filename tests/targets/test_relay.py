"""The relay on real sockets: what a plan says is what a client sees, and nothing is left behind."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.targets.running import open_descriptors

from tpharness.faults.plan import Blackhole, Buffer, Fin, Notify, Pass, Rechunk, RelayPlan, Reset, Step, Wait
from tpharness.targets.relay import FaultRelay

pytestmark = pytest.mark.usefixtures("little_to_collect")
ANSWER = b"one two three four"


def bounded(work: Coroutine[Any, Any, Any]) -> Any:
    """Run a test's coroutine, 10 s at most; no task and no descriptor outlives it."""
    before = open_descriptors()

    async def alone() -> Any:
        try:
            async with asyncio.timeout(10):
                return await work
        finally:
            await asyncio.sleep(0)
            assert asyncio.all_tasks() == {asyncio.current_task()}

    result = asyncio.run(alone())
    gc.collect()
    assert open_descriptors() <= before
    return result


class Upstream:
    """A server that answers each line, and keeps what it was sent."""

    def __init__(self, answer: bytes = ANSWER) -> None:
        self.answer = answer
        self.heard = bytearray()
        self.gone = asyncio.Event()
        self.port = 0

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one connection."""
        self.heard += await reader.readline()
        writer.write(self.answer)
        await writer.drain()
        if self.answer.endswith(b"stay"):
            while data := await reader.read(1 << 16):
                self.heard += data
        self.gone.set()
        writer.close()


@asynccontextmanager
async def upstream(server: Upstream | None = None) -> AsyncIterator[Upstream]:
    """Run an upstream server."""
    server = server or Upstream()
    listening = await asyncio.start_server(server, "127.0.0.1", 0)
    server.port = listening.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listening.close()
        await listening.wait_closed()


async def asked(relay: FaultRelay, *, seconds: float = 5.0) -> bytes | str:
    """Ask through a relay; return the answer, or the name of what went wrong."""
    reader, writer = await asyncio.open_connection("127.0.0.1", relay.port)
    try:
        writer.write(b"hello\n")
        async with asyncio.timeout(seconds):
            return await reader.read()
    except (ConnectionError, TimeoutError) as error:
        return type(error).__name__
    finally:
        writer.transport.abort()


@pytest.mark.parametrize(
    ("steps", "seen"),
    [
        ((), ANSWER),
        ((Pass(7), Fin()), b"one two"),
        ((Fin(),), b""),
        ((Pass(7), Reset()), "ConnectionResetError"),
        ((Rechunk((1, 2, 3)),), ANSWER),
        ((Buffer(),), ANSWER),
        ((Pass(7), Wait(0.01)), ANSWER),
    ],
)
def test_a_plan_is_carried_out_to_the_byte(steps: tuple[Step, ...], seen: bytes | str) -> None:
    """The record has what the server sent, not what passed the relay."""

    async def work() -> None:
        async with upstream() as server, FaultRelay("127.0.0.1", server.port) as relay:
            relay.plan(RelayPlan(steps))
            assert await asked(relay) in (seen, *(["ConnectionResetError"] if steps == (Fin(),) else []))
            assert await asked(relay) == ANSWER, "a plan is for one connection"
            assert bytes(relay.recorded[1]) == ANSWER
            assert relay.connections == 2

    bounded(work())


def test_a_half_open_connection_tells_nobody() -> None:
    """Nothing more comes, the server does not notice that the client has gone, and closing the relay ends it all."""

    async def work() -> None:
        async with upstream(Upstream(b"one two stay")) as server:
            async with FaultRelay("127.0.0.1", server.port) as relay:
                relay.plan(RelayPlan((Pass(3), Blackhole())))
                reader, writer = await asyncio.open_connection("127.0.0.1", relay.port)
                writer.write(b"hello\n")
                assert await reader.readexactly(3) == b"one"
                writer.write(b"more\n")
                writer.close()
                await writer.wait_closed()
                assert await asked(relay, seconds=0.05) == "TimeoutError", "the relay serves others meanwhile"
                assert not server.gone.is_set()
            await server.gone.wait()
            assert bytes(server.heard).replace(b"hello\n", b"") == b""

    bounded(work())


def test_a_client_that_goes_is_seen_to_go() -> None:
    """As without a relay."""

    async def work() -> None:
        async with upstream(Upstream(b"one two stay")) as server, FaultRelay("127.0.0.1", server.port) as relay:
            reader, writer = await asyncio.open_connection("127.0.0.1", relay.port)
            writer.write(b"hello\n")
            await reader.readexactly(3)
            writer.close()
            await server.gone.wait()

    bounded(work())


def test_a_server_that_is_not_there_resets() -> None:
    """The client sees its connection refused, and the relay counts it."""

    async def work() -> None:
        async with upstream() as server:
            gone = server.port
        async with FaultRelay("127.0.0.1", gone) as relay:
            assert await asked(relay) == "ConnectionResetError"
            assert relay.refused == 1

    bounded(work())


def test_the_clock_is_the_callers_and_calls_reach_it() -> None:
    """No test has to wait for a stall."""

    async def work() -> None:
        slept: list[float] = []
        called: list[str] = []

        async def sleep(seconds: float) -> None:
            slept.append(seconds)

        async with (
            upstream() as server,
            FaultRelay("127.0.0.1", server.port, on_notify=called.append, sleep=sleep) as relay,
        ):
            relay.plan(RelayPlan((Notify("begin"), Pass(3), Wait(3600), Notify("x"), Rechunk((5,), pause=60))))
            assert await asked(relay) == ANSWER
        assert slept == [3600, 60, 60, 60]
        assert called == ["begin", "x"]

    bounded(work())
