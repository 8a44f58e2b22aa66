"""What a certificate plays: every scenario of the profiles, with their faults, in three orders.

A target must not know that it is being certified. So the first order is what `tpharness run` plays, several cases at
once where the target can, and the others are what `--order random` plays, with seeds that nobody knows before. One
that behaves otherwise when its cases are shuffled has not the same verdict in every order.

In: targets, profiles, a baseline. Out: the options of each run, and how many results a complete report has at least.
Recordings of other software that are known to be wrong are not played: what they show is not the target's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from tpharness.profiles import load_profiles
from tpharness.resources import scenarios_dir
from tpharness.run.baselines import load_baseline
from tpharness.run.options import RunOptions
from tpharness.run.order import Order
from tpharness.run.plan import cut_places
from tpharness.run.select import SelectedScenario, select_scenarios
from tpharness.run.selection import choose_scenarios, strike
from tpharness.scenario import load_scenario
from tpharness.scenario.records import CutAt
from tpharness.verdict.baseline import fault_name
from tpharness.wires.registry import DEFAULT_WIRE

__all__ = ["ORDERS", "find_left_out", "plan_playing"]

ORDERS = 3
_NOT_PLAYED = ("no-part", "not-applicable", "errored", "could-not-run")
"""Outcomes of a whole scenario that stand for all of its places and faults."""


def plan_playing(
    *,
    server: str = "reference",
    client: str = "reference",
    profiles: Sequence[str] = (),
    baseline: Path | None = None,
    wire: str = DEFAULT_WIRE,
) -> list[RunOptions]:
    """Return the options of the runs on one pair over a wire, one for each order; without `profiles` all are played."""
    return [
        RunOptions(
            ids=_ids(),
            server=server,
            client=client,
            baseline=baseline,
            profiles=tuple(profiles or load_profiles()),
            order=order,
            wire=wire,
        )
        for order in (None, *(Order.parse("random") for _ in range(ORDERS - 1)))
    ]


def find_left_out(report: Mapping[str, Any], profiles: Sequence[str]) -> Iterator[str]:
    """Yield the ids of the cases that a report of these profiles should have and does not have.

    Of a sweep at every byte only one place is asked for: how many bytes there are depends on the server.
    """
    results = {one["id"]: one["outcome"] for one in report["results"]}
    places: Counter[str] = Counter()
    for one in report["results"]:
        scenario, at, place = one["id"].partition("@")
        if at and not place.startswith("fault-"):
            places[scenario] += one["cases"]
    for one, wanted in _expected(tuple(profiles)):
        if results.get(one.id) in _NOT_PLAYED:
            continue
        if one.faults:
            yield from (name for name in (fault_name(one.id, fault) for fault in one.faults) if name not in results)
            continue
        if one.id not in results:
            yield one.id
        if places[one.id] < wanted:
            yield f"{one.id}@* ({wanted - places[one.id]} of {wanted} places)"


@cache
def _ids() -> tuple[str, ...]:
    known_wrong = load_baseline().entries
    return tuple(one.id for one in select_scenarios((), (scenarios_dir(),)) if one.id not in known_wrong)


@cache
def _expected(profiles: tuple[str, ...]) -> tuple[tuple[SelectedScenario, int], ...]:
    """Return what is played, each with the least number of places of its sweep."""
    options = plan_playing(profiles=profiles)[0]
    return tuple((one, 0 if one.faults else _count_places(one)) for one in strike(choose_scenarios(options), options))


def _count_places(one: SelectedScenario) -> int:
    scenario = load_scenario(one.path, root=one.root)
    if scenario.cut is None:
        return 0
    return len(list(cut_places(scenario))) if scenario.cut.at is CutAt.EVERY_EVENT else 1
