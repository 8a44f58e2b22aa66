"""Requirement sets: which clauses "conforms to 0.0.4 (set 2026-11)" means, frozen by version of ThreadProtocol.

In: `conformance/requirements/VERSION.yaml`, the clauses, and what was counted. Out: how a target fares by the newest
set, and which clauses at MUST are new since. `scripts/requirements.py` freezes a set; none is ever changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from tpharness.clauses import load_clauses
from tpharness.protocol.versions import Version, newest_version, parse_version
from tpharness.resources import conformance_dir
from tpharness.suite_yaml import load_suite_yaml

__all__ = [
    "Erratum",
    "RequirementSet",
    "find_set",
    "judge_requirements",
    "load_requirements",
    "new_since",
    "relaxed_since",
    "required_now",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Erratum:
    """A clause of a set that a ruling has relaxed since; `now` says what it asks for."""

    clause: str
    ruling: str
    sentence: str
    now: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RequirementSet:
    """The ids of the clauses at MUST that a version of ThreadProtocol had when the set was frozen, in order.

    `errata` are clauses of it that ask for less since, each with the ruling, and the sentence that decides.
    """

    version: str
    name: str
    clauses: tuple[str, ...]
    errata: tuple[Erratum, ...] = ()

    def __str__(self) -> str:
        return f"{self.version} (set {self.name})"

    @property
    def new_since(self) -> tuple[str, ...]:
        """The clauses at MUST that this installation has beyond the set."""
        return tuple(sorted(set(required_now(self.version)) - set(self.clauses)))


@cache
def load_requirements(version: str = "") -> tuple[RequirementSet, ...]:
    """Return the sets of a version of ThreadProtocol, the newest last; of the newest version if none is named."""
    version = version or newest_version(tuple(Version)).value
    file = conformance_dir() / "requirements" / f"{parse_version(version).value}.yaml"
    if not file.exists():
        return ()
    raw = load_suite_yaml(file)
    return tuple(
        RequirementSet(
            version=raw["version"],
            name=one["set"],
            clauses=tuple(one["clauses"]),
            errata=tuple(Erratum(**item) for item in one.get("errata", ())),
        )
        for one in raw["sets"]
    )


def required_now(version: str) -> tuple[str, ...]:
    """Return the ids of the clauses at MUST that hold for a version in this installation, sorted."""
    return tuple(sorted(c.id for c in load_clauses().values() if c.level == "MUST" and version in c.versions))


def new_since(requirements: Mapping[str, Any]) -> list[str]:
    """Return a line on what this installation requires beyond the set of a certificate; none if nothing is new."""
    wanted = find_set(requirements)
    if wanted is None:
        return [f"set {requirements['set']} of {requirements['version']} is not known to this installation"]
    if not wanted.new_since:
        return []
    return [f"new since {wanted}, and not part of it: {', '.join(wanted.new_since)}"]


def relaxed_since(requirements: Mapping[str, Any]) -> list[str]:
    """Return a line on each clause of the set of a certificate that asks for less since."""
    wanted = find_set(requirements)
    errata = () if wanted is None else wanted.errata
    return [f'relaxed since {wanted}: {one.clause} by {one.ruling} ("{one.sentence}"): {one.now}' for one in errata]


def find_set(requirements: Mapping[str, Any]) -> RequirementSet | None:
    """Return the set that a certificate names, None if this installation does not have it."""
    sets = load_requirements(requirements["version"])
    return next((one for one in sets if one.name == requirements["set"]), None)


def judge_requirements(wanted: RequirementSet, playings: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return how the playings fare by a set: clauses whose cases all passed, that failed, and that were not judged."""
    passed, failed = set(), set()
    for playing in playings:
        for clause, row in playing["clauses"].items():
            if row["failed"] or row["departing"]:
                failed.add(clause)
            elif row["passed"]:
                passed.add(clause)
    known = set(wanted.clauses)
    return {
        "version": wanted.version,
        "set": wanted.name,
        "passed": sorted(known & (passed - failed)),
        "failed": sorted(known & failed),
        "not_judged": sorted(known - passed - failed),
        "new": list(wanted.new_since),
    }
