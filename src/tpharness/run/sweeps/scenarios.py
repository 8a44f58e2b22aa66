"""Sweeps over many scenarios: everywhere where it is cheap, a sample with a fixed seed where it is not.

In: scenarios, an opened session, what to cut. Out: one report for each scenario that says how many places there are,
how many were tried and which failed, each under an id that `run` takes or with a scenario file of its own. Two targets
in this process that can be stepped are cut everywhere with one fold (`stepped`); for any others, and for
servers that report their interruption, each place is played by itself.
"""

from __future__ import annotations

import random
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from tpharness.errors import TargetError, UsageError
from tpharness.findings import Level
from tpharness.printable import counted
from tpharness.protocol.versions import Version
from tpharness.run.applicable import are_steppable
from tpharness.run.case_ids import packet_sizes
from tpharness.run.plan import Case
from tpharness.run.play import comparison_mode
from tpharness.run.select import SelectedScenario
from tpharness.run.session import Session
from tpharness.run.sweeps.failures import Failure, make_failure_file
from tpharness.run.sweeps.places import (
    CutPlace,
    Places,
    SideCut,
    cut_scenario,
    existing_id,
    with_cut_plan,
    without_pins,
)
from tpharness.run.sweeps.stepped import sweep
from tpharness.run.sweeps.streams import sweep_streams
from tpharness.run.tracing.record import make_ready
from tpharness.run.tracing.secrets import find_secrets
from tpharness.run.workers import THIS_PROCESS, Workers, map_in_order
from tpharness.scenario import CutAt, CutSide, Scenario, load_scenario
from tpharness.targets.contract import SteppableClient, SteppableServer
from tpharness.trace.format import Traced
from tpharness.verdict.causes import Cause
from tpharness.verdict.grouping import cause_of_result, group_by_cause
from tpharness.verdict.result import Outcome, Result

__all__ = ["FAR_BUDGET", "ScenarioReport", "SweepOptions", "choose_places", "sweep_each", "sweep_scenarios"]

