"""A TCP relay that executes plans to the byte: between any client and any server, for any protocol.

In: where the server is, and a plan for each connection. Out: an address on loopback to use in its place, and what the
server has answered on each connection. What the client sends passes unharmed, except after a `Blackhole`.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections import deque
from collections.abc import Awaitable, Callable
from itertools import chain
from typing import Self

from tpharness.faults.plan import Action, Blackhole, Fin, Notify, RelayPlan, Reset, Send, Transmission, Wait
from tpharness.targets.connection import reset
from tpharness.targets.listener import Listener

__all__ = ["FaultRelay"]

_READ = 1 << 16
_CONNECT_SECONDS = 5.0


class FaultRelay:
    """A relay to one server. `on_notify` is called with the name of every `Notify` of a plan; `sleep` waits."""

    def __init__(
        self,
        host: str,
        port: int,
        *,
        on_notify: Callable[[str], None] | None = None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self._upstream = (host, port)
        self._on_call = on_notify
        self._sleep = sleep
        self._plans: deque[RelayPlan] = deque()
        self._listener = Listener(self._serve_connection)
        self.recorded: list[bytearray] = []
        """What the server answered, for each connection in the order in which they came."""
        self.refused = 0
        """How many connections the server did not accept."""

    async def __aenter__(self) -> Self:
        await self._listener.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._listener.close()

    @property
    def port(self) -> int:
        """The port of loopback that it listens on."""
        return self._listener.address[1]

    @property
    def connections(self) -> int:
        """How many there have been."""
        return len(self.recorded)

    def plan(self, *plans: RelayPlan) -> None:
        """Apply these plans to the next connections, one each; connections after them pass unharmed."""
        self._plans.extend(plans)

    # ------------------------------------------------------------------------------------------------ a connection

    async def _serve_connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        plan = self._plans.popleft() if self._plans else RelayPlan()
        record = bytearray()
        self.recorded.append(record)
        upstream: asyncio.StreamWriter | None = None
        try:
            async with asyncio.timeout(_CONNECT_SECONDS):
                answers, upstream = await asyncio.open_connection(*self._upstream)
            _no_delay(writer)
            _no_delay(upstream)
            await self._carry(reader, writer, answers, upstream, Transmission(plan), record)
        except (OSError, TimeoutError):
            self.refused += upstream is None
            reset(writer.transport)  # as a connection that is not accepted
        except asyncio.CancelledError:
            pass
        finally:
            for side in (writer, upstream):
                if side is not None:
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
        connected = asyncio.Event()
        connected.set()
        there = asyncio.ensure_future(_pump(reader, upstream, carrier, connected))
        back = asyncio.ensure_future(self._relay_answers(answers, writer, carrier, record, connected))
        try:
            # An HTTP client that ends its sending has disconnected: the server sees that, as without a relay.
            await asyncio.wait((there, back), return_when=asyncio.FIRST_COMPLETED)
            if not connected.is_set():  # except in a black hole
                writer.transport.abort()
                await asyncio.Event().wait()
            if back.done():
                await back
        finally:
            for task in (there, back):
                task.cancel()
            await asyncio.gather(there, back, return_exceptions=True)

    async def _relay_answers(
        self,
        answers: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        carrier: Transmission,
        record: bytearray,
        connected: asyncio.Event,
    ) -> None:
        opening = carrier.begin()  # waits for the first byte: only then the server has surely had the request
        while True:
            try:
                data = await answers.read(_READ)
            except ConnectionError:
                reset(writer.transport)
                return
            record += data
            for action in chain(opening, carrier.feed(data) if data else carrier.end()):
                if not await self._perform(action, writer, connected):
                    return
            if not data:
                return

    async def _perform(self, action: Action, writer: asyncio.StreamWriter, connected: asyncio.Event) -> bool:
        """Perform an action. False if nothing follows."""
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
                reset(writer.transport)
                return False
            case Blackhole():
                connected.clear()
                await asyncio.Event().wait()  # until the client disconnects, or the relay is closed
            case Fin():
                with contextlib.suppress(OSError):
                    writer.close()
                    await writer.wait_closed()
                return False
        return True


async def _pump(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, carrier: Transmission, connected: asyncio.Event
) -> None:
    """Pass on what a client sends, until it disconnects."""
    with contextlib.suppress(ConnectionError):
        while data := await reader.read(_READ):
            if connected.is_set():
                carrier.see_request(data)
                writer.write(data)
                await writer.drain()


def _no_delay(writer: asyncio.StreamWriter) -> None:
    connection = writer.get_extra_info("socket")
    if connection is not None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
