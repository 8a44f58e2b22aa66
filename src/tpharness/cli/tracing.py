"""The options of the commands that leave a trace, and the lines that say where it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

from tpharness.cli.options import Option
from tpharness.printable import say
from tpharness.report.trace import TraceReport
from tpharness.trace.format import Traced

__all__ = ["DEFAULT_TRACE", "TraceOption", "TraceToOption", "tracing"]

DEFAULT_TRACE = Path("tpharness-trace.zip")

TraceOption = Annotated[
    Traced, Option(envvar="TPHARNESS_TRACE", help="Which cases leave a trace; `tpharness show` looks at it.")
]
TraceToOption = Annotated[
    Path, Option(metavar="PATH", help="Where the trace goes: a .zip, or a folder. It replaces the last one.")
]


@contextmanager
def tracing(
    path: Path,
    traced: Traced,
    *,
    targets: Sequence[str],
    secrets: Sequence[str] = (),
    quiet: bool = False,
    stderr: bool = False,
) -> Iterator[TraceReport]:
    """Write a trace while the context is open, and then say where it is, also when the run is broken off."""
    report = TraceReport(path, traced, targets=targets, secrets=secrets)
    try:
        yield report
    finally:
        lines = report.close()
        if lines and not quiet:
            say("", *lines, err=stderr, flush=True)