UNEXPECTED = "unexpected-finding"
FAR_BUDGET = 200
"""How many places are tried on targets outside this process when nobody says how many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepOptions:
    """What to cut: after events or bytes, for which reasons, on which side.

    `budget` is how many places are tried at most, in all scenarios together; None means everywhere in this process and
    `FAR_BUDGET` places elsewhere. `save` is the folder for scenario files of places that no id names, `roots` are the
    folders of the scenarios when they are not the built-in ones, `sides` the command line's options that name targets.
    `workers` says who works; what is found is the same.
    """

    at: CutAt = CutAt.EVERY_EVENT
    reasons: tuple[str, ...] = ("network_failure",)
    side: SideCut = SideCut.BOTH
    budget: int | None = None
    seed: int = 0
    save: Path = Path("tpharness-failures")
    roots: tuple[Path, ...] = ()
    sides: tuple[str, ...] = ()
    workers: Workers = THIS_PROCESS


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioReport:
    """What the sweep of one scenario found: how many places there are, were tried, and cannot be played.

    `note` says why none were tried, or not all, `detail` says more of how many there are.
    """

    id: str
    places: int = 0
    tried: int = 0
    passed: int = 0
    refused: int = 0
    failures: tuple[Failure, ...] = ()
    note: str = ""
    detail: str = ""


_Bad = tuple[CutPlace, Result]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Prepared:
    """A scenario ready to be swept; if it cannot be, `case` is None and `note` says why."""

    scenario: Scenario
    case: Case | None = None
    places: Places | None = None
    note: str = ""

    def __len__(self) -> int:
        return 0 if self.places is None else len(self.places)


def sweep_scenarios(
    selected: Sequence[SelectedScenario], session: Session, options: SweepOptions
) -> Iterator[ScenarioReport]:
    """Sweep the scenarios, in order; yield what was found in each.

    ScenarioError for a file that cannot be loaded, UsageError for cuts that the targets cannot be given.
    """
    near = are_steppable(session.players)
    if not near and options.at is CutAt.EVERY_BYTE and options.side is not SideCut.CLIENT:
        raise UsageError(
            "the bytes of a server that cannot be stepped belong to no events, so they can be cut for the client only",
            hint="add --side client",
        )
    budget = options.budget if near else options.budget or FAR_BUDGET
    if budget is None and options.workers:
        items = [_Item(selected=one) for one in selected]
    else:
        ready = [_prepare(load_scenario(one.path, root=one.root), session, options) for one in selected]
        chosen = choose_places([len(one) for one in ready], budget, options.seed)
        known = (None if options.workers else one for one in ready)
        numbers = (None if budget is None else some for some in chosen)
        items = [_Item(selected=one, numbers=n, ready=r) for one, n, r in zip(selected, numbers, known, strict=True)]
    return sweep_each(partial(_sweep_one, options=options), items, session, options.workers)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Item:
    """A scenario to sweep: the numbers of the places to try, None for all, and the scenario when it is loaded."""

    selected: SelectedScenario
    numbers: Sequence[int] | None = None
    ready: _Prepared | None = None

    def __str__(self) -> str:
        return self.selected.id


def sweep_each(
    work: Callable[..., ScenarioReport], items: Iterable[object], session: Session, workers: Workers
) -> Iterator[ScenarioReport]:
    """Yield what `work(item, session=…)` finds in each item; each worker has a session of its own.

    Files of failures are written here, not by the workers.
    """
    one = partial(work, session=session)
    if workers:
        one = partial(_in_worker, work, session.specs, session.versions, session.trace, session.wire)
    for swept_one in map_in_order(one, items, workers):
        for failure in swept_one.failures:
            if failure.saved is not None:
                failure.saved.write()
        yield swept_one


def _in_worker(
    work: Callable[..., ScenarioReport],
    specs: tuple[str, str],
    versions: Sequence[Version] | None,
    trace: Traced,
    wire: str,
    item: object,
) -> ScenarioReport:
    with Session(server=specs[0], client=specs[1], versions=versions, trace=trace, wire=wire) as session:
        found = work(item, session=session)
    secrets = find_secrets(specs)
    results = [replace(one.result, record=make_ready(one.result, secrets)) for one in found.failures]
    ready = [replace(one, result=result) for one, result in zip(found.failures, results, strict=True)]
    return replace(found, failures=tuple(ready))


def _sweep_one(item: _Item, *, session: Session, options: SweepOptions) -> ScenarioReport:
    one = item.ready or _prepare(load_scenario(item.selected.path, root=item.selected.root), session, options)
    if one.case is None:
        return ScenarioReport(id=one.scenario.id, note=one.note)
    if item.numbers is None and are_steppable(session.players) and options.side is not SideCut.SERVER:
        return _everywhere(one, one.case, session, options)
    if one.places is None:
        note = "a stream that the scenario gives itself is swept everywhere or not at all"
        return ScenarioReport(id=one.scenario.id, note=note)
    numbers = range(len(one.places)) if item.numbers is None else item.numbers
    return _one_by_one(one, one.case, one.places, numbers, session, options)


def choose_places(counts: Sequence[int], budget: int | None, seed: int) -> list[Sequence[int]]:
    """Return the numbers of the places to try in each scenario: all, or a sample of all places together."""
    total = sum(counts)
    if budget is None or budget >= total:
        return [range(count) for count in counts]
    sample = sorted(random.Random(seed).sample(range(total), budget))  # noqa: S311  # a fixed choice, no secret
    chosen: list[Sequence[int]] = []
    begin = 0
    for count in counts:
        chosen.append([number - begin for number in sample if begin <= number < begin + count])
        begin += count
    return chosen


def _prepare(scenario: Scenario, session: Session, options: SweepOptions) -> _Prepared:
    case, reason = session.run(session.adapt(scenario))
    if reason:
        return _Prepared(scenario=scenario, note=f"does not apply: {reason}")
    if not scenario.runs:
        return _Prepared(scenario=scenario, note="it has no agent run to cut")
    same = options.at is CutAt.EVERY_EVENT and options.side in (SideCut.BOTH, SideCut.SERVER)
    if not same and not case.scenario.readings.certifies:
        note = "it reads a ruling otherwise, in a way that is known to take back what it kept (R20)"
        return _Prepared(scenario=scenario, note=note)
    if any(run.events is None for _, run in scenario.runs):
        return _Prepared(scenario=scenario, case=case)
    bare = replace(case, scenario=without_pins(case.scenario))
    every_byte = options.at is CutAt.EVERY_BYTE
    sizes = session.run(packet_sizes(bare, session.players.server)) if every_byte else _one_packet_each(bare)
    places = Places(bare.scenario, options.side, options.at, options.reasons, sizes)
    return _Prepared(scenario=scenario, case=bare, places=places)


def _one_packet_each(case: Case) -> list[list[int]]:
    return [[1] * (len(run.events or ()) + 1) for _, run in case.scenario.runs]


# ------------------------------------------------------------------------------------------------ everywhere


def _everywhere(one: _Prepared, case: Case, session: Session, options: SweepOptions) -> ScenarioReport:
    """Cut everywhere with one fold of each side for each reason, and the streams that the scenario gives as well."""
    bad: list[_Bad] = []
    tried = 0
    server, client = session.players.server, session.players.client
    if not isinstance(server, SteppableServer) or not isinstance(client, SteppableClient):
        raise TypeError("targets that cannot be stepped are not swept with one fold")
    if one.places is not None:
        plan_side = CutSide.BOTH if options.side is SideCut.BOTH else CutSide.CLIENT
        whole = replace(case, scenario=with_cut_plan(case.scenario, options.at, options.reasons, plan_side, None))
        apart = options.side is not SideCut.BOTH
        mode = comparison_mode(case.scenario, session.players)
        found = sweep(whole, server, client, compare=mode, apart=apart, record=session.recorder)
        bad += [*found.failed, *found.apart]
        # The pairs that were judged stand for every pair (R32 is transitive).
        tried += len(one.places) if options.side is SideCut.APART else found.tried
    given = replace(case, scenario=one.scenario)
    more, failed = sweep_streams(given, client, at=options.at, reasons=options.reasons)
    tried += more
    bad += failed
    failures = _failures(one, case, bad, session, options)
    # A place may fail twice, by itself and beside a server that is further ahead: it counts once.
    wrong = len({(place.turn, place.reason, place.client or place.server) for place, _ in bad})
    return ScenarioReport(id=one.scenario.id, places=tried, tried=tried, passed=tried - wrong, failures=failures)


def _one_by_one(
    one: _Prepared, case: Case, places: Places, numbers: Sequence[int], session: Session, options: SweepOptions
) -> ScenarioReport:
    """Play each of the places by itself."""
    cut = [places[number] for number in numbers]
    cases = [replace(case, id=f"{case.id}@{place.name}", scenario=cut_scenario(case.scenario, place)) for place in cut]
    played_all = session.run_concurrently([partial(session.play_case, made) for made in cases]) if cases else ()
    results = [_without_expected(result, case.scenario) for result in played_all]
    bad: list[_Bad] = [(place, r) for place, r in zip(cut, results, strict=True) if not r.outcome.green]
    refused = [result for result in results if result.outcome is Outcome.NOT_APPLICABLE]
    played = len(results) - len(refused)
    return ScenarioReport(
        id=one.scenario.id,
        places=len(places),
        tried=played,
        passed=played - len(bad),
        refused=len(refused),
        failures=_failures(one, case, bad, session, options),
        note=f"{counted(len(refused), 'place')} cannot be played: {refused[0].reason}" if refused else "",
    )


def _without_expected(result: Result, scenario: Scenario) -> Result:
    """Take back the findings that the scenario expects: a run that is cut has some of them, or none."""
    allowed = scenario.expect.findings or ()
    kept = tuple(f for f in result.findings if f.code != UNEXPECTED or f.message.partition(":")[0] not in allowed)
    if len(kept) == len(result.findings):
        return result
    broken = any(finding.level is Level.MUST for finding in kept)
    return replace(result, findings=kept, outcome=result.outcome if broken else Outcome.PASSED)


# ------------------------------------------------------------------------------------------------ failures


def _failures(
    one: _Prepared, case: Case, bad: Sequence[_Bad], session: Session, options: SweepOptions
) -> tuple[Failure, ...]:
    """Return one failure for each cause: its first place, and how many places showed it."""
    groups = group_by_cause(bad, lambda pair: pair[1])
    return tuple(_failure(one, case, cause, group, session, options) for cause, group in groups.items())


def _failure(
    one: _Prepared, case: Case, cause: Cause, group: Sequence[_Bad], session: Session, options: SweepOptions
) -> Failure:
    place, result = group[0]
    known = existing_id(one.scenario, place)
    if known is not None:
        where = [word for root in options.roots for word in ("--scenarios", str(root))]
        command = shlex.join(["tpharness", "run", known, *where, *options.sides])
        return Failure(id=known, cause=cause, result=result, count=len(group), command=command)
    server_side = place.server is not None or (one.places is not None and place.client is None)
    cut = cut_scenario(case.scenario if server_side else one.scenario, place)
    made = replace(case, id=cut.id, scenario=cut)
    try:
        again = session.run(session.play_case(made))
    except TargetError:
        again = None
    if result.record is None and again is not None:
        result = replace(result, record=again.record)
    saved = make_failure_file(
        cut,
        cause,
        result.findings,
        options.save,
        what=f"{one.scenario.id} cut at {place.name}",
        found_by=f"tpharness sweep, {result.id}",
        name=one.scenario.id,
        sides=options.sides,
    )
    return Failure(
        id=f"{one.scenario.id}@{place.name}",
        cause=cause,
        result=result,
        count=len(group),
        command=saved.command,
        saved=saved,
        replays=again is not None and set(cause.codes) <= set(cause_of_result(again).codes),
    )
