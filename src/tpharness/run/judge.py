"""Evidence → result. Pure: the checks find, this counts, compares with the baseline and names the outcome."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from tpharness.checks import CHECKS, Check, Evidence, NotApplicable
from tpharness.findings import Finding, Kind, Level, Place
from tpharness.protocol.jcs import CanonicalError
from tpharness.protocol.versions import Version

__all__ = ["CheckState", "NotJudged", "Outcome", "Result", "both_unjudged", "judge"]

NotJudged = Mapping[Version, Mapping[str, NotApplicable]]
"""By version, the names of the checks that had nothing to judge in it, each with its reason."""


class Outcome(Enum):
    """How a case ended. Only `PASSED`, `EXPECTED` and `NOT_APPLICABLE` are green."""

    PASSED = "passed"
    FAILED = "failed"
    EXPECTED = "expected"  # failed just as the baseline says, with a reason
    STALE = "stale"  # the baseline says that it fails, but it passes or fails otherwise
    ERRORED = "errored"  # the harness or the set-up broke
    NOT_APPLICABLE = "not-applicable"  # a capability that the target does not declare
    COULD_NOT_RUN = "could-not-run"  # something that the case needs is missing

    @property
    def green(self) -> bool:
        """Whether the run may pass with it."""
        return self in (Outcome.PASSED, Outcome.EXPECTED, Outcome.NOT_APPLICABLE)


class CheckState(Enum):
    """What one check said of a case."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_APPLICABLE = "not-applicable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The verdict on one case. `cases` counts the places of a sweep that this result stands for.

    `checks` has the state of each check over all versions, `not_judged` where one had nothing to judge, and why.
    """

    id: str
    outcome: Outcome
    checks: Mapping[str, CheckState] = field(default_factory=dict)
    not_judged: NotJudged = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    cases: int = 1
    reason: str = ""
    seconds: float = 0.0
    clauses: tuple[str, ...] = ()

    @property
    def failing(self) -> frozenset[str]:
        """The codes of the findings at MUST."""
        return frozenset(f.code for f in self.findings if f.level is Level.MUST)


NO_CANONICAL_FORM = Kind("no-canonical-form")
_STRENGTH = {CheckState.FAILED: 2, CheckState.PASSED: 1, CheckState.NOT_APPLICABLE: 0}


def judge(
    case: str, evidence: Iterable[Evidence], *, clauses: tuple[str, ...] = (), checks: Sequence[Check] = CHECKS
) -> Result:
    """Judge all evidence of one case; findings that several versions share are reported once."""
    states: dict[str, CheckState] = {check.name: CheckState.NOT_APPLICABLE for check in checks}
    not_judged: dict[Version, Mapping[str, NotApplicable]] = {}
    findings: dict[tuple[object, ...], Finding] = {}
    for piece in evidence:
        reasons = {check.name: why for check in checks if (why := check.not_applicable(piece)) is not None}
        not_judged = both_unjudged(not_judged, {piece.version: reasons})
        for check in checks:
            if check.name in reasons:
                continue
            found = _found(check, piece)
            failed = any(f.level is Level.MUST for f in found)
            state = CheckState.FAILED if failed else CheckState.PASSED
            states[check.name] = max(states[check.name], state, key=_STRENGTH.__getitem__)
            for finding in found:
                key = (finding.code, finding.message, finding.place.side, finding.place.pointer)
                findings.setdefault(key, finding.with_place(case=piece.case))
    failed = CheckState.FAILED in states.values()
    return Result(
        id=case,
        outcome=Outcome.FAILED if failed else Outcome.PASSED,
        checks=states,
        not_judged=not_judged,
        findings=tuple(findings.values()),
        clauses=clauses,
    )


def both_unjudged(one: NotJudged, other: NotJudged) -> dict[Version, Mapping[str, NotApplicable]]:
    """Return what was judged neither here nor there; a version that only one of them has is taken as it is there."""
    both = {**one, **other}
    for version in one.keys() & other.keys():
        mine, theirs = one[version], other[version]
        both[version] = mine if mine.keys() <= theirs.keys() else {k: v for k, v in mine.items() if k in theirs}
    return both


def _found(check: Check, evidence: Evidence) -> list[Finding]:
    try:
        return check.judge(evidence)
    except CanonicalError as error:
        return [NO_CANONICAL_FORM.at(Place(case=evidence.case, pointer=error.pointer), error.reason)]
