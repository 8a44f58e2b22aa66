"""Each write and each sync of the reference server's store fails once, in every way; its threads stay prefixes.

SQLite runs on a file system in memory (a VFS of the apsw package). A workload of runs on several threads is played
again and again; each time another operation fails: it does nothing and says so, does half of its work and says so, or
does nothing and says that all is well. Afterwards the server goes on, or its machine loses power, so that of what was
not synced all, nothing or a half is left. Then the store is opened again, and

- each log is what was appended up to some point, with nothing missing in the middle, and folds into a thread;
- what was acknowledged is there, unless the disk said that all was well when it was not;
- a log that cannot be trusted is refused (only where the disk lied), never given out.

Exit code 1 when anything does not hold.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import sqlite3
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import apsw
from benchmarks.table import Row, report

from tpharness.protocol.versions import Version
from tpharness.reference_app import Settings
from tpharness.reference_app.content import ContentStore
from tpharness.reference_app.fold import Entry, ThreadFold
from tpharness.reference_app.refusal import Refusal
from tpharness.reference_app.requests import parse_run_request
from tpharness.reference_app.store import DamagedLogError, SqliteStore
from tpharness.reference_app.threads import Threads

PATH = Path("threads.db")
FAILURES = ("fails", "tears", "lies")
AFTERWARDS = ("goes on", "nothing unsynced is left", "half of it is left", "all of it is left")
CHECKPOINT = 1000  # pages of the write-ahead log: SQLite's own limit
AT = "2025-01-20T10:00:0{}Z"
AGENTS = {"a": {"agent_id": "a", "agent_name": "A", "created_at": AT.format(0)}}
TEXT = "a text that is longer than a page of the database, so that it takes several writes; " * 80


STEPS = (("t1", "one", False), ("t2", TEXT, True), ("t1", TEXT, False), ("t3", "three", False), ("t2", "two", False))
"""Thread, text, and whether the run is cancelled while it waits for its end."""


@dataclass(slots=True)
class File:
    """What programs read of a file, what a loss of power leaves for certain, and the writes in between."""

    seen: bytearray = field(default_factory=bytearray)
    synced: bytearray = field(default_factory=bytearray)
    unsynced: list[tuple[int, bytes | None]] = field(default_factory=list)

    def do(self, offset: int, data: bytes | None) -> None:
        """Write, or truncate to `offset` where there is no data."""
        _do(self.seen, offset, data)
        self.unsynced.append((offset, data))

    def sync(self, share: float = 1.0) -> None:
        """Make a share of what was written safe, the earlier part."""
        count = int(len(self.unsynced) * share)
        for offset, data in self.unsynced[:count]:
            _do(self.synced, offset, data)
        del self.unsynced[:count]

    def lose_power(self, share: float) -> None:
        """Keep a share of what was not synced, and nothing else."""
        self.sync(share)
        self.unsynced.clear()
        self.seen = bytearray(self.synced)


def _do(content: bytearray, offset: int, data: bytes | None) -> None:
    if data is None:
        del content[offset:]
        return
    content.extend(bytes(max(0, offset - len(content))))
    content[offset : offset + len(data)] = data


@dataclass(slots=True)
class Disk:
    """Files by name. Operation number `strikes` (from 1) goes wrong, as `failure` says."""

    strikes: int = 0
    failure: str = ""
    files: dict[str, File] = field(default_factory=dict)
    count: int = 0
    struck: bool = False

    def operate(self, file: File, offset: int, data: bytes | None) -> None:
        """Do a write, a truncation (no data) or a sync (offset -1), unless it is the one that goes wrong."""
        self.count += 1
        if self.count != self.strikes:
            file.sync() if offset < 0 else file.do(offset, data)
            return
        self.struck = True
        if self.failure == "tears" and offset < 0:
            file.sync(0.5)
        elif self.failure == "tears" and data:
            file.do(offset, data[: len(data) // 2])
        if self.failure != "lies":
            raise apsw.IOError("the disk fails") if offset < 0 else apsw.FullError("the disk is full")


class Handle:
    """An open file, as apsw wants it."""

    def __init__(self, disk: Disk, file: File) -> None:
        self._disk = disk
        self._file = file

    def xRead(self, amount: int, offset: int) -> bytes:
        return bytes(self._file.seen[offset : offset + amount])

    def xWrite(self, data: bytes, offset: int) -> None:
        self._disk.operate(self._file, offset, bytes(data))

    def xTruncate(self, size: int) -> None:
        self._disk.operate(self._file, size, None)

    def xSync(self, flags: int) -> None:
        del flags
        self._disk.operate(self._file, -1, None)

    def xFileSize(self) -> int:
        return len(self._file.seen)

    def xLock(self, level: int) -> None:
        pass

    def xUnlock(self, level: int) -> None:
        pass

    def xCheckReservedLock(self) -> bool:
        return False

    def xFileControl(self, op: int, pointer: int) -> bool:
        del op, pointer
        return False

    def xSectorSize(self) -> int:
        return 4096

    def xDeviceCharacteristics(self) -> int:
        return 0

    def xClose(self) -> None:
        pass


class FileSystem(apsw.VFS):
    """A file system of SQLite whose files lie on a disk in memory."""

    def __init__(self, disk: Disk) -> None:
        self.disk = disk
        self.name = f"disk-{id(self)}"
        super().__init__(self.name, "")

    def xOpen(self, name: Any, flags: list[int]) -> Any:
        """Open a file, or make it."""
        path = name if isinstance(name, str) else name.filename()
        flags[1] = flags[0]
        return Handle(self.disk, self.disk.files.setdefault(path, File()))

    def xDelete(self, filename: str, syncdir: bool) -> None:
        """Delete a file: what was there of it does not come back."""
        del syncdir
        self.disk.files.pop(filename, None)

    def xAccess(self, pathname: str, flags: int) -> bool:
        """Whether a file is there."""
        del flags
        return pathname in self.disk.files

    def xFullPathname(self, filename: str) -> str:
        """Names are full."""
        return filename


class Connection:
    """As much of `sqlite3.Connection` as the store uses, over apsw."""

    def __init__(self, path: Path, system: FileSystem) -> None:
        with _as_sqlite3():
            self._inner = apsw.Connection(str(path), vfs=system.name)
            self._inner.set_wal_hook(_checkpoint)

    def execute(self, sql: str, values: Sequence[Any] = ()) -> Connection:
        """Do a statement; its rows are fetched at once."""
        with _as_sqlite3():
            self._rows = list(self._inner.execute(sql, values))
        return self

    def executemany(self, sql: str, rows: Sequence[Any]) -> None:
        """Do a statement for each row."""
        with _as_sqlite3():
            self._inner.executemany(sql, rows)

    def fetchone(self) -> Any:
        """Return the first row."""
        return self._rows[0]

    def fetchall(self) -> list[Any]:
        """Return all rows."""
        return self._rows

    def close(self) -> None:
        """Close the file."""
        with _as_sqlite3():
            self._inner.close(True)


def _checkpoint(connection: apsw.Connection, name: str, pages: int) -> int:
    """Do what SQLite does after a commit, whose failure is nobody's: apsw would raise it as that of the commit."""
    if pages >= CHECKPOINT:
        with suppress(apsw.Error):
            connection.wal_checkpoint(name)
    return apsw.SQLITE_OK


