"""The whole suite over HTTP beside the same cases in process: the ratio, in one run.

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

from tpharness.run import RunFinished, RunOptions, run_suite
from tpharness.targets import Reference

MOST = 3.0


class Unstepped:
    """The reference as a target that is played case by case, as a remote one is."""

    def __init__(self) -> None:
        self._reference = Reference()
        self.capabilities = self._reference.capabilities
        self.serve = self._reference.serve
        self.receive = self._reference.receive
        self.adopt = self._reference.adopt


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
    """Print the table; 1 when a ratio is over its target."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("ids", nargs="*", help="scenarios, all when none")
    options.add_argument("--repeat", type=int, default=3, metavar="N", help="runs of each, median counts (3)")
    args = options.parse_args()
    here = "python:http_suite:Unstepped"
    stepped, all_cases = seconds("reference", "reference", args.ids, args.repeat)
    floor, cases = seconds(here, here, args.ids, args.repeat)
    print(f"in process, sweeps as one fold    {stepped:6.2f} s  {all_cases} cases")
    print(f"in process, case by case          {floor:6.2f} s  {cases} cases")
    good = True
    for name, server, client, most in (
        ("server over HTTP", "peer:serve", "reference", MOST),
        ("client over HTTP", "reference", "peer:serve", MOST),
        ("both over HTTP, two processes", "peer:serve", "peer:serve", None),
    ):
        took, cases = seconds(server, client, args.ids, args.repeat)
        ratio = took / stepped
        held = "" if most is None else f"<= {most:g}  {'PASS' if ratio <= most else 'FAIL'}"
        good = good and (most is None or ratio <= most)
        print(f"{name:<32}  {took:6.2f} s  {cases} cases  {ratio:4.1f}× in process  {held}".rstrip())
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
