"""Asked: what a target itself says of a thread is right: its hash, its other versions, the messages for its model."""

from __future__ import annotations

from tpharness import checks
from tpharness.checks.contract import Check, Evidence, NotApplicable
from tpharness.findings import Finding

__all__ = ["ASKED"]


def _judge(evidence: Evidence) -> list[Finding]:
    return checks.judge_answers(evidence)


def _not_applicable(evidence: Evidence) -> NotApplicable | None:
    return None if evidence.answers else NotApplicable(reason=evidence.unasked)


ASKED = Check(
    name="asked",
    title="what a target says of a thread when it is asked is right: hash, other versions, messages, imports",
    not_applicable=_not_applicable,
    judge=_judge,
)
