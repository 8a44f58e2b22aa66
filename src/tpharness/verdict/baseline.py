"""Baselines: cases that are known to fail for one implementation, each with the reason.

A known failure has to fail, and with the findings that the baseline names. If it passes, has other findings, or matches
no case, the run fails, so that a baseline cannot become stale unnoticed. An entry may also name a pattern of ids, or a
cause: it explains every failure that fits, and one at least has to fit. What a run has not played, by its options or
because it could not, says nothing of an entry. When both the server and the client have a baseline, an entry of either
explains a failure, but is allowed to pass.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from tpharness import faults as wire_faults
from tpharness import verdict
from tpharness.findings import Finding, Kind, Place
from tpharness.verdict.result import Outcome, Result

__all__ = ["OUTDATED", "Baseline", "BaselineEntry", "fault_name"]

STALE = Kind("baseline-stale")
UNMATCHED = Kind("baseline-unmatched")
OUTDATED = (STALE, UNMATCHED)
"""What is wrong with an entry that explains nothing any more. The place of the finding has the name of the entry."""

_JUDGED = (Outcome.PASSED, Outcome.FAILED, Outcome.EXPECTED, Outcome.STALE)
"""The outcomes of cases that were judged."""
_PLACE = re.compile(r"([^@]+)@(?:turn-\d+-)?(event|byte)-(\d+)(?::.+)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineEntry:
    """One known failure: the case, the codes of its findings, the clauses and the reason in words.

    Every code that fails the case has to be named; one at SHOULD may be, and then has to be found as well.

    `id` may be a pattern with `*`; `cause` is the cause of the failures, as reports have it. Either may be empty then.
    """

    id: str
    findings: frozenset[str]
    clauses: tuple[str, ...]
    reason: str
    rulings: tuple[str, ...] = ()
    departure: str = ""
    """The name of the departure that the case shows, where a baseline groups its cases."""
    rules: tuple[str, ...] = ()
    """The rules of model APIs that a history breaks, such as `A5`."""
    may_pass: bool = False
    """Whether the case may also pass, or have only some of the findings.

    Another client may accept what a recorded stream gets wrong, and so may a run that judges less of it.
    """
    cause: str = ""
    line: int = 0
    """The line of the file on which the entry begins, 0 where that is not known."""

    @property
    def many(self) -> bool:
        """Whether the entry may explain several cases, and cases that it fits may also pass."""
        return bool(self.cause) or "*" in self.id

    @property
    def name(self) -> str:
        """What a finding calls the entry: its id, its cause, or both."""
        return f"{self.cause} in {self.id}" if self.cause and self.id else self.cause or self.id

    def fits(self, case: str) -> bool:
        """Whether an entry for many cases may explain the case with this id."""
        return fnmatchcase(case, self.id or "*")

    def names(self, result: Result) -> bool:
        """Whether the case has just what the entry says: all that fails it is named, and all that is named is found."""
        found = {finding.code for finding in result.findings}
        return result.failing_codes <= self.findings <= found

    def explains(self, result: Result) -> bool:
        """Whether an entry for many cases explains a failure, or a finding at SHOULD that it names."""
        judged = (Outcome.FAILED, Outcome.EXPECTED, *((Outcome.PASSED,) if self.findings else ()))
        if result.outcome not in judged or not self.fits(result.id):
            return False
        if self.findings and not self.names(result):
            return False
        cause = verdict.leading_cause(result.findings)
        return not self.cause or (cause is not None and cause.is_called(self.cause))


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """Known failures by case id.

    If `strict`, each case has to fail with exactly the findings of its entry; otherwise it may also pass.
    """

    entries: Mapping[str, BaselineEntry]
    path: str = ""
    strict: bool = True
    many: tuple[BaselineEntry, ...] = ()
    """Entries with a pattern or a cause, which explain what no entry of a case does."""

    def apply(self, result: Result) -> Result:
        """Return the result with the outcome that the baseline gives it: expected, stale, or as it was."""
        base, fault, _ = result.id.partition("@fault-")
        entry = self.entries.get(result.id)
        if entry is None and fault:  # a fault that loses nothing leaves a known failure as it was
            entry = self.entries.get(base)
            if result.outcome is not Outcome.FAILED or (entry is not None and result.failing_codes != entry.findings):
                return result
        if entry is None:
            entry = next((one for one in self.many if one.explains(result)), None)
            return result if entry is None else replace(result, outcome=Outcome.EXPECTED, reason=entry.reason)
        if result.outcome not in _JUDGED:
            return result
        if not self.strict:
            failed = result.outcome is Outcome.FAILED
            return replace(result, outcome=Outcome.EXPECTED, reason=entry.reason) if failed else result
        if entry.may_pass and result.outcome is Outcome.PASSED:
            return result
        known = result.failing_codes <= entry.findings if entry.may_pass else entry.names(result)
        if result.outcome in (Outcome.FAILED, Outcome.PASSED) and known:
            return replace(result, outcome=Outcome.EXPECTED, reason=entry.reason)
        if entry.may_pass:  # it has failed in ways of its own, which are what its author wants to read
            return result
        got = result.failing_codes | entry.findings.intersection(finding.code for finding in result.findings)
        finding = self._describe_stale(entry, ", ".join(sorted(got)) or result.outcome.value)
        # What fails now comes first: that the entry is outdated follows from it, and its reason is not that of the new.
        reason = result.reason if result.failing_codes else entry.reason
        return replace(result, outcome=Outcome.STALE, findings=(*result.findings, finding), reason=reason)

    def _describe_stale(self, entry: BaselineEntry, got: str) -> Finding:
        place = Place(case=entry.id, file=self.path, line=entry.line or None)
        expected = ", ".join(sorted(entry.findings))
        if got == Outcome.PASSED.value:
            message = "the baseline expects this case to fail, and it has passed"
            return STALE.at(place, message, got=got, expected=expected, advice="take the entry out of the baseline")
        advice = "find out what else broke; where this is to stay, correct the entry, or let --write-baseline do it"
        return STALE.at(place, got=got, expected=expected, advice=advice)

    def find_outdated(
        self, played: Iterable[Result], *, complete: bool = True, elsewhere: Iterable[str] = ()
    ) -> list[Finding]:
        """Return a finding for each entry that explains nothing, where `apply` has not found that itself.

        The entry of a place is judged where its scenario was played, with all of its places. What fits no case, and
        patterns and causes, are judged only if the run is `complete`: of every scenario, and without faults. Ids that a
        run with other options may play are `elsewhere`.
        """
        if not self.strict:
            return []
        results = list(played)
        seen = {result.id for result in results}
        judged = {result.id for result in results if result.outcome in _JUDGED}
        others = set(elsewhere)
        possible = _name_cases(seen | others) | others if complete else frozenset()
        played_through = {case.partition("@")[0] for case in judged} if complete else judged
        found: list[Finding] = []
        for entry in self.entries.values():
            if entry.id in seen:
                continue
            case = entry.id if "@fault-" in entry.id else entry.id.partition("@")[0]
            if _passed_in_sweep(entry.id, results):
                found += [] if entry.may_pass else [self._describe_stale(entry, Outcome.PASSED.value)]
            elif case in played_through or (complete and case not in possible):
                found.append(self._describe_unmatched(entry))
        for one in self.many if complete else ():
            fits = [result for result in results if one.fits(result.id)]
            owed = not judged.isdisjoint(r.id for r in fits) if fits else not any(map(one.fits, possible))
            if owed and not any(map(one.explains, fits)):
                found.append(self._describe_unmatched(one))
        return found

    def _describe_unmatched(self, entry: BaselineEntry) -> Finding:
        return UNMATCHED.at(Place(file=self.path, line=entry.line or None, case=entry.name), got=entry.name)


def _name_cases(seen: Iterable[str]) -> frozenset[str]:
    """Return the ids of the scenarios that were seen, as they are and with each fault, which another run may play."""
    scenarios = {case.partition("@")[0] for case in seen}
    return frozenset(
        scenarios.union(fault_name(scenario, fault) for scenario in scenarios for fault in wire_faults.FAULTS)
    )


def _passed_in_sweep(case: str, results: Iterable[Result]) -> bool:
    """Whether the case is one of the places of a sweep that have passed, which share a result.

    The number is compared with that of all places, also where they are those of several turns or reasons.
    """
    place = _PLACE.fullmatch(case)
    if place is None:
        return False
    scenario, unit, number = place.groups()
    places = [result for result in results if result.id.startswith(f"{scenario}@") and "@fault-" not in result.id]
    swept = any(r.id == f"{scenario}@{unit}-*" and r.outcome is Outcome.PASSED for r in places)
    return swept and int(number) < sum(result.cases for result in places)


def fault_name(scenario: str, fault: str) -> str:
    """Return the id of a scenario played with a fault."""
    return f"{scenario}@fault-{fault}"
