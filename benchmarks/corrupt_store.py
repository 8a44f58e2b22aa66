"""The store of the reference server, its database file corrupted, or with less memory than SQLite needs.

10,000 files: bytes changed, pages zeroed, swapped, repeated, torn or cut off, in the database, in a write-ahead log
that was left by a SIGKILL, and in the number of the last transaction beside both. 1,000 limits of memory (`PRAGMA
hard_heap_limit`), each for a store that is opened, appended to and read. What is asked of each log gives an error or
the truth: exactly what was appended, which for what failed may be there or not. A log that is wrong, shorter or gone
without a word is a violation.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.table import at_most, report, shown

from tpharness.errors import InputError
from tpharness.reference_app.acknowledged import TransactionsLostError
from tpharness.reference_app.store import DamagedLogError, SqliteStore
from tpharness.reference_app.store_file import connect_file

PAGE = 4096
THREADS = 12


def entries_of(thread: int) -> list[dict[str, Any]]:
    """Return the log of a thread, from some bytes to some pages long, with no two logs alike."""
    return [{"kind": "held", "text": f"{thread}.{n} " * (7 ** (thread % 5))} for n in range(1 + thread % 4)]


@dataclass(frozen=True, slots=True)
class Given:
    """A sound store as a SIGKILL leaves it: its database, its write-ahead log, and what it has acknowledged."""

    database: bytes
    log: bytes
    acknowledged: bytes


async def make_store(folder: Path) -> Given:
    """Make a store: half of its threads are in the database file, half in the log alone."""
    path = folder / "given.db"
    store = SqliteStore(path)
    for thread in range(THREADS):
        if thread == THREADS // 2:
            await store.close()
            store = SqliteStore(path)
        await store.append(f"t{thread}", entries_of(thread))
    log, acknowledged = (path.with_name(f"given.db{ending}").read_bytes() for ending in ("-wal", ".acknowledged"))
    given = Given(database=path.read_bytes(), log=log, acknowledged=acknowledged)
    await store.close()
    return given


def corrupt(data: bytes, chance: random.Random) -> bytes:
    """Return a file with one to three things done to it that disks do."""
    changed = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 3))):
        at = chance.randrange(max(1, len(changed)))
        page = at // PAGE * PAGE
        other = chance.randrange(max(1, len(changed) // PAGE)) * PAGE
        match chance.randrange(8):
            case 0 | 1 | 2:
                changed[at : at + 1] = bytes([chance.randrange(256)])
            case 3:
                changed[at : at + chance.randrange(1, 64)] = chance.randbytes(chance.randrange(1, 64))
            case 4:
                changed[page : page + PAGE] = bytes(PAGE)
            case 5:
                changed[page : page + PAGE] = changed[other : other + PAGE]
            case 6:
                one, two = bytes(changed[page : page + PAGE]), bytes(changed[other : other + PAGE])
                changed[page : page + PAGE], changed[other : other + PAGE] = two, one
            case 7:
                del changed[at:]
    return bytes(changed)


async def try_file(given: Given, folder: Path, chance: random.Random) -> str:
    """Open a corrupted copy and read every log; return what came of it in words."""
    path = folder / "corrupt.db"
    where = chance.choices(("database", "log", "acknowledged"), (6, 3, 1))[0]
    for name, ending in (("database", ""), ("log", "-wal"), ("acknowledged", ".acknowledged")):
        data = getattr(given, name)
        path.with_name(f"corrupt.db{ending}").write_bytes(corrupt(data, chance) if name == where else data)
    try:
        store = SqliteStore(path)
    except InputError as error:
        lost = isinstance(error.__cause__, TransactionsLostError)
        return "not opened: it lacks what was acknowledged" if lost else "not opened"
    told = set()
    try:
        for thread in range(THREADS):
            told.add(await _try_log(store, f"t{thread}", [entries_of(thread)]))
    finally:
        await store.close()
    return worst_of(told)


async def _try_log(store: SqliteStore, thread: str, truths: list[list[dict[str, Any]] | None]) -> str:
    try:
        log = await store.load(thread)
    except DamagedLogError:
        return "damaged, and said so"
    except sqlite3.Error:
        return "cannot be read"
    if log in truths:
        return "the truth"
    return f"WRONG: {thread} is {'gone' if log is None else f'{str(log)[:60]} …'}"


async def use_with(limit: int, path: Path) -> dict[str, Any]:
    """Append logs and read them with so many bytes for SQLite; return what came of it, and which were acknowledged."""

    def connect(file: Path) -> sqlite3.Connection:
        connection = connect_file(file)
        connection.execute(f"PRAGMA hard_heap_limit = {limit}")
        return connection

    acknowledged: list[str] = []
    told: set[str] = set()
    try:
        store = SqliteStore(path, connect)
    except InputError:
        return {"told": ["not opened"], "acknowledged": []}
    for thread in range(THREADS):
        name, log = f"t{thread}", entries_of(thread)
        try:
            await store.append(name, log)
            acknowledged.append(name)
        except sqlite3.Error:
            told.add("not stored, and said so")
        told.add(await _try_log(store, name, [log] if name in acknowledged else [log, None]))
    await store.close()
    return {"told": sorted(told), "acknowledged": acknowledged}


def play_limits(folder: Path, limits: Sequence[int]) -> list[str]:
    """Use a store within each limit, in a process of its own, which can only lower it; then read it without one."""
    command = [sys.executable, "-m", "benchmarks.corrupt_store", "--child", str(folder), *map(str, limits)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    played = [json.loads(line) for line in done.stdout.splitlines()]
    if done.returncode or len(played) != len(limits):
        raise SystemExit(f"the process with little memory ended: {done.stderr}")
    return asyncio.run(_judge_limits(folder, played))


async def _judge_limits(folder: Path, played: Sequence[dict[str, Any]]) -> list[str]:
    told = []
    for number, one in enumerate(played):
        seen = set(one["told"])
        store = SqliteStore(folder / f"{number}.db")
        for thread in range(THREADS):
            name, log = f"t{thread}", entries_of(thread)
            read = await _try_log(store, name, [log] if name in one["acknowledged"] else [log, None])
            seen.add(read if read == "the truth" or read.startswith("WRONG") else f"WRONG afterwards: {name}: {read}")
        await store.close()
        told.append(worst_of(seen))
    return told


def play_files(folder: Path, files: int, seed: int) -> list[str]:
    """Corrupt a store so often; return what came of each file."""

    async def play() -> list[str]:
        given = await make_store(folder)
        chance = random.Random(seed)
        return [await try_file(given, folder, chance) for _ in range(files)]

    return asyncio.run(play())


def worst_of(told: Collection[str]) -> str:
    """Return what is said of a store of which so much is to be said."""
    return max(told, key=lambda one: (one.startswith("WRONG"), one != "the truth", one))


def _play_child(folder: Path, limits: Sequence[int]) -> int:
    for number, limit in enumerate(sorted(limits, reverse=True)):
        print(json.dumps(asyncio.run(use_with(limit, folder / f"{number}.db"))), flush=True)
    return 0


def main() -> int:
    """Measure, print; return the exit code."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--files", type=int, default=10_000, metavar="N", help="corrupt files (10,000)")
    options.add_argument("--limits", type=int, default=1_000, metavar="N", help="limits of memory (1,000)")
    options.add_argument("--seed", type=int, default=1, metavar="N", help="of the files (1)")
    options.add_argument("--child", nargs="+", metavar="N", help=argparse.SUPPRESS)
    args = options.parse_args()
    if args.child:
        return _play_child(Path(args.child[0]), [int(limit) for limit in args.child[1:]])
    least, most = 10_000, 600_000
    limits = [least + (most - least) * n // args.limits for n in range(args.limits)]
    with tempfile.TemporaryDirectory() as folder:
        files = Counter(play_files(Path(folder), args.files, args.seed))
        memory = Counter(play_limits(Path(folder), limits))
    rows = [shown(f"{args.files:,} corrupt files: {what}", count) for what, count in sorted(files.items())]
    rows += [shown(f"{args.limits:,} limits of memory: {what}", count) for what, count in sorted(memory.items())]
    wrong = sum(count for what, count in (files + memory).items() if what.startswith("WRONG"))
    return report([*rows, at_most("stores that give neither an error nor the truth", wrong, 0, "")])


if __name__ == "__main__":
    raise SystemExit(main())
