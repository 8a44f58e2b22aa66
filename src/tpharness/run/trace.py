"""Traceability: which clause was exercised by which scenario, computed from what was really played."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from tpharness.clauses import Clause
from tpharness.findings import Finding, Kind, Place
from tpharness.run.judge import Outcome, Result

__all__ = ["as_if_played", "exercised", "unexercised"]

UNEXERCISED = Kind("clause-unexercised")


def exercised(results: Iterable[Result]) -> dict[str, tuple[str, ...]]:
    """Map each clause to the scenarios that were played to a verdict and cite it."""
    found: dict[str, dict[str, None]] = {}
    for result in results:
        if result.outcome in (Outcome.PASSED, Outcome.EXPECTED, Outcome.FAILED):
            for clause in result.clauses:
                found.setdefault(clause, {})[result.id.partition("@")[0]] = None
    return {clause: tuple(ids) for clause, ids in sorted(found.items())}


def as_if_played(result: Result) -> Result:
    """A clause whose scenarios do not apply to the target is not owed by the suite: it is there."""
    return replace(result, outcome=Outcome.PASSED) if result.outcome is Outcome.NOT_APPLICABLE else result


def unexercised(clauses: Mapping[str, Clause], found: Mapping[str, tuple[str, ...]]) -> list[Finding]:
    """Return a finding for each MUST clause that no scenario exercised and that scenarios can exercise."""
    return [
        UNEXERCISED.at(Place(pointer=clause.id), f"{clause.id}: {clause.text}")
        for clause in clauses.values()
        if clause.level == "MUST" and clause.id not in found and not clause.exercised_by
    ]
