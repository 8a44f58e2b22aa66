"""How many generated cases a second one core generates, folds on both sides and checks.

A case is one program with one interruption, or with none: a program is folded once, and judged at each of its places.
What is told is therefore programs, cases, and cases of thirty events, which is events times places by thirty. Times are
processor time of one core. Shrinking and saving are not part of it: nothing fails on the reference.

It also says how much longer Hypothesis takes to make a case: a campaign draws from a source of its own as long as that
is more than twice as fast.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from typing import Any

from benchmarks.table import Row, at_least, report, shown
from hypothesis import HealthCheck, Phase, given, seed, settings

from tpharness.explore.campaigns.cases import case_source
from tpharness.explore.campaigns.fold import passes
from tpharness.explore.campaigns.judging import CampaignJudge
from tpharness.explore.generate.kinds import GENERATORS, FuzzKind
from tpharness.explore.generate.programs import program
from tpharness.explore.generate.source import Source
from tpharness.explore.strategies import generated
from tpharness.run.session import Session
from tpharness.targets import Reference

TARGET = 2000.0
LENGTH = 30


def programs(count: int) -> tuple[float, list[Row]]:
    """Generate and judge programs as a campaign does; return cases of thirty events a second, and the rows."""
    reference = Reference()
    cases = events = 0
    wrong = 0
    begun = time.process_time()
    for number in range(count):
        made = program(case_source(0, number))
        judged, good = len(made.cuts) + 1, passes(made, reference, reference, idempotence=number % 8 == 0)
        size = sum(len(run.events or ()) for _, run in made.scenario.runs)
        cases += judged
        events += size * judged
        wrong += not good
    took = time.process_time() - begun
    rate = events / LENGTH / took
    return rate, [
        shown("programs", count / took, "/s"),
        shown(f"cases of {events / cases:.0f} events, as they come", cases / took, "/s"),
        Row(name="programs that failed", value=str(wrong), target="0", passed=wrong == 0),
        at_least(f"cases of {LENGTH} events", rate, TARGET, "/s"),
    ]


def others(count: int) -> list[Row]:
    """Measure the other kinds, which all checks judge one by one."""
    rows = []
    with Session() as session:
        judge = CampaignJudge(session)
        for kind in FuzzKind:
            if kind is FuzzKind.PROGRAMS:
                continue
            begun = time.process_time()
            for number in range(count):
                judge.findings(kind, GENERATORS[kind](case_source(0, number)))
            rows.append(shown(f"cases of {kind.value}", count / (time.process_time() - begun), "/s"))
    return rows


def generation(count: int) -> list[Row]:
    """Measure how much longer Hypothesis takes to make a case of each kind than the source of a campaign."""
    return [
        at_least(f"Hypothesis / ours, making {kind.value}", _generation(make, count), 2.0)
        for kind, make in GENERATORS.items()
    ]


def _generation(make: Callable[[Source], Any], count: int) -> float:
    """Return how many times as long Hypothesis takes."""
    drawn = 0

    @seed(0)
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(generated(make))
    def draw(_: Any) -> None:
        nonlocal drawn
        drawn += 1

    make(case_source(0, 0))  # the recordings are loaded once
    begun = time.process_time()
    for number in range(count):
        make(case_source(0, number))
    ours = (time.process_time() - begun) / count
    begun = time.process_time()
    draw()
    return (time.process_time() - begun) / drawn / ours


def main() -> int:
    """Measure, print; return the exit code."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--programs", type=int, default=3000, help="programs to judge, three times (3000)")
    options.add_argument("--others", type=int, default=200, help="cases of each other kind (200)")
    args = options.parse_args()
    _, rows = max((programs(args.programs) for _ in range(3)), key=lambda measured: measured[0])
    return report([*rows, *others(args.others), *generation(args.others)])


if __name__ == "__main__":
    sys.exit(main())
