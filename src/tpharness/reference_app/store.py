"""Where the logs of threads are stored: what is asked of a store, and one in SQLite.

A log is the entries of one thread in order (see `fold`). `append` returns an awaitable that is done when the
entries can no longer be lost: the process may die at any moment after. What several threads append at the same time
goes into one transaction, so a wait for the disk is shared.

A log is always a prefix of what was appended: after an append that failed, every later one of that thread fails too,
until the log has been loaded, so that its writer knows what it holds. A log that a disk has changed is not given out
(`store_file`). What failed does not come back when the process dies: a commit whose sync failed may be on the disk
whole, so its place is written over before anything else is read or appended.

Transactions that change anything are numbered, and the last number that is acknowledged stands beside the database
(`acknowledged`): a store that does not have it any more is not opened, and one that is open refuses all work.

Large contents stand beside the database (`content`). A thread refers to them from when they are put to when it is
deleted; then what no other thread refers to is removed, if need be when the store is opened the next time.

A file that is not ours, by its schema, is not written to. A store whose file is moved, or whose write-ahead log is
removed, while it is open would go on writing to what nobody finds again: it brings everything into the database file
that it has open, and from then on refuses all work.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import queue
import sqlite3
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, Protocol

from tpharness.errors import InputError
from tpharness.output import json_bytes
from tpharness.reference_app.acknowledged import Acknowledged, TransactionsLostError, beside
from tpharness.reference_app.content import ContentStore, seeded_contents
from tpharness.reference_app.files import Files
from tpharness.reference_app.fold import Entry
from tpharness.reference_app.store_file import (
    FORMAT,
    DamagedLogError,
    append_entries,
    check_log,
    connect_file,
    delete_log,
    drop_removed,
    find_removable,
    identify_files,
    last_transaction,
    number_transaction,
    open_file,
    read_log,
    refer,
)

__all__ = ["DamagedLogError", "SqliteStore", "Store", "StoreLostError", "append", "connect_file"]


_NO_MEMORY = "out of memory"


_LOST_HINT = "put the files back as they were; to go on without what was acknowledged and is not there, remove {}"
_SYNC_AFTER = 1.0  # seconds without work


class StoreLostError(sqlite3.OperationalError):
    """The file of an open store is not where it was, or its log or its end is not. Nothing is stored any more."""


class _GapError(sqlite3.OperationalError):
    """An append to a log that would then have a gap. Nothing was done."""


@dataclass(frozen=True, slots=True)
class _Work:
    """Something to do with the connection; `appends_to`: the thread whose log has a gap if it fails."""

    do: Callable[[sqlite3.Connection], Any]
    appends_to: str | None = None
    writes: bool = False
    """Whether it changes what is stored, and so what is acknowledged."""


class Store(Protocol):
    """Keeps logs."""

    durable: bool
    """Whether appended entries survive the process."""
    contents: ContentStore
    """The large contents; `put_content` adds to them."""

    def append(self, thread_id: str, entries: Sequence[Entry]) -> asyncio.Future[None] | None:
        """Append entries; None if there is nothing to wait for."""
        ...

    async def load(self, thread_id: str) -> list[Entry] | None:
        """Return the log of a thread, None if it does not exist."""
        ...

    async def delete(self, thread_id: str) -> None:
        """Delete a log, and the contents that no other thread refers to."""
        ...

    async def put_content(self, thread_id: str, data: bytes) -> None:
        """Store a content that a thread is going to refer to. OSError."""
        ...

    async def run(self, work: Callable[[], Any]) -> Any:
        """Do blocking work in the store's thread, after what was appended before."""
        ...

    async def until_lost(self) -> str:
        """Wait until the store has been lost and refuses all work; return why. What is not on a disk never is."""
        ...

    async def close(self) -> None:
        """Finish pending work, and close the store."""
        ...


async def append(store: Store, thread_id: str, entries: Sequence[Entry]) -> None:
    """Return when the log of a thread has the entries. Raises what the store raises if it may not have them."""
    stored = store.append(thread_id, entries)
    if stored is not None:
        await stored


