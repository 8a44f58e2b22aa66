"""What the last lines of a run count besides verdicts. Pure.

In: results. Out: why cases were not judged, which were played again, and which side departs how often.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from tpharness.verdict.result import Outcome, Result

__all__ = ["count_departing", "find_played_again", "tally_json"]

_DEPARTURES = frozenset(("identity-differs", "thread-departs"))
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


def count_departing(results: Iterable[Result]) -> dict[str, int]:
    """Return in how many failed cases the server and the client depart from the right thread (R51); known ones not."""
    departing = dict.fromkeys(("server", "client"), 0)
    for result in results:
        if not result.outcome.green:
            sides = {f.place.side or "" for f in result.findings if f.code in _DEPARTURES}
            for side in departing:
                departing[side] += result.cases * any(side in words.split(" and ") for words in sides)
    return departing


def tally_json(results: Iterable[Result]) -> dict[str, Any]:
    """Return `reasons`, `played_again` and `departing` as `conformance/schemas/report.schema.json` has them."""
    results = list(results)
    again = find_played_again(results)
    reasons = {outcome.value: dict(found.most_common()) for outcome, found in _count_reasons(results).items()}
    return {
        "reasons": reasons,
        "played_again": {"cases": len(again), "ids": again},
        "departing": count_departing(results),
    }
