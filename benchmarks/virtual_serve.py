"""`tpharness serve` without sockets, threads and a real disk: the application itself, in virtual time.

`Server` starts, stops and kills the application, whose store is on a `played_disk.Disk`; `Call` is a request on a
connection of its own. A write takes virtual milliseconds, so everything can happen between what was asked and what the
disk has, and between this and its being told.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections import deque
from collections.abc import Mapping, MutableMapping
from pathlib import Path
from typing import Any

import orjson
from benchmarks.played_disk import Connection, Disk, FileSystem, PlayedFiles
from benchmarks.virtual_time import virtual_loop

from tpharness.errors import InputError
from tpharness.reference_app import ReferenceApp, Settings
from tpharness.reference_app.memory_store import MemoryStore
from tpharness.reference_app.store import SqliteStore, Store

__all__ = ["CLIENT", "BrokenOffError", "Call", "Server", "be_client"]

CLIENT = "client"
"""What the names of all tasks begin with that are not the server's."""
_SLOWEST = 0.02  # seconds that a write takes, or that it takes to be told
_PIECES = 4  # that wait for a slow reader before the server has to wait


def be_client() -> None:
    """Say that the running task is not the server's."""
    task = asyncio.current_task()
    if task is not None:
        task.set_name(CLIENT)


class BrokenOffError(Exception):
    """The server has died while it was asked."""


class _Store(SqliteStore):
    """The store, whose writes take virtual time. One that is dead does nothing any more, and tells nothing."""

    def __init__(self, path: Path, system: FileSystem, chance: random.Random) -> None:
        self.dead = False
        self._chance = chance
        self._waiting: list[tuple[Any, asyncio.Future[Any]]] = []
        self._busy = False
        connect: Any = lambda path: Connection(path, system)  # noqa: E731  # it has what the store uses of one
        super().__init__(path, connect, files=PlayedFiles(system.disk))

    def _start(self) -> None:
        """Start no thread."""

    def _submit(self, work: Any) -> asyncio.Future[Any]:
        done: asyncio.Future[Any] = self._loop.create_future()
        self._waiting.append((work, done))
        if not self._busy:
            self._busy = True
            self._loop.call_later(self._chance.random() * _SLOWEST, self._write)
        return done

    def _write(self) -> None:
        if self.dead:
            return
        batch, self._waiting = self._waiting, []
        results = self._transact(batch)
        self._loop.call_later(self._chance.random() * _SLOWEST, self._tell, results)

    def _tell(self, results: Any) -> None:
        if self.dead:
            return
        for done, value, error in results:
            if done.cancelled():
                continue
            done.set_result(value) if error is None else done.set_exception(error)
        self._busy = bool(self._waiting)
        if self._busy:
            self._loop.call_later(self._chance.random() * _SLOWEST, self._write)

    async def close(self) -> None:
        """Write what waits, unless it is dead."""
        while self._busy and not self.dead:  # noqa: ASYNC110  # virtual time passes at once
            await asyncio.sleep(_SLOWEST)
        self._close_files()


