"""Evidence → result. Pure: the checks find, this counts and names the outcome."""

from __future__ import annotations

from tpharness.apps.checks import APP_CHECKS
from tpharness.apps.evidence import AppEvidence
from tpharness.apps.trouble import find_trouble
from tpharness.findings import Level
from tpharness.run import CheckState, Outcome, Result

__all__ = ["judge_app"]


def judge_app(evidence: AppEvidence, *, seconds: float = 0.0) -> Result:
    """Judge a case; the result is errored, with the trouble as its finding, where the application did not play it."""
    case = evidence.case.id
    states = {check.name: CheckState.NOT_APPLICABLE for check in APP_CHECKS}
    trouble = find_trouble(evidence)
    if trouble is not None:
        findings = (trouble.with_place(case=case),)
        return Result(id=case, outcome=Outcome.ERRORED, checks=states, findings=findings, seconds=seconds)
    found = []
    for check in APP_CHECKS:
        if check.applies(evidence):
            own = [finding.with_place(case=case) for finding in check.find(evidence)]
            failed = any(finding.level is Level.MUST for finding in own)
            states[check.name] = CheckState.FAILED if failed else CheckState.PASSED
            found += own
    return Result(
        id=case,
        outcome=Outcome.FAILED if CheckState.FAILED in states.values() else Outcome.PASSED,
        checks=states,
        findings=tuple(found),
        seconds=seconds,
        clauses=tuple(check.clause for check in APP_CHECKS if states[check.name] is not CheckState.NOT_APPLICABLE),
    )
