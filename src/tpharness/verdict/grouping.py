"""Failures grouped by what causes them, so that many cases with one mistake are read once. Pure.

In: results. Out: groups, the one first whose cause, corrected, would turn most cases green; of an application the one
first that harms its user most. Findings at SHOULD that fail nothing are grouped by their code.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from tpharness.findings import Finding, Level
from tpharness.verdict.causes import Cause, cause_of, independent_codes, leading_cause, symptom_of
from tpharness.verdict.result import Outcome, Result

__all__ = [
    "Advice",
    "Group",
    "cause_of_result",
    "group_advice",
    "group_by_cause",
    "group_failures",
    "groups_json",
    "leading_cause_of_result",
]

_T = TypeVar("_T")
_MOST_CLAUSES = 3

_HARM = (
    "app-exited",
    "chat-bricked",
    "tool-ran-unapproved",
    "half-call-ran",
    "tool-ran-twice",
    "effect-forgotten",
    "effect-denied",
)
"""What harms the user of an application most: everybody's chats end, this chat ends, something was done that nobody
wanted, or will be done again."""

NO_ANSWER = "no-answer"
"""The code of the cause that all cases of an outage have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Results that are not green, of one cause, the smallest case first; of an outage, those with which it began.

    `only` counts the cases that have no independent finding besides: those that correcting the cause turns green.
    `about` are the clauses that the scenarios of the group are about and the other scenarios of the run are not, as far
    as that can be: what is broken where no finding cites a clause.
    """

    cause: Cause
    results: tuple[Result, ...]
    about: tuple[str, ...] = ()

    @property
    def smallest(self) -> Result:
        """The case with the fewest events, of those with which an outage began if the cause is one."""
        return self.results[0]

    @property
    def harm(self) -> int:
        """The rank of the harm to an application's user, 0 for the most; one for all that is not in the list."""
        return next((n for n, code in enumerate(_HARM) if code in self.cause.codes), len(_HARM))

    @property
    def cases(self) -> int:
        """How many cases fail for this cause."""
        return sum(result.cases for result in self.results)

    @property
    def only(self) -> int:
        """How many of them fail for this cause alone."""
        return sum(result.cases for result in self.results if len(independent_codes(result.findings)) < 2)

    @property
    def clauses(self) -> tuple[str, ...]:
        """The clauses that are broken: those of the finding, or else those that the scenarios are about."""
        return self.cause.clauses or self.about


def group_by_cause(failed: Iterable[_T], result_of: Callable[[_T], Result]) -> dict[Cause, list[_T]]:
    """Return what failed by its cause, in order; a target that did not respond is a cause of its own."""
    groups: dict[Cause, list[_T]] = {}
    for one in failed:
        groups.setdefault(cause_of_result(result_of(one)), []).append(one)
    return groups


def cause_of_result(result: Result) -> Cause:
    """Return the cause of a result that is not green, of all its findings together."""
    return cause_of(result.findings) or _cause_without_finding(result)


def leading_cause_of_result(result: Result) -> Cause:
    """Return what one correction would have to repair in a result that is not green.

    What broke in the harness or could not be run is grouped by its reason: its findings are not about the target.
    """
    judged = result.outcome in (Outcome.FAILED, Outcome.STALE)
    cause = leading_cause(result.findings) if judged else None
    return cause or _cause_without_finding(result)


def _cause_without_finding(result: Result) -> Cause:
    """Return the reason as the cause, as far as cases can have the same, and for all cases of an outage the outage."""
    if result.outage is not None:
        return Cause(codes=(NO_ANSWER,), where=result.outage.what)
    return Cause(codes=(result.outcome.value,), where=symptom_of(result.symptom or result.reason))


def group_failures(results: Iterable[Result]) -> list[Group]:
    """Return what is not green among the results, by its leading cause: most harm first, then most cases."""
    results = list(results)
    failed: dict[Cause, list[Result]] = {}
    for result in results:
        if not result.outcome.green:
            failed.setdefault(leading_cause_of_result(result), []).append(result)
    cited = _count_citing(results)
    groups = [
        Group(
            cause=cause,
            results=tuple(sorted(found, key=lambda result: (not _began_outage(result), result.size, result.id))),
            about=_find_subject(found, cited),
        )
        for cause, found in failed.items()
    ]
    return sorted(groups, key=lambda group: (_is_outdated(group), group.harm, -group.only, -group.cases))


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """A finding of its smallest case, with all cases that have one of its code and do not fail for it."""

    finding: Finding
    results: tuple[Result, ...]


def group_advice(results: Iterable[Result], level: Level = Level.SHOULD) -> list[Advice]:
    """Return the findings of a level by their code, that of the most cases first; none that a baseline expects."""
    found: dict[str, list[Result]] = {}
    for result in results:
        for code in result.codes_at(level):
            found.setdefault(code, []).append(result)
    advice = []
    for code, some in found.items():
        some.sort(key=lambda result: (result.size, result.id))
        first = next(finding for finding in some[0].findings if finding.code == code)
        advice.append(Advice(finding=first, results=tuple(some)))
    return sorted(advice, key=lambda one: -len(one.results))


def _is_outdated(group: Group) -> bool:
    """Whether nothing fails: the cases of the group pass now, and the baseline still expects a failure."""
    return all(result.outcome is Outcome.STALE and not result.fails_otherwise for result in group.results)


def groups_json(groups: Sequence[Group]) -> list[dict[str, Any]]:
    """Return groups as `causes` in `conformance/schemas/report.schema.json`."""
    return [
        {
            "cause": str(group.cause),
            "codes": list(group.cause.codes),
            "clauses": list(group.clauses),
            "rulings": list(group.cause.rulings),
            "cases": group.cases,
            "only": group.only,
            "smallest": group.smallest.id,
            "ids": [result.id for result in group.results],
        }
        for group in groups
    ]


def _began_outage(result: Result) -> bool:
    return result.outage is not None and result.outage.began


def _count_citing(results: Iterable[Result]) -> Counter[str]:
    """Return how many of the scenarios cite each clause.

    The places of a sweep are one scenario, and so are a case of an application and the thread that was written in it.
    """
    scenarios: defaultdict[str, set[str]] = defaultdict(set)
    for result in results:
        scenarios[result.id.partition("@")[0]].update(result.clauses)
    return Counter(clause for clauses in scenarios.values() for clause in clauses)


def _find_subject(found: Sequence[Result], cited: Counter[str]) -> tuple[str, ...]:
    """Return the clauses that are cited by most of these results, and by few of the others."""
    here = _count_citing(found)
    ranked = sorted(here, key=lambda clause: (-(here[clause] ** 2) / cited[clause], clause))
    return tuple(ranked[:_MOST_CLAUSES])
