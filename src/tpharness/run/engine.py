"""The one engine: everything that plays scenarios (command line, pytest plugin, suite) comes through here.

`run_suite` yields run events; what is done with them is the reports' business. Scenarios are independent, so with
`jobs` they are dealt out to worker processes, and given to a remote target several at a time; events come in the order
of ids whatever finishes first.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from tpharness.clauses import load_clauses
from tpharness.errors import ScenarioError, TargetError, TpharnessError
from tpharness.faults import FAULTS
from tpharness.findings import Finding
from tpharness.protocol.versions import Version
from tpharness.resources import scenarios_dir
from tpharness.run.applicable import label, written
from tpharness.run.baseline import Baseline, load_baseline
from tpharness.run.events import ResultReady, RunEvent, RunFinished, RunStarted, ScenarioFinished
from tpharness.run.judge import Outcome, Result
from tpharness.run.select import Selected, find
from tpharness.run.session import Session
from tpharness.run.shard import Shard
from tpharness.run.trace import as_if_played, exercised, unexercised
from tpharness.run.workers import Workers, in_order
from tpharness.scenario import load_scenario
from tpharness.scenario.records import Compare, Scenario
from tpharness.targets.remote import Patience

__all__ = [
    "RunOptions",
    "harness_failed",
    "judged_events",
    "load_selected",
    "play_one",
    "run_finished",
    "run_suite",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """What to play, on whom, and how.

    `roots` are folders or files with scenarios, the built-in ones when empty. `baseline` None means the built-in one
    when built-in scenarios are played, and none otherwise. `patience` is how long a remote target is waited for.
    With `faults` every scenario is played with each of them, and not without. `history` names the history dialect that
    the room of the histories plays.
    """

    ids: tuple[str, ...] = ()
    roots: tuple[Path, ...] = ()
    server: str = "reference"
    client: str = "reference"
    versions: tuple[Version, ...] | None = None
    compare: Compare | None = None
    jobs: int = 1
    baseline: Path | None = None
    patience: Patience = field(default_factory=Patience)
    faults: tuple[str, ...] = ()
    history: str = ""
    shard: Shard | None = None
    cluster: str = ""

    @property
    def whole_suite(self) -> bool:
        """Whether everything that is built in is played, so that every clause is owed."""
        return not self.ids and not self.roots and self.versions is None and not self.faults


def run_suite(options: RunOptions) -> Iterator[RunEvent]:
    """Play the selected scenarios and yield what happens.

    UsageError and InputError come before the first event, and so does TargetError for a target that cannot be played
    at all: one that is not there, or whose capabilities cannot be had.
    """
    begun = time.perf_counter()
    everything = find(options.ids, options.roots or (scenarios_dir(),))
    selected = everything if options.shard is None else options.shard.of_selected(everything)
    baseline = _baseline(options)
    with _session(options) as session:
        yield RunStarted(
            scenarios=len(selected),
            server=label(session.players.server),
            client=label(session.players.client),
            versions=tuple(str(v.value) for v in written(options.versions or tuple(Version), session.players)),
            shard=None if options.shard is None else _part(options, options.shard, everything),
        )
        played: list[Result] = []
        yield from judged_events(selected, _play_all(selected, options, session), baseline, played)
    clauses = load_clauses()
    found = exercised(played)
    problems: list[Finding] = []
    if options.shard is None and (options.whole_suite or options.baseline is not None):
        problems += baseline.unmatched(result.id for result in played)
    if options.shard is None and options.whole_suite:
        problems += unexercised(clauses, exercised(map(as_if_played, played)))
    finished = run_finished(played, problems, time.perf_counter() - begun)
    yield replace(finished, exercised=found, clauses_owed=len(clauses))


def _part(options: RunOptions, shard: Shard, everything: Sequence[Selected]) -> dict[str, Any]:
    """Return what a report says of a shard; what only the whole can tell is owed by whoever puts it together."""
    baseline = None if options.baseline is None else options.baseline.read_bytes()
    settings = (options.versions, options.compare, options.faults, options.server, options.client, baseline)
    return {
        **shard.as_json(everything, *settings),
        "whole_suite": options.whole_suite and options.baseline is None,
        "spec": [options.server, options.client],
    }


def judged_events(
    selected: Sequence[Selected], results: Iterable[list[Result]], baseline: Baseline, played: list[Result]
) -> Iterator[RunEvent]:
    """Yield the verdicts as the baseline sees them, and add them to `played`."""
    for one, some in zip(selected, results, strict=True):
        for result in some:
            judged = baseline.judged(result)
            played.append(judged)
            yield ResultReady(result=judged)
        yield ScenarioFinished(id=one.id)


def run_finished(played: Sequence[Result], problems: Sequence[Finding], seconds: float) -> RunFinished:
    """Return the end of a run: what was played counted by outcome, and whether it passed."""
    counts: Counter[Outcome] = Counter()
    for result in played:
        counts[result.outcome] += result.cases
    judged_any = bool(counts[Outcome.PASSED] + counts[Outcome.EXPECTED])
    counts = +counts
    return RunFinished(
        passed=judged_any and not problems and all(outcome.green for outcome in counts),
        counts=dict(counts),
        seconds=seconds,
        problems=tuple(problems),
    )


def play_one(scenario: Scenario, options: RunOptions, *, place: str | None = None) -> list[Result]:
    """Play one scenario with its sweep and return its verdicts; `place` restricts the sweep to one place."""
    try:
        with _session(options) as session:
            return session.run(session.play(scenario, place))
    except TargetError as error:
        reason = f"{error} {error.hint}".strip()
        return [Result(id=scenario.id, outcome=Outcome.ERRORED, reason=reason, clauses=scenario.clauses)]


def _session(options: RunOptions) -> Session:
    named = [one.partition("@fault-")[2] for one in options.ids]
    return Session(
        server=options.server,
        client=options.client,
        versions=options.versions,
        compare=options.compare,
        patience=options.patience,
        faults=options.faults,
        alone=options.server.startswith("peer:")
        and any(FAULTS[name].kills for name in (*options.faults, *named) if name in FAULTS),
    )


def _play_all(selected: Sequence[Selected], options: RunOptions, session: Session) -> Iterator[list[Result]]:
    workers = Workers(jobs=options.jobs, cluster=options.cluster)
    if session.far and not options.cluster:
        yield from session.several([partial(_play_file, one, session) for one in selected])
    elif workers and len(selected) > 1:
        yield from in_order(partial(_in_worker, options=options), selected, workers)
    else:
        for one in selected:
            yield session.run(_play_file(one, session))


def _in_worker(one: Selected, options: RunOptions) -> list[Result]:
    with _session(options) as session:
        return session.run(_play_file(one, session))


async def _play_file(one: Selected, session: Session) -> list[Result]:
    scenario = load_selected(one)
    if isinstance(scenario, Result):
        return [scenario]
    try:
        return await session.play(scenario, one.place)
    except Exception as error:  # noqa: BLE001  # one broken case must not hide the verdicts on the others
        return [harness_failed(scenario, error)]


def load_selected(one: Selected) -> Scenario | Result:
    """Load a selected scenario; where that fails, return the errored result that says why."""
    try:
        return load_scenario(one.path, root=one.root)
    except ScenarioError as error:
        return Result(id=one.id, outcome=Outcome.ERRORED, findings=error.findings, reason=str(error))
    except TpharnessError as error:
        return Result(id=one.id, outcome=Outcome.ERRORED, reason=f"{error} {error.hint}".strip())


def harness_failed(scenario: Scenario, error: Exception) -> Result:
    """Return the errored result of a scenario on which tpharness itself raised."""
    reason = f"tpharness itself failed: {type(error).__name__}: {error}"
    return Result(id=scenario.id, outcome=Outcome.ERRORED, reason=reason, clauses=scenario.clauses)


def _baseline(options: RunOptions) -> Baseline:
    if options.baseline is not None:
        return load_baseline(options.baseline)
    if options.roots:
        return Baseline(entries={})
    return load_baseline(server=options.server, client=options.client)
