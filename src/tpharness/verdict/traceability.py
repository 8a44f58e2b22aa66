"""Traceability: which scenario exercised which clause, computed from the results of a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from tpharness.clauses import Clause
from tpharness.findings import Finding, Kind, Place
from tpharness.verdict.result import Outcome, Result

__all__ = ["count_as_played", "find_unexercised_clauses", "map_exercised_clauses"]

UNEXERCISED = Kind("clause-unexercised")


def map_exercised_clauses(results: Iterable[Result]) -> dict[str, tuple[str, ...]]:
    """Map each clause to the scenarios that were played to a verdict and cite it."""
    found: dict[str, dict[str, None]] = {}
    for result in results:
        if result.outcome in (Outcome.PASSED, Outcome.EXPECTED, Outcome.FAILED):
            for clause in result.clauses:
                found.setdefault(clause, {})[result.id.partition("@")[0]] = None
    return {clause: tuple(ids) for clause, ids in sorted(found.items())}


def count_as_played(result: Result) -> Result:
    """Return a result as passed, whatever its outcome: the suite has a scenario for its clauses."""
    return replace(result, outcome=Outcome.PASSED)


def find_unexercised_clauses(clauses: Mapping[str, Clause], found: Mapping[str, tuple[str, ...]]) -> list[Finding]:
    """Return a finding for each MUST clause that scenarios can exercise and none did."""
    return [
        UNEXERCISED.at(Place(pointer=clause.id), f"{clause.id}: {clause.text}")
        for clause in clauses.values()
        if clause.level == "MUST" and clause.id not in found and not clause.exercised_by
    ]
