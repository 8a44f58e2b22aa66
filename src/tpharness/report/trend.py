"""A peer at several releases: which differences came and went between neighbours.

In: for each release, the report of the same run, or why there is none. Out: a JSON value by
`conformance/schemas/trend.schema.json`, and lines for people. A difference is what failed cases share: the leading
cause. It *came* for a case that passed at the release before and fails now, and *went* for one that failed and passes
now; a case that is not judged at one of the two is in neither. A failure that a baseline expects is a failure here:
only one release has a baseline.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from itertools import pairwise
from typing import Any

from tpharness.printable import counted
from tpharness.report.summary import Report
from tpharness.verdict import Outcome, Result
from tpharness.verdict.grouping import group_failures

__all__ = ["PlayedRelease", "trend_json", "trend_lines"]

FORMAT = "tpharness-trend/1"
_SHOWN_CASES = 2
_SHOWN_CHANGES = 8
_NOT_JUDGED = frozenset((Outcome.NOT_APPLICABLE, Outcome.NO_PART, Outcome.COULD_NOT_RUN, Outcome.ERRORED))
_HEAD = ("release", "target", "passed", "differing", "causes", "not judged")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayedRelease:
    """One release: its number as it was asked for, and the report of its run, or why it could not be played."""

    release: str
    target: str = ""
    report: Report | None = None
    error: str = ""


def trend_json(
    peer: str,
    role: str,
    other: str,
    played: Sequence[PlayedRelease],
    *,
    known: Mapping[str, str],
    ids: Sequence[str] = (),
) -> dict[str, Any]:
    """Return the document. `other` played the other side; `known` names known differences by case."""
    rows = [one for one in played if one.report is not None]
    return {
        "format": FORMAT,
        "tpharness": version("tpharness"),
        "peer": peer,
        "role": role,
        "other": other,
        "ids": list(ids),
        "releases": [_release_json(one) for one in played],
        "changes": [_change_json(old, new, known) for old, new in pairwise(rows)],
    }


def trend_lines(trend: Mapping[str, Any]) -> Iterator[str]:
    """Yield the table of the releases, and below it what came and went between neighbours."""
    rows = [_HEAD, *(_row(one) for one in trend["releases"])]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEAD))]
    for row in rows:
        cells = [
            cell.ljust(width) if column < 2 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield "  ".join(cells).rstrip()
    for one in trend["releases"]:
        if one["error"]:
            yield f"{one['release']} could not be played: {one['error']}"
    for change in trend["changes"]:
        yield ""
        counts = f"{_count(change['went'])} went, {_count(change['came'])} came, {change['otherwise']} differ at both"
        yield f"{change['from']} → {change['to']}: {counts}"
        for word in ("went", "came"):
            yield from _change_lines(word, change[word])


def _change_lines(word: str, groups: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for group in groups[:_SHOWN_CHANGES]:
        named = ", ".join(f"{name} {count}" for name, count in group["known"].items())
        yield f"  {word:<4} {len(group['cases']):>4}  {group['cause']}{f' ({named})' if named else ''}"
        more = len(group["cases"]) - _SHOWN_CASES
        yield f"             {', '.join(group['cases'][:_SHOWN_CASES])}{f', and {more} more' if more > 0 else ''}"
    if len(groups) > _SHOWN_CHANGES:
        yield f"             and {counted(len(groups) - _SHOWN_CHANGES, 'more cause')}: -o trend.json has all of them"


def _count(groups: Sequence[Mapping[str, Any]]) -> str:
    cases = sum(len(group["cases"]) for group in groups)
    return "one case" if cases == 1 else f"{cases} cases"


def _row(one: Mapping[str, Any]) -> tuple[str, ...]:
    if one["error"]:
        return (one["release"], "not played", "–", "–", "–", "–")
    counts = one["counts"]
    skipped = sum(counts.get(outcome.value, 0) for outcome in _NOT_JUDGED)
    numbers = (counts.get("passed", 0), one["departing"], len(one["departures"]), skipped)
    return (one["release"], one["target"], *map(str, numbers))


def _release_json(one: PlayedRelease) -> dict[str, Any]:
    report = one.report
    if report is None:
        return {
            "release": one.release,
            "target": "",
            "counts": {},
            "departing": 0,
            "departures": [],
            "error": one.error,
        }
    groups = group_failures(_as_judged(report))
    return {
        "release": one.release,
        "target": one.target,
        "counts": {outcome.value: count for outcome, count in report.counts.items()},
        "departing": sum(group.cases for group in groups),
        "departures": [
            _group_json(str(group.cause), group.cause.codes, group.clauses, [result.id for result in group.results], {})
            for group in groups
        ],
        "error": "",
    }


def _change_json(old: PlayedRelease, new: PlayedRelease, known: Mapping[str, str]) -> dict[str, Any]:
    before, after = _Verdicts(old.report), _Verdicts(new.report)
    return {
        "from": old.release,
        "to": new.release,
        "came": _moved(after, before, known),
        "went": _moved(before, after, known),
        "otherwise": sum(1 for case in after.failing if case in before.failing),
    }


def _moved(failed: _Verdicts, passed: _Verdicts, known: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return what fails on the one side and passes on the other, by its cause on the side where it fails."""
    moved = [result for result in failed.failing.values() if passed.passes(result.id)]
    found = []
    for group in group_failures(moved):
        cases = [result.id for result in group.results]
        names = sorted(known[case] for case in cases if known.get(case))
        counts = {name: names.count(name) for name in dict.fromkeys(names)}
        found.append(_group_json(str(group.cause), group.cause.codes, group.clauses, cases, counts))
    return found


def _group_json(
    cause: str, codes: Sequence[str], clauses: Sequence[str], cases: Sequence[str], known: Mapping[str, int]
) -> dict[str, Any]:
    return {"cause": cause, "codes": list(codes), "clauses": list(clauses), "cases": list(cases), "known": dict(known)}


class _Verdicts:
    """The results of a run by their ids; the places of a sweep that passed are one result."""

    def __init__(self, report: Report | None) -> None:
        results = _as_judged(report) if report is not None else []
        self.failing: dict[str, Result] = {result.id: result for result in results if not result.outcome.green}
        self._others = {result.id: result.outcome for result in results if result.outcome.green}
        self._swept = {name.partition("@")[0] for name, outcome in self._others.items() if _is_sweep(name, outcome)}

    def passes(self, case: str) -> bool:
        """Whether a case was played and passed."""
        if case in self._others:
            return self._others[case] is Outcome.PASSED
        return "@" in case and case not in self.failing and case.partition("@")[0] in self._swept


def _as_judged(report: Report) -> list[Result]:
    """Return the results as they were before a baseline expected some of them, without those that were not judged.

    What could not run, or broke in the harness, says nothing about the target.
    """
    return [
        replace(one, outcome=Outcome.FAILED) if one.outcome is Outcome.EXPECTED else one
        for one in report.results
        if one.outcome not in _NOT_JUDGED
    ]


def _is_sweep(name: str, outcome: Outcome) -> bool:
    return "@" in name and name.endswith("*") and outcome is Outcome.PASSED
