"""Each operation of the reference server's store on its disk fails once, in every way; its threads stay prefixes.

The database, the file with the number of transactions and the folder of large contents are on a disk in memory
(`played_disk`). A workload of runs on several threads is played again and again; each time another operation fails: it
does nothing and says so, does half of its work and says so, or does nothing and says that all is well. Afterwards the
server goes on, or its machine loses power, so that of what was not synced all, nothing or a half is left. Then the
store is opened again, and

- each log is what was appended up to some point, with nothing missing in the middle, and folds into a thread;
- what was acknowledged is there, unless the disk said that all was well when it was not;
- so is each content that a log refers to, and none that only a deleted thread referred to;
- a log that cannot be trusted is refused (only where the disk lied), never given out.

Exit code 1 when anything does not hold.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import logging
import sqlite3
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.played_disk import Connection, Disk, FileSystem, PlayedFiles
from benchmarks.table import Row, report

from tpharness.errors import InputError
from tpharness.protocol.versions import Version
from tpharness.reference_app import Settings
from tpharness.reference_app.content import DamagedContentError, contents_of
from tpharness.reference_app.fold import Entry, ThreadFold
from tpharness.reference_app.refusal import Refusal
from tpharness.reference_app.requests import parse_run_request
from tpharness.reference_app.store import DamagedLogError, SqliteStore
from tpharness.reference_app.threads import Threads

PATH = Path("threads.db")
FAILURES = ("fails", "tears", "lies")
AFTERWARDS = ("goes on", "nothing unsynced is left", "half of it is left", "all of it is left")
AT = "2025-01-20T10:00:0{}Z"
AGENTS = {"a": {"agent_id": "a", "agent_name": "A", "created_at": AT.format(0)}}
TEXT = "a text that is longer than a page of the database, so that it takes several writes; " * 80


LARGE, SHARED = "a content of a deleted thread; " * 3_500, "a content of two threads, one deleted; " * 3_000
STEPS = (
    ("t1", "one", False),
    ("t2", TEXT, True),
    ("t1", SHARED, False),
    ("t3", SHARED, False),
    ("t3", LARGE, False),
    ("t2", "two", False),
)
"""Thread, what its tool returns, and whether the run is cancelled while it waits for its end. t3 is deleted then."""
DELETED = hashlib.sha256(LARGE.encode()).hexdigest()


@dataclass(slots=True)
class Logs:
    """The logs that may be on the disk now, the longest last, and all that ever were, by thread."""

    now: defaultdict[str, list[list[Entry]]] = field(default_factory=lambda: defaultdict(lambda: [[]]))
    ever: defaultdict[str, list[list[Entry]]] = field(default_factory=lambda: defaultdict(lambda: [[]]))


class WatchedStore(SqliteStore):
    """Remembers for each thread what was appended, and which logs may be on the disk."""

    def __init__(self, system: FileSystem, logs: Logs) -> None:
        self.logs = logs
        connect: Any = lambda path: Connection(path, system)  # noqa: E731  # it has what the store uses of one
        super().__init__(PATH, connect, files=PlayedFiles(system.disk))

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
    call = {"part_kind": "tool-call", "tool_name": "get", "tool_call_id": "c1", "args": {"q": text[:9_000]}}
    back = {"part_kind": "tool-return", "tool_name": "get", "tool_call_id": "c1", "content": text}
    return [
        {"event_kind": "part_start", "index": 0, "part": call, "at": AT.format(2)},
        {"event_kind": "model_response_end", "at": AT.format(2)},
        {"event_kind": "function_tool_result", "part": back, "at": AT.format(3)},
        {
            "event_kind": "part_start",
            "index": 0,
            "part": {"part_kind": "text", "content": text[:9_000]},
            "at": AT.format(4),
        },
        {"event_kind": "model_response_end", "at": AT.format(4)},
        {"event_kind": "agent_run_result", "at": AT.format(5)},
    ]


def _turn(text: str) -> dict[str, Any]:
    parts = [{"part_kind": "user-prompt", "content": text}]
    return {"turn_type": "user", "submitted_at": AT.format(1), "parts": parts}


async def _use(threads: Threads, settings: Settings) -> None:
    """Play runs on three threads, one of them interrupted; whatever is refused, go on with the next request."""
    for thread_id, text, hold in STEPS:
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
    try:
        held = WatchedStore(system, logs)
        await _use(Threads(settings, held), settings)
        await asyncio.sleep(0)
        share = {"nothing unsynced is left": 0.0, "half of it is left": 0.5, "all of it is left": 1.0}.get(afterwards)
        if share is None:
            await held.close()
        else:
            left = disk.copy()
            with suppress(Exception):
                await held.close()
            disk.files, disk.folders, disk.names = left.files, left.folders, left.names
            disk.lose_power(share)
        return disk, await _judge(system, logs, lied=disk.struck and failure == "lies")
    except Exception as error:  # noqa: BLE001  # opening the store may fail: then nothing was ever acknowledged
        return disk, [f"{type(error).__name__}: {error}"] if logs.ever else []
    finally:
        system.unregister()


async def _judge(system: FileSystem, logs: Logs, *, lied: bool) -> list[str]:
    """Open the store again; return what is wrong with the logs that it gives out."""
    struck = system.disk.struck
    try:
        try:
            again = WatchedStore(system, Logs())
        except InputError:
            if struck or not system.disk.struck:
                raise
            again = WatchedStore(system, Logs())  # what failed was an operation of the opening itself
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
        needed = {digest for entry in found for digest in contents_of(entry)}
        wrong += [f"{thread_id}: {digest} is not there" for digest in needed if not lied and not _has(again, digest)]
    gone = logs.now["t3"] == [[]] and not lied
    wrong += [f"{name} is of a deleted thread" for name in system.disk.files if gone and DELETED in name]
    await again.close()
    return wrong


def _has(store: SqliteStore, digest: str) -> bool:
    try:
        return store.contents.get(digest) is not None
    except DamagedContentError:
        return False


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
