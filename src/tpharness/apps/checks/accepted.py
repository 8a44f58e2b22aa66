"""accepted: the API that the application uses takes every request, by the rules of `tpharness.model_apis`.

The findings are those of the rules, under their own codes, so that a baseline can name the rule.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tpharness.apps.checks.contract import AppCheck, at
from tpharness.apps.checks.truth import args_of
from tpharness.apps.evidence import AppEvidence
from tpharness.findings import Finding, Level
from tpharness.model_apis.rules import RULES

__all__ = ["CHECK"]

_NOT_OBJECTS = ("chat-arguments-not-object", "responses-arguments-not-object")
_OF_HALF = (
    "leave the call out, and its result: its arguments were cut. {} in their place, or half of them made whole, would"
    " be arguments that the model did not give (arguments-invented)"
)
"""The advice for arguments that were cut: what may be sent for others would be invented here."""


def find(evidence: AppEvidence) -> Iterator[Finding]:
    """Yield what the API would refuse (MUST) or might (SHOULD), each rule once for a turn."""
    for turn in evidence.turns:
        known: set[str] = set()
        for asked in turn.asked:
            for finding in asked.refusals:
                if finding.level is Level.MAY or finding.code in known:
                    continue
                known.add(finding.code)
                place = at(turn, request=asked.number)
                advice = _OF_HALF if finding.code in _NOT_OBJECTS and _has_half_call(evidence) else finding.advice
                yield replace(finding.with_place(side=place.side), advice=advice)


def _has_half_call(evidence: AppEvidence) -> bool:
    """Whether the model has begun a call whose arguments never came to their end."""
    return any(args_of(call) is None for _, asked in evidence.asked for call in asked.called)


CHECK = AppCheck(
    name="accepted",
    clause="app.accepted",
    kinds=tuple(rule.kind for rule in RULES),
    find=find,
    applies=lambda evidence: any(turn.asked for turn in evidence.turns),
)
