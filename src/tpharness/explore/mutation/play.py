"""Playing scenarios with a change seeded in the reference.

In: changes and scenarios that are loaded. Out: a row for each change. The reference plays both sides in this process,
through the same session as any run; with `jobs` the changes are dealt out to worker processes. With a recording of the
reference as it is, only what a change can have reached is played; the rows are the same. A change may be left once its
verdict is settled: the verdicts are the same then, and the kills are those that it took.
"""

from __future__ import annotations

import gc
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

from tpharness.errors import UsageError
from tpharness.explore.mutation.module import load_changes
from tpharness.explore.mutation.reach import find_reach
from tpharness.explore.mutation.recording import CallRecorder, Recording
from tpharness.explore.mutation.records import Defect, Harmless, Kill, Row
from tpharness.explore.mutation.replay import replaying
from tpharness.explore.mutation.settling import Play, about_of, play_until_settled
from tpharness.findings import Level
from tpharness.resources import scenarios_dir
from tpharness.run.baselines import load_baseline
from tpharness.run.select import select_scenarios
from tpharness.run.session import Session
from tpharness.run.workers import THIS_PROCESS, Workers, map_in_order
from tpharness.scenario import Scenario, load_scenario
from tpharness.verdict import Outcome, Result
from tpharness.verdict.baseline import Baseline

__all__ = [
    "load_scenarios",
    "load_selected",
    "play_change",
    "play_module",
    "record_selected",
    "record_unharmed",
    "settle_change",
    "unharmed",
    "worth_recording",
]

_OUTRIGHT = 20
"""The number of scenarios that are played on a defect before it is asked what it reaches; one in 300 takes more."""

_FEW = 5
"""The number of changes on which everything is played in less time than a recording takes."""

_RULING = re.compile(r"\bR\d+\b")


def load_scenarios(ids: Sequence[str] = (), roots: Sequence[Path] = ()) -> tuple[Scenario, ...]:
    """Load the scenarios that ids and patterns name, all for none. UsageError and ScenarioError as for a run."""
    found = select_scenarios(ids, tuple(roots) or (scenarios_dir(),))
    return tuple(load_scenario(one.path, root=one.root) for one in found)


def play_change(
    change: Defect | Harmless,
    scenarios: Iterable[Scenario],
    baseline: Baseline | None = None,
    recording: Recording | None = None,
) -> Row:
    """Play the scenarios with one change seeded; with a `recording` of them only what the change can have reached."""
    known = load_baseline() if baseline is None else baseline
    begun = time.perf_counter()
    reach = None if recording is None else find_reach(change, recording.code)
    with _playing(change, known, recording, reach) as play:
        found = list(map(play, scenarios))
    kills = tuple(kill for kill in found if kill is not None)
    return Row(change=change, kills=kills, played=len(found), seconds=time.perf_counter() - begun)


def settle_change(change: Defect | Harmless, scenarios: Iterable[Scenario], recording: Recording | None = None) -> Row:
    """Play as many of the scenarios as settle the verdict on a change, in an order that makes them few.

    With a `recording` of them, some are played on a defect outright, which takes less time than to find out what it
    reaches; of the others those that it can have reached.
    """
    known = load_baseline()
    begun = time.perf_counter()
    row = Row(change=change, kills=(), played=0, seconds=0.0)
    left = {one.id: one for one in scenarios}
    every = len(left)
    if recording is None or isinstance(change, Defect):
        with _playing(change, known) as play:
            row = play_until_settled(row, left, play, every if recording is None else _OUTRIGHT)
    if recording is not None and not row.settled:
        reach = find_reach(change, recording.code)
        left = {one.id: one for one in recording.reached(left.values(), reach)}
        with _playing(change, known, recording, reach) as play:
            row = play_until_settled(row, left, play, every)
    return replace(row, seconds=time.perf_counter() - begun)


@contextmanager
def _playing(
    change: Defect | Harmless,
    baseline: Baseline,
    recording: Recording | None = None,
    reach: frozenset[int] | None = None,
) -> Iterator[Play]:
    """Give what plays a scenario with a change seeded.

    With a `recording`, and the code that the change reaches, a scenario is played only where it can end otherwise.
    """
    with change.seed(), Session() as session:

        def play(scenario: Scenario) -> Kill | None:
            return _played(scenario, session, baseline)[0]

        if recording is None or reach is None:
            yield play
            return
        with replaying(reach, parses=not reach.isdisjoint(recording.parsing)) as replay:
            yield lambda scenario: play(scenario) if replay.begin(recording.scenarios[scenario.id]) else None


def unharmed(scenarios: Iterable[Scenario]) -> dict[str, int]:
    """Return how many cases each scenario stands for.

    UsageError when one fails with nothing seeded: a failure would say nothing of a defect then.
    """
    cases: dict[str, int] = {}
    with Session() as session:
        _play_unharmed(scenarios, session, cases.__setitem__)
    return cases


