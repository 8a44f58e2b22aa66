"""How much faster two workers are than one: the same seed ranges on Dask workers of this machine.

What is measured is from the beginning of the first task to the end of the last; starting a cluster is left out.
"""

from __future__ import annotations

import sys
import time

from tpharness.fuzz.cases import case_source
from tpharness.fuzz.fast import look
from tpharness.fuzz.programs import program
from tpharness.run.cluster import on_cluster
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
        cases += look(program(case_source(0, number)), reference, reference, deep=number % 8 == 0)[0]
    return cases, begun, time.time()


def measured(workers: int) -> tuple[float, int]:
    """Return the seconds from the beginning of the first task to the end of the last, and the cases."""
    told = list(on_cluster(f"local:{workers}", work, range(RANGES)))
    return max(end for _, _, end in told) - min(begun for _, begun, _ in told), sum(cases for cases, _, _ in told)


def main() -> int:
    """Measure each twice, the better one counts; print, judge."""
    seconds = {}
    for workers in (1, 2):
        seconds[workers], cases = min(measured(workers) for _ in range(2))
        print(f"{workers} worker{'s' if workers > 1 else ''}: {cases} cases in {seconds[workers]:.1f} s")
    ratio = seconds[1] / seconds[2]
    good = ratio >= TARGET
    print(f"{'PASS' if good else 'FAIL'}  two workers are {ratio:.2f} x as fast as one, target >= {TARGET} x")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
