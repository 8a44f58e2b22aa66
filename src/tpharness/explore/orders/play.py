"""Playing a scenario in other legal orders of its events, and the law that the threads then keep.

**The law.** Whatever order parallel things take, (1) every invariant holds, and (2) the canonical thread is the one of
the scenario's own order in everything but time: parts stand in the order of their starts and returns in the order of
their calls (R11), so without the system events the threads are equal in content (R39); the system events are the same
ones, and stand where their time puts them (R25, which the validity check holds).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from tpharness.checks import Evidence
from tpharness.errors import TargetError
from tpharness.explore.orders.reduction import Orders, find_orders, reorder
from tpharness.findings import Finding, Place
from tpharness.ordinals import nth
from tpharness.printable import counted
from tpharness.protocol.compare import content_thread
from tpharness.protocol.diff import diff
from tpharness.protocol.jcs import jcs
from tpharness.protocol.versions import Version
from tpharness.run.judge import judge
from tpharness.run.plan import Case
from tpharness.run.play import play
from tpharness.run.select import SelectedScenario
from tpharness.run.session import Session
from tpharness.run.sweeps.failures import Failure, make_failure_file
from tpharness.run.sweeps.places import without_pins
from tpharness.run.sweeps.scenarios import ScenarioReport, choose_places, sweep_each
from tpharness.run.workers import THIS_PROCESS, Workers
from tpharness.scenario import AgentRun, Expectation, Scenario, load_scenario
from tpharness.targets.remote import CannotPlayError
from tpharness.verdict.causes import ORDER
from tpharness.verdict.grouping import group_by_cause
from tpharness.verdict.result import Outcome, Result

__all__ = ["OrderOptions", "play_orders"]

_KEPT = ("part_kind", "tool_name", "tool_call_id", "content", "args")
Thread = Mapping[str, Any]
_Bad = tuple[Case, Result]


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderOptions:
    """How many orders of one run are played at most, and which sample of them; the rest as in sweeps.

    `budget` is how many are played at most in all scenarios together; with None the bound alone limits them.
    """

    bound: int = 1000
    budget: int | None = None
    seed: int = 0
    save: Path = Path("tpharness-failures")
    sides: tuple[str, ...] = ()
    workers: Workers = THIS_PROCESS


def play_orders(
    selected: Sequence[SelectedScenario], session: Session, options: OrderOptions
) -> Iterator[ScenarioReport]:
    """Play each scenario in other orders; yield what was found in each. ScenarioError for one that cannot be loaded."""
    items = [_Item(selected=one) for one in selected]
    if options.budget is not None:
        found = [_prepare(one, session, options) for one in selected]
        counts = [0 if isinstance(one, ScenarioReport) else len(one.orders) for one in found]
        chosen = choose_places(counts, options.budget, options.seed)
        sample = [
            one if isinstance(one, ScenarioReport) else replace(one, orders=tuple(one.orders[n] for n in numbers))
            for one, numbers in zip(found, chosen, strict=True)
        ]
        items = [_Item(selected=one, ready=ready) for one, ready in zip(selected, sample, strict=True)]
    return sweep_each(partial(_play_scenario, options=options), items, session, options.workers)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Order:
    """One order of the events of a run: the index of its turn, the number of the order there, the events' indices."""

    turn: int
    number: int
    indices: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ready:
    """A case with the orders to play; `classes` says how many there are, `detail` more about each run."""

    case: Case
    orders: tuple[_Order, ...]
    classes: int
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Item:
    """A scenario to play; `ready` is None if its orders are still to be found."""

    selected: SelectedScenario
    ready: _Ready | ScenarioReport | None = None

    def __str__(self) -> str:
        return self.selected.id


