"""Entries of a baseline that explain nothing any more, judged after the last test, as `tpharness run` does.

Only a run that plays every scenario that is configured judges them: what was not collected, deselected, skipped or not
reached says nothing of an entry. With pytest-xdist the workers send what they have played, and the controller judges.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from tpharness.errors import TpharnessError
from tpharness.printable import make_printable
from tpharness.resources import scenarios_dir
from tpharness.scenario_files import find_files
from tpharness.verdict import Result
from tpharness.verdict.baseline_partly import read_what_can_be

__all__ = ["LEDGER", "EntriesSeen", "OutdatedEntries"]

_SENT = "tpharness_ledger"


@dataclass(slots=True)
class EntriesSeen:
    """What was played, by the file of known failures; which tests there are, and which have come to an end."""

    results: dict[Path, list[Result]] = field(default_factory=dict)
    owed: set[str] = field(default_factory=set)
    done: set[str] = field(default_factory=set)
    partial: bool = False
    """Whether something that is configured is not played."""

    def note(self, baseline: Path | None, results: Iterable[Result], *, partial: bool) -> None:
        """Note what was played."""
        self.partial |= partial
        if baseline is not None:
            self.results.setdefault(baseline, []).extend(replace(result, record=None) for result in results)

    def add(self, other: EntriesSeen) -> None:
        """Add what a worker has played."""
        for baseline, results in other.results.items():
            self.results.setdefault(baseline, []).extend(results)
        self.owed |= other.owed
        self.done |= other.done
        self.partial |= other.partial

    def find_outdated(self) -> list[str]:
        """Return a line for each entry that explains nothing, and one that says what to do."""
        if self.partial or self.owed - self.done:
            return []
        lines: list[str] = []
        built_in = find_files([scenarios_dir()])
        for baseline, results in self.results.items():
            try:
                known, _ = read_what_can_be(baseline)
            except TpharnessError:  # a test has said so
                continue
            # an entry of a case is judged by the test that plays it
            judged = {str(finding.place.case) for result in results for finding in result.findings}
            found = known.find_outdated(results, elsewhere=built_in)
            found = [finding for finding in found if finding.place.case not in judged]
            lines += [line for finding in found for line in (finding.line(), f"  {finding.remedy}")]
        return list(map(make_printable, lines))


LEDGER = pytest.StashKey[EntriesSeen]()


class OutdatedEntries:
    """The hooks of a run: in a worker of pytest-xdist they send the ledger, elsewhere they judge it."""

    def __init__(self, config: pytest.Config) -> None:
        self._ledger = config.stash.setdefault(LEDGER, EntriesSeen())
        self._lines: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a test that has come to its end."""
        if report.when == "call":
            self._ledger.done.add(report.nodeid)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        """Take in what a worker has played; one that has crashed has sent nothing."""
        sent = getattr(node, "workeroutput", {}).get(_SENT)
        if error or sent is None:
            self._ledger.partial = True
        else:
            self._ledger.add(pickle.loads(sent))  # noqa: S301  # of our own process

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Fail a run whose baseline has such entries."""
        output = getattr(session.config, "workeroutput", None)
        if output is not None:
            output[_SENT] = pickle.dumps(self._ledger)
            return
        self._lines = self._ledger.find_outdated()
        if self._lines and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say which entries they are."""
        if self._lines:
            terminalreporter.section("tpharness: the baseline is out of date", red=True, bold=True)
            for line in self._lines:
                terminalreporter.line(line)
