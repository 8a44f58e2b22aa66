"""The engine: sweeps agree with single cases, defects are found, baselines bite, empty selections fail."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.scenarios import load_builtin

from tpharness.clauses import load_clauses
from tpharness.dialects import thread as thread_module
from tpharness.errors import InputError, UsageError
from tpharness.findings import Kind, Place
from tpharness.journal import Response
from tpharness.protocol.versions import Version
from tpharness.resources import scenarios_dir
from tpharness.run import RunOptions, play_one, run_suite
from tpharness.run.baselines import load_baseline
from tpharness.run.dispatch import check_places
from tpharness.run.judge import judge
from tpharness.run.order import Order
from tpharness.run.plan import base_case, cut_case, cut_places
from tpharness.run.play import Players, play
from tpharness.run.select import select_scenarios
from tpharness.run.sweeps.stepped import sweep
from tpharness.scenario import Scenario, load_scenario
from tpharness.scenario.records import Compare
from tpharness.targets import Reference, resolve_client, resolve_server
from tpharness.targets.contract import Script, TargetOutput
from tpharness.verdict import Outcome, Result, ResultReady, RunFinished
from tpharness.verdict.baseline import Baseline, BaselineEntry
from tpharness.verdict.traceability import find_unexercised_clauses, map_exercised_clauses

SWEPT = ["cycles/three-steps", "cycles/parallel-completion-order", "events/order-in-time", "cycles/provider-executed"]


def scenario(name: str) -> Scenario:
    """Load a built-in scenario."""
    return load_builtin(name)


def one_by_one(given: Scenario, players: Players) -> dict[str, bool]:
    """Play each place of a sweep as a case of its own; return which passed."""
    case = base_case(given)
    return {
        place.id: judge(place.id, asyncio.run(play(cut_case(case, place), players, thorough=False))).outcome.green
        for place in cut_places(given)
    }


@pytest.mark.parametrize("name", SWEPT)
def test_a_sweep_tries_every_place_and_agrees_with_single_cases(name: str) -> None:
    """What is not judged again in a sweep is what could not have changed."""
    given = scenario(name)
    single = one_by_one(given, Players(server=Reference(), client=Reference()))
    found = sweep(base_case(given), Reference(), Reference())
    assert found.tried == len(single)
    assert not found.failed
    assert all(single.values())


@pytest.mark.parametrize("name", SWEPT[:2])
def test_a_sweep_fails_at_just_the_places_where_single_cases_fail(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a seeded defect, finished responses are kept without their returns, the sweep names the same places.

    Besides, it sees a cycle change from one place to the next, which a single case cannot.
    """

    def keeps_unanswered(tail: Any, readings: Any) -> Any:
        del readings
        return tuple(entry for entry in tail.entries if not isinstance(entry, Response) or entry.finished)

    monkeypatch.setattr(thread_module, "survivors", keeps_unanswered)
    given = scenario(name)
    single = one_by_one(given, Players(server=Reference(), client=Reference()))
    found = sweep(base_case(given), Reference(), Reference())
    by_itself = {result.id for _, result in found.failed if result.failing_codes - {"canonical-shrank"}}
    assert by_itself == {place for place, passed in single.items() if not passed}
    assert by_itself


def test_one_place_of_a_sweep_can_be_played_alone() -> None:
    """The full id of a case selects it."""
    results = play_one(scenario(SWEPT[0]), RunOptions(), place=f"{SWEPT[0]}@event-5")
    assert [(r.id, r.outcome, r.cases) for r in results] == [(f"{SWEPT[0]}@event-5", Outcome.PASSED, 1)]


def test_two_jobs_give_the_results_of_one() -> None:
    """Worker processes change the time, not the verdicts, nor their order."""

    def verdicts(jobs: int) -> list[tuple[str, Outcome, int]]:
        events = run_suite(RunOptions(ids=("approvals", "numbers"), jobs=jobs))
        return [(e.result.id, e.result.outcome, e.result.cases) for e in events if isinstance(e, ResultReady)]

    assert verdicts(1) == verdicts(2)


def test_a_run_that_selects_nothing_is_an_error_with_the_nearest_names() -> None:
    """Zero cases are never green."""
    with pytest.raises(UsageError) as raised:
        select_scenarios(["cycles/tree-steps"], [scenarios_dir()])
    assert "cycles/three-steps" in raised.value.hint


def test_a_folder_without_scenarios_is_an_error(tmp_path: Path) -> None:
    """An empty folder is not a passed suite."""
    with pytest.raises(UsageError):
        select_scenarios([], [tmp_path])