def _prepare(one: SelectedScenario, session: Session, options: OrderOptions) -> _Ready | ScenarioReport:
    """Return what is to be played, or a report that says why nothing is."""
    scenario = load_scenario(one.path, root=one.root)
    case, reason = session.run(session.adapt(scenario))
    if reason:
        return ScenarioReport(id=scenario.id, note=f"does not apply: {reason}")
    if not scenario.runs or any(run.events is None for _, run in scenario.runs):
        return ScenarioReport(id=scenario.id, note="it has no server events to reorder")
    case = replace(case, scenario=_without_losses(case.scenario))
    found = {
        index: find_orders(run.events_before_cut, bound=options.bound, seed=options.seed)
        for index, run in case.scenario.runs
    }
    orders = tuple(
        _Order(turn=index, number=number, indices=indices)
        for index, of_run in found.items()
        for number, indices in enumerate(of_run.chosen, start=1)
    )
    if not orders:
        return ScenarioReport(id=case.id, note="no two of its events may swap")
    return _Ready(
        case=case,
        orders=orders,
        classes=sum(of_run.classes for of_run in found.values()),
        detail="; ".join(_describe(index, of_run) for index, of_run in found.items() if of_run.chosen),
    )


def _play_scenario(item: _Item, *, session: Session, options: OrderOptions) -> ScenarioReport:
    ready = item.ready or _prepare(item.selected, session, options)
    return ready if isinstance(ready, ScenarioReport) else _play_all(ready, session, options)


def _without_losses(scenario: Scenario) -> Scenario:
    """Return the scenario with streams as its events give them, and nothing lost on the way."""
    bare = without_pins(scenario)
    return replace(bare, turns=tuple(_whole_stream(t) if isinstance(t, AgentRun) else t for t in bare.turns))


def _whole_stream(run: AgentRun) -> AgentRun:
    cut = run.interrupt
    if cut is None or cut.client_after is None:
        return run
    whole = replace(cut, client_after=None, client_reason=None)
    return replace(run, interrupt=None if cut.server_after is None else whole)


def _play_all(ready: _Ready, session: Session, options: OrderOptions) -> ScenarioReport:
    case = ready.case
    tried = 0
    bad: list[_Bad] = []
    refused: list[Result] = []
    own = _own_threads(case, session) if ready.orders else {}
    for order in ready.orders:
        made = _reordered(case, order)
        result = _judge_order(made, own, session)
        if result.outcome is Outcome.NOT_APPLICABLE:
            refused.append(result)
            continue
        tried += 1
        if not result.outcome.green:
            bad.append((made, result))
    failures = tuple(_failures(case, bad, own if isinstance(own, dict) else {}, options))
    return ScenarioReport(
        id=case.id,
        places=ready.classes,
        tried=tried,
        passed=tried - len(bad),
        refused=len(refused),
        failures=failures,
        note=f"{counted(len(refused), 'order')} cannot be played: {refused[0].reason}" if refused else "",
        detail=ready.detail,
    )


def _reordered(case: Case, order: _Order) -> Case:
    """Return the case with the events of one run in this order."""
    turns = list(case.scenario.turns)
    run = dict(case.scenario.runs)[order.turn]
    before = run.events_before_cut
    turns[order.turn] = replace(run, events=(*reorder(before, order.indices), *(run.events or ())[len(before) :]))
    name = f"{case.id}@turn-{order.turn}-order-{order.number}"
    return replace(case, id=name, scenario=replace(case.scenario, id=name, turns=tuple(turns)))


def _describe(index: int, found: Orders) -> str:
    number = (
        "more interleavings than can be listed"
        if found.interleavings is None
        else counted(found.interleavings, "order")
    )
    states = f"{'more than ' if found.interleavings is None else ''}{counted(found.states, 'state')}"
    how = "each state and step once" if found.complete else f"a sample of {len(found.chosen)}"
    return f"{nth(index, 'turn')}: {number}, {states}, {how}"


# ------------------------------------------------------------------------------------------------ the law


def _own_threads(case: Case, session: Session) -> dict[Version, Thread] | TargetError:
    """Return the server's threads of the scenario's own order, or why they cannot be had."""
    try:
        evidence = session.run(play(case, session.players, thorough=False))
    except TargetError as error:
        return error
    return {piece.version: piece.server.thread for piece in evidence if piece.server is not None}


