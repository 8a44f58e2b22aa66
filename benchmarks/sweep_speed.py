"""What a sweep costs: every event and every byte of a run, both sides, all checks, against folding the run once.

Times are processor time of one core, the best of several for the fold, so
that a busy machine does not decide.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from dataclasses import replace

from benchmarks.sweep import scenario
from benchmarks.table import Row, at_most, processor_seconds, report, shown

from tpharness.run.plan import Case, base_case, make_script, make_streams
from tpharness.run.sweeps.stepped import sweep
from tpharness.scenario import CutAt, CutPlan, CutSide, load_text
from tpharness.targets import Reference

EVENTS_TARGET, BYTES_TARGET = 15.0, 60.0


def fold(case: Case) -> None:
    """Fold both sides once, to their ends."""

    async def once() -> None:
        reference = Reference()
        script = make_script(case)
        served = await reference.serve(script)
        await reference.receive(script, make_streams(case, served.streams))

    asyncio.run(once())


def main() -> int:
    """Measure, print; return the exit code."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--events", type=int, default=10_000, help="of the run (10000)")
    length = options.parse_args().events
    case = base_case(load_text(scenario(length), id="bench/sweep"))
    once = processor_seconds(lambda: fold(case), repeat=5)
    events = len(case.scenario.runs[0][1].events or ())
    rows = [shown(f"{events} events, folded once on both sides", once * 1000, "ms")]
    for name, at, side, target in (
        ("every event", CutAt.EVERY_EVENT, CutSide.BOTH, EVENTS_TARGET),
        ("every event, sides apart", CutAt.EVERY_EVENT, CutSide.CLIENT, EVENTS_TARGET),
        ("every byte", CutAt.EVERY_BYTE, CutSide.BOTH, BYTES_TARGET),
    ):
        one = replace(case, scenario=replace(case.scenario, cut=CutPlan(at=at, side=side)))
        begun = time.process_time()
        found = sweep(one, Reference(), Reference(), apart=side is CutSide.CLIENT)
        took = time.process_time() - begun
        wrong = len(found.failed) + len(found.apart)
        rows += [
            shown(f"{name}: {found.tried} places", took, "s"),
            Row(name="  places that failed", value=str(wrong), target="0", passed=wrong == 0),
            at_most(f"{name} / folding once", took / once, target),
        ]
    return report(rows)


if __name__ == "__main__":
    sys.exit(main())
