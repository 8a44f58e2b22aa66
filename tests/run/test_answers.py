"""A worker that lies, or has other files or another version, is told; a verdict is never taken from the wrong file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, cast

import pytest
from tests.distribution import Sample

from tpharness.errors import ItemEndsWorkersError, TargetError
from tpharness.resources import scenarios_dir
from tpharness.run.answers import WorkerAnswer, make_answer, results_of
from tpharness.run.dispatch import open_session, play_one, play_selected
from tpharness.run.options import RunOptions
from tpharness.run.select import SelectedScenario, select_scenarios
from tpharness.scenario import load_scenario
from tpharness.scenario.records import CutAt
from tpharness.verdict.result import Outcome, Result

SWEPT, PLAIN = "basics/cancelled-in-arguments", "basics/tool-call-and-answer"
ROOT = scenarios_dir()


def selected(*ids: str) -> list[SelectedScenario]:
    """Return built-in scenarios."""
    return select_scenarios(ids, [ROOT])


def honest(one: SelectedScenario) -> WorkerAnswer:
    """Play a scenario as a worker does."""
    return make_answer(one, play_one(load_scenario(one.path, root=one.root), RunOptions(), place=one.place))


def passed(name: str, cases: int = 1) -> Result:
    """Return a verdict that nobody has earned."""
    return Result(id=name, outcome=Outcome.PASSED, cases=cases)


@cache
def swept() -> str:
    """Return a scenario that is cut at every event."""
    for one in selected("interruptions"):
        scenario = load_scenario(one.path, root=one.root)
        if scenario.cut is not None and scenario.cut.at is CutAt.EVERY_EVENT and len(honest(one).results) > 1:
            return one.id
    raise AssertionError("no scenario is cut at every event")


LIES: dict[str, tuple[Callable[[WorkerAnswer], Any], str]] = {
    "nothing": (lambda _: None, "it is not a list of results but NoneType"),
    "something else": (
        lambda a: replace(a, results=cast("Any", ("passed",))),
        "it is not a list of results but WorkerAnswer",
    ),
    "no result": (lambda a: replace(a, results=()), "it has no result"),
    "another case": (
        lambda a: replace(a, results=(passed("tools/metadata"),)),
        "it has a result for tools/metadata, whi",
    ),
    "one more": (
        lambda a: replace(a, results=(*a.results, passed("a/b"))),
        "it has a result for a/b, which it was not",
    ),
    "a longer id": (lambda a: replace(a, results=(*a.results, passed(a.results[0].id + "-2"))), "it has a result for"),
    "one twice": (lambda a: replace(a, results=(*a.results, a.results[0])), "it has two results for"),
    "places left out": (lambda a: replace(a, results=a.results[:1]), "it has verdicts on 1 case of"),
    "places only": (lambda a: replace(a, results=a.results[1:]), "it has no result for"),
    "places counted": (
        lambda a: replace(a, results=(*a.results[:-1], replace(a.results[-1], cases=10**6))),
        "it has verdicts on 100000",
    ),
    "another version": (lambda a: replace(a, version="0.0.1"), "it is from tpharness 0.0.1, this is"),
    "another file": (lambda a: replace(a, digest="0" * 64), "it read another"),
}


@pytest.mark.parametrize("lie", sorted(LIES))
def test_an_answer_to_another_question_is_not_taken(lie: str) -> None:
    """The scenario is errored, with what is wrong with the answer and what to look at."""
    (one,) = selected(swept())
    truth = honest(one)
    assert results_of(one, truth) == list(truth.results)
    tell, problem = LIES[lie]
    (result,) = results_of(one, tell(truth))
    assert (result.id, result.outcome) == (one.id, Outcome.ERRORED)
    assert result.reason.startswith(f"the answer of its worker is not taken: {problem}")
    assert result.reason.endswith("the workers need the same version of tpharness and the same files as this process")


@pytest.mark.sampled
def test_every_honest_answer_is_taken(sample: Sample[SelectedScenario]) -> None:
    """Of each built-in scenario, whatever its sweep, and of one place of a sweep."""
    for one in sample(selected()):
        answer = honest(one)
        assert results_of(one, answer) == list(answer.results), one.id
    (place,) = selected(f"{swept()}@event-1")
    assert [result.id for result in results_of(place, honest(place))] == [f"{swept()}@event-1"]


def test_a_scenario_that_does_not_load_is_errored_by_its_worker_and_not_by_us(tmp_path: Path) -> None:
    """Its worker says why; there is no sweep to count."""
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "bad.yaml").write_text("turns: 7\n", "utf-8")
    (one,) = select_scenarios([], [tmp_path])
    told = [Result(id="a/bad", outcome=Outcome.ERRORED, reason="turns is not a list")]
    assert results_of(one, make_answer(one, told)) == told
    (result,) = results_of(one, make_answer(one, [passed("a/bad")]))
    assert "it has a verdict on a file that does not load here" in result.reason


def play_with(answers: Callable[..., Iterator[Any]]) -> Iterator[list[Result]]:
    """Play three scenarios with workers that answer like this."""
    options = RunOptions(jobs=2)
    three = selected(SWEPT, PLAIN, "basics/client-loses-the-end")
    with open_session(options) as session:
        yield from play_selected(three, options, session, answers)


def test_what_a_lost_cluster_did_not_play_is_errored_and_the_run_goes_on() -> None:
    """What came before keeps its verdict, so that the report has it."""

    def lost(_work: Any, items: tuple[SelectedScenario, ...]) -> Iterator[Any]:
        yield honest(items[0])
        raise TargetError("the scheduler was lost", hint="start it again")

    first, *rest = list(play_with(lost))
    assert {result.outcome for result in first} == {Outcome.PASSED}
    assert [(one.outcome, one.reason) for (one,) in rest] == [
        (Outcome.ERRORED, "the scheduler was lost; start it again"),
    ] * 2


def test_a_cluster_that_is_not_there_is_wrong_use() -> None:
    """Nothing was played, so there is nothing to report."""

    def unreachable(*_: Any) -> Iterator[Any]:
        raise TargetError("no scheduler answers")

    with pytest.raises(TargetError, match="no scheduler answers"):
        list(play_with(unreachable))


def test_a_scenario_that_ends_its_workers_does_not_end_the_run() -> None:
    """It is errored, and new workers play what comes after it."""

    def fatal(_work: Any, items: tuple[SelectedScenario, ...]) -> Iterator[Any]:
        for one in items:
            if one.id == "basics/client-loses-the-end":
                raise ItemEndsWorkersError(f"4 workers ended while they played {one}", hint="play it with --jobs 1")
            yield honest(one)

    played = {results[0].id: results[0].outcome for results in play_with(fatal)}
    assert played == {
        SWEPT: Outcome.PASSED,
        "basics/client-loses-the-end": Outcome.ERRORED,
        PLAIN: Outcome.PASSED,
    }