def _judge_order(case: Case, own: dict[Version, Thread] | TargetError, session: Session) -> Result:
    if isinstance(own, TargetError):
        return _without_threads(case, own)
    try:
        evidence = session.run(play(case, session.players, thorough=False))
    except TargetError as error:
        return _without_threads(case, error)
    result = judge(case.id, evidence, clauses=case.scenario.clauses)
    found = [finding for piece in evidence for finding in _differences(piece, own)]
    if not found:
        return result
    return replace(result, outcome=Outcome.FAILED, findings=(*found[:1], *result.findings))


def _without_threads(case: Case, error: TargetError) -> Result:
    """Return the result of a case that was not played; what a target cannot play does not apply, as in `run`."""
    outcome = Outcome.NOT_APPLICABLE if isinstance(error, CannotPlayError) else Outcome.ERRORED
    return Result(id=case.id, outcome=outcome, reason=str(error), clauses=case.scenario.clauses)


def _differences(piece: Evidence, own: Mapping[Version, Thread]) -> Iterator[Finding]:
    """Yield what differs from the thread of the scenario's own order though the order does not decide it."""
    wanted = own.get(piece.version)
    for side in (piece.server, piece.client):
        if side is None or wanted is None:
            continue
        events, rest = _split_events(side.thread)
        own_events, own_rest = _split_events(wanted)
        place = Place(case=piece.case, side=side.name)
        if content_thread(rest) != content_thread(own_rest):
            first = diff(own_rest, rest, names=("own order", "new order"), mode="content")[:1]
            yield ORDER.at(place, first[0].text if first else ORDER.title)
        elif events != own_events:
            yield ORDER.at(place, "the system events are not those of the scenario's own order")


def _split_events(thread: Thread) -> tuple[Counter[bytes], dict[str, Any]]:
    """Return the system events of a thread, without times and places, and the thread without them."""
    events: Counter[bytes] = Counter()
    turns = []
    for turn in thread["turns"]:
        kept = []
        for message in turn.get("messages", ()):
            if message["message_type"] == "system":
                events[jcs({k: v for k, v in message.items() if k != "timestamp"})] += 1
            else:
                kept.append(message)
        turns.append({**turn, "messages": kept} if "messages" in turn else turn)
    return events, {**thread, "turns": turns}


# ------------------------------------------------------------------------------------------------ failures


def _failures(
    case: Case, bad: Sequence[_Bad], own: Mapping[Version, Thread], options: OrderOptions
) -> Iterator[Failure]:
    for cause, group in group_by_cause(bad, lambda one: one[1]).items():
        made, result = group[0]
        saved = make_failure_file(
            replace(made.scenario, expect=_pin_own_order(made.scenario.expect, own)),
            cause,
            result.findings,
            options.save,
            what=f"{case.id} in another order of its events",
            found_by=f"tpharness sweep --orders, {made.id}",
            name=case.id,
            sides=options.sides,
        )
        yield Failure(id=made.id, cause=cause, result=result, count=len(group), command=saved.command, saved=saved)


def _pin_own_order(expect: Expectation, own: Mapping[Version, Thread]) -> Expectation:
    """Pin what the scenario's own order gives, so that the file fails by itself; events move, so not beside them."""
    still = {version: thread for version, thread in own.items() if not _split_events(thread)[0]}
    pins = {version: {"turns": [_pin_turn(t) for t in thread["turns"]]} for version, thread in still.items()}
    return replace(expect, thread=pins)


def _pin_turn(turn: Mapping[str, Any]) -> dict[str, Any]:
    if "messages" not in turn:
        return {"turn_type": turn["turn_type"]}
    messages = [
        {"message_type": m["message_type"], "parts": [{k: p[k] for k in _KEPT if k in p} for p in m["parts"]]}
        for m in turn["messages"]
    ]
    return {"turn_type": turn["turn_type"], "messages": messages}
