"""What the last lines of a run count besides verdicts: why cases were not judged, and which were played again. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from tpharness.run.judge import Outcome, Result

__all__ = ["find_played_again", "tally_json"]

_EXPLAINED = (Outcome.NO_PART, Outcome.NOT_APPLICABLE, Outcome.COULD_NOT_RUN)


def _count_reasons(results: Iterable[Result]) -> Mapping[Outcome, Counter[str]]:
    """Return how many cases each reason kept from a verdict, by outcome; an outcome that did not occur is left out."""
    reasons: dict[Outcome, Counter[str]] = {}
    for result in results:
        if result.outcome in _EXPLAINED:
            reasons.setdefault(result.outcome, Counter())[result.reason or "no reason given"] += result.cases
    return {outcome: reasons[outcome] for outcome in _EXPLAINED if outcome in reasons}


def find_played_again(results: Iterable[Result]) -> list[str]:
    """Return the ids of the cases that were played more than once, since this machine had stood still."""
    return [result.id for result in results if result.played_again]


def tally_json(results: Iterable[Result]) -> dict[str, Any]:
    """Return `reasons` and `played_again` as a report has them (`conformance/schemas/report.schema.json`)."""
    results = list(results)
    again = find_played_again(results)
    reasons = {outcome.value: dict(found.most_common()) for outcome, found in _count_reasons(results).items()}
    return {"reasons": reasons, "played_again": {"cases": len(again), "ids": again}}
