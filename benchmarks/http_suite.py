"""The whole suite over HTTP beside the same cases in process.

The server and the client are `tpharness serve` in a process of its own on loopback. In process a sweep is one fold for
all places; over HTTP each place is a run. So the same cases are counted: in process they are played one by one as well,
by a target that cannot be stepped.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from statistics import median

from benchmarks.table import at_most, report, shown

from tpharness.run import RunOptions, run_suite
from tpharness.targets import Reference
from tpharness.verdict import RunFinished

MOST = 3.0


class Unstepped:
    """The reference as a target that is played case by case, as a remote one is."""

    def __init__(self) -> None:
        self._reference = Reference()
        self.capabilities = self._reference.capabilities
        self.serve = self._reference.serve
        self.receive = self._reference.receive
        self.adopt = self._reference.adopt
        self.resolve = self._reference.resolve
        self.answer = self._reference.answer


def seconds(server: str, client: str, ids: Sequence[str], repeat: int) -> tuple[float, int]:
    """Return the median time of the suite on two targets, start included, and how many cases were played."""
    took, cases = [], 0
    for _ in range(repeat):
        begun = time.perf_counter()
        *_, finished = run_suite(RunOptions(ids=tuple(ids), server=server, client=client))
        took.append(time.perf_counter() - begun)
        if not isinstance(finished, RunFinished) or not finished.passed:
            raise SystemExit(f"{server} with {client} does not pass: {finished}")
        cases = sum(finished.counts.values())
    return median(took), cases


def main() -> int:
    """Measure, print; return the exit code."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("ids", nargs="*", help="scenarios, all when none")
    options.add_argument("--repeat", type=int, default=3, metavar="N", help="runs of each, median counts (3)")
    args = options.parse_args()
    here = "python:benchmarks.http_suite:Unstepped"
    stepped, all_cases = seconds("reference", "reference", args.ids, args.repeat)
    floor, cases = seconds(here, here, args.ids, args.repeat)
    rows = [
        shown(f"in process, sweeps as one fold: {all_cases} cases", stepped, "s"),
        shown(f"in process, case by case: {cases} cases", floor, "s"),
    ]
    for name, server, client, most in (
        ("server over HTTP", "peer:serve", "reference", MOST),
        ("client over HTTP", "reference", "peer:serve", MOST),
        ("both over HTTP, two processes", "peer:serve", "peer:serve", None),
    ):
        took, cases = seconds(server, client, args.ids, args.repeat)
        ratio = f"{name} / in process"
        rows.append(shown(f"{name}: {cases} cases", took, "s"))
        rows.append(shown(ratio, took / stepped, "×") if most is None else at_most(ratio, took / stepped, most))
    return report(rows)


if __name__ == "__main__":
    sys.exit(main())
