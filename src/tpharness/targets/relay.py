"""A TCP relay that carries out plans to the byte: between any client and any server, whatever they speak.

In: where the server is, and a plan for each connection. Out: an address on loopback to use in its place, and what the
server has answered on each connection. What the client sends passes unharmed, unless the plan has gone deaf.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Self

from tpharness.faults.plan import Action, Deaf, Fin, Notify, Plan, Reset, Send, Transmission, Wait

__all__ = ["Relay"]

_READ = 1 << 16
_CONNECT_SECONDS = 5.0


class Relay:
    """A relay to one server. `on_call` is told of every `Notify` of a plan; `sleep` waits."""

    def __init__(
        self,
        host: str,
        port: int,
        *,
        on_call: Callable[[str], None] | None = None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self._upstream = (host, port)
        self._on_call = on_call
        self._sleep = sleep
        self._plans: deque[Plan] = deque()
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._live: set[asyncio.StreamWriter] = set()
        self.recorded: list[bytearray] = []
        """What the server answered, for each connection in the order in which they came."""
        self.refused = 0
        """How many connections the server did not take."""

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._server is not None:
            self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._server is not None:
            await self._server.wait_closed()
            self._server = None

    @property
    def port(self) -> int:
        """The port of loopback that it listens on."""
        if self._server is None:
            raise RuntimeError("a relay listens inside its context")
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    @property
    def connections(self) -> int:
        """How many there have been."""
        return len(self.recorded)

    def plan(self, *plans: Plan) -> None:
        """Have the next connections carried so, one plan each; those after them pass unharmed."""
        self._plans.extend(plans)

    def retarget(self, host: str, port: int) -> None:
        """Have later connections go elsewhere, for a server that was started again."""
        self._upstream = (host, port)

    def reset_all(self) -> None:
        """Reset every connection that is open."""
        for writer in self._live:
            _abort(writer, rst=True)

    # ------------------------------------------------------------------------------------------------ a connection

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        plan = self._plans.popleft() if self._plans else Plan()
        record = bytearray()
        self.recorded.append(record)
        self._live.add(writer)
        upstream: asyncio.StreamWriter | None = None
        try:
            async with asyncio.timeout(_CONNECT_SECONDS):
                answers, upstream = await asyncio.open_connection(*self._upstream)
            self._live.add(upstream)
            _no_delay(writer)
            _no_delay(upstream)
            await self._carry(reader, writer, answers, upstream, Transmission(plan), record)
        except (OSError, TimeoutError):
            self.refused += upstream is None
            _abort(writer, rst=True)  # as a connection that nobody takes
        except asyncio.CancelledError:
            pass
        finally:
            for side in (writer, upstream):
                if side is not None:
                    self._live.discard(side)
                    side.transport.abort()

    async def _carry(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        answers: asyncio.StreamReader,
        upstream: asyncio.StreamWriter,
        carrier: Transmission,
        record: bytearray,
    ) -> None:
        hearing = asyncio.Event()
        hearing.set()
        there = asyncio.ensure_future(_pump(reader, upstream, carrier, hearing))
        back = asyncio.ensure_future(self._answers(answers, writer, carrier, record, hearing))
        try:
            # A client of HTTP that ends its sending has gone: the server is to see that, as without a relay.
            await asyncio.wait((there, back), return_when=asyncio.FIRST_COMPLETED)
            if not hearing.is_set():  # but for one that nobody is told of
                writer.transport.abort()
                await asyncio.Event().wait()
            if back.done():
                await back
        finally:
            for task in (there, back):
                task.cancel()
            await asyncio.gather(there, back, return_exceptions=True)

    async def _answers(
        self,
        answers: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        carrier: Transmission,
        record: bytearray,
        hearing: asyncio.Event,
    ) -> None:
        for action in carrier.begin():
            if not await self._do(action, writer, hearing):
                return
        while True:
            try:
                data = await answers.read(_READ)
            except ConnectionError:
                _abort(writer, rst=True)
                return
            record += data
            for action in carrier.feed(data) if data else carrier.end():
                if not await self._do(action, writer, hearing):
                    return
            if not data:
                return

    async def _do(self, action: Action, writer: asyncio.StreamWriter, hearing: asyncio.Event) -> bool:
        """Carry out an action. False when nothing follows."""
        match action:
            case Send(data):
                writer.write(data)
                await writer.drain()
            case Wait(seconds):
                await self._sleep(seconds)
            case Notify(name):
                if self._on_call is not None:
                    self._on_call(name)
            case Reset():
                _abort(writer, rst=True)
                return False
            case Deaf():
                hearing.clear()
                await asyncio.Event().wait()  # until the client goes, or the relay is closed
            case Fin():
                with contextlib.suppress(OSError):
                    writer.close()
                    await writer.wait_closed()
                return False
        return True


async def _pump(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, carrier: Transmission, hearing: asyncio.Event
) -> None:
    """Pass on what a client sends, until it has gone."""
    with contextlib.suppress(ConnectionError):
        while data := await reader.read(_READ):
            if hearing.is_set():
                carrier.asked(data)
                writer.write(data)
                await writer.drain()


def _no_delay(writer: asyncio.StreamWriter) -> None:
    connection = writer.get_extra_info("socket")
    if connection is not None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def _abort(writer: asyncio.StreamWriter, *, rst: bool) -> None:
    connection = writer.get_extra_info("socket")
    if rst and connection is not None:
        with contextlib.suppress(OSError):
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