class Server:
    """The application with its store on a disk; `wrong` gets what no server may do."""

    def __init__(self, folder: Path, chance: random.Random, wrong: list[str], **limits: Any) -> None:
        self.disk = Disk()
        self.up = asyncio.Event()
        self.epoch = 0
        """How often it has ended or died."""
        self.app: ReferenceApp
        self.calls: dict[Call, None] = {}
        self.called = 0
        self.wrong = wrong
        self._suspended = -1.0
        self._chance = chance
        self._settings = Settings(**{"store": folder / "threads.db", **limits})
        self._life = contextlib.AsyncExitStack()

    async def start(self) -> None:
        """Start on what the disk has. InputError if the store cannot be opened; it may be started again then."""
        self._system = FileSystem(self.disk)
        self.app = ReferenceApp(self._settings, open_store=self._open)
        try:
            await self._life.enter_async_context(self.app.alive())
        except InputError:
            self._system.unregister()
            raise
        self.up.set()

    def _open(self, settings: Settings) -> Store:
        if settings.store is None:
            return MemoryStore()
        self._store = _Store(settings.store, self._system, self._chance)
        return self._store

    async def stop(self, seconds: float) -> None:
        """End as after a signal: runs end, then streams, and nothing is left after so many seconds."""
        self.up.clear()
        self.epoch += 1
        await self.app.stop()
        tasks = [call.task for call in self.calls]
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=seconds)
            self.wrong += [f"{task.get_name()} goes on though the server was ended" for task in late]
        await self._life.aclose()
        self._system.unregister()
        self.wrong += [f"{task.get_name()} is left of a server that was ended" for task in self.tasks()]

    async def kill(self, left: float | None) -> None:
        """End it where it stands; `left`: the share that a loss of power leaves of what was not synced."""
        self.up.clear()
        self.epoch += 1
        self._store.dead = True
        left_over = self.disk.copy()
        calls = tuple(self.calls)
        for call in calls:
            call.break_off()
        await _cancel([call.task for call in calls])  # before the runs, which then have no timers left
        await _cancel(self.tasks())
        await self._life.aclose()
        self._system.unregister()
        self.disk.files, self.disk.folders, self.disk.names = left_over.files, left_over.folders, left_over.names
        if left is not None:
            self.disk.lose_power(left)

    def suspend(self, seconds: float) -> None:
        """Let the machine stand still: no timer of these seconds comes in time."""
        loop = virtual_loop()
        loop.jump(seconds)
        self._suspended = loop.time()

    def suspended(self, since: float) -> bool:
        """Whether the machine stood still since then."""
        return self._suspended >= since

    def tasks(self) -> list[asyncio.Task[Any]]:
        """Return the tasks of the server: all that are not named as a client's, in an order that the seed decides."""
        tasks = [task for task in asyncio.all_tasks() if not task.get_name().startswith(CLIENT)]
        return sorted(tasks, key=asyncio.Task.get_name)

    @property
    def held(self) -> dict[str, int]:
        """What the application holds of threads, loads, runs and connections."""
        threads = self.app.threads
        return {
            "threads": len(threads._live),  # noqa: SLF001  # what a leak is seen by
            "loads": len(threads._loading),  # noqa: SLF001
            "runs": len(threads._tools.running),  # noqa: SLF001
            "connections": len(self.calls),
        }


async def _cancel(tasks: list[asyncio.Task[Any]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


class Call:
    """A request. Its answer comes in pieces; `leave` closes the connection."""

    def __init__(
        self,
        server: Server,
        method: str,
        path: str,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        *,
        slow: bool = False,
    ) -> None:
        self.status = 0
        server.called += 1
        self.name = f"call {server.called} {method} {path}"
        self._server = server
        self._slow = slow
        self._body: bytes | None = b"" if body is None else orjson.dumps(body)
        self._pieces: deque[bytes] = deque()
        self._news = asyncio.Event()
        self._room = asyncio.Event()
        self._left = asyncio.Event()
        self._ended = self._broken = False
        path, _, query = path.partition("?")
        usual = {"host": "localhost", "content-type": "application/json"}
        said = [(name.encode(), value.encode()) for name, value in (usual | dict(headers or {})).items()]
        scope: dict[str, Any] = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "headers": said,
        }
        server.calls[self] = None
        self.task = asyncio.get_running_loop().create_task(self._answer(scope), name=self.name)

    async def _answer(self, scope: MutableMapping[str, Any]) -> None:
        try:
            await self._server.app(scope, self._receive, self._send)
        except Exception as error:  # noqa: BLE001  # whatever it is, it is a defect
            self._server.wrong.append(f"{self.name}: {type(error).__name__}: {error}")
        finally:
            self._server.calls.pop(self, None)
            if not self._ended:
                self.break_off()

    async def _receive(self) -> MutableMapping[str, Any]:
        body, self._body = self._body, None
        if body is not None:
            return {"type": "http.request", "body": body}
        await self._left.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
        elif not self._left.is_set() and not self._broken:
            self._pieces.append(message.get("body", b""))
            self._ended = not message.get("more_body", False)
            while self._slow and len(self._pieces) > _PIECES and not self._left.is_set():
                self._room.clear()
                await self._room.wait()
        self._news.set()

    def break_off(self) -> None:
        """Lose the connection from the other side."""
        self._broken = True
        self._news.set()

    def leave(self) -> None:
        """Close the connection."""
        self._left.set()
        self._room.set()

    async def begun(self) -> int:
        """Return the status when it is known. BrokenOffError."""
        while not self.status:
            await self._wait()
        return self.status

    async def read(self) -> bytes:
        """Return the next bytes; none at the end. BrokenOffError."""
        while not any(self._pieces):
            if self._ended:
                return b""
            self._pieces.clear()
            await self._wait()
        data = b"".join(self._pieces)
        self._pieces.clear()
        self._room.set()
        return data

    async def value(self) -> Any:
        """Return the whole answer as JSON, None for an empty one. BrokenOffError."""
        await self.begun()
        data = b""
        while piece := await self.read():
            data += piece
        return orjson.loads(data) if data else None

    async def _wait(self) -> None:
        if self._broken:
            raise BrokenOffError(self.name)
        self._news.clear()
        await self._news.wait()