def record_unharmed(scenarios: Iterable[Scenario]) -> Recording:
    """Play the scenarios with nothing seeded and record how. UsageError as for `unharmed`."""
    recorder = CallRecorder()
    with Session() as session, recorder.listening():
        _play_unharmed(scenarios, session, recorder.end_scenario)
    return recorder.finish()


def _play_unharmed(scenarios: Iterable[Scenario], session: Session, tell: Callable[[str, int], None]) -> None:
    known = load_baseline()
    failing = []
    for scenario in scenarios:
        kill, cases = _played(scenario, session, known)
        tell(scenario.id, cases)
        if kill is not None:
            failing.append(kill.case)
    if failing:
        raise UsageError(
            f"with nothing seeded these fail: {', '.join(failing)}", hint="`tpharness run` says why; correct that first"
        )


def worth_recording(names: Sequence[str]) -> bool:
    """Whether so many changes are played that a recording of the scenarios takes less time than it saves."""
    return len(names) > _FEW


def play_module(
    module: str,
    names: Sequence[str],
    ids: Sequence[str] = (),
    roots: Sequence[Path] = (),
    *,
    jobs: int = 1,
    all_kills: bool = False,
    recorded: bool = True,
) -> Iterator[Row]:
    """Play the changes of a module that `names` says, in that order; errors as for `load_changes` and `unharmed`.

    UsageError also when a change cannot be seeded, before anything is played. Before the first change the scenarios are
    played with nothing seeded. `all_kills` plays on when a verdict is settled, `recorded` leaves out what a change
    cannot have reached.
    """
    changes = load_changes(module)
    _try_seeds(map(changes.named, names))
    worker = partial(_in_worker, module, tuple(ids), tuple(roots), all_kills, recorded)
    workers = Workers(jobs=jobs) if jobs > 1 and len(names) > 1 else THIS_PROCESS
    if recorded:
        record_selected(tuple(ids), tuple(roots))  # here, so that workers which are forks have it
        gc.collect()
        gc.freeze()  # what lives as long as the process is not looked through again and again
    else:
        unharmed(load_selected(tuple(ids), tuple(roots)))
    for name, (kills, played, seconds) in zip(names, map_in_order(worker, names, workers), strict=True):
        yield Row(change=changes.named(name), kills=kills, played=played, seconds=seconds)


def _try_seeds(changes: Iterable[Defect | Harmless]) -> None:
    for change in changes:
        try:
            with change.seed():
                pass
        except Exception as error:  # it is the user's own code
            raise UsageError(
                f"{change.name} cannot be seeded: {type(error).__name__}: {error}",
                hint="seed returns a context that changes the reference; does the name that it replaces exist?",
            ) from error


def _in_worker(
    module: str, ids: tuple[str, ...], roots: tuple[Path, ...], all_kills: bool, recorded: bool, name: str
) -> tuple[tuple[Kill, ...], int, float]:
    """Return the fields of a row except the change: it holds functions, which cannot leave their process."""
    change = load_changes(module).named(name)
    recording = record_selected(ids, roots) if recorded else None
    play = play_change if all_kills else settle_change
    row = play(change, load_selected(ids, roots), recording=recording)
    return row.kills, row.played, row.seconds


@cache
def load_selected(ids: tuple[str, ...], roots: tuple[Path, ...]) -> tuple[Scenario, ...]:
    """Read the scenarios that ids and patterns name, once in a process; errors as for `load_scenarios`."""
    return load_scenarios(ids, roots)


@cache
def record_selected(ids: tuple[str, ...], roots: tuple[Path, ...]) -> Recording:
    """Record the scenarios that ids and patterns name, once in a process."""
    return record_unharmed(load_selected(ids, roots))


def _played(scenario: Scenario, session: Session, baseline: Baseline) -> tuple[Kill | None, int]:
    """Play one scenario; return what failed, or None, and the number of its cases."""
    about = about_of(scenario)
    try:
        results = session.run(session.play(scenario))
    except Exception as error:  # noqa: BLE001  # a defect may make anything raise anything
        reason = f"{type(error).__name__}: {error}"
        kill = Kill(scenario=scenario.id, case=scenario.id, codes=(), named=frozenset(), about=about, reason=reason)
        return kill, 1
    cases = sum(one.cases for one in results)
    failed = [one for one in map(baseline.apply, results) if not one.outcome.green]
    if not failed:
        return None, cases
    kill = Kill(
        scenario=scenario.id,
        case=failed[0].id,
        codes=tuple(sorted({code for one in failed for code in one.failing_codes})),
        named=frozenset[str]().union(*map(_named, failed)),
        about=about,
        reason=next((one.reason for one in failed if one.outcome is Outcome.ERRORED), ""),
    )
    return kill, cases


def _named(result: Result) -> set[str]:
    """Return what the findings of a failure cite: by their kind, or in their words, as a diff does."""
    cited: set[str] = set()
    for finding in result.findings:
        if finding.level is Level.MUST:
            cited.update((*finding.kind.clauses, *finding.kind.rulings, *_RULING.findall(finding.message)))
    return cited
