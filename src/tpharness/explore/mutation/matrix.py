"""The kill matrix: what all rows say together. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tpharness.clauses import load_clauses
from tpharness.explore.mutation.records import Defect, Harmless, Kill, Row
from tpharness.scenario import Scenario

__all__ = ["Matrix", "killers", "smoke"]

_MANY = 12
_OF_ALL = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """All rows of a run over `scenarios`; `elsewhere` as in `Changes`.

    `complete`: the rows are to break every MUST clause that a scenario exercises, but for those in `elsewhere`.
    `all_kills`: the rows have all their kills. Otherwise they say whether a change is found, not by which scenarios.
    """

    rows: tuple[Row, ...]
    scenarios: tuple[Scenario, ...]
    elsewhere: Mapping[str, str]
    complete: bool = False
    all_kills: bool = True

    @property
    def defects(self) -> tuple[Row, ...]:
        """The rows of defects."""
        return tuple(row for row in self.rows if isinstance(row.change, Defect))

    @property
    def survivors(self) -> tuple[Row, ...]:
        """Defects that no scenario fails."""
        return tuple(row for row in self.defects if not row.killed)

    @property
    def misjudged(self) -> tuple[Row, ...]:
        """Defects that fail, but never for a clause that they break."""
        return tuple(row for row in self.defects if row.killed and not row.right)

    @property
    def accused(self) -> tuple[Row, ...]:
        """Harmless variants that a scenario fails."""
        return tuple(row for row in self.rows if isinstance(row.change, Harmless) and row.killed)

    @property
    def idle(self) -> tuple[str, ...]:
        """Scenarios that no defect fails."""
        busy = {kill.scenario for row in self.defects for kill in row.kills}
        return tuple(one.id for one in self.scenarios if one.id not in busy)

    @property
    def blunt(self) -> tuple[str, ...]:
        """Scenarios that find only defects which more than one in ten of all scenarios find."""
        fine = [row for row in self.defects if _OF_ALL * len(row.kills) <= len(self.scenarios)]
        sharp = {kill.scenario for row in fine for kill in row.kills}
        return tuple(one.id for one in self.scenarios if one.id not in sharp and one.id not in self.idle)

    @property
    def unconfirmed(self) -> dict[str, tuple[str, ...]]:
        """Clauses that a defect claims to break and that no failure of it cites, by defect."""
        found = {row.change.name: _unconfirmed(row) for row in self.defects if row.killed}
        return {name: clauses for name, clauses in found.items() if clauses}

    @property
    def unbroken(self) -> tuple[str, ...]:
        """MUST clauses that a scenario exercises and that no defect is failed for."""
        exercised = {clause for one in self.scenarios for clause in one.clauses}
        broken = {clause for row in self.defects for clause in row.confirmed}
        return tuple(
            clause.id
            for clause in load_clauses().values()
            if clause.level == "MUST" and clause.id in exercised - broken - set(self.elsewhere)
        )

    @property
    def score(self) -> float:
        """The part of the defects that fail for a clause that they break, 0 to 1."""
        return sum(row.right for row in self.defects) / len(self.defects) if self.defects else 0.0

    @property
    def passed(self) -> bool:
        """Whether every defect fails for the right clause and nothing harmless fails, and no clause is left out."""
        wrong = self.survivors or self.misjudged or self.accused or self.unconfirmed
        return bool(self.defects) and not wrong and not (self.complete and self.unbroken)

    def as_json(self) -> dict[str, Any]:
        """Return everything that is known as plain JSON values."""
        known = {
            "passed": self.passed,
            "score": self.score,
            "defects": [_row(row) for row in self.defects],
            "harmless": [_row(row) for row in self.rows if isinstance(row.change, Harmless)],
            "survivors": [row.change.name for row in self.survivors],
            "misjudged": [row.change.name for row in self.misjudged],
            "unconfirmed": {name: list(clauses) for name, clauses in self.unconfirmed.items()},
            "unbroken": list(self.unbroken),
            "complete": self.complete,
            "elsewhere": dict(self.elsewhere),
            "all_kills": self.all_kills,
        }
        if self.all_kills:
            known |= {"smoke": list(smoke(self.defects)), "idle": list(self.idle), "blunt": list(self.blunt)}
        return known


def smoke(rows: Iterable[Row]) -> tuple[str, ...]:
    """Return a small set of scenarios that fails every defect that any fails: greedily, the most deadly one next."""
    left = {row.change.name: {kill.scenario for kill in row.kills} for row in rows if row.killed}
    chosen: list[str] = []
    while left:
        tally: dict[str, int] = {}
        for scenarios in left.values():
            for scenario in scenarios:
                tally[scenario] = tally.get(scenario, 0) + 1
        best = min(tally, key=lambda scenario: (-tally[scenario], scenario))
        chosen.append(best)
        left = {name: scenarios for name, scenarios in left.items() if best not in scenarios}
    return tuple(sorted(chosen))


def killers(row: Row, cases: Mapping[str, int]) -> tuple[str, ...]:
    """Return a few scenarios whose failures cite every clause of a defect that any failure of it cites.

    `cases` says how many cases a scenario stands for: those with many are taken last. Among the others, what a finding
    itself names counts more than what its scenario is about.
    """
    if not isinstance(row.change, Defect):
        return ()
    left = set(row.confirmed) or {*row.change.rulings}
    chosen: list[str] = []

    def worth(kill: Kill) -> tuple[bool, int, int, int, str]:
        many = cases.get(kill.scenario, 1) > _MANY
        return many, -len(left & kill.cites), -len(left & kill.named), len(kill.about), kill.scenario

    candidates = [kill for kill in row.kills if row.is_right(kill)]
    while left and candidates:
        best = min((kill for kill in candidates if left & kill.cites), key=worth, default=None)
        if best is None:
            break
        chosen.append(best.scenario)
        left -= best.cites
        candidates.remove(best)
    return tuple(sorted(chosen))


def _unconfirmed(row: Row) -> tuple[str, ...]:
    change = row.change
    return tuple(c for c in change.clauses if c not in row.confirmed) if isinstance(change, Defect) else ()


def _row(row: Row) -> dict[str, Any]:
    change = row.change
    shape: dict[str, Any] = {"name": change.name, "sentence": change.sentence, "side": change.side}
    if isinstance(change, Defect):
        shape |= {"clauses": list(change.clauses), "rulings": list(change.rulings), "right": row.right}
    first = row.kills[0] if row.kills else None
    if first is not None:
        shape["first"] = {
            "case": first.case,
            "codes": list(first.codes),
            "cites": sorted(first.cites),
            "right": row.is_right(first),
            **({"reason": first.reason} if first.reason else {}),
        }
    return {**shape, "killed_by": [kill.scenario for kill in row.kills], "seconds": round(row.seconds, 3)}
