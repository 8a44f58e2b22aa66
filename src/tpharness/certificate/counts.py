"""The counts of the reports of a playing, by profile and by clause, with departures and unstable verdicts.

In: the JSON reports of one pair of targets, played in different orders. Out: JSON values, as `playings` of
`conformance/schemas/certificate.schema.json` has them. Certificates are made and verified
with these counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tpharness.profiles import find_profiles, load_profiles

__all__ = ["Extent", "count_reports", "find_extents", "find_unstable", "merge_extents", "verdicts"]

_TALLIES = {
    "passed": "passed",
    "expected": "departing",
    "no-part": "not_judged",
    "not-applicable": "not_judged",
}
"""Under which name a case counts by its outcome; `failed` for every other outcome."""


def count_reports(reports: Sequence[Mapping[str, Any]], unasked: Collection[str] = ()) -> dict[str, Any]:
    """Return the counts of the first report, and as `unstable` the verdicts that differ in another one.

    No case counts for the clauses that are `unasked`: what they are about, the target was not asked.
    """
    first = reports[0]["results"]
    return {
        **({"wire": reports[0]["wire"]} if "wire" in reports[0] else {}),
        "versions": list(reports[0]["versions"]),
        "counts": dict(sorted(_count(first).items())),
        "profiles": _by_profile(first),
        "clauses": _by_clause(first, unasked),
        "departures": [
            {"id": one["id"], "findings": list(_codes(one)), "reason": one["reason"]}
            for one in sorted(first, key=lambda one: str(one["id"]))
            if one["outcome"] == "expected"
        ],
        "unstable": find_unstable(reports),
        "problems": sorted({f"{p['code']}: {p['message']}" for report in reports for p in report["problems"]}),
    }


@dataclass(slots=True)
class Extent:
    """How much of a profile one playing has judged: cases, and the clauses of the profile.

    `cases` and `owed` leave out the cases in which the target has no part: nobody could judge it by them. What the
    `unasked` clauses are about it was not asked, since it does not declare that it answers: they are owed, not judged.
    """

    judged_cases: int = 0
    cases: int = 0
    judged: set[str] = field(default_factory=set)
    owed: set[str] = field(default_factory=set)
    unasked: set[str] = field(default_factory=set)


def find_extents(
    report: Mapping[str, Any], clauses: Collection[str], unasked: Collection[str] = ()
) -> dict[str, Extent]:
    """Return for each profile how much of it a report has judged; of the clauses only those that are named count."""
    known = set(clauses)
    found = {name: Extent() for name in load_profiles()}
    for one, tally in _tallied(report["results"]):
        if one["outcome"] == "no-part":
            continue
        for profile in find_profiles(one["id"], one["clauses"]):
            extent = found[profile.name]
            cited = {clause for clause in one["clauses"] if clause in known and profile.has_clause(clause)}
            extent.cases += one["cases"]
            extent.owed |= cited
            extent.unasked |= cited & {*unasked}
            if tally != "not_judged":
                extent.judged_cases += one["cases"]
                extent.judged |= cited - extent.unasked
    return found


def merge_extents(extents: Sequence[Mapping[str, Extent]]) -> dict[str, Extent]:
    """Return how much playings of one pair over several wires have judged: a clause counts that one of them judged.

    A scenario that gives a stream of one wire is about no other wire.
    """
    found = {name: Extent() for name in load_profiles()}
    for one in extents:
        for name, extent in one.items():
            whole = found[name]
            whole.judged_cases += extent.judged_cases
            whole.cases += extent.cases
            whole.judged |= extent.judged
            whole.owed |= extent.owed
            whole.unasked |= extent.unasked
    return found


def verdicts(report: Mapping[str, Any]) -> dict[str, tuple[Any, ...]]:
    """Return what must be the same in every order, by case: the outcome, how many cases it is, the codes at MUST.

    A known departure is the failure that it is, so that it is the same with and without its baseline.
    """
    return {
        one["id"]: ("failed" if one["outcome"] == "expected" else one["outcome"], one["cases"], _codes(one))
        for one in report["results"]
    }


def find_unstable(reports: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Return the ids of the cases whose verdict is not the same in all reports, with their profiles."""
    reported = [verdicts(report) for report in reports]
    clauses = {one["id"]: one["clauses"] for report in reports for one in report["results"]}
    return {
        case: [profile.name for profile in find_profiles(case, clauses[case])]
        for case in sorted(clauses)
        if len({one.get(case) for one in reported}) > 1
    }


def _codes(result: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(sorted({finding["code"] for finding in result["findings"] if finding["level"] == "must"}))


def _count(results: Sequence[Mapping[str, Any]]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for one in results:
        counts[one["outcome"]] += one["cases"]
    return counts


def _by_profile(results: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    rows = {name: _empty(fault_cases=0) for name in load_profiles()}
    for one, tally in _tallied(results):
        for profile in find_profiles(one["id"], one["clauses"]):
            rows[profile.name][tally] += one["cases"]
            if "@fault-" in one["id"] and tally != "not_judged":
                rows[profile.name]["fault_cases"] += one["cases"]
    return {name: row for name, row in rows.items() if any(row.values())}


def _by_clause(results: Sequence[Mapping[str, Any]], unasked: Collection[str]) -> dict[str, Any]:
    rows: dict[str, dict[str, int]] = {}
    for one, tally in _tallied(results):
        for clause in one["clauses"]:
            rows.setdefault(clause, _empty())["not_judged" if clause in unasked else tally] += one["cases"]
    return dict(sorted(rows.items()))


def _tallied(results: Sequence[Mapping[str, Any]]) -> Iterator[tuple[Mapping[str, Any], str]]:
    return ((one, _TALLIES.get(one["outcome"], "failed")) for one in results)


def _empty(**more: int) -> dict[str, int]:
    return {"passed": 0, "departing": 0, "failed": 0, "not_judged": 0, **more}
