"""The one engine: everything that plays scenarios (command line, pytest plugin, suite) comes through here.

`run_suite` yields run events; what is done with them is the reports' business. Scenarios are independent, so with
`jobs` they are dealt out to worker processes; events come in the order of ids whatever finishes first.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from tpharness.clauses import load_clauses
from tpharness.errors import ScenarioError, TargetError, TpharnessError
from tpharness.findings import Finding
from tpharness.protocol.versions import Version
from tpharness.resources import scenarios_dir
from tpharness.run.baseline import Baseline, load_baseline
from tpharness.run.events import ResultReady, RunEvent, RunFinished, RunStarted, ScenarioFinished
from tpharness.run.judge import Outcome, Result, judge
from tpharness.run.plan import base_case, cut_case, cut_places
from tpharness.run.play import Players, play
from tpharness.run.select import Selected, find
from tpharness.run.sweep import sweep
from tpharness.run.trace import exercised, unexercised
from tpharness.scenario import load_scenario
from tpharness.scenario.model import Compare, CutAt, Scenario
from tpharness.targets.contract import SteppableClient, SteppableServer
from tpharness.targets.spec import resolve_client, resolve_server

__all__ = ["RunOptions", "play_one", "run_suite"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """What to play, on whom, and how.

    `roots` are folders or files with scenarios, the built-in ones when empty. `baseline` None means the built-in one
    when built-in scenarios are played on the reference, and none otherwise.
    """

    ids: tuple[str, ...] = ()
    roots: tuple[Path, ...] = ()
    server: str = "reference"
    client: str = "reference"
    versions: tuple[Version, ...] | None = None
    compare: Compare | None = None
    jobs: int = 1
    baseline: Path | None = None

    @property
    def whole_suite(self) -> bool:
        """Whether everything that is built in is played, so that every clause is owed."""
        return not self.ids and not self.roots and self.versions is None


def run_suite(options: RunOptions) -> Iterator[RunEvent]:
    """Play the selected scenarios and yield what happens. UsageError and InputError come before the first event."""
    begun = time.perf_counter()
    selected = find(options.ids, options.roots or (scenarios_dir(),))
    baseline = _baseline(options)
    server, client = resolve_server(options.server), resolve_client(options.client)
    versions = options.versions or tuple(Version)
    yield RunStarted(
        scenarios=len(selected),
        server=server.capabilities.name,
        client=client.capabilities.name,
        versions=tuple(str(v.value) for v in versions),
    )
    counts: Counter[Outcome] = Counter()
    played: list[Result] = []
    for one, results in zip(selected, _play_all(selected, options), strict=True):
        for result in results:
            judged = baseline.judged(result)
            counts[judged.outcome] += judged.cases
            played.append(judged)
            yield ResultReady(result=judged)
        yield ScenarioFinished(id=one.id)
    clauses = load_clauses()
    found = exercised(played)
    problems: list[Finding] = []
    if options.whole_suite or options.baseline is not None:
        problems += baseline.unmatched(result.id for result in played)
    if options.whole_suite:
        problems += unexercised(clauses, found)
    yield RunFinished(
        passed=bool(played) and not problems and all(outcome.green for outcome in counts),
        counts=dict(counts),
        seconds=time.perf_counter() - begun,
        problems=tuple(problems),
        exercised=found,
        clauses_owed=len(clauses),
    )


def play_one(scenario: Scenario, options: RunOptions, *, place: str | None = None) -> list[Result]:
    """Play one scenario with its sweep and return its verdicts; `place` restricts the sweep to one place."""
    begun = time.perf_counter()
    try:
        players = Players(
            server=resolve_server(options.server), client=resolve_client(options.client), compare=options.compare
        )
        case = base_case(scenario, options.versions)
        if not case.versions:
            return [Result(id=scenario.id, outcome=Outcome.NOT_APPLICABLE, reason="not for the versions asked for")]
        results = []
        if place is None:
            evidence = asyncio.run(play(case, players))
            results.append(judge(scenario.id, evidence, clauses=scenario.clauses))
        if scenario.cut is not None:
            results += _sweep(scenario, options, players, place)
    except TargetError as error:
        results = [Result(id=scenario.id, outcome=Outcome.ERRORED, reason=f"{error} {error.hint}".strip())]
    seconds = time.perf_counter() - begun
    return [replace(results[0], seconds=seconds), *results[1:]] if results else []


def _sweep(scenario: Scenario, options: RunOptions, players: Players, place: str | None) -> list[Result]:
    case = base_case(scenario, options.versions)
    server, client = players.server, players.client
    if isinstance(server, SteppableServer) and isinstance(client, SteppableClient):
        found = sweep(case, server, client, compare=options.compare, only=place)
        passed = found.tried - len(found.failed)
        word = "event" if scenario.cut is not None and scenario.cut.at is CutAt.EVERY_EVENT else "byte"
        name = place or f"{scenario.id}@{word}-*"
        good = Result(id=name, outcome=Outcome.PASSED, checks=found.checks, cases=passed, clauses=scenario.clauses)
        return [*([good] if passed else []), *found.failed]
    return [
        judge(one.id, asyncio.run(play(cut_case(case, one), players, thorough=False)), clauses=scenario.clauses)
        for one in cut_places(scenario)
        if place in (None, one.id)
    ]


def _play_all(selected: Sequence[Selected], options: RunOptions) -> Iterator[list[Result]]:
    worker = partial(_play_file, options=options)
    if options.jobs <= 1 or len(selected) < 2:
        yield from map(worker, selected)
        return
    with ProcessPoolExecutor(max_workers=options.jobs, mp_context=get_context("spawn")) as pool:
        yield from pool.map(worker, selected, chunksize=4)


def _play_file(one: Selected, options: RunOptions) -> list[Result]:
    try:
        scenario = load_scenario(one.path, root=one.root)
    except ScenarioError as error:
        return [Result(id=one.id, outcome=Outcome.ERRORED, findings=error.findings, reason=str(error))]
    except TpharnessError as error:
        return [Result(id=one.id, outcome=Outcome.ERRORED, reason=f"{error} {error.hint}".strip())]
    try:
        return play_one(scenario, options, place=one.place)
    except Exception as error:  # noqa: BLE001  # one broken case must not hide the verdicts on the others
        reason = f"tpharness itself failed: {type(error).__name__}: {error}"
        return [Result(id=one.id, outcome=Outcome.ERRORED, reason=reason, clauses=scenario.clauses)]


def _baseline(options: RunOptions) -> Baseline:
    if options.baseline is not None:
        return load_baseline(options.baseline)
    builtin = not options.roots and options.server == options.client == "reference"
    return load_baseline() if builtin else Baseline(entries={})
