"""Evidence → result: run the checks, collect their findings and decide the outcome. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

from tpharness.checks import CHECKS, Check, Evidence, NotApplicable
from tpharness.findings import Finding, Kind, Level, Place
from tpharness.protocol.jcs import CanonicalError
from tpharness.protocol.versions import Version
from tpharness.trace.secrets import Secrets
from tpharness.trace.write import CaseFiles

__all__ = ["CheckState", "NotJudged", "Outage", "Outcome", "Recorded", "Result", "holds", "judge", "merge_not_judged"]

NotJudged = Mapping[Version, Mapping[str, NotApplicable]]
"""By version, the names of the checks that had nothing to judge in it, each with its reason."""


class Outcome(Enum):
    """How a case ended. Only `PASSED`, `EXPECTED`, `NO_PART` and `NOT_APPLICABLE` are green."""

    PASSED = "passed"
    FAILED = "failed"
    EXPECTED = "expected"
    STALE = "stale"
    ERRORED = "errored"
    NOT_APPLICABLE = "not-applicable"
    NO_PART = "no-part"
    COULD_NOT_RUN = "could-not-run"

    @property
    def green(self) -> bool:
        """Whether a run with this outcome may pass."""
        return self in (Outcome.PASSED, Outcome.EXPECTED, Outcome.NO_PART, Outcome.NOT_APPLICABLE)

    @property
    def meaning(self) -> str:
        """What the outcome says of a case, as a phrase."""
        return _MEANINGS[self]


_MEANINGS = {
    Outcome.PASSED: "no check that had something to judge found anything wrong",
    Outcome.FAILED: "the implementation is wrong, or a promise was not kept; the findings say how",
    Outcome.EXPECTED: "failed exactly as the baseline says",
    Outcome.STALE: "the baseline expects a failure, but the case passes or has other findings",
    Outcome.ERRORED: "the target, the harness or the set-up broke, so nothing was learned about the case",
    Outcome.NOT_APPLICABLE: "needs a capability that the target does not declare",
    Outcome.NO_PART: "asks nothing of the target under test, so nothing was learned about it",
    Outcome.COULD_NOT_RUN: "something that the case needs is missing",
}


class CheckState(Enum):
    """The verdict of one check on a case."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_APPLICABLE = "not-applicable"


class Recorded(Protocol):
    """What was recorded of a case while it was played."""

    def files(self, result: Result, secrets: Secrets) -> CaseFiles:
        """Return what a trace says of the case, whose verdict is `result`."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Outage:
    """A time without an answer from a target: `what` is known of it, and whether it `began` with this case.

    All cases of one outage have the same `what`. `gone`: nothing listens any more, so that no delay was the cause.
    """

    what: str
    began: bool = False
    gone: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The verdict on one case. `cases` counts the places of a sweep that this result stands for.

    `played_again` counts the playings that were discarded because this machine had stood still.
    `size` is how many events a case that is not green plays, 0 where that is not known.
    `outage` is set if a target had stopped answering. `symptom` is what of the reason is the same wherever one mistake
    shows, "" for all of it.
    `checks` has the state of each check over all versions; `not_judged` says where a check had nothing to judge, and
    why. `record` is what a trace needs, which no verdict depends on.
    """

    id: str
    outcome: Outcome
    checks: Mapping[str, CheckState] = field(default_factory=dict)
    not_judged: NotJudged = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    cases: int = 1
    reason: str = ""
    symptom: str = ""
    seconds: float = 0.0
    played_again: int = 0
    size: int = 0
    outage: Outage | None = None
    clauses: tuple[str, ...] = ()
    record: Recorded | None = field(default=None, compare=False, repr=False)

    @property
    def failing_codes(self) -> frozenset[str]:
        """The codes of the findings at MUST."""
        return frozenset(f.code for f in self.findings if f.level is Level.MUST)


NO_CANONICAL_FORM = Kind("no-canonical-form")


def judge(
    case: str, evidence: Iterable[Evidence], *, clauses: tuple[str, ...] = (), checks: Sequence[Check] = CHECKS
) -> Result:
    """Judge all evidence of one case; findings that several versions share are reported once."""
    states: dict[str, CheckState] = {check.name: CheckState.NOT_APPLICABLE for check in checks}
    not_judged: dict[Version, Mapping[str, NotApplicable]] = {}
    findings: dict[tuple[object, ...], Finding] = {}
    for piece in evidence:
        reasons: dict[str, NotApplicable] = {}
        for check in checks:
            why = check.not_applicable(piece)
            if why is not None:
                reasons[check.name] = why
                continue
            found = _run_check(check, piece)
            if any(f.level is Level.MUST for f in found):
                states[check.name] = CheckState.FAILED
            elif states[check.name] is CheckState.NOT_APPLICABLE:
                states[check.name] = CheckState.PASSED
            for finding in found:
                key = (finding.code, finding.message, finding.place.side, finding.place.pointer)
                findings.setdefault(key, finding.with_place(case=piece.case))
        not_judged = merge_not_judged(not_judged, {piece.version: reasons})
    failed = CheckState.FAILED in states.values()
    return Result(
        id=case,
        outcome=Outcome.FAILED if failed else Outcome.PASSED,
        checks=states,
        not_judged=not_judged,
        findings=tuple(findings.values()),
        clauses=clauses,
    )


def holds(evidence: Iterable[Evidence], checks: Iterable[Check]) -> bool:
    """Whether no check finds anything at MUST in any of the evidence, which `judge` says with what was found."""
    return not any(
        finding.level is Level.MUST
        for piece in evidence
        for check in checks
        if check.not_applicable(piece) is None
        for finding in _run_check(check, piece)
    )


def merge_not_judged(one: NotJudged, other: NotJudged) -> dict[Version, Mapping[str, NotApplicable]]:
    """Return, by version, the checks that neither of the two judged. A version that only one of them has is copied."""
    both = {**one, **other}
    for version in one.keys() & other.keys():
        mine, theirs = one[version], other[version]
        both[version] = mine if mine.keys() <= theirs.keys() else {k: v for k, v in mine.items() if k in theirs}
    return both


def _run_check(check: Check, evidence: Evidence) -> list[Finding]:
    try:
        return check.judge(evidence)
    except CanonicalError as error:
        return [NO_CANONICAL_FORM.at(Place(case=evidence.case, pointer=error.pointer), error.reason)]
