"""Play scenarios on one change until its verdict is settled, those first that most likely settle it.

In: the row of a change, scenarios, and how one of them is played. Out: the row. Its verdict is the one that all of the
scenarios would give: no scenario withdraws what the failure of another one cites, and they are played until no clause
is owed or none of them is left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from tpharness.explore.mutation.records import Harmless, Kill, Row
from tpharness.scenario import Scenario

__all__ = ["Play", "about_of", "play_until_settled"]

Play = Callable[[Scenario], Kill | None]
"""Plays a scenario with the change seeded; returns what failed, None if it passes."""


def about_of(scenario: Scenario) -> frozenset[str]:
    """Return the clauses and rulings that a scenario is about."""
    return frozenset((*scenario.clauses, *scenario.rulings))


def play_until_settled(row: Row, left: dict[str, Scenario], play: Play, many: int) -> Row:
    """Go on with a row: take the likeliest scenario out of what is `left` and play it, until so `many` are played.

    It ends before that when the row is settled or nothing is left.
    """
    while left and row.played < many and not row.settled:
        kill = play(left.pop(_likeliest(left.values(), _owed(row))))
        row = replace(row, kills=row.kills if kill is None else (*row.kills, kill), played=row.played + 1)
    return row


def _owed(row: Row) -> frozenset[str]:
    """Return the clauses that no failure cites yet; of a defect that breaks none, its rulings."""
    if isinstance(row.change, Harmless):
        return frozenset()
    return frozenset(row.change.clauses).difference(row.confirmed) or frozenset(row.change.rulings)


def _likeliest(scenarios: Iterable[Scenario], owed: frozenset[str]) -> str:
    """Return the scenario that cites most of what is owed and, among these, the fewest clauses and rulings in all.

    A failure cites what its scenario cites, and a scenario that cites little rarely fails for another reason.
    """

    def worth(scenario: Scenario) -> tuple[int, int]:
        about = about_of(scenario)
        return -len(owed & about), len(about)

    return min(scenarios, key=worth).id
