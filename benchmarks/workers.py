"""How much faster two workers are than one: the same seed ranges in worker processes, and on Dask workers.

What is measured is from the beginning of the first task to the end of the last; starting workers is left out. The
processes of `--jobs` are held to the target; what a cluster of this machine costs besides, its scheduler being on the
same cores, is told.
"""

from __future__ import annotations

import sys
import time

from benchmarks.table import at_least, report, shown

from tpharness.explore.campaigns.cases import case_source
from tpharness.explore.campaigns.fold import passes
from tpharness.explore.generate.programs import program
from tpharness.run.workers import Workers, map_in_order
from tpharness.targets import Reference

TARGET = 1.7
RANGES = 40
EACH = 60


def work(item: int) -> tuple[int, float, float]:
    """Play one range of seeds; return how many cases that were, when it began and when it was done."""
    begun = time.time()
    reference = Reference()
    cases = 0
    for number in range(item * EACH, (item + 1) * EACH):
        made = program(case_source(0, number))
        passes(made, reference, reference, idempotence=number % 8 == 0)
        cases += len(made.cuts) + 1
    return cases, begun, time.time()


def measured(spread: Workers) -> float:
    """Return the seconds from the beginning of the first task to the end of the last."""
    told = list(map_in_order(work, range(RANGES), spread))
    return max(end for _, _, end in told) - min(begun for _, begun, _ in told)


def main() -> int:
    """Measure each three times, of which the best counts; print; return the exit code."""
    kinds = {
        "one process": Workers(),
        "two processes": Workers(jobs=2),
        "one Dask worker": Workers(cluster="local:1"),
        "two Dask workers": Workers(cluster="local:2"),
    }
    seconds = {name: min(measured(spread) for _ in range(3)) for name, spread in kinds.items()}
    one = seconds["one process"]
    return report(
        [
            *(shown(name, took, "s") for name, took in seconds.items()),
            at_least("one process / two processes", one / seconds["two processes"], TARGET),
            shown("one process / one Dask worker", one / seconds["one Dask worker"], "×"),
            shown("one process / two Dask workers", one / seconds["two Dask workers"], "×"),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
