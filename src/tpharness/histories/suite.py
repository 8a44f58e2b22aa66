"""Run the suite through one history dialect, with the same events as a run on targets, so that every report works."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial

from tpharness.errors import UsageError
from tpharness.histories.kept import play_kept, require_keeper
from tpharness.histories.play import play_history
from tpharness.histories.registry import HISTORIES
from tpharness.resources import conformance_dir
from tpharness.run.applicable import describe_target
from tpharness.run.baselines import load_baseline
from tpharness.run.dispatch import harness_error_result, load_selected, open_session
from tpharness.run.options import RunOptions
from tpharness.run.select import SelectedScenario
from tpharness.run.selection import choose_scenarios
from tpharness.run.session import Session
from tpharness.run.workers import Workers, map_in_order
from tpharness.targets.contract import AnsweringTarget
from tpharness.verdict.baseline import Baseline
from tpharness.verdict.case_run import CaseRun, run_cases
from tpharness.verdict.events import RunEvent, RunStarted
from tpharness.verdict.result import Result

__all__ = ["load_dialect_baseline", "run_history"]


def run_history(options: RunOptions) -> Iterator[RunEvent]:
    """Play the selected scenarios through the history dialect `options.history`, in this process or on a target.

    The dialect's built-in baseline applies unless the caller gives scenarios or a baseline; a target may also do better
    than it. Clauses do not apply, because histories are not threads. UsageError for an unknown history, and for a
    target that does not keep it.
    """
    if options.history not in HISTORIES:
        raise UsageError(f"no history is called {options.history!r}", hint=f"there are {', '.join(HISTORIES)}")
    foreign = options.server != "reference"
    selected = choose_scenarios(options)
    baseline = _choose_baseline(options, may_pass=foreign)
    run = CaseRun(baseline)
    with ExitStack() as open_:
        server, results = "reference", _play_all(selected, options)
        if foreign:
            session = open_.enter_context(open_session(options))
            keeper = require_keeper(session.players.server, options.history)
            works = [partial(_play_kept, one, options.history, keeper, session) for one in selected]
            server, results = describe_target(session.players.server), session.run_concurrently(works)
        yield RunStarted(
            scenarios=len(selected),
            server=server,
            client=f"history {options.history}",
            versions=(),
            history=options.history,
        )
        ended = yield from run_cases(run, [one.id for one in selected], results, maxfail=options.maxfail)
    whole = not options.ids and not options.roots and not foreign
    owed = whole or options.baseline is not None
    problems = baseline.find_outdated(run.played, complete=not (ended or options.restricted)) if owed else []
    yield run.finish(problems, ended=ended)


def _choose_baseline(options: RunOptions, *, may_pass: bool) -> Baseline:
    if options.baseline is not None:
        return load_baseline(options.baseline)
    if options.roots:
        return Baseline(entries={})
    known = load_dialect_baseline(options.history)
    entries = {name: replace(entry, may_pass=may_pass or entry.may_pass) for name, entry in known.entries.items()}
    return replace(known, entries=entries)


async def _play_kept(one: SelectedScenario, history: str, keeper: AnsweringTarget, session: Session) -> list[Result]:
    """Play one scenario on a target that keeps a history."""
    scenario = load_selected(one)
    if isinstance(scenario, Result):
        return [scenario]
    try:
        return await play_kept(scenario, history, keeper, session.attempt, one.place)
    except Exception as error:  # noqa: BLE001  # as below
        return [harness_error_result(scenario.id, error, scenario.clauses)]


def _play_all(selected: Sequence[SelectedScenario], options: RunOptions) -> Iterator[list[Result]]:
    worker = partial(_play_one, history=options.history)
    jobs = options.jobs if len(selected) > 1 else 1
    return map_in_order(worker, selected, Workers(jobs=jobs))


def _play_one(one: SelectedScenario, history: str) -> list[Result]:
    """Play one scenario through a history."""
    scenario = load_selected(one)
    if isinstance(scenario, Result):
        return [scenario]
    try:
        return play_history(scenario, HISTORIES[history], one.place)
    except Exception as error:  # noqa: BLE001  # a defect of ours is one result, not the end of the run
        return [harness_error_result(scenario.id, error, scenario.clauses)]


def load_dialect_baseline(name: str) -> Baseline:
    """Return the built-in baseline of a history dialect, such as `langchain/documented`, empty if it has none."""
    path = conformance_dir() / "baselines" / "dialects" / f"{name.replace('/', '-')}.yaml"
    return load_baseline(path) if path.is_file() else Baseline(entries={})
