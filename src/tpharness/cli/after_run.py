"""What a command says and writes once a run has ended and its reports are written: where a page is, a new baseline.

Imported by a run that was asked for one of them, and by no other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from tpharness.output import write_atomically
from tpharness.printable import counted, say
from tpharness.report import Destination, Report
from tpharness.report.failures import group_line
from tpharness.verdict import Outcome
from tpharness.verdict.baseline_write import baseline_text
from tpharness.verdict.grouping import group_failures

__all__ = ["say_where_pages_are", "write_new_baseline"]


def say_where_pages_are(destinations: Sequence[Destination], reports: Iterable[Report]) -> None:
    """Say on standard error how a run without the console ended, and where the page is that somebody will open."""
    pages = [
        destination.path for destination in destinations if destination.format == "html" and destination.path != "-"
    ]
    for report in reports if pages else ():
        say(f"{'PASSED' if report.passed else 'FAILED'} {report.words}", err=True)
    for page in pages:
        say(f"the page: {page}", err=True)


def write_new_baseline(path: Path, report: Report, known: Path | None) -> None:
    """Write what has failed as a baseline; say what it has, and what a baseline cannot have. `known` was read."""
    problems = report.finished.problems if report.finished is not None else ()
    write_atomically(str(path), baseline_text(report.results, problems, known))
    groups = group_failures(result for result in report.results if result.fails_now)
    passed = sum(result.outcome is Outcome.STALE and not result.fails_now for result in report.results)
    if passed:
        say(f"taken out: {counted(passed, 'case')} that the baseline expected to fail, and that passed", err=True)
    unjudged = (result for result in report.results if not result.fails_now and result.outcome is not Outcome.STALE)
    left = group_failures(unjudged)
    say(f"{path}: {counted(len(groups), 'cause')} to give a reason for", err=True)
    for group in left:
        say(f"not in it: {group_line(group).strip()}", err=True)
