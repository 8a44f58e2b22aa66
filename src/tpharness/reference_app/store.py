"""Where the logs of threads are stored: in SQLite, or only in memory as folds.

A log is the entries of one thread in order (see `fold`). `append` returns an awaitable that is done when the
entries can no longer be lost: the process may die at any moment after. What several threads append at the same time
goes into one transaction, so a wait for the disk is shared.
"""

from __future__ import annotations

import asyncio
import json
import queue
import sqlite3
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import orjson

from tpharness.errors import InputError
from tpharness.reference_app.fold import Entry
from tpharness.vsp.encode import encode_json

__all__ = ["MemoryStore", "SqliteStore", "Store"]

_FORMAT = 1
_SCHEMA = """
CREATE TABLE log (id INTEGER PRIMARY KEY, thread_id TEXT NOT NULL, entry BLOB NOT NULL);
CREATE INDEX log_of_thread ON log (thread_id, id);
"""


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


class SqliteStore:
    """One connection, owned by one thread, with a write-ahead log that is synced with each transaction.

    Another process that has the file open is an InputError, and so is a file that is not a store.
    """

    durable = True

    def __init__(self, path: Path) -> None:
        self._path = path
        self._work: queue.SimpleQueue[tuple[Callable[[sqlite3.Connection], Any] | None, asyncio.Future[Any]]]
        self._work = queue.SimpleQueue()
        self._loop = asyncio.get_running_loop()
        try:
            self._connection = _open(path)
        except (sqlite3.Error, OSError) as error:
            raise InputError(
                f"{path}: {error}", hint="--store takes the file of a tpharness store that no other server has open"
            ) from error
        self._thread = threading.Thread(target=self._serve, name="tpharness-store", daemon=True)
        self._thread.start()

    def append(self, thread_id: str, entries: Sequence[Entry]) -> asyncio.Future[None]:
        """Append entries in one transaction."""
        rows = [(thread_id, _bytes(entry)) for entry in entries]
        return self._submit(lambda c: _nothing(c.executemany("INSERT INTO log (thread_id, entry) VALUES (?, ?)", rows)))

    async def load(self, thread_id: str) -> list[Entry] | None:
        """Return the log of a thread, None if it does not exist."""
        query = "SELECT entry FROM log WHERE thread_id = ? ORDER BY id"
        rows = await self._submit(lambda c: c.execute(query, (thread_id,)).fetchall())
        return [_value(data) for (data,) in rows] or None

    async def delete(self, thread_id: str) -> None:
        """Delete a log."""
        await self._submit(lambda c: _nothing(c.execute("DELETE FROM log WHERE thread_id = ?", (thread_id,))))

    async def run(self, work: Callable[[], Any]) -> Any:
        """Do blocking work in the store's thread."""
        return await self._submit(lambda _: work())

    async def close(self) -> None:
        """Commit what was appended and close the file."""
        if self._thread.is_alive():
            done: asyncio.Future[Any] = self._loop.create_future()
            self._work.put((None, done))
            await done
            self._thread.join()

    def _submit(self, work: Callable[[sqlite3.Connection], Any]) -> asyncio.Future[Any]:
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
                self._connection.close()
                results.append((last, None, None))
            self._loop.call_soon_threadsafe(_settle, results)

    def _transact(
        self, batch: list[tuple[Callable[[sqlite3.Connection], Any], asyncio.Future[Any]]]
    ) -> list[tuple[asyncio.Future[Any], Any, Exception | None]]:
        """Do all work in one transaction; work that fails fails alone, a commit that fails fails all of it."""
        results: list[tuple[asyncio.Future[Any], Any, Exception | None]] = []
        connection = self._connection
        try:
            connection.execute("BEGIN IMMEDIATE")
            for work, done in batch:
                try:
                    results.append((done, work(connection), None))
                except Exception as error:  # noqa: BLE001  # any error is passed to the caller
                    results.append((done, None, error))
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            return [(done, None, error) for _, done in batch]
        return results


def _open(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=0.2)
    try:
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("BEGIN EXCLUSIVE")
        (found,) = connection.execute("PRAGMA user_version").fetchone()
        tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if found == 0 and tables == 0:
            for statement in _SCHEMA.split(";"):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {_FORMAT}")
        elif found != _FORMAT:
            raise sqlite3.DatabaseError(f"the file is not a store of format {_FORMAT}")  # noqa: TRY301  # closed below
        connection.execute("COMMIT")
    except BaseException:
        connection.close()
        raise
    return connection


def _nothing(cursor: sqlite3.Cursor) -> None:
    del cursor


def _settle(results: Sequence[tuple[asyncio.Future[Any], Any, Exception | None]]) -> None:
    for done, value, error in results:
        if done.cancelled():
            continue
        if error is None:
            done.set_result(value)
        else:
            done.set_exception(error)


def _bytes(entry: Entry) -> bytes:
    try:
        return orjson.dumps(entry)
    except TypeError:  # a lone surrogate, which a delta may have (R43), or an integer of more than 64 bits
        return encode_json(entry)


def _value(data: bytes) -> Any:
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        return json.loads(data)