class SqliteStore:
    """One connection, owned by one thread, with a write-ahead log that is synced with each transaction.

    Without `sync` the system writes the log when it likes: what is committed outlives the process, not the machine.
    Another process that has the file open is an InputError, and so is a file that is not a store. `connect` opens it.
    """

    durable = True

    def __init__(
        self,
        path: Path,
        connect: Callable[[Path], sqlite3.Connection] = connect_file,
        *,
        sync: bool = True,
        files: Files | None = None,
    ) -> None:
        self._work: queue.SimpleQueue[tuple[_Work | None, asyncio.Future[Any]]]
        self._work = queue.SimpleQueue()
        self._loop = asyncio.get_running_loop()
        self._path = path
        self._plain_files = files = files or Files()
        self.contents = ContentStore(beside(path, ".content"), sync=sync, files=files)
        self._acknowledged = Acknowledged(beside(path, ".acknowledged"), files, sync=sync)
        try:
            self._connection = open_file(path, connect, sync=sync, require=self._require_all)
            self._number = last_transaction(self._connection)
            self._acknowledged.begin(self._number)
            self._files = identify_files(path, self._acknowledged.path)
        except TransactionsLostError as error:
            raise InputError(f"{path}: {error}", hint=_LOST_HINT.format(self._acknowledged.path)) from error
        except (sqlite3.Error, OSError, MemoryError) as error:
            raise InputError(
                f"{path}: {str(error) or _NO_MEMORY}",
                hint="--store takes the file of a tpharness store that no other server has open",
            ) from error
        self._lost: StoreLostError | None = None
        self._is_lost = asyncio.Event()
        self._gaps: set[str] = set()
        """Threads of which an append failed; only the store's thread uses it."""
        self._remains = False
        """Whether a commit that failed may be on the disk."""
        self._put: list[str] = []
        """Contents that nobody refers to if their transaction failed."""
        self._remove_contents()
        self._start()

    def append(self, thread_id: str, entries: Sequence[Entry]) -> asyncio.Future[None]:
        """Append entries in one transaction. The future raises sqlite3.Error if the log may not have them."""
        data = [json_bytes(entry) for entry in entries]

        def insert(connection: sqlite3.Connection) -> None:
            if thread_id in self._gaps:
                raise _GapError("an earlier append of this thread failed")
            append_entries(connection, thread_id, data)
            refer(connection, thread_id, seeded)

        seeded = seeded_contents(entries)
        return self._submit(_Work(insert, appends_to=thread_id, writes=True))

    async def load(self, thread_id: str) -> list[Entry] | None:
        """Return the log of a thread, None if it does not exist.

        sqlite3.Error if it cannot be read, DamagedLogError if it lacks an entry.
        """

        def read(connection: sqlite3.Connection) -> Any:
            found = read_log(connection, thread_id)
            self._gaps.discard(thread_id)
            return found

        rows, head = await self._submit(_Work(read))
        return check_log(thread_id, rows, head) or None

    async def delete(self, thread_id: str) -> None:
        """Delete a log."""

        def remove(connection: sqlite3.Connection) -> None:
            delete_log(connection, thread_id)
            self._gaps.discard(thread_id)

        await self._submit(_Work(remove, writes=True))

    async def put_content(self, thread_id: str, data: bytes) -> None:
        """Store a content in its folder, and that this thread refers to it."""
        digest = hashlib.sha256(data).hexdigest()

        def put(connection: sqlite3.Connection) -> None:
            self._put.append(digest)
            self.contents.put(data)
            refer(connection, thread_id, [digest])

        await self._submit(_Work(put, writes=True))

    async def run(self, work: Callable[[], Any]) -> Any:
        """Do blocking work in the store's thread."""
        return await self._submit(_Work(lambda _: work()))

    async def until_lost(self) -> str:
        """Wait until the store refuses all work, because its files are not where they were; return why."""
        await self._is_lost.wait()
        return str(self._lost)

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
            batch = [self._wait_for_work()]
            while not self._work.empty():
                batch.append(self._work.get())
            last = next((done for work, done in batch if work is None), None)
            results = self._transact([(work, done) for work, done in batch if work is not None])
            if last is not None:
                running = False
                self._close_files()
                results.append((last, None, None))
            self._loop.call_soon_threadsafe(_settle, results)

    def _wait_for_work(self) -> tuple[_Work | None, asyncio.Future[Any]]:
        if self._acknowledged.waits:
            with contextlib.suppress(queue.Empty):
                return self._work.get(timeout=_SYNC_AFTER)
            self._acknowledged.sync()
        return self._work.get()

    def _close_files(self) -> None:
        with contextlib.suppress(sqlite3.Error, MemoryError):  # what a full disk did not take is in no log
            self._connection.close()
        self._acknowledged.sync()

    def _transact(
        self, batch: list[tuple[_Work, asyncio.Future[Any]]]
    ) -> list[tuple[asyncio.Future[Any], Any, Exception | None]]:
        """Do all work in one transaction. An append or a commit that fails fails all of it, other work fails alone."""
        results: list[tuple[asyncio.Future[Any], Any, Exception | None]] = []
        connection = self._connection
        try:
            if self._lost is not None:
                raise self._lost  # noqa: TRY301  # as an error of SQLite
            self._write_over_remains()
            connection.execute("BEGIN IMMEDIATE")
            self._require_end()
            for work, done in batch:
                try:
                    results.append((done, work.do(connection), None))
                except Exception as error:
                    failed = isinstance(error, MemoryError) or work.appends_to is not None
                    if failed and not isinstance(error, _GapError):
                        raise
                    results.append((done, None, error))
            writes = any(work.writes for work, _ in batch)
            if writes:
                number_transaction(connection, self._number + 1)
            self._remains = True
            connection.execute("COMMIT")
            self._remains = False
            if writes:
                self._number += 1
                self._write_number()
            self._require_files()
        except Exception as error:  # noqa: BLE001  # any error is passed to the callers
            if isinstance(error, MemoryError):  # what Python makes of SQLite's
                error = sqlite3.OperationalError(_NO_MEMORY)
            with contextlib.suppress(sqlite3.Error, MemoryError):
                connection.execute("ROLLBACK")
            with contextlib.suppress(sqlite3.Error, MemoryError):  # else before the next transaction
                self._write_over_remains()
            self._gaps.update(work.appends_to for work, _ in batch if work.appends_to is not None)
            self._remove_contents()
            return [(done, None, error) for _, done in batch]
        if writes:
            self._remove_contents()
        return results

    def _require_all(self, number: int) -> None:
        """Refuse a database whose last transaction is `number` if that is not the last that was acknowledged.

        SQLite is going to remove its write-ahead log, in which more may be than SQLite reads: a copy stays.
        """
        try:
            self._acknowledged.require(number)
        except TransactionsLostError:
            log = beside(self._path, "-wal")
            with contextlib.suppress(OSError):
                data = self._plain_files.read(log)
                if data:  # else it is in the copy already
                    self._plain_files.write(log.with_name(log.name + ".lost"), data, sync=True)
            raise

    def _require_end(self) -> None:
        """Raise StoreLostError if the database that is open does not end with what was committed last."""
        number = last_transaction(self._connection)
        if number != self._number:
            self._lose(f"{self._path} ends with transaction {number}, and {self._number} was committed")

    def _write_number(self) -> None:
        """Write beside the database what will be acknowledged. If this fails the entries may be there, as if it had."""
        try:
            self._acknowledged.write(self._number)
        except OSError as error:
            raise sqlite3.OperationalError(f"{self._acknowledged.path}: {error}") from error

    def _remove_contents(self) -> None:
        """Remove contents that no thread refers to. What fails is done when the store is opened the next time."""
        with contextlib.suppress(sqlite3.Error, OSError, MemoryError):
            removable = find_removable(self._connection, self._put)
            for digest in removable:
                self.contents.remove(digest)
            self._put.clear()
            if removable:
                self._connection.execute("BEGIN IMMEDIATE")
                try:
                    drop_removed(self._connection, removable)
                finally:
                    self._connection.execute("COMMIT")

    def _lose(self, why: str) -> NoReturn:
        self._lost = StoreLostError(why)
        self._loop.call_soon_threadsafe(self._is_lost.set)
        raise self._lost

    def _require_files(self) -> None:
        """Raise StoreLostError if what was committed is in files that are not where they were.

        It is brought into the database file, which somebody may have moved: then nothing is lost.
        """
        now = identify_files(self._path, self._acknowledged.path)
        gone = next((name for name, found in self._files.items() if now.get(name) != found), None)
        if gone is None:
            return
        try:
            (busy, *_) = self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            where = "" if busy else ", and what was stored is in the file that was opened, whatever its name is now"
        except sqlite3.Error:
            where = ""
        self._lose(f"{gone} was removed, moved or replaced while it was open{where}")

    def _write_over_remains(self) -> None:
        """Commit something harmless where a commit has failed. Its frames would be found when the file is opened."""
        if self._remains:
            self._connection.execute(f"PRAGMA user_version = {FORMAT}")
            self._remains = False


def _settle(results: Sequence[tuple[asyncio.Future[Any], Any, Exception | None]]) -> None:
    for done, value, error in results:
        if done.cancelled():
            continue
        if error is None:
            done.set_result(value)
        else:
            done.set_exception(error)
