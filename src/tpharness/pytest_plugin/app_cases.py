"""The cases of a chat application as tests: `tpharness_apps` names applications of the root folder's `tpharness.toml`.

An application is started for the first of its tests, and its cases are played while tests ask for them, in a thread
with an event loop. What its baseline expects is an xfail, what does not apply is a skip. If the application cannot be
played at all, the first test says why, and the others are not judged.
"""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tpharness.apps.cases.case import CaseTool
from tpharness.apps.cases.catalogue import all_cases
from tpharness.apps.config import CONFIG_FILE, LEDGER, AppConfig, load_config
from tpharness.apps.contact import CONTACT
from tpharness.apps.engine import AppOptions, play_app
from tpharness.errors import TpharnessError
from tpharness.findings import Finding
from tpharness.printable import make_printable
from tpharness.pytest_plugin.advice import notes_of
from tpharness.pytest_plugin.playing import NotGreenError
from tpharness.pytest_plugin.unjudged import leave_unjudged, register_unjudged
from tpharness.testing import describe_failures
from tpharness.verdict import Outcome, Result, ResultReady, RunEvent, RunFinished, ScenarioFinished
from tpharness.verdict.baseline import Baseline
from tpharness.verdict.baseline_partly import read_what_can_be
from tpharness.verdict.causes import Cause
from tpharness.verdict.grouping import leading_cause_of_result
from tpharness.waiting import await_result

__all__ = ["AppBaselineItem", "AppCaseItem", "AppCases"]

_NODE = "tpharness-app"
"""What ids of the tests begin with."""


@dataclass(slots=True)
class _Playing:
    """One application while its cases are played: the results so far, and what ended the run too early."""

    config: AppConfig
    results: dict[str, list[Result]] = field(default_factory=dict)
    """What was played, by the id of the case."""
    problems: tuple[Finding, ...] = ()
    broken: str = ""
    """Why no case can be played, "" if they can be."""
    reported: bool = False
    """Whether a test has said so."""
    shown: dict[tuple[Cause, frozenset[str]], str] = field(default_factory=dict)
    """The causes that a test has shown, with the codes beside them, and its case."""
    _events: AsyncGenerator[RunEvent, None] | None = None
    _thread: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1, thread_name_prefix="tpharness"))
    _runner: asyncio.Runner = field(default_factory=asyncio.Runner)
    _ended: bool = False
    _waiting: tuple[asyncio.AbstractEventLoop, asyncio.Task[Any] | None] | None = None
    _pending: list[Result] = field(default_factory=list)

    @property
    def contact(self) -> list[Result]:
        """The verdict on the first message, where it was not taken."""
        return self.results.get(CONTACT, [])

    def refuse(self, why: str) -> None:
        """Play nothing."""
        self.broken, self._ended = why, True

    def play_until(self, case: str, ids: tuple[str, ...], known: Baseline | None) -> list[Result]:
        """Return the results of a case, [] if it was not reached, which is so for "" at the end of the run.

        `ids` are the cases that the run has, all if empty.
        """
        if self._events is None:
            self._events = play_app(AppOptions(config=self.config, ids=ids, known=known))
        while case not in self.results and not self._ended:
            self._take_next(self._events)
        return self.results.get(case, [])

    def _take_next(self, events: AsyncIterator[RunEvent]) -> None:
        future = self._thread.submit(lambda: self._runner.run(self._next(events)))
        try:
            event = await_result(future)
        except TpharnessError as error:
            self.refuse(error.line)
            return
        except BaseException:
            if self._waiting is not None and not future.done():
                loop, task = self._waiting
                loop.call_soon_threadsafe(lambda: task and task.cancel())
            raise
        match event:
            case ResultReady(result=result):
                self._pending.append(result)
            case ScenarioFinished(id=case):
                self.results[case], self._pending = self._pending, []
            case RunFinished(problems=problems):
                self.problems = problems
            case None:
                self._ended = True

    async def _next(self, events: AsyncIterator[RunEvent]) -> RunEvent | None:
        self._waiting = asyncio.get_running_loop(), asyncio.current_task()
        return await anext(events, None)

    def close(self) -> None:
        """End the application."""
        await_result(self._thread.submit(self._close))
        self._thread.shutdown()

    def _close(self) -> None:
        if self._events is not None:
            self._runner.run(self._events.aclose())
        self._runner.close()


def pytest_configure(config: pytest.Config) -> None:
    """Have the run count what is not judged."""
    register_unjudged(config)


