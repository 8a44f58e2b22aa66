"""The id of a case → the case: a whole scenario, or the scenario cut at one place of its sweep."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import replace

from tpharness.errors import UsageError
from tpharness.protocol.versions import Version
from tpharness.run.plan import Case, SweepPlace, base_case, cut_case, cut_time, make_script, place_name
from tpharness.scenario import AgentRun, ClientCut, CutAt, CutUnit, Interrupt, Scenario, WireEnd
from tpharness.targets import Reference

__all__ = ["case_of"]

_COUNT = re.compile(r"(?:event|byte)-(\d{1,12})")


def case_of(scenario: Scenario, name: str, versions: Sequence[Version]) -> Case:
    """Return the case with an id such as `theme/name`, `theme/name@event-12` or `theme/name@byte-340`.

    UsageError for a place that the scenario's sweep does not have.
    """
    base = base_case(scenario, versions)
    _, at, place = name.partition("@")
    if not at or "*" in place:
        return base
    found = _COUNT.search(place)
    plan = scenario.cut
    if plan is None:
        raise UsageError(f"{scenario.id} has no sweep, so it has no place {place!r}", hint=f"replay {scenario.id}")
    runs = [(i, run) for i, run in scenario.runs if plan.turn in (None, i)]
    for index, run in runs if found else ():
        for reason in plan.reasons:
            count = int(found[1]) if found else 0
            if place_name(scenario, index, reason, count) == name:
                whole = _without_end(base, index, run)
                if plan.at is CutAt.EVERY_BYTE:
                    return _byte_case(whole, SweepPlace(id=name, turn=index, count=count, reason=reason))
                _within(name, count, len(run.events or ()), "events")
                return cut_case(whole, SweepPlace(id=name, turn=index, count=count, reason=reason))
    first = place_name(scenario, runs[0][0], plan.reasons[0], 0)
    raise UsageError(f"{scenario.id} has no place {place!r}", hint=f"its places are called {first} and so on")


def _without_end(case: Case, index: int, run: AgentRun) -> Case:
    """Remove a run's own interruption and stream: a sweep cuts the whole stream that the server's events give."""
    turns = (*case.scenario.turns[:index], replace(run, interrupt=None, wire=None))
    return replace(case, scenario=replace(case.scenario, turns=turns))


def _byte_case(case: Case, place: SweepPlace) -> Case:
    """Cut the client's stream after some bytes, and the server after the event to which the next byte belongs."""
    scenario = case.scenario
    run = scenario.turns[place.turn]
    if not isinstance(run, AgentRun):
        raise TypeError(f"turn {place.turn} of {scenario.id} is not a run")
    packets = asyncio.run(Reference().serve(make_script(case))).streams[-1][:-1]  # the last one only ends the stream
    _within(place.id, place.count, sum(len(packet.data) for packet in packets), "bytes")
    events, left = 0, place.count
    for events, packet in enumerate(packets):  # noqa: B007  # how many events are played
        if left < len(packet.data):
            break
        left -= len(packet.data)
    interrupt = Interrupt(
        reason=place.reason,
        at=cut_time(run, events),
        wire=WireEnd.CUT,
        server_after=events,
        client_after=ClientCut(unit=CutUnit.BYTE, count=place.count),
        client_reason=place.reason,
    )
    turns = (*scenario.turns[: place.turn], replace(run, interrupt=interrupt))
    return replace(case, id=place.id, scenario=replace(scenario, id=place.id, turns=turns, cut=None))


def _within(name: str, count: int, most: int, what: str) -> None:
    if count > most:
        raise UsageError(f"there is no {name}: the run has {most} {what}", hint=f"name a place from 0 to {most}")
