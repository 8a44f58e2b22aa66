"""Every report can be written of an application that writes ThreadProtocol, whatever is found in its cases and threads.

A case and the thread that was written in it are two results of one case, and the second cites no clause.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console
from tests.apps.broken import ROWS
from tests.apps.playing import THREAD, playing, together
from tests.apps.thread_app import ThreadApp, trims_returns

from tpharness.apps.checks import APP_CHECKS
from tpharness.cli.app_table import print_table
from tpharness.findings import Kind, Place, load_kinds
from tpharness.report import ConsoleReport, Report
from tpharness.report.spec import FORMATS, Destination
from tpharness.verdict import Outcome, Result, ResultReady, RunEvent, RunStarted
from tpharness.verdict.baseline import Baseline
from tpharness.verdict.baseline_write import baseline_text
from tpharness.verdict.case_run import finish_run
from tpharness.verdict.grouping import group_failures
from tpharness.verdict.result import THREAD_SUFFIX

CLAUSES = tuple(dict.fromkeys(check.clause for check in APP_CHECKS))
PLAYED = ("user-leaves/in-answer", "uncut/tool-call")


def result(name: str, *codes: str, clauses: tuple[str, ...] = ()) -> Result:
    """Return a result with these findings; it passes without one."""
    found = tuple(Kind(code).at(Place(case=name)) for code in codes)
    return Result(id=name, outcome=Outcome.FAILED if found else Outcome.PASSED, findings=found, clauses=clauses)


def case_fails(code: str) -> list[Result]:
    """Return a case with the finding, and its thread, which is right."""
    return [result(f"a/{code}", code, clauses=CLAUSES), result(f"a/{code}{THREAD_SUFFIX}")]


def thread_fails(code: str) -> list[Result]:
    """Return a case that passes, and its thread with the finding."""
    return [result(f"a/{code}", clauses=CLAUSES), result(f"a/{code}{THREAD_SUFFIX}", code)]


def both_fail(code: str) -> list[Result]:
    """Return a case and its thread with the finding."""
    return [result(f"a/{code}", code, clauses=CLAUSES), result(f"a/{code}{THREAD_SUFFIX}", code)]


def write_everything(results: list[Result], folder: Path) -> None:
    """Write all that a run of an application writes of these results: reports, the console, the table, a baseline."""
    started = RunStarted(scenarios=len(results), server="chat", client="client", versions=(), application="chat")
    played = [ResultReady(result=Baseline(entries={}).apply(one)) for one in results]
    events: list[RunEvent] = [started, *played, finish_run([one.result for one in played], (), 1.0)]
    report, out = Report(), Console(file=io.StringIO(), width=120)
    console = ConsoleReport(again="tpharness app chat {id}")
    for event in events:
        report.feed(event)
        console.feed(event)
    print_table(out, report)
    for name in FORMATS:
        Destination(format=name, path=str(folder / name)).write(report)
        assert (folder / name).read_text("utf-8") or name == "github", name  # which has a line for each failure
    assert baseline_text(report.results, (), None)
    failed = {one.id for one in results if not one.outcome.green}
    assert {one.id for group in group_failures(report.results) for one in group.results} == failed


@pytest.mark.parametrize("make", [case_fails, thread_fails, both_fail])
def test_whatever_is_found_everything_is_written(make: Callable[[str], list[Result]], tmp_path: Path) -> None:
    """Every kind of finding, in the case, in the thread, and in both."""
    write_everything([one for code in load_kinds() for one in make(code)], tmp_path)


@pytest.mark.parametrize("check", APP_CHECKS, ids=lambda check: check.name)
@pytest.mark.parametrize("make", [case_fails, thread_fails, both_fail])
def test_one_finding_alone_is_written(make: Callable[[str], list[Result]], check: object, tmp_path: Path) -> None:
    """No other case cites the clauses then."""
    write_everything(make(next(iter(check.kinds)).code), tmp_path)  # type: ignore[attr-defined]


def test_every_broken_application_that_writes_threads_is_reported(tmp_path: Path) -> None:
    """Played for real, its thread spoilt in one half of them; what it cannot record of a defect it answers with 500."""
    apps: list[ThreadApp] = []
    for defect in dict.fromkeys(row.defect for row in ROWS if row.defect is not None):
        apps.append(ThreadApp(spoil=trims_returns if len(apps) % 2 else None))
        apps[-1].defects = frozenset({defect})
    plays = together(*(playing(app, *PLAYED, thread=THREAD, on_disconnect="stop") for app in apps))
    threads = [one for results in plays for one in results if one.id.endswith(THREAD_SUFFIX)]
    assert {Outcome.PASSED, Outcome.FAILED} <= {one.outcome for one in threads}
    for results in plays:
        write_everything(results, tmp_path)
