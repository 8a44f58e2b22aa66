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

from tpharness.causes import ORDER
from tpharness.checks import Evidence
from tpharness.errors import TargetError
from tpharness.explore.orders.reduction import Orders, find_orders, reorder
from tpharness.findings import Finding, Place
from tpharness.printable import counted
from tpharness.protocol.compare import content_form
from tpharness.protocol.diff import diff
from tpharness.protocol.jcs import jcs
from tpharness.protocol.versions import Version
from tpharness.run.grouping import group_by_cause
from tpharness.run.judge import Outcome, Result, judge
from tpharness.run.plan import Case
from tpharness.run.play import play
from tpharness.run.select import SelectedScenario
from tpharness.run.session import Session
from tpharness.run.sweeps.failures import Failure, make_failure_file
from tpharness.run.sweeps.places import without_pins
from tpharness.run.sweeps.scenarios import ScenarioReport, sweep_each
from tpharness.run.workers import THIS_PROCESS, Workers
from tpharness.scenario import AgentRun, Expectation, Scenario, load_scenario

__all__ = ["OrderOptions", "play_orders"]

_KEPT = ("part_kind", "tool_name", "tool_call_id", "content", "args")
Thread = Mapping[str, Any]
_Bad = tuple[Case, Result]


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderOptions:
    """How many orders of one run are played at most, and which sample of them; the rest as in sweeps."""

    bound: int = 1000
    seed: int = 0
    save: Path = Path("tpharness-failures")
    sides: tuple[str, ...] = ()
    workers: Workers = THIS_PROCESS


def play_orders(
    selected: Sequence[SelectedScenario], session: Session, options: OrderOptions
) -> Iterator[ScenarioReport]:
    """Play each scenario in other orders; yield what was found in each. ScenarioError for one that cannot be loaded."""
    return sweep_each(partial(_play_scenario, options=options), selected, session, options.workers)


def _play_scenario(one: SelectedScenario, *, session: Session, options: OrderOptions) -> ScenarioReport:
    scenario = load_scenario(one.path, root=one.root)
    case, reason = session.run(session.adapt(scenario))
    if reason:
        return ScenarioReport(id=scenario.id, note=f"does not apply: {reason}")
    if not scenario.runs or any(run.events is None for _, run in scenario.runs):
        return ScenarioReport(id=scenario.id, note="it has no server events to reorder")
    return _play_all(replace(case, scenario=_without_losses(case.scenario)), session, options)


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


def _play_all(case: Case, session: Session, options: OrderOptions) -> ScenarioReport:
    total = tried = 0
    bad: list[_Bad] = []
    details = []
    own = _own_threads(case, session)
    for index, run in case.scenario.runs:
        found = find_orders(run.events_before_cut, bound=options.bound, seed=options.seed)
        if not found.chosen:
            continue
        details.append(_describe(index, found))
        total += found.classes
        for number, order in enumerate(found.chosen, start=1):
            before = run.events_before_cut
            moved = replace(run, events=(*reorder(before, order), *(run.events or ())[len(before) :]))
            turns = (*case.scenario.turns[:index], moved, *case.scenario.turns[index + 1 :])
            name = f"{case.id}@turn-{index}-order-{number}"
            made = replace(case, id=name, scenario=replace(case.scenario, id=name, turns=turns))
            tried += 1
            result = _judge_order(made, own, session)
            if not result.outcome.green:
                bad.append((made, result))
    if not total:
        return ScenarioReport(id=case.id, note="no two of its events may swap")
    failures = tuple(_failures(case, bad, own if isinstance(own, dict) else {}, options))
    return ScenarioReport(
        id=case.id, places=total, tried=tried, passed=tried - len(bad), failures=failures, detail="; ".join(details)
    )


def _describe(index: int, found: Orders) -> str:
    number = (
        "more interleavings than can be listed"
        if found.interleavings is None
        else counted(found.interleavings, "order")
    )
    states = f"{'more than ' if found.interleavings is None else ''}{counted(found.states, 'state')}"
    how = "each state and step once" if found.complete else f"a sample of {len(found.chosen)}"
    return f"turn {index}: {number}, {states}, {how}"


# ------------------------------------------------------------------------------------------------ the law


def _own_threads(case: Case, session: Session) -> dict[Version, Thread] | str:
    """Return the server's threads of the scenario's own order, or why they cannot be had."""
    try:
        evidence = session.run(play(case, session.players, thorough=False))
    except TargetError as error:
        return str(error)
    return {piece.version: piece.server.thread for piece in evidence if piece.server is not None}


def _judge_order(case: Case, own: dict[Version, Thread] | str, session: Session) -> Result:
    if isinstance(own, str):
        return Result(id=case.id, outcome=Outcome.ERRORED, reason=own, clauses=case.scenario.clauses)
    try:
        evidence = session.run(play(case, session.players, thorough=False))
    except TargetError as error:
        return Result(id=case.id, outcome=Outcome.ERRORED, reason=str(error), clauses=case.scenario.clauses)
    result = judge(case.id, evidence, clauses=case.scenario.clauses)
    found = [finding for piece in evidence for finding in _differences(piece, own)]
    if not found:
        return result
    return replace(result, outcome=Outcome.FAILED, findings=(*found[:1], *result.findings))


def _differences(piece: Evidence, own: Mapping[Version, Thread]) -> Iterator[Finding]:
    """Yield what differs from the thread of the scenario's own order though the order does not decide it."""
    wanted = own.get(piece.version)
    for side in (piece.server, piece.client):
        if side is None or wanted is None:
            continue
        events, rest = _split_events(side.thread)
        own_events, own_rest = _split_events(wanted)
        place = Place(case=piece.case, side=side.name)
        if content_form(rest) != content_form(own_rest):
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
