"""Scenario files → results, played on a session in this process (concurrently if a target is remote) or by workers.

A file that does not load, a case on which tpharness itself raises, and what workers did not play because they were lost
give an errored result: one bad case never ends a run.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from tpharness import faults as wire_faults
from tpharness import run as runner
from tpharness.errors import ItemEndsWorkersError, ScenarioError, TargetError, TpharnessError
from tpharness.profiles import load_profiles
from tpharness.run import tracing
from tpharness.run.options import RunOptions
from tpharness.run.play import Players
from tpharness.run.select import SelectedScenario
from tpharness.run.session import Session
from tpharness.scenario import load_scenario
from tpharness.scenario.records import Scenario
from tpharness.verdict.result import Outcome, Result

if TYPE_CHECKING:
    from tpharness.run.answers import WorkerAnswer
    from tpharness.run.judged_before import JudgedBefore
    from tpharness.run.workers import Deal, Workers

__all__ = [
    "check_places",
    "choose_workers",
    "harness_error_result",
    "load_selected",
    "open_session",
    "play_file",
    "play_one",
    "play_selected",
]


def open_session(options: RunOptions, judged_before: JudgedBefore | None = None) -> Session:
    """Return the session of the targets that the options name. Entering it opens them.

    `judged_before` has the results of earlier runs with these options on the same targets.
    """
    return Session(
        server=options.server,
        client=options.client,
        versions=options.versions,
        compare=options.compare,
        patience=options.patience,
        faults=options.faults,
        trace=options.trace,
        wire=options.wire,
        judged_before=judged_before,
        alone=options.order is not None or (options.server.startswith("peer:") and _kills(options)),
    )


def _kills(options: RunOptions) -> bool:
    """Whether one of the faults that are played kills the server."""
    named = {one.partition("@fault-")[2] for one in options.ids} | set(options.faults)
    profiles = [load_profiles()[name] for name in options.profiles]
    return any(
        fault.kills and (fault.name in named or any(profile.has_fault(fault.name) for profile in profiles))
        for fault in wire_faults.FAULTS.values()
    )


def choose_workers(selected: Sequence[SelectedScenario], options: RunOptions, session: Session) -> Workers | None:
    """Return the workers that the options ask for, None for this process, which plays a remote target concurrently."""
    alone = len(selected) < 2 or (session.has_remote and not options.cluster)
    if alone or not (options.jobs > 1 or options.cluster):
        return None
    return runner.Workers(jobs=options.jobs, cluster=options.cluster)


def play_selected(
    selected: Sequence[SelectedScenario], options: RunOptions, session: Session, deal: Deal | None = None
) -> Iterator[list[Result]]:
    """Yield the results of each scenario, in order, played by the workers of `deal`, else on the session."""
    if deal is not None:
        yield from _play_by_workers(selected, options, deal)
    elif session.has_remote:
        yield from session.run_concurrently([partial(play_file, one, session) for one in selected])
    else:
        for one in selected:
            yield session.run(play_file(one, session))


def _play_by_workers(selected: Sequence[SelectedScenario], options: RunOptions, deal: Deal) -> Iterator[list[Result]]:
    """Yield the results of each scenario; TargetError only if the workers were lost before the first result."""
    left = deque(selected)
    while left:
        try:
            for answer in deal(partial(_play_in_worker, options=options), tuple(left)):
                yield runner.results_of(left.popleft(), answer)
        except ItemEndsWorkersError as error:
            yield [_unplayed(left.popleft(), error)]
        except TargetError as error:
            if len(left) == len(selected):
                raise
            while left:
                yield [_unplayed(left.popleft(), error)]


def _unplayed(one: SelectedScenario, error: TargetError) -> Result:
    return Result(id=str(one), outcome=Outcome.ERRORED, reason=error.line)


def _play_in_worker(one: SelectedScenario, options: RunOptions) -> WorkerAnswer:
    with open_session(options) as session:
        results = session.run(play_file(one, session))
    secrets = tracing.find_secrets((options.server, options.client))
    return runner.make_answer(one, [replace(result, record=tracing.make_ready(result, secrets)) for result in results])


def check_places(
    selected: Sequence[SelectedScenario], ids: Iterable[str], players: Players, *, wire: str = "vsp"
) -> None:
    """Check before a run that its scenarios have the places that were named, on these players. UsageError if not.

    `ids` are those of the run: a place is not selected where its whole scenario is, and has to exist all the same.
    """
    scenarios = {one.id: one for one in selected}
    named = [(one.id, str(one)) for one in selected] + [(name.partition("@")[0], name) for name in ids]
    placed: dict[str, list[str]] = {}
    for base, name in named:
        if base in scenarios and "@" in name and "@fault-" not in name:
            placed.setdefault(base, []).append(name)
    for base, names in placed.items():
        scenario = load_selected(scenarios[base])
        if isinstance(scenario, Scenario):
            runner.cases_of(scenario, names, scenario.versions, players, wire=wire)


async def play_file(one: SelectedScenario, session: Session) -> list[Result]:
    """Play a scenario file on a session.

    A file that does not load, and an error of tpharness or of a target in this process, are errored results.
    """
    scenario = load_selected(one, session.judged_before)
    if isinstance(scenario, Result):
        return [scenario]
    if not one.swept:
        scenario = replace(scenario, cut=None)
    try:
        return await session.play(scenario, one.place, one.faults)
    except Exception as error:  # noqa: BLE001  # one broken case must not hide the other verdicts
        raised = session.raised_by_target(error)
        if raised:
            return [Result(id=scenario.id, outcome=Outcome.ERRORED, reason=raised, clauses=scenario.clauses)]
        return [harness_error_result(scenario.id, error, scenario.clauses)]


def play_one(scenario: Scenario, options: RunOptions, *, place: str | None = None) -> list[Result]:
    """Play one scenario with its sweep and return its verdicts; `place` restricts the sweep to one place."""
    try:
        with open_session(options) as session:
            return session.run(session.play(scenario, place))
    except TargetError as error:
        return [Result(id=scenario.id, outcome=Outcome.ERRORED, reason=error.line, clauses=scenario.clauses)]


def load_selected(one: SelectedScenario, judged_before: JudgedBefore | None = None) -> Scenario | Result:
    """Load a selected scenario, or return the errored result that says why it does not load."""
    load = load_scenario if judged_before is None else judged_before.load
    try:
        return load(one.path, root=one.root)
    except ScenarioError as error:
        return Result(id=one.id, outcome=Outcome.ERRORED, findings=error.findings, reason=str(error))
    except TpharnessError as error:
        return Result(id=one.id, outcome=Outcome.ERRORED, reason=error.line)
    except Exception as error:  # noqa: BLE001  # as for a case: one broken file must not hide the other verdicts
        return harness_error_result(one.id, error)


def harness_error_result(id_: str, error: Exception, clauses: tuple[str, ...] = ()) -> Result:
    """Return the errored result of a scenario on which tpharness itself raised."""
    reason = f"tpharness itself failed: {type(error).__name__}: {error}"
    return Result(id=id_, outcome=Outcome.ERRORED, reason=reason, clauses=clauses)
