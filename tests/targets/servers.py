"""Servers for the tests of network targets: HTTP written by hand, byte for byte, on a raw asyncio socket.

`RawServer` answers with whatever its handler writes, which is how every bad target is made. `ContractServer` speaks the
control contract, the embedded reference standing where its model would be; what it declares and what it keeps are
separate, so that a test can break one promise at a time.
"""

from __future__ import annotations

import asyncio
import json
import ssl
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

from tpharness.dialects import ThreadHeader
from tpharness.journal import Interrupted
from tpharness.protocol.versions import Version
from tpharness.targets.contract import Script
from tpharness.targets.forms import run_from, user_from
from tpharness.targets.listener import Listener
from tpharness.targets.reference import ReferenceServer

LAST = b"0\r\n\r\n"
"""The chunk that ends a body."""


@dataclass
class Request:
    """One request."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes

    @property
    def value(self) -> Any:
        """Return the body as JSON."""
        return json.loads(self.body)


@dataclass
class Connection:
    """What a handler writes to."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def send(self, data: bytes) -> None:
        """Write and wait until it is on its way."""
        self.writer.write(data)
        await self.writer.drain()

    async def answer(self, status: str, body: bytes = b"", kind: str = "application/json", more: str = "") -> None:
        """Write a whole answer."""
        typed = f"Content-Type: {kind}\r\n" if kind else ""
        head = f"HTTP/1.1 {status}\r\n{typed}{more}Content-Length: {len(body)}\r\n\r\n"
        await self.send(head.encode() + body)

    async def json(self, value: Any, status: str = "200 OK") -> None:
        """Answer with JSON."""
        await self.answer(status, json.dumps(value).encode())

    async def stream(self, kind: str = "text/event-stream") -> None:
        """Write the head of a streamed answer."""
        await self.send(
            f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nTransfer-Encoding: chunked\r\n\r\n".encode(),
        )

    async def chunk(self, data: bytes) -> None:
        """Write one chunk of a streamed answer."""
        if data:
            await self.send(b"%x\r\n%b\r\n" % (len(data), data))


Handler = Callable[[Request, Connection], Awaitable[None]]
RawHandler = Callable[[Connection], Awaitable[None]]


class RawServer:
    """A server on a free port of loopback; `handler` is given each request, or `raw` each connection."""

    def __init__(
        self, handler: Handler | None = None, *, raw: RawHandler | None = None, tls: ssl.SSLContext | None = None
    ) -> None:
        self.handler = handler
        self.raw = raw
        self.tls = tls
        self.port = 0
        self.connections = 0
        self._listener = Listener(self._accept, ssl=tls, backlog=8192)

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http{'s' if self.tls else ''}://127.0.0.1:{self.port}"

    async def __aenter__(self) -> Self:
        await self._listener.start()
        _, self.port = self._listener.address
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._listener.close()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            with suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, asyncio.CancelledError):
                if self.raw is not None:
                    await self.raw(Connection(reader, writer))
                while self.handler is not None and (request := await read_request(reader)) is not None:
                    await self.handler(request, Connection(reader, writer))
                    if writer.is_closing() or request.headers.get("connection", "").lower() == "close":
                        break
        finally:
            if self.tls:
                writer.transport.abort()
            else:
                writer.close()


async def read_request(reader: asyncio.StreamReader) -> Request | None:
    """Read a request with a Content-Length, or none; None when the client has gone."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    first, *lines = head.decode("latin-1").split("\r\n")[:-2]
    method, target, _ = first.split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    url = urlsplit(target)
    return Request(method, url.path, {k: v[0] for k, v in parse_qs(url.query).items()}, headers, body)


@contextmanager
def in_thread(server: RawServer) -> Iterator[RawServer]:
    """Run a server on a loop of its own, for a test that blocks."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    def run(work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, loop).result(timeout=10)

    try:
        run(server.__aenter__())
        yield server
    finally:
        run(server.__aexit__())
        loop.call_soon_threadsafe(loop.stop)
        thread.join(timeout=10)
        loop.close()


ALL = {
    "contract": "1.0",
    "name": "by-hand",
    "version": "0.1",
    "roles": ["server"],
    "versions": ["2.0.0", "0.0.3", "0.0.4"],
    "carriers": True,
    "marks": True,
    "cancel": True,
    "disconnect": ["stop", "continue"],
    "limits": True,
    "resume": True,
    "seed": False,
    "readings": {},
}
"""Everything there is to declare."""


