"""A server that listens on a free port and serves each connection in a task of its own.

In: what serves a connection. Out: the address. When it is closed, every connection is: also one that was accepted just
now and that nothing serves yet, which asyncio leaves open.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

__all__ = ["Listener"]

# Seconds. asyncio leaves a connection open that was accepted and has no transport yet when the server is closed
# (CPython's issue 109564). In a turn of the loop timers run after connections are accepted, and what a timer wakes runs
# in the next turn, after these have got their transports and before more are accepted: there the server can be closed.
_MOMENT = 1e-6

_Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Coroutine[Any, Any, None]]


class Listener:
    """Listens between `start` and `close`. `options` are those of `asyncio.start_server`."""

    def __init__(self, serve: _Serve, host: str = "127.0.0.1", **options: Any) -> None:
        self._serve = serve
        self._host = host
        self._options = options
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Listen on a free port."""
        self._server = await asyncio.start_server(self._begin, self._host, 0, **self._options)

    @property
    def address(self) -> tuple[str, int]:
        """The host and port on which it listens."""
        if self._server is None:
            raise RuntimeError("a listener has an address while it listens")
        host, port = self._server.sockets[0].getsockname()[:2]
        return host, port

    async def close(self) -> None:
        """Stop listening, cancel what serves a connection, and wait until every connection is closed."""
        if self._server is None:
            return
        await asyncio.sleep(_MOMENT)
        server, self._server = self._server, None
        server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await server.wait_closed()

    def _begin(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._server is None:  # accepted before it was closed
            writer.transport.abort()
            return
        task = asyncio.create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(lambda _: self._end(task, writer))

    def _end(self, task: asyncio.Task[None], writer: asyncio.StreamWriter) -> None:
        self._tasks.discard(task)
        if not writer.is_closing():  # it was cancelled before it began
            writer.transport.abort()
