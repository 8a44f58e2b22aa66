"""A week of `tpharness serve` in virtual time: 200,000 runs, while clients, disk and machine do what they like.

The application runs in this process, on a clock that is moved and not waited for (`virtual_time`), with a store on a
disk that fails (`virtual_serve`). Clients play conversations of one to three turns: they cancel, leave, come back for
the rest of a stream, read it twice at once, ask for a second run of the same thread, look at the thread in the middle,
delete it; runs stall, wait, time out. Meanwhile the server is killed or ended in order, its machine loses power or is
suspended for ten minutes, and single writes and syncs fail, tear or lie. Then

- what was acknowledged is there: a turn, a run that has begun, a deletion; after a death, too, to the last byte;
- a thread is valid, and only ever grows: no turn changes, and no message of a turn that is going on;
- a client that has read its stream to the end, over how many connections and deaths ever, holds the thread of the
  server, and each frame came once; a client that went away for good holds a prefix of it;
- no stream is silent for longer than its heartbeat, no run is held without a reader for longer than its limit;
- nobody waits for ever, no request ends in an error of the server, no task outlives it;
- after each day all threads are deleted, and the process holds as much as after the day before.

After a disk has lied, only this holds: what is given out is part of what was there. Then the store begins anew.
Everything follows from the seed. Exit code 1 when anything does not hold.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import ctypes
import gc
import logging
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.played_disk import Disk
from benchmarks.soak import Held
from benchmarks.table import Row, report, shown
from benchmarks.virtual_conversation import Conversation, ask
from benchmarks.virtual_serve import CLIENT, Server, be_client
from benchmarks.virtual_time import run_virtually, virtual_loop

from tpharness.errors import InputError
from tpharness.findings import load_kinds

RUNS = 200_000
WEEK = 7 * 24 * 3600
WORKERS = 16
KEPT = 60
"""Threads that are kept for later, when they are compared with what they were, and deleted."""
LIMITS = {"max_runs": 14, "max_threads": 48}
EVENTS = ("kill",) * 4 + ("power",) * 4 + ("stop",) * 4 + ("disk",) * 12 + ("lie",) + ("suspend",) * 3
BETWEEN = 60.0
"""Runs from one of these to the next, on average."""


class Week:
    """Everything that the clients share."""

    def __init__(self, folder: Path, runs: int, seed: int, between: float) -> None:
        self.runs = runs
        self.between = between
        self.begun = 0
        self.counts: Counter[str] = Counter()
        self.wrong: list[str] = []
        self.chance = random.Random(seed)
        self.server = Server(folder, random.Random(seed + 1), self.wrong, **LIMITS)
        self.kept: dict[str, dict[str, Any]] = {}
        self.cut_off: set[str] = set()
        """Conversations that a lie of the disk ended: what they asked last may have begun a thread in the new store."""
        self.lied = False
        """Whether the disk has said that all was well when it was not, and the store is still in use."""
        self.stores = 1
        self.days: list[tuple[int, Held]] = []
        self._night = asyncio.Event()

    async def play(self, days: int) -> None:
        """Play all runs."""
        await self.server.start()
        for day in range(1, days + 1):
            await self._day(self.runs * day // days, day)
            self.days.append(held_now())
        await self.server.stop(1.0)

    async def _day(self, until: int, day: int) -> None:
        self._night.clear()
        async with asyncio.TaskGroup() as beside:
            beside.create_task(self._disturb(), name=f"{CLIENT} chaos")
            async with asyncio.TaskGroup() as group:
                for number in range(WORKERS):
                    work = self._work(until, self.chance.random(), f"{day}-{number}")
                    group.create_task(work, name=f"{CLIENT} {number}")
            self._night.set()
        self.server.disk.strikes = 0
        if self.lied:
            await self._begin_anew()
        for name in list(self.kept):
            await self._compare(name)
        for name in self.cut_off:
            status, _ = await ask(self.server, "GET", f"/threads/{name}")
            self.counts["threads that a conversation began behind a lie"] += status == 200
            await ask(self.server, "DELETE", f"/threads/{name}")
        self.cut_off.clear()
        self.wrong += [f"the server holds {n} {what} at night" for what, n in self.server.held.items() if n]

    async def _work(self, until: int, seed: float, name: str) -> None:
        """Play conversations, spread over the week, and look after older threads."""
        chance, number = random.Random(seed), 0
        loop = asyncio.get_running_loop()
        while self.begun < until:
            await asyncio.sleep(max(0.0, WEEK * self.begun / RUNS - loop.time()) + chance.random())
            number += 1
            await Conversation(self, chance, f"t-{name}-{number}").play()
            if len(self.kept) > KEPT:
                await self._compare(chance.choice(list(self.kept)))

    async def _compare(self, name: str) -> None:
        """Hold a thread against what it was, and delete it."""
        before, store = self.kept.pop(name), self.stores
        status, thread = await ask(self.server, "GET", f"/threads/{name}?version=0.0.4")
        if store != self.stores or self.lied:
            return
        if status != 200 or thread != before:
            self.wrong.append(f"{name}: a thread that nobody has touched answers {status}, and has changed")
        status, _ = await ask(self.server, "DELETE", f"/threads/{name}")
        gone, _ = await ask(self.server, "GET", f"/threads/{name}")
        if (status, gone) != (204, 404) and store == self.stores and not self.lied:
            self.wrong.append(f"{name}: its deletion answers {status}, and then it answers {gone}")
        self.counts["threads compared later, and deleted"] += 1

    # ------------------------------------------------------------------- what goes wrong

    async def _disturb(self) -> None:
        """Let things go wrong until the night."""
        chance, server = self.chance, self.server
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(chance.expovariate(RUNS / WEEK / self.between)):
                    await self._night.wait()
                    return
            if self.lied:
                await self._begin_anew()
            match chance.choice(EVENTS):
                case "kill":
                    self.counts["the server was killed"] += 1
                    await server.kill(None)
                case "power":
                    self.counts["the machine lost power"] += 1
                    await server.kill(chance.choice((0.0, 0.5, 1.0)))
                case "stop":
                    self.counts["the server was ended in order"] += 1
                    await server.stop(30.0)
                case "suspend":
                    self.counts["the machine was suspended"] += 1
                    server.suspend(chance.expovariate(1 / 600))
                case "lie":
                    self._arm("lies")
                case _:
                    self._arm(chance.choice(("fails", "tears")))
            if not server.up.is_set():
                await asyncio.sleep(chance.random() * 10)
                await self._start()

    def _arm(self, failure: str) -> None:
        disk = self.server.disk
        disk.failure, disk.struck, disk.strikes = failure, False, disk.count + self.chance.randrange(1, 200)
        self.counts[f"a write or sync {failure}"] += 1
        self.lied = failure == "lies"

    async def _start(self) -> None:
        """Start the server; a disk that fails once while the store is opened does not keep it from the next try."""
        for _ in range(3):
            try:
                await self.server.start()
            except InputError:
                self.counts["the store could not be opened at first"] += 1
            else:
                return
        if not self.lied:
            self.wrong.append("the store cannot be opened again")
        self.server.disk = Disk()
        self.kept.clear()
        self.stores += 1
        self.lied = False
        await self.server.start()

    async def _begin_anew(self) -> None:
        """After a lie: lose power, see that only a part of what was is given out, and begin with an empty disk."""
        if self.server.up.is_set():
            await self.server.kill(0.0)
        store = self.stores
        await self._start()
        if store == self.stores:
            kept, self.kept = self.kept, {}
            for name, before in kept.items():
                status, thread = await ask(self.server, "GET", f"/threads/{name}?version=0.0.4", patience=3)
                turns = thread["turns"][:-1] if status == 200 else []
                self.counts["threads looked at after a lie"] += 1
                if status not in (200, 404, 410, 503) or turns != before["turns"][: len(turns)]:
                    self.wrong.append(f"{name}: after a lie it answers {status} with what never was")
            await self.server.kill(None)
            self.server.disk = Disk()
            self.stores += 1
            await self.server.start()
        self.lied = False


def held_now() -> tuple[int, Held]:
    """Return how many objects there are, and what the process holds without the memory that nothing uses any more.

    The C library keeps up to 25 MiB of that for what comes next, now more and now less of it.
    """
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc has it, others may not
    if trim is not None:
        trim(0)
    return len(gc.get_objects()), Held.by("self")


def grown(days: list[tuple[int, Held]]) -> list[str]:
    """Return what the process holds more of after the last day than after the second, when all was loaded."""
    if len(days) < 3:
        return []
    (objects, first), (later, last) = days[1], days[-1]
    more = {
        "objects": (later - objects, 500),
        "descriptors": (last.descriptors - first.descriptors, 0),
        "threads": (last.threads - first.threads, 0),
        "MiB": (last.memory - first.memory, 16),
    }
    return [
        f"{count:.0f} {what} more than after the second day" for what, (count, most) in more.items() if count > most
    ]


def play(folder: Path, runs: int, seed: int, days: int = 7, between: float = BETWEEN) -> Week:
    """Play so many runs, something going wrong between them every so often; return what came of it."""
    logging.disable(logging.CRITICAL)  # the server tells each failure that is played
    try:
        return run_virtually(_play(folder, runs, seed, days, between))
    finally:
        logging.disable(logging.NOTSET)


async def _play(folder: Path, runs: int, seed: int, days: int, between: float) -> Week:
    be_client()
    load_kinds()  # else the day of the first finding holds more than those before it
    week = Week(folder, runs, seed, between)
    await week.play(days)
    week.wrong += [f"{task.get_name()} is left" for task in asyncio.all_tasks() - {asyncio.current_task()}]
    week.counts["seconds of virtual time"] = int(virtual_loop().time())
    return week


def main() -> int:
    """Run with the options of the command line."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--runs", type=int, default=RUNS, help=f"runs ({RUNS}, which is a week)")
    options.add_argument("--seed", type=int, default=1, help="what chance begins with (1)")
    options.add_argument(
        "--between", type=float, default=BETWEEN, help=f"runs from one failure to the next ({BETWEEN:g})"
    )
    args = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        begun = time.perf_counter()
        week = play(Path(folder), args.runs, args.seed, between=args.between)
        took = time.perf_counter() - begun
    wrong = week.wrong + grown(week.days)
    rows = [shown("seed", str(args.seed)), shown("runs", str(week.begun)), shown("took", took, "s")]
    rows += [shown(f"after day {n}", f"{objects} objects, {held}") for n, (objects, held) in enumerate(week.days, 1)]
    rows += [shown(name, str(count)) for name, count in sorted(week.counts.items())]
    rows.append(Row(name="violations", value=str(len(wrong)), target="0", passed=not wrong))
    code = report(rows)
    for line in wrong[:20]:
        print(f"  {line}")
    return code


if __name__ == "__main__":
    sys.exit(main())
