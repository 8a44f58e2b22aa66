"""Targets that are started once for all tests, and scenarios that are played on them.

A target lives on an event loop in a thread of its own: a test may have a loop of its own, and what was started stays
until the last test, whichever test was first.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tpharness.errors import TpharnessError
from tpharness.printable import make_printable
from tpharness.protocol.versions import parse_version
from tpharness.pytest_plugin.outdated import EntriesSeen
from tpharness.pytest_plugin.unjudged import UNJUDGED, leave_unjudged
from tpharness.run import RunOptions
from tpharness.run.dispatch import open_session, play_file
from tpharness.run.engine import choose_baseline
from tpharness.run.requests import parse_faults
from tpharness.run.select import SelectedScenario, built_in_roots, select_scenarios
from tpharness.run.session import Session
from tpharness.testing import describe_failures
from tpharness.verdict import Outcome, Result
from tpharness.verdict.baseline import Baseline
from tpharness.verdict.baseline_partly import read_what_can_be
from tpharness.waiting import await_result
from tpharness.wires.registry import wire_named

__all__ = ["NotGreenError", "ScenarioPlayer", "Targets"]


class NotGreenError(Exception):
    """A scenario that is not green, as a test; the text is the failure block of each result."""


class _Running:
    """A session that is open, in its thread."""

    def __init__(self, options: RunOptions) -> None:
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="tpharness")
        self._playing: tuple[asyncio.AbstractEventLoop, asyncio.Task[list[Result]] | None] | None = None
        try:
            self._session: Session = await_result(self._thread.submit(lambda: open_session(options).__enter__()))
        except BaseException:
            self._thread.shutdown()
            raise

    def play(self, one: SelectedScenario) -> list[Result]:
        """Play a scenario. What interrupts the waiting, such as Ctrl-C, interrupts the scenario."""
        future = self._thread.submit(lambda: self._session.run(self._play(one)))
        try:
            return await_result(future)
        except BaseException:
            if self._playing is not None and not future.done():
                loop, task = self._playing
                loop.call_soon_threadsafe(lambda: task and task.cancel())
            raise

    async def _play(self, one: SelectedScenario) -> list[Result]:
        self._playing = asyncio.get_running_loop(), asyncio.current_task()
        return await play_file(one, self._session)

    def close(self) -> None:
        """End the targets."""
        await_result(self._thread.submit(self._session.__exit__))
        self._thread.shutdown()


class Targets:
    """What was started, by what was asked for; a target that could not be started is not tried again."""

    def __init__(self) -> None:
        self._running: dict[RunOptions, _Running | TpharnessError] = {}
        self._baselines: dict[Path, Baseline] = {}
        self.failed_to_start: set[RunOptions] = set()
        """What could not be started, and a test has said so."""
        self.wrong: list[str] = []
        """What is wrong with entries of baselines, and no test has said yet."""
        self.ledger = EntriesSeen()

    def running(self, options: RunOptions) -> _Running:
        """Return the session of the options, opened when it is first asked for. Raises what opening it raised."""
        if options not in self._running:
            try:
                self._running[options] = _Running(options)
            except TpharnessError as error:
                self._running[options] = error
        found = self._running[options]
        if isinstance(found, TpharnessError):
            raise found.with_traceback(None)
        return found

    def baseline(self, path: Path) -> Baseline:
        """Return the entries of a file that can be read; what is wrong with others is said by one test."""
        if path not in self._baselines:
            try:
                self._baselines[path], wrong = read_what_can_be(path)
            except TpharnessError as error:
                self._baselines[path], wrong = Baseline(entries={}, path=str(path)), [error.line]
            self.wrong += wrong
        return self._baselines[path]

    def close(self) -> None:
        """End everything that was started."""
        for running in self._running.values():
            if isinstance(running, _Running):
                running.close()
        self._running.clear()


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ScenarioPlayer:
    """Plays scenarios on targets that may be running already."""

    targets: Targets
    options: RunOptions
    faults: tuple[str, ...]

    @classmethod
    def make(
        cls,
        targets: Targets,
        *,
        folder: Path,
        server: str,
        client: str,
        wire: str,
        baseline: str,
        dialects: Sequence[str],
        faults: Sequence[str],
    ) -> ScenarioPlayer:
        """Return the player of the fixtures. UsageError for a wire, a version or a fault that does not exist."""
        options = RunOptions(
            server=server,
            client=client,
            wire=wire_named(wire).name,
            versions=tuple(map(parse_version, dialects)) or None,
            baseline=folder / baseline if baseline else None,
        )
        return cls(targets=targets, options=options, faults=parse_faults(list(faults)))

    def __call__(self, *ids: str, scenarios: Sequence[Path | str] = ()) -> list[Result]:
        """Play the scenarios that the ids name, and return their results. AssertionError for what is not green.

        `scenarios` are files and folders of your own, the built-in scenarios if empty.
        """
        __tracebackhide__ = True
        roots = tuple(map(Path, scenarios))
        try:
            selected = select_scenarios(ids, roots or built_in_roots(self.options.wire))
            results = [result for one in selected for result in self._play(one)]
        except TpharnessError as error:
            raise error.with_traceback(None) from None  # what is wrong is in the call, and not in our files
        failures = self._describe_failed(results, roots)
        if failures:
            raise AssertionError(failures)
        return results

    def start(self) -> None:
        """Start the targets before the first test that needs them. If they cannot be started, that is its error.

        The others that need them are not judged: nothing is tried again.
        """
        opened = replace(self.options, baseline=None)
        if opened in self.targets.failed_to_start:
            leave_unjudged("the target could not be started; the first test that needs it says why")
        try:
            self.targets.running(opened)
        except TpharnessError as error:
            self.targets.failed_to_start.add(opened)
            lines = [str(error), *([f"  {error.hint}"] if error.hint else [])]
        else:
            return
        lines.append(f"The tests that need this target are not judged; the last line counts them as {UNJUDGED}.")
        pytest.fail("\n".join(map(make_printable, lines)), pytrace=False)  # out of the handler, which would be shown

    def run(self, one: SelectedScenario, *, again: str = "") -> None:
        """Play one scenario as a test: a known failure is an xfail, what does not apply is a skip.

        `again` is the command that plays it alone, for targets that end with the tests. A baseline with entries that
        cannot be read fails one test.
        """
        results = self._play(one)
        if self.targets.wrong:
            wrong, self.targets.wrong = self.targets.wrong, []
            raise NotGreenError("\n".join(map(make_printable, wrong)))
        roots = () if one.root is None or one.root in built_in_roots(None) else (one.root,)
        failures = self._describe_failed(results, roots, again=again if self._ends_with_the_tests else "")
        if failures:
            raise NotGreenError(failures)
        outcomes = {result.outcome for result in results}
        reasons = "; ".join(dict.fromkeys(result.reason for result in results if result.reason))
        if Outcome.EXPECTED in outcomes:
            pytest.xfail(reasons)
        if outcomes <= {Outcome.NOT_APPLICABLE, Outcome.NO_PART}:
            pytest.skip(reasons)

    @property
    def _ends_with_the_tests(self) -> bool:
        return any(spec.startswith("http://127.0.0.1:") for spec in (self.options.server, self.options.client))

    def _play(self, one: SelectedScenario) -> list[Result]:
        """Return the results of a scenario, with the outcomes that the baseline gives them."""
        if self.options.baseline is not None:
            baseline = self.targets.baseline(self.options.baseline)
        else:
            baseline = choose_baseline(
                replace(self.options, roots=(one.path,) if one.root not in built_in_roots(None) else ())
            )
        running = self.targets.running(replace(self.options, baseline=None))
        results = [baseline.apply(r) for r in running.play(replace(one, faults=() if one.place else self.faults))]
        whole = one.swept and not (one.place or self.faults)
        if self.options.baseline is not None and whole:
            problems = baseline.find_outdated(results, complete=False)
            results += [
                Result(id=str(problem.place.case), outcome=Outcome.STALE, findings=(problem,)) for problem in problems
            ]
        self.targets.ledger.note(self.options.baseline, results, partial=bool(self.faults))
        return results

    def _describe_failed(self, results: Sequence[Result], roots: Sequence[Path], *, again: str = "") -> str:
        failed = [result for result in results if not result.outcome.green]
        return describe_failures(failed, roots=roots, played_on=self.options.target_words, again=again)