@pytest.hookimpl(tryfirst=True)  # so that -k, -m and --lf see them
def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Add the cases, which are not files of the project; a run that names files plays those of its command line."""
    chosen = config.args_source is pytest.Config.ArgsSource.ARGS
    named = config.getoption("tpharness_apps") or ([] if chosen else config.getini("tpharness_apps"))
    for name in dict.fromkeys(named):
        node = AppCases.from_parent(session, name=name, nodeid=f"{_NODE}::{name}")
        node.ihook.pytest_collectstart(collector=node)
        report = node.ihook.pytest_make_collect_report(collector=node)
        node.ihook.pytest_collectreport(report=report)
        items += [item for item in report.result or () if isinstance(item, pytest.Item)]


class AppCases(pytest.Collector):
    """The cases of one application: a test for each, one for its baseline, and one for each entry that is wrong."""

    cases: tuple[str, ...] = ()
    known: Baseline | None = None
    playing: _Playing

    def collect(self) -> Iterator[pytest.Item]:
        """Yield the tests. An application that the file does not have is an error of the collection."""
        file = self.config.rootpath / CONFIG_FILE
        wrong: list[str] = []
        try:
            config = load_config(self.name, file)
            if config.baseline_path is not None:
                self.known, wrong = read_what_can_be(config.baseline_path)
        except TpharnessError as error:
            raise self.CollectError(f"tpharness_apps: {error.line}") from None
        self.playing = _Playing(config=config)
        self.config.add_cleanup(self.playing.close)
        tool = CaseTool(name="", args={}) if config.allow else None
        self.cases = tuple(source.id for source in all_cases(tool, ledger=config.effects == LEDGER))
        if config.effects_command is not None and getattr(self.config, "workerinput", {}).get("workercount", 1) > 1:
            self.playing.refuse(
                f"the effects of {self.name} are counted by a command, and each worker of pytest-xdist would count the"
                ' runs of all: give pytest -n 0, or let effects be "ledger"'
            )
        for case in self.cases:
            yield AppCaseItem.from_parent(self, name=case, case=case)
        if config.baseline_path is not None:
            yield AppBaselineItem.from_parent(self, name="baseline")
        for number, line in enumerate(wrong, 1):
            yield AppBaselineItem.from_parent(self, name=f"baseline-{number}", wrong=line)

    def play(self, case: str) -> list[Result]:
        """Return the results of a case; the run has the cases of all tests of the application that were chosen."""
        items = [one for one in self.session.items if isinstance(one, AppCaseItem) and one.parent is self]
        chosen = tuple(one.case for one in items if one.case)
        return self.playing.play_until(case, () if set(chosen) == set(self.cases) else chosen, self.known)


class AppCaseItem(pytest.Item):
    """The test of one case."""

    parent: AppCases

    def __init__(self, *, case: str, **given: Any) -> None:
        super().__init__(**given)
        self.case = case

    def runtest(self) -> None:
        """Play the case, unless it was played already while another test asked."""
        playing, name = self.parent.playing, self.parent.name
        results = self.parent.play(self.case)
        if not results and playing.reported:
            leave_unjudged(f"the application {name} cannot be played; the first of its tests says why")
        if not results:
            playing.reported = True
            raise NotGreenError(make_printable(playing.broken) or self._describe(playing.contact))
        self.user_properties += notes_of(name, results)
        failed = [result for result in results if not result.outcome.green]
        if failed:
            raise NotGreenError(self._describe_once(failed))
        outcomes = {result.outcome for result in results}
        reasons = "; ".join(dict.fromkeys(result.reason for result in results if result.reason))
        if Outcome.EXPECTED in outcomes:
            pytest.xfail(reasons)
        if outcomes <= {Outcome.NOT_APPLICABLE, Outcome.NO_PART}:
            pytest.skip(reasons)

    def _describe(self, failed: Sequence[Result]) -> str:
        return describe_failures(failed, again=f"tpharness app {shlex.quote(self.parent.name)} {{id}}")

    def _describe_once(self, failed: Sequence[Result]) -> str:
        """Return the failures whole, or as a line each where an earlier test has shown one of the same causes."""
        shown = self.parent.playing.shown
        causes = [(leading_cause_of_result(result), result.failing_codes) for result in failed]
        first = [shown.setdefault(cause, self.case) for cause in causes]
        if self.case in first:
            return self._describe(failed)
        codes = ", ".join(sorted({code for result in failed for code in result.failing_codes})) or failed[0].reason
        again = f"tpharness app {shlex.quote(self.parent.name)} {shlex.quote(self.case)}"
        return make_printable(f"{codes}: the same as in {first[0]}, which is shown whole; alone: {again}")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Format the failure as the command line does."""
        return str(excinfo.value) if isinstance(excinfo.value, NotGreenError) else super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Return the file of the application, and the id of the case."""
        return self.config.rootpath / CONFIG_FILE, None, f"application {self.parent.name}: {self.name}"


class AppBaselineItem(AppCaseItem):
    """The test that each entry of the baseline explains a failure, or of one that cannot be read."""

    def __init__(self, *, wrong: str = "", **given: Any) -> None:
        super().__init__(case="", **given)
        self._wrong = wrong

    def runtest(self) -> None:
        """Fail for what is wrong with the baseline."""
        if self._wrong:
            raise NotGreenError(make_printable(self._wrong))
        self.parent.play("")
        problems = self.parent.playing.problems
        if problems:
            lines = [line for finding in problems for line in (finding.line(), f"  {finding.remedy}")]
            raise NotGreenError("\n".join(map(make_printable, lines)))
