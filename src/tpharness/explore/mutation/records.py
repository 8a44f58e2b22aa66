"""What a seeded defect is, and which scenarios found it.

A defect is one small change of the reference that makes it wrong in one way, as implementations in the wild are wrong.
A harmless variant is one that changes what no rule speaks about. A suite that bites fails every defect, each for a
clause that it breaks, and passes every harmless variant.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Literal

__all__ = ["Defect", "Harmless", "Kill", "Row", "Seed", "Side"]

Side = Literal["server", "client", "both"]
Seed = Callable[[], AbstractContextManager[Any]]
"""Makes the context for the duration of which the reference is changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Defect:
    """One wrong implementation.

    `name` is kebab-case; `sentence` says in a user's words what it does; `clauses` and `rulings` are those it breaks.
    """

    name: str
    sentence: str
    side: Side
    clauses: tuple[str, ...]
    rulings: tuple[str, ...] = ()
    seed: Seed


@dataclass(frozen=True, slots=True, kw_only=True)
class Harmless:
    """One implementation that differs where it may: every scenario passes with it."""

    name: str
    sentence: str
    side: Side
    seed: Seed


@dataclass(frozen=True, slots=True, kw_only=True)
class Kill:
    """One scenario that does not pass with a change seeded.

    `case` is the first of its cases that failed, `codes` are those of all its findings at MUST. `named` are the clauses
    and rulings that the findings themselves cite, `about` those of the scenario, which a reader is sent to when a
    finding says no more than that something differs.
    """

    scenario: str
    case: str
    codes: tuple[str, ...]
    named: frozenset[str]
    about: frozenset[str]
    reason: str = ""

    @property
    def cites(self) -> frozenset[str]:
        """Everything that the failure cites."""
        return self.named | self.about if self.codes else frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What the scenarios that were played made of one change.

    `kills` are in the order of playing, `played` counts scenarios, `seconds` is wall time.
    """

    change: Defect | Harmless
    kills: tuple[Kill, ...]
    played: int
    seconds: float

    @property
    def killed(self) -> bool:
        """Whether any scenario failed."""
        return bool(self.kills)

    @property
    def confirmed(self) -> tuple[str, ...]:
        """Those of the defect's clauses that a failure cites."""
        if isinstance(self.change, Harmless):
            return ()
        cited = frozenset[str]().union(*(kill.cites for kill in self.kills))
        return tuple(clause for clause in self.change.clauses if clause in cited)

    @property
    def right(self) -> bool:
        """Whether some failure cites a clause or a ruling that the defect breaks."""
        return any(self.is_right(kill) for kill in self.kills)

    @property
    def settled(self) -> bool:
        """Whether no further failure can alter the verdict: each clause is confirmed, or what is harmless failed."""
        if isinstance(self.change, Harmless):
            return self.killed
        return self.right and len(self.confirmed) == len(self.change.clauses)

    def is_right(self, kill: Kill) -> bool:
        """Whether one failure cites a clause or a ruling that the defect breaks."""
        change = self.change
        return isinstance(change, Defect) and bool(kill.cites & {*change.clauses, *change.rulings})
