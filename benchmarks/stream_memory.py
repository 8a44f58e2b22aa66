"""Memory of one long stream, folded by the client and cut after every event, by the bytes of the stream.

Each is a process of its own: what is told is how far its memory has grown at most. The body is made read by read, so
the fold alone does not hold it; the sweep is given it whole, as a scenario gives it.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from io import BytesIO
from itertools import chain
from pathlib import Path

from benchmarks.bodies import READ, event, steps
from benchmarks.least_fold import AT
from benchmarks.table import at_most, report, shown

from tpharness.run.plan import base_case
from tpharness.run.sweeps.streams import sweep_streams
from tpharness.scenario import CutAt, load_text
from tpharness.scenario.records import AgentRun, GivenStream
from tpharness.targets import Reference
from tpharness.wires.vsp.assembler import Assembler

STEP = 99
SHAPES = ("steps", "text")


def body(events: int, shape: str) -> Iterator[bytes]:
    """Yield the events of a stream: steps with texts and calls, or one text that never ends."""
    if shape == "text":
        yield event({"type": "start", "messageId": "m1"})
        yield event({"type": "text-start", "id": "t"})
        yield from (event({"type": "text-delta", "id": "t", "delta": f"word{n} "}) for n in range(events - 2))
        return
    first, *step = steps(1)[:-2]
    yield first
    for number in range(events // STEP):
        ids = (one.replace(b"_0", b"_%d" % number) for one in step)
        yield from ids


def fold(events: int, shape: str) -> int:
    """Fold the stream read by read; return its bytes."""
    assembler = Assembler()
    assembler.begin(AT)
    pending, size = b"", 0
    for one in chain(body(events, shape), [b""]):
        pending += one
        if len(pending) >= READ or not one:
            assembler.feed(pending, AT)
            size += len(pending)
            pending = b""
    assembler.close("user_cancelled", AT)
    if not len(assembler.journal().ended):
        raise SystemExit("the fold of this benchmark holds nothing")
    return size


def sweep(events: int, shape: str) -> int:
    """Cut the stream after every event, and judge what the client holds there; return its bytes."""
    written = BytesIO()
    written.writelines(body(events, shape))
    data = written.getvalue()
    given = load_text(
        json.dumps(
            {
                "description": "A long stream is cut after every event.",
                "clauses": ["stream.unknown-chunk"],
                "turns": [{"user": "Go"}, {"client": {"sse": "data: [DONE]\n\n"}}],
            }
        ),
        id="bench/stream",
    )
    user, run = given.turns
    if not isinstance(run, AgentRun):
        raise TypeError("the scenario of this benchmark has a run")
    scenario = replace(given, turns=(user, replace(run, wire=GivenStream(data=data))))
    tried, failed = sweep_streams(base_case(scenario), Reference(), at=CutAt.EVERY_EVENT, reasons=["user_cancelled"])
    if failed or tried < events * 0.9:
        raise SystemExit(f"the sweep of this benchmark fails: {failed[:1]}, {tried} places")
    return len(data)


def peak() -> int:
    """Return the most bytes that this process has held; `ru_maxrss` would be at least what its parent held."""
    status = Path("/proc/self/status").read_text("ascii")
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024


WORK = {"fold": fold, "sweep": sweep}


def grown(what: str, events: int, shape: str) -> float:
    """Return the memory that one of them takes in a process of its own, by the bytes of the stream."""
    command = [sys.executable, "-m", "benchmarks.stream_memory", "--one", what, str(events), shape]
    return float(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def main() -> int:
    """Measure, print; return the exit code."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--one", nargs=3, metavar=("WHAT", "EVENTS", "SHAPE"), help="measure one in this process")
    options.add_argument("--events", type=int, default=2_000_000, help="of the stream (2000000)")
    args = options.parse_args()
    if args.one:
        what, events, shape = args.one
        WORK[what](1_000, shape)  # what is loaded on first use is not the stream's
        before = peak()
        size = WORK[what](int(events), shape)
        print((peak() - before) / size)
        return 0
    rows = []
    for what in WORK:
        for shape in SHAPES:
            for events in (args.events // 10, args.events):
                name = f"memory by bytes, {what} of {events:,} events, {shape}"
                value = grown(what, events, shape)
                rows.append(at_most(name, value, 3) if events == args.events else shown(name, value, "×"))
    return report(rows)


if __name__ == "__main__":
    sys.exit(main())
