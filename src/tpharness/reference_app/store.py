"""Where the logs of threads are stored: in SQLite, or only in memory as folds.

A log is the entries of one thread in order (see `fold`). `append` returns an awaitable that is done when the
entries can no longer be lost: the process may die at any moment after. What several threads append at the same time
goes into one transaction, so a wait for the disk is shared.

A log is always a prefix of what was appended: after an append that failed, every later one of that thread fails too,
until the log has been loaded, so that its writer knows what it holds. Entries are numbered, and a log that lacks
one in the middle is not given out. What failed does not come back when the process dies: a commit whose sync failed
may be on the disk whole, so its place is written over before anything else is read or appended.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import queue
import sqlite3
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import orjson

from tpharness.errors import InputError
from tpharness.output import json_bytes
from tpharness.reference_app.fold import Entry

__all__ = ["DamagedLogError", "MemoryStore", "SqliteStore", "Store", "connect_file"]

_FORMAT = 2
_SCHEMA = (
    """CREATE TABLE entries (
        thread_id TEXT NOT NULL, number INTEGER NOT NULL, entry BLOB NOT NULL, PRIMARY KEY (thread_id, number)
    ) WITHOUT ROWID""",
)
_FROM_FORMAT_1 = (
    *_SCHEMA,
    "INSERT INTO entries SELECT thread_id, row_number() OVER (PARTITION BY thread_id ORDER BY id), entry FROM log",
    "DROP TABLE log",
)


class DamagedLogError(Exception):
    """A log without its entry `number`, or with one that cannot be read."""

    def __init__(self, number: int) -> None:
        super().__init__(f"its entry {number} cannot be read")
        self.number = number


class _GapError(sqlite3.OperationalError):
    """An append to a log that would then have a gap. Nothing was done."""


@dataclass(frozen=True, slots=True)
class _Work:
    """Something to do with the connection; `appends_to`: the thread whose log has a gap if it fails."""

    do: Callable[[sqlite3.Connection], Any]
    appends_to: str | None = None


class Store(Protocol):
    """Keeps logs."""

    durable: bool
    """Whether appended entries survive the process."""

    def append(self, thread_id: str, entries: Sequence[Entry]) -> asyncio.Future[None] | None:
        """Append entries; None if there is nothing to wait for."""
        ...

    async def load(self, thread_id: str) -> list[Entry] | None:
        """Return the log of a thread, None if it does not exist."""
        ...

    async def delete(self, thread_id: str) -> None:
        """Delete a log."""
        ...

    async def run(self, work: Callable[[], Any]) -> Any:
        """Do blocking work in the store's thread, after what was appended before."""
        ...

    async def close(self) -> None:
        """Finish pending work, and close the store."""
        ...


class MemoryStore:
    """Stores nothing: threads exist only as folds in memory."""

    durable = False

    def append(self, thread_id: str, entries: Sequence[Entry]) -> None:
        """Do nothing."""
        del thread_id, entries

    async def load(self, thread_id: str) -> None:
        """Return None: nothing is stored."""
        del thread_id

    async def delete(self, thread_id: str) -> None:
        """Do nothing."""
        del thread_id

    async def run(self, work: Callable[[], Any]) -> Any:
        """Do the work here: it does not touch a disk."""
        return work()

    async def close(self) -> None:
        """Do nothing."""


def connect_file(path: Path) -> sqlite3.Connection:
    """Open a file for the store's thread."""
    return sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=0.2)