@contextmanager
def _as_sqlite3() -> Iterator[None]:
    try:
        yield
    except apsw.Error as error:
        raise sqlite3.OperationalError(str(error)) from error


@dataclass(slots=True)
class Logs:
    """The logs that may be on the disk now, the longest last, and all that ever were, by thread."""

    now: defaultdict[str, list[list[Entry]]] = field(default_factory=lambda: defaultdict(lambda: [[]]))
    ever: defaultdict[str, list[list[Entry]]] = field(default_factory=lambda: defaultdict(lambda: [[]]))


class WatchedStore(SqliteStore):
    """Remembers for each thread what was appended, and which logs may be on the disk."""

    def __init__(self, system: FileSystem, logs: Logs) -> None:
        self.logs = logs
        super().__init__(PATH, lambda path: Connection(path, system))  # type: ignore[arg-type,return-value]

    def append(self, thread_id: str, entries: Sequence[Entry]) -> asyncio.Future[None]:
        """Append, and note what may be there afterwards: all that was appended before, and this if it succeeds."""
        done = super().append(thread_id, entries)
        logs, ever = self.logs.now[thread_id], self.logs.ever[thread_id]

        def note(future: asyncio.Future[None]) -> None:
            whole = [*logs[-1], *entries]  # what failed before is not left out: this would be a gap
            ever.append(whole)
            if future.exception() is None:
                logs.clear()
            logs.append(whole)

        done.add_done_callback(note)
        return done

    async def delete(self, thread_id: str) -> None:
        """Delete, and note that the log may be gone, or is."""
        logs = self.logs.now[thread_id]
        logs.insert(0, [])
        await super().delete(thread_id)
        logs[:] = [[]]

    async def load(self, thread_id: str) -> list[Entry] | None:
        """Load; from here on just this log is there."""
        found = await super().load(thread_id)
        logs = self.logs.now[thread_id]
        if (found or []) in logs:
            logs[:] = [found or []]
        return found


def _events(text: str) -> list[dict[str, Any]]:
    call = {"part_kind": "tool-call", "tool_name": "get", "tool_call_id": "c1", "args": {"q": text}}
    back = {"part_kind": "tool-return", "tool_name": "get", "tool_call_id": "c1", "content": text}
    return [
        {"event_kind": "part_start", "index": 0, "part": call, "at": AT.format(2)},
        {"event_kind": "model_response_end", "at": AT.format(2)},
        {"event_kind": "function_tool_result", "part": back, "at": AT.format(3)},
        {"event_kind": "part_start", "index": 0, "part": {"part_kind": "text", "content": text}, "at": AT.format(4)},
        {"event_kind": "model_response_end", "at": AT.format(4)},
        {"event_kind": "agent_run_result", "at": AT.format(5)},
    ]


