"""What a sweep costs: every event and every byte of a run, both sides, all checks, against folding the run once.

Run it as `python -m benchmarks.sweep_speed`. Times are processor time of one core, the best of several for the fold, so
that a busy machine does not decide.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections.abc import Callable
from dataclasses import replace

from benchmarks.sweep import scenario

from tpharness.run.plan import Case, base_case, script_of, streams_of
from tpharness.run.sweeps.case import sweep
from tpharness.scenario import CutAt, CutPlan, CutSide, load_text
from tpharness.targets import Reference

EVENTS_TARGET, BYTES_TARGET = 15.0, 60.0


def fold(case: Case) -> None:
    """Fold both sides once, to their ends."""

    async def once() -> None:
        reference = Reference()
        script = script_of(case)
        served = await reference.serve(script)
        await reference.receive(script, streams_of(case, served.streams))

    asyncio.run(once())


def seconds(work: Callable[[], object], times: int = 1) -> float:
    """Return the least processor time that the work took."""
    best = float("inf")
    for _ in range(times):
        begun = time.process_time()
        work()
        best = min(best, time.process_time() - begun)
    return best


def main() -> int:
    """Measure, print, judge."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--events", type=int, default=10_000)
    length = options.parse_args().events
    case = base_case(load_text(scenario(length), id="bench/sweep"))
    once = seconds(lambda: fold(case), 5)
    events = len(case.scenario.runs[0][1].events or ())
    print(f"{events} events, folded once on both sides in {once * 1000:.0f} ms")
    good = True
    for name, at, side, target in (
        ("every event", CutAt.EVERY_EVENT, CutSide.BOTH, EVENTS_TARGET),
        ("every event, sides apart", CutAt.EVERY_EVENT, CutSide.CLIENT, EVENTS_TARGET),
        ("every byte", CutAt.EVERY_BYTE, CutSide.BOTH, BYTES_TARGET),
    ):
        one = replace(case, scenario=replace(case.scenario, cut=CutPlan(at=at, side=side)))
        begun = time.process_time()
        found = sweep(one, Reference(), Reference(), apart=side is CutSide.CLIENT)
        took = time.process_time() - begun
        ratio = took / once
        passed = ratio <= target and not found.failed and not found.apart
        good = good and passed
        verdict = "PASS" if passed else "FAIL"
        print(
            f"{verdict}  {name}: {found.tried} places, {took:.2f} s, {ratio:.1f} x folding once, target <= {target:g} x"
        )
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
