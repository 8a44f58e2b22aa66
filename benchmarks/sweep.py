"""A run cut after every event, both sides, all checks: time and memory grow with the length of the run, not its square.

Each length is swept in a process of its own, so that memory is that length's own.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from typing import Any

from benchmarks.table import Row, at_most, report, shown

from tpharness.run.plan import base_case
from tpharness.run.sweeps.stepped import sweep
from tpharness.scenario import load_text
from tpharness.targets import Reference

TARGET = 12.0


def scenario(events: int) -> str:
    """Return a scenario of about so many server events: steps of a long text, a call with arguments, a return."""
    steps: list[dict[str, Any]] = []
    for n in range(events // 100):
        deltas = ['{"a":[', *(f"{i}," for i in range(30)), "0]}"]
        call = {"call": "look", "id": f"c{n}", "raw": "".join(deltas), "deltas": deltas}
        steps += [
            {"response": [{"text": [f"word{i} " for i in range(60)]}, call]},
            {"returns": {f"c{n}": {"temp": n}}},
        ]
    return json.dumps(
        {
            "description": "A long run is cut after every event.",
            "clauses": ["sync.identity"],
            "turns": [{"user": "Go"}, {"steps": steps}],
            "cut": "every-event",
        }
    )


def one(events: int) -> None:
    """Sweep one length; print places tried, seconds and peak memory in MiB as JSON."""
    given = load_text(scenario(events), id="bench/sweep")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begun = time.perf_counter()
    found = sweep(base_case(given), Reference(), Reference())
    seconds = time.perf_counter() - begun
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(json.dumps({"tried": found.tried, "failed": len(found.failed), "seconds": seconds, "mib": grown}))


def main() -> int:
    """Measure two lengths, print; return the exit code."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--one", type=int, help="sweep one length, and print what it took as JSON")
    options.add_argument("--lengths", type=int, nargs=2, default=(10_000, 100_000), help="events (10000 100000)")
    args = options.parse_args()
    if args.one:
        one(args.one)
        return 0
    taken, rows = [], []
    for length in args.lengths:
        command = [sys.executable, "-m", "benchmarks.sweep", "--one", str(length)]
        one_length = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        taken.append(one_length)
        places, failed = one_length["tried"], one_length["failed"]
        rows += [
            shown(f"{places} places", one_length["seconds"], "s"),
            shown("  each place", one_length["seconds"] / places * 1e6, "µs"),
            shown("  memory", one_length["mib"], "MiB"),
            Row(name="  places that failed", value=str(failed), target="0", passed=failed == 0),
        ]
    short, long = taken
    limit = TARGET * args.lengths[1] / args.lengths[0] / 10
    growth = f"{long['tried']} places / {short['tried']} places"
    rows.append(at_most(f"{growth}, time", long["seconds"] / short["seconds"], limit))
    rows.append(at_most(f"{growth}, memory", long["mib"] / max(short["mib"], 1.0), limit))
    return report(rows)


if __name__ == "__main__":
    sys.exit(main())
