"""Play scenarios on one change: all of them, or until its verdict is settled.

In: a change, scenarios, and how one of them is played. Out: the row. The verdict is the same either way: no scenario
takes back what the failure of another one cites, and as long as a clause is owed the next one is played, to the last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from tpharness.explore.mutation.records import Defect, Harmless, Kill, Row
from tpharness.scenario import Scenario

__all__ = ["Play", "about_of", "play_all", "play_until_settled"]

Play = Callable[[Scenario], Kill | None]
"""Plays a scenario with the change seeded; returns what failed, None if it passes."""


def about_of(scenario: Scenario) -> frozenset[str]:
    """Return the clauses and rulings that a scenario is about."""
    return frozenset((*scenario.clauses, *scenario.rulings))


def play_all(change: Defect | Harmless, scenarios: Iterable[Scenario], play: Play) -> Row:
    """Play the scenarios in their order."""
    found = [play(one) for one in scenarios]
    kills = tuple(kill for kill in found if kill is not None)
    return Row(change=change, kills=kills, played=len(found), seconds=0.0)


def play_until_settled(change: Defect | Harmless, scenarios: Iterable[Scenario], play: Play) -> Row:
    """Play the likeliest of the scenarios, again and again, until the row is settled or none is left."""
    left = {one.id: one for one in scenarios}
    row = Row(change=change, kills=(), played=0, seconds=0.0)
    while left and not row.settled:
        chosen = left.pop(_likeliest(left.values(), _owed(row)))
        kill = play(chosen)
        row = replace(row, kills=row.kills if kill is None else (*row.kills, kill), played=row.played + 1)
    return row


def _owed(row: Row) -> frozenset[str]:
    """Return the clauses that no failure cites yet; of a defect for which all are, what it breaks."""
    if isinstance(row.change, Harmless):
        return frozenset()
    return frozenset(row.change.clauses).difference(row.confirmed) or frozenset(row.change.rulings)


def _likeliest(scenarios: Iterable[Scenario], owed: frozenset[str]) -> str:
    """Return the scenario that is about most of what is owed, among these the first of those that are about the least.

    A failure cites what its scenario is about, and what is about little fails for little else.
    """

    def worth(scenario: Scenario) -> tuple[int, int]:
        about = about_of(scenario)
        return -len(owed & about), len(about)

    return min(scenarios, key=worth).id
