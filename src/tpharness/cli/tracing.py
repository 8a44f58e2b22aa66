"""The options of the commands that leave a trace, and the lines that say where it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Protocol

from tpharness.cli.options import Option
from tpharness.printable import say
from tpharness.trace.format import Traced
from tpharness.verdict import Result, RunEvent
from tpharness.verdict.result import RecordedCase

__all__ = ["DEFAULT_TRACE", "TraceOption", "TraceToOption", "TracedRun", "tracing"]

DEFAULT_TRACE = Path("tpharness-trace.zip")

TraceOption = Annotated[
    Traced, Option(envvar="TPHARNESS_TRACE", help="Which cases leave a trace; `tpharness show` looks at it.")
]
TraceToOption = Annotated[
    Path, Option(metavar="PATH", help="Where the trace goes: a .zip, or a folder. It replaces the last one.")
]


class TracedRun(Protocol):
    """What takes in a run for its trace: a `TraceReport`, or nobody."""

    def feed(self, event: RunEvent, *, server: str = "reference", client: str = "reference") -> None:
        """Take in one event of the run on these targets."""

    def add(self, result: Result, record: RecordedCase | None, *, server: str, client: str, name: str = "") -> None:
        """Take in a case."""

    def remove_old(self) -> None:
        """Remove the trace of an earlier run."""


class _Untraced:
    """Takes in a run that leaves no trace."""

    def feed(self, event: RunEvent, *, server: str = "reference", client: str = "reference") -> None:
        pass

    def add(self, result: Result, record: RecordedCase | None, *, server: str, client: str, name: str = "") -> None:
        pass

    def remove_old(self) -> None:
        pass


@contextmanager
def tracing(
    path: Path,
    traced: Traced,
    *,
    targets: Sequence[str],
    secrets: Sequence[str] = (),
    quiet: bool = False,
    stderr: bool = False,
) -> Iterator[TracedRun]:
    """Write a trace while the context is open, and then say where it is, also when the run is broken off."""
    if traced is Traced.NONE:
        yield _Untraced()
        return
    from tpharness.report.trace import TraceReport  # noqa: PLC0415

    report = TraceReport(path, traced, targets=targets, secrets=secrets)
    try:
        yield report
    finally:
        lines = report.close()
        if lines and not quiet:
            say("", *lines, err=stderr, flush=True)
