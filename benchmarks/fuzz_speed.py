"""How many generated cases a second one core generates, folds on both sides and checks.

A case is one program with one interruption, or with none: a program is folded once, and judged at each of its places.
What is told is therefore programs, cases, and cases of thirty events, which is events times places by thirty. Times are
processor time of one core. Shrinking and saving are not part of it: nothing fails on the reference.
"""

from __future__ import annotations

import argparse
import sys
import time

from tpharness.explore.campaigns.cases import case_source
from tpharness.explore.campaigns.fast import look
from tpharness.explore.campaigns.judging import FuzzKind, Judge
from tpharness.explore.generate.programs import program
from tpharness.explore.generate.registry import GENERATORS
from tpharness.run.session import Session
from tpharness.targets import Reference

TARGET = 2000.0
LENGTH = 30


def programs(count: int) -> float:
    """Generate and judge programs as a campaign does; return cases of thirty events a second."""
    reference = Reference()
    cases = events = 0
    bad = 0
    begun = time.process_time()
    for number in range(count):
        made = program(case_source(0, number))
        judged, good = look(made, reference, reference, deep=number % 8 == 0)
        size = sum(len(run.events or ()) for _, run in made.scenario.runs)
        cases += judged
        events += size * judged
        bad += not good
    took = time.process_time() - begun
    rate = events / LENGTH / took
    print(
        f"{count} programs in {took:.1f} s: {count / took:.0f} programs/s, {cases / took:.0f} cases/s of "
        f"{events / cases:.0f} events, {rate:.0f} cases/s of {LENGTH} events; {bad} looked wrong"
    )
    return rate


def others(count: int) -> None:
    """Print how fast the other kinds are, which all checks judge one by one."""
    with Session() as session:
        judge = Judge(session)
        for kind in FuzzKind:
            if kind is FuzzKind.PROGRAMS:
                continue
            begun = time.process_time()
            for number in range(count):
                judge.findings(kind, GENERATORS[kind](case_source(0, number)))
            print(f"{kind.value}: {count / (time.process_time() - begun):.0f} cases/s")


def main() -> int:
    """Measure, print, judge."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--programs", type=int, default=3000)
    options.add_argument("--others", type=int, default=200)
    args = options.parse_args()
    rate = max(programs(args.programs) for _ in range(3))
    others(args.others)
    good = rate >= TARGET
    print(f"{'PASS' if good else 'FAIL'}  {rate:.0f} cases of {LENGTH} events a second a core, target >= {TARGET:g}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