def _turn(text: str) -> dict[str, Any]:
    parts = [{"part_kind": "user-prompt", "content": text}]
    return {"turn_type": "user", "submitted_at": AT.format(1), "parts": parts}


async def _use(threads: Threads, settings: Settings) -> None:
    """Play runs on three threads, one of them interrupted; whatever is refused, go on with the next request."""
    steps = [
        ("t1", "one", False),
        ("t2", TEXT, True),
        ("t1", TEXT, False),
        ("t3", "three", False),
        ("t2", "two", False),
    ]
    for thread_id, text, hold in steps:
        run = {"turn_type": "agent", "agent_id": "a", "started_at": AT.format(1), "events": _events(text)}
        value = {"created_at": AT.format(0), "agents": AGENTS, "user": [_turn(text)], "run": run}
        if hold:
            run["events"] = run["events"][:4]
            value["hold"] = {"at": AT.format(6)}
        with suppress(Refusal, sqlite3.Error):
            thread = await threads.begin(thread_id, parse_run_request(value, thread_id, settings))
            if hold:
                await threads.cancel(thread_id, "user_cancelled")
            elif thread.run is not None:
                await thread.run.wait()
        with suppress(Refusal, sqlite3.Error):
            await threads.add_user(thread_id, _turn("and then"))
        with suppress(Refusal, sqlite3.Error):
            await threads.document(thread_id, Version("0.0.4"))
    with suppress(Refusal, sqlite3.Error):
        await threads.delete("t3")


async def explore_one(strikes: int, failure: str, afterwards: str) -> tuple[Disk, list[str]]:
    """Play the workload on a disk whose operation `strikes` goes wrong; return what is wrong afterwards."""
    disk = Disk(strikes=strikes, failure=failure)
    system = FileSystem(disk)
    settings = Settings(store=PATH)
    logs = Logs()
    contents = ContentStore(None, settings.content_url)
    try:
        held = WatchedStore(system, logs)
        await _use(Threads(settings, held, contents), settings)
        await asyncio.sleep(0)
        share = {"nothing unsynced is left": 0.0, "half of it is left": 0.5, "all of it is left": 1.0}.get(afterwards)
        if share is None:
            await held.close()
        else:
            left = {
                name: File(bytearray(f.seen), bytearray(f.synced), list(f.unsynced)) for name, f in disk.files.items()
            }
            with suppress(Exception):
                await held.close()
            disk.files = left
            for file in disk.files.values():
                file.lose_power(share)
        return disk, await _judge(system, logs, lied=disk.struck and failure == "lies")
    except Exception as error:  # noqa: BLE001  # opening the store may fail: then nothing was ever acknowledged
        return disk, [f"{type(error).__name__}: {error}"] if logs.ever else []
    finally:
        system.unregister()


async def _judge(system: FileSystem, logs: Logs, *, lied: bool) -> list[str]:
    """Open the store again; return what is wrong with the logs that it gives out."""
    try:
        again = WatchedStore(system, Logs())
    except Exception as error:  # noqa: BLE001  # InputError, or what SQLite says of a damaged file
        return [] if lied else [f"the store cannot be opened again: {error}"]
    wrong = []
    for thread_id, whole in logs.now.items():
        try:
            found = await again.load(thread_id) or []
        except (sqlite3.Error, DamagedLogError) as error:
            wrong += [] if lied else [f"{thread_id}: {error}"]
            continue
        prefixes = [log[: len(found)] for log in logs.ever[thread_id]] if lied else whole
        if found not in prefixes:
            wrong.append(f"{thread_id}: {len(found)} entries, and {sorted(map(len, whole))} were appended")
            continue
        fold = ThreadFold(thread_id, "tpharness:content")
        for entry in found:
            fold.apply(entry)
    await again.close()
    return wrong


def main() -> int:
    """Explore, print; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--every", type=int, default=1, help="try every nth operation only")
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)  # the server tells each failure that is played
    disk, wrong = asyncio.run(explore_one(0, "", "goes on"))
    operations = disk.count
    tried: Counter[str] = Counter()
    broken = [f"without a failure: {one}" for one in wrong]
    for strikes in range(1, operations + 1, options.every):
        for failure in FAILURES:
            for afterwards in AFTERWARDS:
                disk, wrong = asyncio.run(explore_one(strikes, failure, afterwards))
                tried[failure] += disk.struck
                broken += [f"operation {strikes} {failure}, {afterwards}: {one}" for one in wrong]
    for one in broken[:20]:
        print(one)
    rows = [Row(name="writes, truncations and syncs of the workload", value=str(operations))]
    rows += [Row(name=f"  of which one {failure}", value=str(tried[failure])) for failure in FAILURES]
    rows.append(Row(name="broken prefixes", value=str(len(broken)), target="0", passed=not broken))
    return report(rows)


if __name__ == "__main__":
    sys.exit(main())