@dataclass
class Thread:
    """One thread: its session, and the run that goes on."""

    session: ReferenceServer
    cancel: asyncio.Future[str] | None = None
    stopped: asyncio.Event = field(default_factory=asyncio.Event)
    late: str = ""
    frames: int = 0
    buffer: list[bytes] = field(default_factory=list)


@dataclass
class ContractServer:
    """The control contract, for a `RawServer`. `keeps` are the promises that it keeps, of those it declares."""

    declares: dict[str, Any] = field(default_factory=lambda: dict(ALL))
    breaks: frozenset[str] = frozenset()
    threads: dict[str, Thread] = field(default_factory=dict)
    seen: list[tuple[str, str]] = field(default_factory=list)
    holds: int = 0
    token: str = ""

    async def __call__(self, request: Request, connection: Connection) -> None:
        """Answer one request."""
        self.seen.append((request.method, request.path))
        if self.token and request.headers.get("authorization") != f"Bearer {self.token}":
            await connection.json({"error": {"message": "no token"}}, "401 Unauthorized")
            return
        match request.method, request.path.strip("/").split("/"):
            case "GET", ["capabilities"]:
                await connection.json(self.declares)
            case "POST", ["threads", name, "runs"]:
                await self.run(name, request.value, connection)
            case "POST", ["threads", name, "user-turns"] if name in self.threads:
                self.threads[name].session.user(user_from(request.value))
                await connection.answer("204 No Content", kind="")
            case "POST", ["threads", name, "cancel"] if "cancel" not in self.breaks and name in self.threads:
                await self.cancel(self.threads[name], request.value["reason"], connection)
            case "GET", ["threads", name, "stream"] if name in self.threads:
                await self.resume(self.threads[name].buffer, request.headers.get("last-event-id"), connection)
            case "GET", ["threads", name] if name in self.threads:
                version = request.query.get("version", "0.0.4")
                if version in self.breaks:
                    await connection.json({"error": {"message": "unknown version"}}, "404 Not Found")
                else:
                    thread = self.threads[name].session.threads()[Version(version)]
                    await connection.json({**thread, "thread_id": name})
                    if self.threads[name].late:
                        await self.stop(self.threads[name], self.threads[name].late)
            case "GET", ["threads", name] if "unknown-get" in self.breaks:
                await connection.json({"version": request.query["version"], "thread_id": name, "turns": []})
            case "POST", ["threads", _, "user-turns"] if "unknown-user-turn" in self.breaks:
                await connection.answer("204 No Content", kind="")
            case "DELETE", ["threads", name] if "delete" not in self.breaks:
                if "forget" not in self.breaks:
                    self.threads.pop(name, None)
                await connection.answer("204 No Content", kind="")
            case _:
                await connection.json({"error": {"message": "no such path"}}, "404 Not Found")

    async def cancel(self, thread: Thread, reason: str, connection: Connection) -> None:
        """Stop the run; each promise about it may be broken. `cancel-early`: when the thread has been fetched."""
        stopped = thread.cancel is not None and "cancel-answer" not in self.breaks
        if "cancel-early" in self.breaks:
            thread.late = reason
        elif "cancel-effect" not in self.breaks:
            await self.stop(thread, reason)
        await connection.json({"cancelled": stopped or "cancel-late" in self.breaks})

    async def stop(self, thread: Thread, reason: str) -> None:
        """Stop the run of a thread, and wait until the thread shows it."""
        if thread.cancel is not None and not thread.cancel.done():
            thread.cancel.set_result(reason)
            await thread.stopped.wait()

    async def resume(self, buffer: list[bytes], after: str | None, connection: Connection) -> None:
        """Tell the frames after one again; each promise about it may be broken."""
        start = next((i + 1 for i, f in enumerate(buffer) if after and f.startswith(f"id: {after}\n".encode())), 0)
        frames = buffer[start:]
        if start and "resume-lost" in self.breaks:
            frames = frames[1:]
        if start and "resume-repeated" in self.breaks:
            frames = buffer[start - 1 :]
        if "resume-differs" in self.breaks:
            frames = [frame.replace(b'":"', b'": "') for frame in frames]
        if not frames:
            await connection.answer("204 No Content", kind="")
            return
        await connection.stream()
        await connection.chunk(b"".join(frames))
        await connection.send(LAST)

    async def run(self, name: str, asked: dict[str, Any], connection: Connection) -> None:
        """Play a run and stream it."""
        run = run_from(asked["run"])
        carriers = asked["carriers"] and "carriers" not in self.breaks
        if name not in self.threads:
            header = ThreadHeader(thread_id=name, created_at=asked["created_at"], agents=asked["agents"])
            script = Script(header=header, turns=(), versions=tuple(Version), carriers=carriers)
            self.threads[name] = Thread(ReferenceServer(script))
        thread = self.threads[name]
        if thread.cancel is not None and "second-run" not in self.breaks:
            status = "400 Bad Request" if "second-run-400" in self.breaks else "409 Conflict"
            for user in asked["user"] if "second-run-user" in self.breaks else ():
                thread.session.user(user_from(user))
            await connection.json({"error": {"message": "a run goes on"}}, status)
            return
        for user in asked["user"]:
            thread.session.user(user_from(user))
        thread.buffer.clear()
        await connection.stream()
        out = self._pieces(thread, asked, connection)
        try:
            await self._events(thread, asked, connection, out)
        except ConnectionError:
            if not run.interruption and "hold" not in asked and "half" not in self.breaks:
                thread.session.interrupt(Interrupted(reason="network_failure", at=run.started_at), abort=False)
            raise

    async def _events(
        self,
        thread: Thread,
        asked: dict[str, Any],
        connection: Connection,
        out: Callable[[bytes, int | None], Awaitable[None]],
    ) -> None:
        run = run_from(asked["run"])
        await out(thread.session.begin(run), 0)
        for number, event in enumerate(run.events, start=1):
            await out(thread.session.feed(event), number)
        if "hold" in asked and "hold" not in self.breaks:
            await self._hold(thread, asked, connection, out)
        elif run.interruption is not None:
            await out(thread.session.interrupt(run.interruption, abort=run.abort), None)
        else:
            await out(thread.session.close(), None)
        with suppress(ConnectionError):
            await connection.send(LAST)

    def _pieces(
        self, thread: Thread, asked: dict[str, Any], connection: Connection
    ) -> Callable[[bytes, int | None], Awaitable[None]]:
        marks = asked["marks"] and "marks" not in self.breaks
        ids = self.declares["resume"] and "resume" not in self.breaks

        async def out(data: bytes, count: int | None) -> None:
            if ids:
                numbered = []
                for frame in data.split(b"\n\n")[:-1]:
                    thread.frames += 1
                    numbered.append(b"id: %d\n%b\n\n" % (thread.frames, frame))
                thread.buffer += numbered
                data = b"".join(numbered)
            if marks and count is not None:
                mark = b": tp %d\n\n" % count
                data = mark + data if "marks-after" in self.breaks else data + mark
            try:
                await connection.chunk(data)
            except ConnectionError:
                if asked.get("on_disconnect") != "continue" or "continue" in self.breaks:
                    raise

        return out

    async def _hold(
        self,
        thread: Thread,
        asked: dict[str, Any],
        connection: Connection,
        out: Callable[[bytes, int | None], Awaitable[None]],
    ) -> None:
        """Wait for what ends the run."""
        self.holds += 1
        at = asked["hold"]["at"]
        loop = asyncio.get_running_loop()
        cancel = thread.cancel = loop.create_future()
        thread.stopped.clear()
        gone = asyncio.ensure_future(connection.reader.read(1))
        limit = asked.get("limits", {}).get("stream_seconds")
        timeout = None if "limits" in self.breaks else limit
        either: set[asyncio.Future[Any]] = {cancel, gone}
        beat = asked.get("limits", {}).get("heartbeat_seconds")
        if beat is not None and "heartbeat" not in self.breaks:
            await asyncio.wait(either, timeout=beat, return_when=asyncio.FIRST_COMPLETED)
            await connection.chunk(b": alive\n\n")
        done, _ = await asyncio.wait(either, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        if cancel in done or "disconnect" not in self.breaks:  # with that, the run goes on
            thread.cancel = None
        gone.cancel()
        with suppress(asyncio.CancelledError):
            await gone
        if cancel in done:
            reason = "user_cancelled" if "cancel-reason" in self.breaks else cancel.result()
            told = thread.session.interrupt(Interrupted(reason=reason, at=at), abort=True)
            thread.stopped.set()
            if "abort" not in self.breaks:
                await out(told, None)
        elif gone in done:
            reason = "error" if "disconnect-reason" in self.breaks else "network_failure"
            if not self.breaks & {"disconnect", "disconnect-lost"}:
                thread.session.interrupt(Interrupted(reason=reason, at=at), abort=False)
            connection.writer.close()
            raise ConnectionResetError
        else:
            await out(thread.session.interrupt(Interrupted(reason="timeout", at=at), abort=False), None)


@asynccontextmanager
async def contract_server(server: ContractServer | None = None) -> AsyncIterator[tuple[RawServer, ContractServer]]:
    """Run a contract server for the length of a test."""
    contract = server or ContractServer()
    async with RawServer(contract) as raw:
        yield raw, contract
