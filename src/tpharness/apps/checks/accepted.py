"""accepted: the API that the application uses takes every request, by the rules of `tpharness.model_apis`.

The findings are those of the rules, under their own codes, so that a baseline can name the rule.
"""

from __future__ import annotations

from collections.abc import Iterator

from tpharness.apps.checks.contract import AppCheck, at
from tpharness.apps.evidence import AppEvidence
from tpharness.findings import Finding, Level
from tpharness.model_apis.rules import RULES

__all__ = ["CHECK"]


def find(evidence: AppEvidence) -> Iterator[Finding]:
    """Yield what the API would refuse (MUST) or might (SHOULD), each rule once for a turn."""
    for turn in evidence.turns:
        told: set[str] = set()
        for asked in turn.asked:
            for finding in asked.refusals:
                if finding.level is Level.MAY or finding.code in told:
                    continue
                told.add(finding.code)
                place = at(turn, request=asked.number)
                yield finding.with_place(side=place.side)


CHECK = AppCheck(
    name="accepted",
    clause="app.accepted",
    kinds=tuple(rule.kind for rule in RULES),
    find=find,
    applies=lambda evidence: any(turn.asked for turn in evidence.turns),
)