def test_a_place_that_a_sweep_does_not_have_is_wrong_use() -> None:
    """Nothing is played, also where others are named; those that it has are told."""
    last = len(scenario(SWEPT[0]).runs[0][1].events or ())
    for beside in ("basics", SWEPT[0]):
        with pytest.raises(UsageError) as error:
            next(run_suite(RunOptions(ids=(beside, f"{SWEPT[0]}@event-{last + 1}"))))
        assert error.value.hint == f"it has {SWEPT[0]}@event-0 to {SWEPT[0]}@event-{last}"


@pytest.mark.parametrize("order", [None, Order(seed=3), Order(file="report.json", ids=(SWEPT[0],))])
def test_every_place_that_is_named_is_played(order: Order | None) -> None:
    """Two places of one scenario are two cases, and no place is played beside the scenario that has it."""

    def ids(*named: str) -> set[str]:
        events = run_suite(RunOptions(ids=named, order=order))
        return {event.result.id for event in events if isinstance(event, ResultReady)}

    first, second = f"{SWEPT[0]}@event-1", f"{SWEPT[0]}@event-2"
    assert ids(first, second, first) == {first, second}
    assert ids(first, SWEPT[0]) == ids(SWEPT[0], first) == {SWEPT[0], f"{SWEPT[0]}@event-*"}


def test_the_places_of_a_sweep_over_bytes_are_looked_for_in_one_playing() -> None:
    """However many are named: the server is played before the run only to know how many bytes there are."""
    played = []

    class Counted(Reference):
        async def serve(self, script: Script) -> TargetOutput:
            played.append(script)
            return await super().serve(script)

    one = "interruptions/every-byte"
    named = select_scenarios([f"{one}@byte-{count}" for count in range(5)], [scenarios_dir()])
    assert [str(place) for place in named] == [f"{one}@byte-{count}" for count in range(5)]
    check_places(named, (), Players(server=Counted(), client=Reference()))
    assert len(played) == len(scenario(one).runs)


def test_a_scenario_that_cannot_be_loaded_is_an_error_of_the_run(tmp_path: Path) -> None:
    """A broken file is told with its place, and the run fails."""
    folder = tmp_path / "theme"
    folder.mkdir()
    (folder / "broken.yaml").write_text("description: [\n", encoding="utf-8")
    events = list(run_suite(RunOptions(roots=(tmp_path,))))
    (ready,) = [e for e in events if isinstance(e, ResultReady)]
    assert ready.result.outcome is Outcome.ERRORED
    assert ready.result.findings[0].place.line is not None
    assert isinstance(events[-1], RunFinished)
    assert not events[-1].passed


