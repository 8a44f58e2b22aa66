"""One place decides whether a run passes, whatever plays its cases."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tpharness.findings import Kind, Place
from tpharness.verdict import Outcome, Result, ResultReady, RunEvent, ScenarioFinished
from tpharness.verdict.baseline import Baseline, BaselineEntry
from tpharness.verdict.case_run import CaseRun, run_cases

NONE = Baseline(entries={})


def results(*outcomes: Outcome) -> list[Result]:
    """Return a result for each outcome."""
    return [Result(id=f"theme/case-{n}", outcome=outcome) for n, outcome in enumerate(outcomes)]


@pytest.mark.parametrize(
    ("outcomes", "passes"),
    [
        ((Outcome.PASSED,), True),
        ((Outcome.EXPECTED,), True),
        ((Outcome.PASSED, Outcome.NO_PART, Outcome.NOT_APPLICABLE), True),
        ((Outcome.NO_PART,), False),
        ((Outcome.NOT_APPLICABLE, Outcome.NO_PART), False),
        ((), False),
        ((Outcome.PASSED, Outcome.FAILED), False),
        ((Outcome.PASSED, Outcome.STALE), False),
        ((Outcome.PASSED, Outcome.ERRORED), False),
        ((Outcome.PASSED, Outcome.COULD_NOT_RUN), False),
    ],
)
def test_a_run_passes_if_something_was_judged_and_all_is_green(outcomes: tuple[Outcome, ...], passes: bool) -> None:
    """What asks nothing of the target is green, and a run of nothing else has not passed."""
    run = CaseRun(NONE)
    list(run.take("theme/case", results(*outcomes)))
    assert run.finish().passed is passes
    assert not run.finish(ended="ended early").passed
    assert not run.finish([Kind("baseline-stale").at(Place())]).passed


def test_a_shard_without_a_scenario_of_its_own_passes() -> None:
    """There may be more shards than scenarios; one that failed does not pass by that."""
    assert CaseRun(NONE).finish(spared=True).passed
    run = CaseRun(NONE)
    list(run.take("theme/case", results(Outcome.FAILED)))
    assert not run.finish(spared=True).passed


def test_places_of_a_sweep_count_as_the_cases_that_they_are() -> None:
    """A result may stand for many."""
    run = CaseRun(NONE)
    list(run.take("theme/case", [Result(id="theme/case@event-*", outcome=Outcome.PASSED, cases=7)]))
    assert run.finish().counts == {Outcome.PASSED: 7}


def test_a_known_failure_is_expected_and_the_events_come_in_order() -> None:
    """The results of a source, then its end."""
    entry = BaselineEntry(id="theme/case-0", findings=frozenset(), clauses=(), reason="it is known")
    run = CaseRun(Baseline(entries={"theme/case-0": entry}))
    events = list(run.take("theme/case", results(Outcome.FAILED)))
    assert [type(event) for event in events] == [ResultReady, ScenarioFinished]
    assert [(result.outcome, result.reason) for result in run.played] == [(Outcome.EXPECTED, "it is known")]


def test_a_run_ends_after_the_failures_that_are_allowed_and_closes_what_plays() -> None:
    """Not in the middle of a source; and with the last one it has come to its end."""
    closed: list[bool] = []

    def playing(count: int) -> Iterator[list[Result]]:
        try:
            for _ in range(count):
                yield results(Outcome.FAILED, Outcome.PASSED)
        finally:
            closed.append(True)

    def ended(count: int, maxfail: int) -> tuple[list[RunEvent], str]:
        events: list[RunEvent] = []
        walk = run_cases(CaseRun(NONE), ["a/b"] * count, playing(count), maxfail=maxfail)
        while True:
            try:
                events.append(next(walk))
            except StopIteration as end:
                return events, end.value

    events, why = ended(3, 2)
    assert why == "ended after 2 failures; 1 of 3 scenarios were not played"
    assert sum(isinstance(event, ScenarioFinished) for event in events) == 2
    assert ended(1, 1)[1] == ""
    assert ended(3, 0)[1] == ""
    assert closed == [True, True, True]
