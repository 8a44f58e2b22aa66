"""The id of a case → the case: a whole scenario, or the scenario cut at one place of its sweep."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from tpharness.errors import UsageError
from tpharness.protocol.versions import Version
from tpharness.run.applicable import narrow_sweep
from tpharness.run.plan import Case, SweepPlace, base_case, cut_case, cut_places, make_script, place_name
from tpharness.run.play import Players
from tpharness.scenario import CutAt, CutPlan, Scenario
from tpharness.targets.contract import ServerTarget

__all__ = ["case_of", "cases_of", "packet_sizes"]


def case_of(scenario: Scenario, name: str, versions: Sequence[Version], players: Players, *, wire: str = "vsp") -> Case:
    """Return the case with an id such as `theme/name`, `theme/name@event-12` or `theme/name@byte-340`, over a wire.

    UsageError for a place that the scenario's sweep does not have on these players.
    """
    (case,) = cases_of(scenario, [name], versions, players, wire=wire)
    return case


def cases_of(
    scenario: Scenario, names: Sequence[str], versions: Sequence[Version], players: Players, *, wire: str = "vsp"
) -> list[Case]:
    """Return the cases of one scenario with these ids, as `case_of`; a sweep over bytes is played once for all."""
    narrowed = narrow_sweep(scenario, players)
    base, plan = replace(base_case(narrowed, versions), wire=wire), narrowed.cut
    wanted = {name: at for name in names if (at := name.partition("@")[2]) and "*" not in at}
    if not wanted:
        return [base for _ in names]
    if plan is None:
        raise UsageError(
            f"{scenario.id} has no sweep, so it has no place {next(iter(wanted.values()))!r}",
            hint=f"name it without one: {scenario.id}",
        )
    bytewise = plan.at is CutAt.EVERY_BYTE
    places = {one.id: one for one in (_byte_places(base, plan, players.server) if bytewise else cut_places(narrowed))}
    for name, at in wanted.items():
        if name not in places:
            why = "" if plan == scenario.cut else "; targets that cannot be stepped are cut after events, not at bytes"
            raise UsageError(f"{scenario.id} has no place {at!r}{why}", hint=f"it has {_ranges(places.values())}")
    return [cut_case(base, places[name]) if name in wanted else base for name in names]


def _ranges(places: Iterable[SweepPlace]) -> str:
    """Return the first and the last id of the places of each run, for each reason."""
    runs = [[one.id for one in some] for _, some in groupby(places, lambda place: (place.turn, place.reason))]
    return ", ".join(f"{some[0]} to {some[-1]}" for some in runs)


def _byte_places(case: Case, plan: CutPlan, server: ServerTarget) -> Iterator[SweepPlace]:
    """Yield the places of a sweep at each byte: the server has played the event to which the next byte belongs.

    After the last byte both sides have everything.
    """
    for (index, _), sizes in zip(case.scenario.runs, asyncio.run(packet_sizes(case, server)), strict=True):
        played = [event for event, size in enumerate(sizes) for _ in range(size)]
        for reason in plan.reasons if plan.turn in (None, index) else ():
            for byte, count in enumerate((*played, len(sizes) - 1)):
                name = place_name(case.scenario, index, reason, byte)
                within = byte if byte < len(played) else None
                yield SweepPlace(id=name, turn=index, count=count, reason=reason, byte=within)


async def packet_sizes(case: Case, server: ServerTarget) -> list[list[int]]:
    """Return for each run the bytes that each event puts on the wire when it is played whole, the opening first."""
    sizes = []
    for index, run in case.scenario.runs:
        turns = (*case.scenario.turns[:index], replace(run, interrupt=None))
        whole = replace(case, scenario=replace(case.scenario, turns=turns))
        served = await server.serve(make_script(whole))
        sizes.append([len(packet.data) for packet in served.streams[-1][:-1]])  # the last one only ends the stream
    return sizes
