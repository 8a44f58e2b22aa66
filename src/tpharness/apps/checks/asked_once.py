"""asked-once: an application asks its model once for each answer that it needs."""

from __future__ import annotations

from collections.abc import Iterator

from tpharness.apps.checks.contract import AppCheck, at
from tpharness.apps.evidence import AppEvidence, Asked
from tpharness.apps.provider.exchange import ExchangeOutcome
from tpharness.findings import Finding, Kind

__all__ = ["CHECK"]

TWICE = Kind("model-asked-twice")


def find(evidence: AppEvidence) -> Iterator[Finding]:
    """Yield the first request that repeats one that was answered to its end."""
    for turn in evidence.turns:
        answered: list[Asked] = []
        for asked in turn.asked:
            if any(asked.history == earlier.history for earlier in answered):
                yield TWICE.at(at(turn, request=asked.number), expected="one request")
                return
            if asked.outcome is ExchangeOutcome.COMPLETED and (
                asked.said or asked.called
            ):  # nobody got an empty answer
                answered.append(asked)


CHECK = AppCheck(
    name="asked-once",
    clause="app.asked-once",
    kinds=(TWICE,),
    find=find,
    applies=lambda evidence: any(turn.asked for turn in evidence.turns),
)
