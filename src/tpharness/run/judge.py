"""Evidence → result: run the checks, collect their findings and decide the outcome. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tpharness.checks import CHECKS, Check, Evidence
from tpharness.findings import Finding, Kind, Level, Place
from tpharness.judging_time import heed_judging_time
from tpharness.protocol.jcs import CanonicalError
from tpharness.protocol.versions import Version
from tpharness.verdict.result import CheckState, NotApplicable, Outcome, Result, merge_not_judged

__all__ = ["holds", "judge"]

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
            heed_judging_time()
            found = _run_check(check, piece)
            if any(f.level is Level.MUST for f in found):
                states[check.name] = CheckState.FAILED
            elif states[check.name] is CheckState.NOT_APPLICABLE:
                states[check.name] = CheckState.PASSED
            for finding in found:
                key = (finding.code, finding.message, finding.place.side, finding.place.pointer)
                known = findings.get(key) or finding.with_place(case=piece.case)
                findings[key] = known.in_version(piece.version.value)
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


def _run_check(check: Check, evidence: Evidence) -> list[Finding]:
    try:
        return check.judge(evidence)
    except CanonicalError as error:
        return [NO_CANONICAL_FORM.at(Place(case=evidence.case, pointer=error.pointer), error.reason)]
