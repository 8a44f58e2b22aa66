"""What came and went between two runs: only cases that were judged in both."""

from __future__ import annotations

import pytest

from tpharness.findings import Kind, Place
from tpharness.report import Report
from tpharness.report.trend import PlayedRelease, trend_json
from tpharness.verdict import Outcome, Result

WRONG = Kind("identity-differs").at(Place(side="client"))


def release(number: str, **outcomes: Outcome) -> PlayedRelease:
    """Return a release with cases by the last part of their ids."""
    results = [
        Result(id=f"a/{name}", outcome=outcome, findings=() if outcome is Outcome.PASSED else (WRONG,))
        for name, outcome in outcomes.items()
    ]
    return PlayedRelease(release=number, target=number, report=Report(results=results))


@pytest.mark.parametrize(
    ("before", "after", "came", "went"),
    [
        (Outcome.PASSED, Outcome.FAILED, ["a/x"], []),
        (Outcome.FAILED, Outcome.PASSED, [], ["a/x"]),
        (Outcome.PASSED, Outcome.EXPECTED, ["a/x"], []),
        (Outcome.FAILED, Outcome.EXPECTED, [], []),
        (Outcome.NOT_APPLICABLE, Outcome.FAILED, [], []),
        (Outcome.FAILED, Outcome.COULD_NOT_RUN, [], []),
        (Outcome.COULD_NOT_RUN, Outcome.PASSED, [], []),
        (Outcome.ERRORED, Outcome.FAILED, [], []),
    ],
)
def test_a_case_moves_only_where_both_releases_were_judged(
    before: Outcome, after: Outcome, came: list[str], went: list[str]
) -> None:
    """A machine that stands still, or a function that is missing, is no news about the library."""
    played = [release("1", x=before), release("2", x=after)]
    (change,) = trend_json("peer:x", "client", "reference", played, known={"a/x": "known"})["changes"]
    assert [case for group in change["came"] for case in group["cases"]] == came
    assert [case for group in change["went"] for case in group["cases"]] == went
    assert [group["known"] for group in (*change["came"], *change["went"])] == [{"known": 1}] * len(came + went)
    assert change["otherwise"] == (1 if {before, after} <= {Outcome.FAILED, Outcome.EXPECTED} else 0)


def test_the_places_of_a_sweep_that_passed_are_one_result() -> None:
    """A place that failed is gone when the sweep passes as a whole."""
    old = PlayedRelease(
        release="1",
        report=Report(results=[Result(id="a/x@event-3", outcome=Outcome.FAILED, findings=(WRONG,))]),
    )
    new = PlayedRelease(release="2", report=Report(results=[Result(id="a/x@event-*", outcome=Outcome.PASSED, cases=9)]))
    (change,) = trend_json("peer:x", "client", "reference", [old, new], known={})["changes"]
    assert [group["cases"] for group in change["went"]] == [["a/x@event-3"]]