def test_a_scenario_that_cannot_be_read_says_why_and_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one line, with a mark between the two."""

    def refuse(path: Path, **_: object) -> Scenario:
        raise InputError(f"cannot read the scenario {path}: Permission denied", hint="check the path")

    monkeypatch.setattr("tpharness.run.dispatch.load_scenario", refuse)
    file = tmp_path / "theme" / "one.yaml"
    file.parent.mkdir()
    file.write_text("", encoding="utf-8")
    (ready,) = [e for e in run_suite(RunOptions(roots=(tmp_path,))) if isinstance(e, ResultReady)]
    assert ready.result.reason == f"cannot read the scenario {file}: Permission denied; check the path"


def entry(*codes: str) -> Baseline:
    """Return a baseline with one entry."""
    return Baseline(entries={"x/y": BaselineEntry(id="x/y", findings=frozenset(codes), clauses=(), reason="known")})


def failing(name: str) -> Result:
    """Return a result that fails as a scenario with a wrong expectation does."""
    given = scenario(name)
    wrong = replace(given, expect=replace(given.expect, findings=("no-such-finding",)))
    return replace(play_one(wrong, RunOptions())[0], id="x/y")


def test_a_known_failure_has_to_fail_as_the_baseline_says() -> None:
    """Just the named findings are expected; others, or none, are stale."""
    result = failing("parts/file")
    assert entry("expected-findings-differ").apply(result).outcome is Outcome.EXPECTED
    assert entry("identity-differs").apply(result).outcome is Outcome.STALE
    passed = Result(id="x/y", outcome=Outcome.PASSED)
    assert entry("identity-differs").apply(passed).outcome is Outcome.STALE


def test_what_does_not_apply_says_nothing_of_a_known_failure() -> None:
    """A case that was not played is not stale."""
    unplayed = Result(id="x/y", outcome=Outcome.NOT_APPLICABLE, reason="no hand-off")
    assert entry("identity-differs").apply(unplayed) is unplayed


def test_a_departure_stands_for_all_its_cases(tmp_path: Path) -> None:
    """Grouped by findings; each case has the clauses and the reason of the departure."""
    file = tmp_path / "baseline.yaml"
    file.write_text(
        "- departure: late\n  clauses: [cycle.kept]\n  rulings: [R40]\n  reason: says it late\n"
        "  cases: {identity-differs outline-differs: [a/b, c/d], prefix-broken: [e/f]}\n",
        encoding="utf-8",
    )
    entries = load_baseline(file).entries
    assert {case: sorted(one.findings) for case, one in entries.items()} == {
        "a/b": ["identity-differs", "outline-differs"],
        "c/d": ["identity-differs", "outline-differs"],
        "e/f": ["prefix-broken"],
    }
    assert {(one.departure, one.reason, one.clauses) for one in entries.values()} == {
        ("late", "says it late", ("cycle.kept",))
    }


def test_the_baseline_of_a_peer_is_used_when_it_plays() -> None:
    """Alone it is strict; beside another peer either one explains a failure, and none is owed."""
    alone = load_baseline(server="peer:pydantic-ai")
    assert alone.strict
    assert alone.entries["tools/null-output"].departure == "null-output"
    pair = load_baseline(server="peer:pydantic-ai", client="peer:ai-sdk-client")
    assert not pair.strict
    assert {"tools/null-output", "tools/second-output"} <= set(pair.entries)
    passed = Result(id="tools/null-output", outcome=Outcome.PASSED)
    assert pair.apply(passed) is passed
    assert alone.apply(passed).outcome is Outcome.STALE
    assert pair.find_outdated([]) == []


def test_a_recorded_departure_may_pass_with_another_client() -> None:
    """What a recorded stream gets wrong another client may bear; the reference may not."""
    known = "recorded/pydantic-ai/output-validator-retry"
    passed = Result(id=known, outcome=Outcome.PASSED)
    assert load_baseline(client="peer:ai-sdk-client").apply(passed) is passed
    assert load_baseline().apply(passed).outcome is Outcome.STALE


def test_a_run_that_judges_less_need_not_find_all_of_a_departure() -> None:
    """In one version, or by content alone, some of its findings are missing; others are still news."""
    known = load_baseline(judges_less=True)
    case, entry = next((case, one) for case, one in known.entries.items() if len(one.findings) > 1)
    assert known.apply(Result(id=case, outcome=Outcome.PASSED)).outcome is Outcome.PASSED
    (run,) = (
        event
        for event in run_suite(RunOptions(ids=(case,), versions=(Version("0.0.3"),), compare=Compare.CONTENT))
        if isinstance(event, RunFinished)
    )
    assert run.passed
    some = Kind(min(entry.findings)).at(Place(case=case))
    other = Kind("prefix-broken").at(Place(case=case))
    failed = Result(id=case, outcome=Outcome.FAILED, findings=(some,))
    assert known.apply(failed).outcome is Outcome.EXPECTED
    otherwise = replace(failed, findings=(some, other))
    assert known.apply(otherwise) is otherwise


def test_an_entry_that_matches_no_case_is_found() -> None:
    """A baseline does not rot unseen."""
    assert [f.code for f in entry("a").find_outdated([Result(id="other/case", outcome=Outcome.PASSED)])] == [
        "baseline-unmatched"
    ]
    assert entry("a").find_outdated([Result(id="x/y", outcome=Outcome.PASSED)]) == []


@pytest.mark.parametrize(
    "text", ["[", "{}", "- 3", "- {id: a}", "- {id: a, findings: [b], reason: c, odd: d}", "- {cases: [a], reason: c}"]
)
def test_a_broken_baseline_is_refused_with_its_place(tmp_path: Path, text: str) -> None:
    """A baseline that cannot be read stops the run before it begins."""
    file = tmp_path / "baseline.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises((InputError, UsageError)) as raised:
        load_baseline(file)
    assert str(file) in str(raised.value)


def test_every_must_clause_is_exercised_by_what_is_played() -> None:
    """Traceability: the built-in scenarios cite every MUST clause that a scenario can exercise."""
    results = []
    for one in select_scenarios((), (scenarios_dir(),)):
        given = load_scenario(one.path, root=one.root)
        results.append(Result(id=given.id, outcome=Outcome.PASSED, clauses=given.clauses))
    assert find_unexercised_clauses(load_clauses(), map_exercised_clauses(results)) == []
    assert [f.code for f in find_unexercised_clauses(load_clauses(), {})][:1] == ["clause-unexercised"]


def test_targets_are_named_or_refused() -> None:
    """An unknown target, a missing object and an object that is no target each have their own error."""
    assert resolve_server("reference").capabilities.name == "reference"
    assert resolve_client("python:tpharness.targets:Reference").capabilities.name == "reference"
    for spec, words in (
        ("refrence", "no target"),
        ("python:json", "does not name an object"),
        ("python:no_such_module:x", "cannot import"),
        ("python:json:nothing", "has no nothing"),
        ("python:json:dumps", "is no server|lacks|missing"),
    ):
        with pytest.raises(Exception, match=words):
            resolve_server(spec)
