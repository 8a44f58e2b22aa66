"""What a check of an application is: one property, evidence → findings, bound to a clause of `app-clauses.yaml`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tpharness.apps.evidence import AppEvidence, TurnSeen
from tpharness.findings import Finding, Kind, Place
from tpharness.ordinals import nth

__all__ = ["AppCheck", "at"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AppCheck:
    """A check: `name` in reports, `clause` in `conformance/app-clauses.yaml`, and the `kinds` of what it finds.

    `applies` says whether the evidence has what the check looks at; `find` looks. Pure.
    """

    name: str
    clause: str
    kinds: tuple[Kind, ...]
    find: Callable[[AppEvidence], Iterable[Finding]]
    applies: Callable[[AppEvidence], bool]


def at(turn: TurnSeen, *, request: int | None = None, what: str = "") -> Place:
    """Return the place of a finding: a turn of the user, perhaps one of its requests to the model."""
    asked = "" if request is None else f", request {request} to the model"
    return Place(side=f"{nth(turn.number - 1, 'turn')}{asked}{what and ', '}{what}")