class SqliteStore:
    """One connection, owned by one thread, with a write-ahead log that is synced with each transaction.

    Without `sync` the system writes the log when it likes: what is committed outlives the process, not the machine.
    Another process that has the file open is an InputError, and so is a file that is not a store. `connect` opens it.
    """

    durable = True

    def __init__(
        self, path: Path, connect: Callable[[Path], sqlite3.Connection] = connect_file, *, sync: bool = True
    ) -> None:
        self._work: queue.SimpleQueue[tuple[_Work | None, asyncio.Future[Any]]]
        self._work = queue.SimpleQueue()
        self._loop = asyncio.get_running_loop()
        try:
            self._connection = _open(path, connect, sync=sync)
        except (sqlite3.Error, OSError) as error:
            raise InputError(
                f"{path}: {error}", hint="--store takes the file of a tpharness store that no other server has open"
            ) from error
        self._gaps: set[str] = set()
        """Threads of which an append failed; only the store's thread uses it."""
        self._remains = False
        """Whether a commit that failed may be on the disk."""
        self._start()

    def append(self, thread_id: str, entries: Sequence[Entry]) -> asyncio.Future[None]:
        """Append entries in one transaction. The future raises sqlite3.Error if the log may not have them."""
        data = [json_bytes(entry) for entry in entries]

        def insert(connection: sqlite3.Connection) -> None:
            if thread_id in self._gaps:
                raise _GapError("an earlier append of this thread failed")
            (last,) = connection.execute("SELECT max(number) FROM entries WHERE thread_id = ?", (thread_id,)).fetchone()
            rows = [(thread_id, number, entry) for number, entry in enumerate(data, (last or 0) + 1)]
            connection.executemany("INSERT INTO entries VALUES (?, ?, ?)", rows)

        return self._submit(_Work(insert, appends_to=thread_id))

    async def load(self, thread_id: str) -> list[Entry] | None:
        """Return the log of a thread, None if it does not exist.

        sqlite3.Error if it cannot be read, DamagedLogError if it lacks an entry.
        """
        query = "SELECT number, entry FROM entries WHERE thread_id = ? ORDER BY number"

        def read(connection: sqlite3.Connection) -> list[tuple[int, bytes]]:
            rows = connection.execute(query, (thread_id,)).fetchall()
            self._gaps.discard(thread_id)
            return rows

        rows = await self._submit(_Work(read))
        for number, (found, _) in enumerate(rows, 1):
            if found != number:
                raise DamagedLogError(number)
        return [_value(number, data) for number, data in rows] or None

    async def delete(self, thread_id: str) -> None:
        """Delete a log."""

        def remove(connection: sqlite3.Connection) -> None:
            connection.execute("DELETE FROM entries WHERE thread_id = ?", (thread_id,))
            self._gaps.discard(thread_id)

        await self._submit(_Work(remove))

    async def run(self, work: Callable[[], Any]) -> Any:
        """Do blocking work in the store's thread."""
        return await self._submit(_Work(lambda _: work()))

    async def close(self) -> None:
        """Commit what was appended and close the file."""
        if self._thread.is_alive():
            done: asyncio.Future[Any] = self._loop.create_future()
            self._work.put((None, done))
            await done
            self._thread.join()

    def _start(self) -> None:
        self._thread = threading.Thread(target=self._serve, name="tpharness-store", daemon=True)
        self._thread.start()

    def _submit(self, work: _Work) -> asyncio.Future[Any]:
        done: asyncio.Future[Any] = self._loop.create_future()
        self._work.put((work, done))
        return done

    def _serve(self) -> None:
        running = True
        while running:
            batch = [self._work.get()]
            while not self._work.empty():
                batch.append(self._work.get())
            last = next((done for work, done in batch if work is None), None)
            results = self._transact([(work, done) for work, done in batch if work is not None])
            if last is not None:
                running = False
                with contextlib.suppress(sqlite3.Error):  # what a full disk did not take is in no log
                    self._connection.close()
                results.append((last, None, None))
            self._loop.call_soon_threadsafe(_settle, results)

    def _transact(
        self, batch: list[tuple[_Work, asyncio.Future[Any]]]
    ) -> list[tuple[asyncio.Future[Any], Any, Exception | None]]:
        """Do all work in one transaction. An append or a commit that fails fails all of it, other work fails alone."""
        results: list[tuple[asyncio.Future[Any], Any, Exception | None]] = []
        connection = self._connection
        try:
            self._write_over_remains()
            connection.execute("BEGIN IMMEDIATE")
            for work, done in batch:
                try:
                    results.append((done, work.do(connection), None))
                except Exception as error:
                    if work.appends_to is not None and not isinstance(error, _GapError):
                        raise
                    results.append((done, None, error))
            self._remains = True
            connection.execute("COMMIT")
            self._remains = False
        except Exception as error:  # noqa: BLE001  # any error is passed to the callers
            with contextlib.suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
            with contextlib.suppress(sqlite3.Error):  # else before the next transaction
                self._write_over_remains()
            self._gaps.update(work.appends_to for work, _ in batch if work.appends_to is not None)
            return [(done, None, error) for _, done in batch]
        return results

    def _write_over_remains(self) -> None:
        """Commit something harmless where a commit has failed. Its frames would be found when the file is opened."""
        if self._remains:
            self._connection.execute(f"PRAGMA user_version = {_FORMAT}")
            self._remains = False


def _open(path: Path, connect: Callable[[Path], sqlite3.Connection], *, sync: bool) -> sqlite3.Connection:
    connection = connect(path)
    try:
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(f"PRAGMA synchronous = {'FULL' if sync else 'OFF'}")
        connection.execute("BEGIN EXCLUSIVE")
        (found,) = connection.execute("PRAGMA user_version").fetchone()
        tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if found != _FORMAT:
            steps = _SCHEMA if found == tables == 0 else _FROM_FORMAT_1 if found == 1 else None
            if steps is None:
                raise sqlite3.DatabaseError(f"the file is not a store of format {_FORMAT}")  # noqa: TRY301  # closed below
            for step in (*steps, f"PRAGMA user_version = {_FORMAT}"):
                connection.execute(step)
        connection.execute("COMMIT")
    except BaseException:
        connection.close()
        raise
    return connection


def _settle(results: Sequence[tuple[asyncio.Future[Any], Any, Exception | None]]) -> None:
    for done, value, error in results:
        if done.cancelled():
            continue
        if error is None:
            done.set_result(value)
        else:
            done.set_exception(error)


def _value(number: int, data: bytes) -> Any:
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        try:
            return json.loads(data)
        except ValueError as error:
            raise DamagedLogError(number) from error
