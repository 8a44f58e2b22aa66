"""How much work a stream is to judge, by how many of one kind of event it has: 10, 100, … of each; by each check.

Ten times as many may be 1.2 × ten times the work. Work is counted in calls of functions, those written in C among them,
which is the same each time whatever else the machine does; and it is timed, since a call that copies or searches what
is held counts as one. Of times, 1.2 × as much longer as a bare comparison of the same threads with copies takes is
allowed: what does not fit into the processor's cache any more is slower for everybody. What would take longer than a
case may be judged is bounded: it ends with the finding `judging-too-long`. Of each property the worst step is shown.
Steps that are a moment's work are not judged, nor are those up to 1,000: each of the first 256 states of a thread is
looked at, and of more states no more. Times that are missed are measured again: the least is true.

The checks `prefix` and `convergence` judge a client that lost bytes: here it lost none, and the server holds the same.
The checks `asked`, `arguments`, `said` and `integrity` are about what a script asks, which has no length here.
"""

from __future__ import annotations

import argparse
import asyncio
import copy
import cProfile
import gc
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

from benchmarks.long_streams import KINDS, LongWinded
from benchmarks.table import Row, at_most, report, shown

from tpharness.checks import CHECKS, Delivery, Evidence
from tpharness.judging_time import JudgedTooLongError, allow_judging, judging
from tpharness.resources import scenarios_dir
from tpharness.run.judge import judge
from tpharness.run.plan import Case, base_case
from tpharness.run.play import Players, play
from tpharness.scenario import load_scenario
from tpharness.targets import Reference
from tpharness.targets.remote import Patience

MOST = 1.2
FLOOR = "a comparison with a copy"
ENOUGH = 1.0
FIRST = 1_000
"""From here on more events are no more states that are looked at."""
AFTER_A_LOSS = ("prefix", "convergence")


def seconds_of(work: Callable[[], object]) -> float:
    """Return the least processor time of some calls, fewer the longer they take, with the garbage collector at rest."""
    took: list[float] = []
    while len(took) < 5 and sum(took) < ENOUGH:
        gc.collect()
        gc.disable()
        begun = time.process_time()
        work()
        took.append(time.process_time() - begun)
        gc.enable()
    return min(took)


def calls_of(work: Callable[[], object]) -> float:
    """Return how many functions are called."""
    counter = cProfile.Profile()
    counter.runcall(work)
    return sum(entry.callcount for entry in counter.getstats())


@dataclass(frozen=True, slots=True)
class Unit:
    """What work is measured in. What is less than the least says more of the beginning than of growth."""

    name: str
    of: Callable[[Callable[[], object]], float]
    least: float
    times: int


UNITS = (Unit("calls", calls_of, 20_000, 1), Unit("s", seconds_of, 0.2, 3))
"""`times`: how often the sizes of a kind are measured of which a property seems to grow faster than they do."""


def measure(case: Case, middle: bytes, of: Callable[[Callable[[], object]], float]) -> dict[str, float]:
    """Play and judge a stream; return the work of each property. It raises JudgedTooLongError as a run would."""
    evidence: list[Evidence] = []
    players = Players(server=LongWinded(middle), client=Reference())
    took: dict[str, float] = {}
    with allow_judging(Patience().total):
        took["playing"] = of(lambda: evidence.__setitem__(slice(None), asyncio.run(play(case, players))))
        lossy = [_after_a_loss(piece) for piece in evidence]
        for check in CHECKS:
            pieces = lossy if check.name in AFTER_A_LOSS else evidence
            with judging():
                took[check.name] = of(lambda one=check, parts=pieces: judge(case.id, parts, checks=(one,)))  # type: ignore[misc]
    took["all"] = sum(took.values())
    threads = [side.thread for piece in evidence for side in piece.sides()]
    copies = copy.deepcopy(threads)
    took[FLOOR] = of(lambda: threads == copies)
    return took


def growth(name: str, few: dict[str, float], more: dict[str, float], times: float) -> float:
    """Return by how much a property grows beyond its input, which has so many times as many events."""
    return more[name] / few[name] / max(times, more[FLOOR] / few[FLOOR])


def _after_a_loss(piece: Evidence) -> Evidence:
    """Return the evidence as if the client, after a loss, had fetched from a server that holds what it holds."""
    if piece.server is None or piece.client is None:
        raise TypeError("both sides are played")
    held, fetched = copy.deepcopy(piece.client.thread), copy.deepcopy(piece.client.thread)
    return replace(piece, delivery=Delivery.PART, server=replace(piece.server, thread=held), adopted=fetched)


def worst_steps(by_size: dict[int, dict[str, float]], least: float) -> Iterator[tuple[str, float, int, int]]:
    """Yield for each property by how much it grows beyond its input, at worst, and between which two sizes."""
    for name in ("playing", *(check.name for check in CHECKS), "all"):
        steps = [
            (growth(name, by_size[few], by_size[more], more / few), few, more)
            for few, more in pairwise(by_size)
            if few >= FIRST and by_size[more][name] >= least
        ]
        if steps:
            yield name, *max(steps)


def rows_of(kind: str, case: Case, sizes: list[int], unit: Unit) -> list[Row]:
    """Return the rows of a kind: how much work it was at each size, and the worst growth of each property."""
    by_size: dict[int, dict[str, float]] = {}
    bounded = []
    for size in sizes:
        try:
            by_size[size] = measure(case, KINDS[kind](size), unit.of)
        except JudgedTooLongError as error:
            bounded.append(shown(f"{kind}: {size:,} are bounded by judging-too-long", error.seconds, "s"))
            break
    for _ in range(1, unit.times):
        missed = {size for _, worst, *step in worst_steps(by_size, unit.least) if worst > MOST for size in step}
        for size in sorted(missed):
            again = measure(case, KINDS[kind](size), unit.of)
            by_size[size] = {name: min(seconds, again[name]) for name, seconds in by_size[size].items()}
    rows = [shown(f"{kind}: {size:,}", took["all"], unit.name) for size, took in by_size.items()]
    return [
        *(rows + bounded),
        *(
            at_most(f"{kind}: {name}, {more:,} / {few:,} by their number, {unit.name}", worst, MOST)
            for name, worst, few, more in worst_steps(by_size, unit.least)
        ),
    ]


def main() -> int:
    """Measure, print; return the exit code."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--kind", action="append", choices=sorted(KINDS), help="only this kind; may be given again")
    options.add_argument("--most", type=int, default=100_000, metavar="N", help="the most of a kind (100,000)")
    options.add_argument("--by", choices=[unit.name for unit in UNITS], help="measure in calls or in seconds only")
    args = options.parse_args()
    sizes = [size for power in range(1, 7) if (size := 10**power) <= args.most]
    path = scenarios_dir() / "tools" / "metadata.yaml"
    case = base_case(load_scenario(path, root=scenarios_dir()), Reference().capabilities.versions)
    measure(case, KINDS["calls"](1), calls_of)  # what is loaded once
    units = [unit for unit in UNITS if args.by in (None, unit.name)]
    return max([report(rows_of(kind, case, sizes, unit)) for kind in args.kind or KINDS for unit in units])


if __name__ == "__main__":
    raise SystemExit(main())
