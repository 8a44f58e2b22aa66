"""What a trace costs: the whole suite with a trace of what fails, and of everything, beside the suite without one.

The three are played in turn, in one process, and the shortest of each counts: what else the machine does makes a run
longer, and never shorter. Time is that of the processor; writing and packing the files is part of it. Over HTTP only
the harness is measured, on a part of the suite. A run in which much fails is for the reader: what a failed run needs to
describe its findings is much of both.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.table import Row, at_most, report, shown

from tpharness.journal import Interrupted
from tpharness.protocol.versions import Version
from tpharness.report.trace import TraceReport
from tpharness.run import RunOptions, run_suite
from tpharness.targets import Reference
from tpharness.targets.contract import Script
from tpharness.targets.reference import ReferenceServer
from tpharness.trace.format import Traced

MOST_FAILED, MOST_ALL = 1.05, 1.5
PART = ("basics", "cycles", "interruptions")


class _ForgetfulSession(ReferenceServer):
    """Loses the last message of a turn that has more than two."""

    def threads(self, cut: Interrupted | None = None) -> dict[Version, dict[str, object]]:
        threads = super().threads(cut)
        return {
            version: {**one, "turns": [_shorter(turn) for turn in one["turns"]]} for version, one in threads.items()
        }


def _shorter(turn: dict[str, list[object]]) -> dict[str, list[object]]:
    messages = turn.get("messages", [])
    return {**turn, "messages": messages[:-1]} if len(messages) > 2 else turn


class Forgetful(Reference):
    """A server that is wrong wherever a turn has more than two messages."""

    def server_session(self, script: Script) -> ReferenceServer:
        """Open a session that is wrong."""
        return _ForgetfulSession(script)


def seconds(traced: Traced, server: str, ids: Sequence[str]) -> tuple[float, int]:
    """Return the processor time of one run with its trace, and how many bytes the trace has."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.zip"
        begun = time.process_time()
        trace = TraceReport(path, traced)
        for event in run_suite(RunOptions(ids=tuple(ids), server=server, trace=traced)):
            trace.feed(event, server=server)
        trace.close()
        took = time.process_time() - begun
        return took, path.stat().st_size if path.exists() else 0


def measure(name: str, server: str, ids: Sequence[str], repeat: int, targets: tuple[float, float] | None) -> list[Row]:
    """Return the rows of one pair; `targets` are those of the two ratios, None where there are none."""
    best = dict.fromkeys(Traced, float("inf"))
    size = 0
    for _ in range(repeat):
        for traced in Traced:
            took, size = seconds(traced, server, ids)
            best[traced] = min(best[traced], took)
    rows = [shown(f"{name}, no trace", best[Traced.NONE], "s")]
    for traced, most in zip((Traced.FAILED, Traced.ALL), targets or (None, None), strict=True):
        ratio, what = best[traced] / best[Traced.NONE], f"{name}, --trace {traced.value} / no trace"
        rows.append(shown(what, ratio, "×") if most is None else at_most(what, ratio, most))
    return [*rows, shown(f"{name}, the trace of everything", size / 1e6, "MB")]


def main() -> int:
    """Measure, print; return the exit code."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("ids", nargs="*", help="scenarios, all when none")
    options.add_argument("--repeat", type=int, default=5, metavar="N", help="runs of each, the shortest counts (5)")
    args = options.parse_args()
    targets = (MOST_FAILED, MOST_ALL)
    rows = measure("the suite in process", "reference", args.ids, args.repeat, targets)
    rows += measure("a part of it over HTTP", "peer:serve", args.ids or PART, args.repeat, targets)
    rows += measure(
        "a part of it, much of which fails", "python:benchmarks.trace:Forgetful", args.ids or PART, args.repeat, None
    )
    return report(rows)


if __name__ == "__main__":
    sys.exit(main())
