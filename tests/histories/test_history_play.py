"""Scenarios played through histories: each check bites, what is known is expected, and nothing goes stale unseen."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from tests.distribution import ChosenScenarios
from tests.histories.message_parts.build import inline, scenario

from tpharness.errors import UsageError
from tpharness.findings import Level
from tpharness.histories.langchain.formats import FORMATS
from tpharness.histories.moments import case_moments, every_moment, sweep_moments
from tpharness.histories.play import check_moment, play_history
from tpharness.histories.projections import HistoryDialect
from tpharness.histories.registry import OTHER_HISTORIES
from tpharness.histories.suite import load_dialect_baseline, run_history
from tpharness.journal import AgentTurn, Completed, Interrupted
from tpharness.model_apis.rules import RULES
from tpharness.resources import scenarios_dir
from tpharness.run import RunOptions
from tpharness.run.baselines import load_baseline
from tpharness.run.plan import base_case, cut_places
from tpharness.scenario import load_text
from tpharness.verdict import Outcome, Result, ResultReady, RunFinished
from tpharness.verdict.result import CheckState

PLAN, RELEASED, CURRENT, CODE, REPAIRED, *_ = OTHER_HISTORIES.values()
DANGLING = {"chat-call-unanswered", "responses-call-unanswered", "anthropic-call-unanswered", "gemini-responses-uneven"}
NEVER_REFUSED = ("agno", "agent-framework/run")
"""Histories that send whole runs alone."""
ONE_OF_TWO = "histories/l-08-one-of-two-tools-done"


def only(name: str, history: HistoryDialect) -> Result:
    """Play one scenario that has no sweep."""
    (result,) = play_history(scenario(name), history)
    return result


def broken(right: HistoryDialect, **wrong: Any) -> Any:
    """Return a history that does one thing wrong."""
    return SimpleNamespace(**{name: getattr(right, name) for name in dir(right) if not name.startswith("_")} | wrong)


# ------------------------------------------------------------------------------------------------ the headline


def test_parallel_tools_of_which_one_is_done() -> None:
    """Documented, no API takes it; repaired, all do, though a message was rewritten; `current` has no fault at all."""
    assert only(ONE_OF_TWO, CODE).failing_codes == DANGLING
    assert only(ONE_OF_TWO, REPAIRED).failing_codes == {"model-view-rewritten"}
    assert only(ONE_OF_TWO, CURRENT).outcome is Outcome.PASSED
    assert only(ONE_OF_TWO, PLAN).outcome is Outcome.PASSED


# ------------------------------------------------------------------------------------------------ each check


def test_scenario_2_rewrites_what_the_model_said() -> None:
    """L07, for each API at the message that called the tool; an aborted result that is appended does not."""
    for history in (CODE, REPAIRED):
        result = only("histories/l-07-while-one-tool-runs", history)
        assert {f.code for f in result.findings if f.level is Level.MUST} == {"model-view-rewritten"}
        assert sorted(str(f.place.side) for f in result.findings) == sorted(FORMATS)
        assert result.checks["append-only"] is CheckState.FAILED
    assert only("histories/l-07-while-one-tool-runs", CURRENT).checks["append-only"] is CheckState.PASSED
    assert only("histories/l-07-while-one-tool-runs", PLAN).checks["append-only"] is CheckState.PASSED


@pytest.mark.parametrize(
    "name", ["histories/l-04-in-a-text", "histories/l-06-in-arguments-after-a-text", "histories/k14*"]
)
@pytest.mark.parametrize("history", OTHER_HISTORIES.values(), ids=lambda h: h.name)
def test_an_answer_that_streams_is_not_what_the_model_said_before(history: HistoryDialect, name: str) -> None:
    """Wherever the cut is, the question and the cycles before it stay as they were sent.

    But for the web client of chimera: it stores a call before its turn, where the next run throws it away.
    """
    kept = (history.name, name) != ("chimera/typescript", "histories/k14*")
    assert only(name, history).checks["append-only"] is (CheckState.PASSED if kept else CheckState.FAILED)


def test_a_question_that_is_taken_back_is_found() -> None:
    """A history that forgets what it sent: the model's view does not begin as before."""
    forgetful = broken(CURRENT, model_input=_without_the_question)
    assert only("histories/k14-between-result-and-answer", forgetful).checks["append-only"] is CheckState.FAILED
    assert "model-view-rewritten" in only("histories/l-11-in-the-final-text", forgetful).failing_codes


def _without_the_question(document: Any, provider: Any, *, next_user: str | None = None) -> Any:
    view = CURRENT.model_input(document, provider, next_user=next_user)
    if next_user is None:
        return view
    return {**view, "messages": view["messages"][1:]} if isinstance(view, dict) else view[1:]


def test_a_codec_that_drops_a_field_is_found() -> None:
    """At the place of the field, with what was written."""
    history = broken(CURRENT, loads=lambda text: [{**line, "data": {}} for line in CURRENT.loads(text)])
    finding = next(f for f in only("histories/k01-text-only", history).findings)
    assert (finding.code, finding.place.pointer) == ("history-not-read-back", "/0/data/created_at")


def test_a_codec_that_refuses_is_found() -> None:
    """An error of the codec is a finding, and no traceback."""

    def loads(text: str) -> Any:
        raise UsageError(f"{len(text)} characters are too many")

    assert only("histories/l-01-text", broken(CODE, loads=loads)).failing_codes == {"history-not-read-back"}


def test_an_interruption_that_is_not_shown_is_found() -> None:
    """A replay without its interrupt event; one more of them is told and does not fail (SHOULD)."""
    silent = broken(CURRENT, replay=lambda _: [])
    result = only("histories/k08-tool-runs", silent)
    assert result.failing_codes == {"missing-interrupt"}
    assert result.checks["interruption-shown"] is CheckState.FAILED
    twice = only("histories/k10-second-tool-never-started", PLAN)  # two aborted tools
    assert [f.code for f in twice.findings] == ["duplicate-interrupt"]
    assert twice.outcome is Outcome.PASSED


def test_a_history_without_such_an_event_is_not_asked_for_it() -> None:
    """LangChain's CLI shows texts alone."""
    assert only("histories/k08-tool-runs", CODE).checks["interruption-shown"] is CheckState.NOT_APPLICABLE


@pytest.mark.parametrize(
    ("name", "history", "codes"),
    [
        ("histories/k03-before-any-delta", PLAN, {"chat-assistant-empty"}),
        ("histories/k04-thinking-only", PLAN, {"chat-assistant-empty", "responses-reasoning-torn"}),
        ("histories/k15-program-ends-while-a-tool-runs", PLAN, DANGLING),
        ("histories/l-09-in-the-second-call", CODE, DANGLING),
        ("histories/l-12-only-a-space", CODE, {"anthropic-text-blank"}),
    ],
)
def test_what_apis_refuse_is_found(name: str, history: HistoryDialect, codes: set[str]) -> None:
    """The rows of the tables that are refused: K03, K04, K15, L09, L12."""
    assert only(name, history).failing_codes == codes


def test_what_a_dialect_cannot_hold_does_not_apply_to_it() -> None:
    """GAP-6: the arguments of two calls interleave, and the documented design has one buffer."""
    played = scenario("tools/interleaved-arguments")
    assert {r.outcome for r in play_history(played, CODE)} == {Outcome.NOT_APPLICABLE}
    assert Outcome.NOT_APPLICABLE not in {r.outcome for r in play_history(played, REPAIRED)}


def test_the_client_keeps_the_history_where_there_is_no_server() -> None:
    """A scenario that gives the stream alone."""
    played = scenario("stream/next-start-step-finishes")
    assert all(run.events is None for _, run in played.runs)
    *_, end = case_moments(base_case(played))
    assert "One" in CURRENT.dumps(CURRENT.store(end.after))
    assert [r.outcome for r in play_history(played, CURRENT)] == [Outcome.PASSED]


# ------------------------------------------------------------------------------------------------ places

SWEPT = """\
description: Cut everywhere.
clauses: [cycle.kept]
turns:
  - user: q
  - steps:
      - response: [{text: ok}, {call: a, id: c1, args: {}}, {call: b, id: c2, args: {}}]
      - {start_tools: true}
      - returns: {c1: 1}
      - returns: {c2: 2}
      - response: [{text: done}]
cut: every-event
"""


def test_each_place_of_a_sweep_is_played_under_its_own_id() -> None:
    """The ids are those of the sweep; places that pass are counted together."""
    played = load_text(SWEPT, id="t/swept")
    case = base_case(played)
    assert [m.id for m in sweep_moments(case)] == [p.id for p in cut_places(played)]
    results = play_history(played, CODE)
    assert sum(result.cases for result in results) == 1 + len(list(cut_places(played)))
    refused = [result for result in results if result.failing_codes >= DANGLING]
    assert refused
    for one in refused:
        (again,) = play_history(played, CODE, one.id)
        assert again.failing_codes == one.failing_codes


def test_a_sweep_over_bytes_is_played_at_the_first_byte_after_each_event() -> None:
    """The server's side does not change between; the ids are places of the sweep."""
    bytewise = load_text(SWEPT.replace("every-event", "every-byte"), id="t/swept")
    events = [m.after for m in sweep_moments(base_case(load_text(SWEPT, id="t/swept")))]
    moments = list(sweep_moments(base_case(bytewise)))
    assert [m.after for m in moments] == events
    places = [int(m.id.rpartition("-")[2]) for m in moments]
    assert places[0] == 0
    assert places == sorted(places)
    assert len(set(places[:-1])) > len(places) // 2


def test_any_event_can_be_named_without_a_sweep() -> None:
    """As `compare` names its examples."""
    played = scenario(ONE_OF_TWO)
    found = [m.id for m in every_moment(base_case(played))]
    assert found[0] == f"{ONE_OF_TWO}@cancelled-turn-1-event-0"
    refused = [name for name in found if play_history(played, CODE, name)[0].failing_codes >= DANGLING]
    assert refused
    assert play_history(played, CODE, f"{ONE_OF_TWO}@cancelled-turn-1-event-999") == []


def test_a_run_without_a_result_is_broken_off_where_the_next_one_begins() -> None:
    """Only a result ends a run well (R27): its turn is interrupted before the other one opens."""
    events = "{event_kind: model_request}, {event_kind: model_response_end}"
    played = inline(f"  - user: q\n  - server: [{events}]\n  - steps: [{{response: [{{text: Hello}}]}}]\n")
    *_, last = every_moment(base_case(played))
    ends = [turn.end for turn in last.after.turns() if isinstance(turn, AgentTurn)]
    assert [type(end) for end in ends] == [Interrupted, Completed]
    assert isinstance(ends[0], Interrupted)
    assert ends[0].reason == "network_failure"


def test_the_journal_before_an_error_is_the_one_before_its_event() -> None:
    """An error that the server tells interrupts by itself; what the model was sent is what it was before."""
    played = inline(
        "  - user: q\n  - steps: [{response: [{text: Hel, unfinished: true}], unfinished: true}, {error: net down}]\n"
    )
    first, _ = case_moments(base_case(played))
    assert first.before is not None
    assert first.before.last is not None
    assert first.before.last.end is None
    assert check_moment(first, CURRENT)["append-only"] == []


# ------------------------------------------------------------------------------------------------ baselines


@pytest.mark.sampled
@pytest.mark.parametrize("name", OTHER_HISTORIES)
def test_the_suite_has_only_the_known_refusals(name: str, chosen_scenarios: ChosenScenarios) -> None:
    """Every scenario and place; an entry that is stale fails, and one that matches no case does so with --whole."""
    chosen = chosen_scenarios(list(OTHER_HISTORIES).index(name))
    events = list(run_history(RunOptions(history=name, ids=chosen)))
    bad = [e.result.id for e in events if isinstance(e, ResultReady) and not e.result.outcome.green]
    assert bad == []
    finished = events[-1]
    assert isinstance(finished, RunFinished)
    assert finished.passed
    known = {e.result.id for e in events if isinstance(e, ResultReady) and e.result.outcome is Outcome.EXPECTED}
    entries = set(load_dialect_baseline(name).entries)
    assert known == {entry for entry in entries if not chosen or entry.partition("@")[0] in chosen}
    assert bool(entries) == (name not in NEVER_REFUSED)


@pytest.mark.parametrize("name", OTHER_HISTORIES)
def test_each_entry_names_the_rules_that_it_breaks(name: str) -> None:
    """The rules of its findings; a rewritten view is rule A10. A payload that no API has a form for breaks none."""
    without_a_rule = {"history-not-read-back", "payload-malformed"}
    rule_of = {rule.kind.code: rule.id for rule in RULES} | {"model-view-rewritten": "A10"}
    for entry in load_dialect_baseline(name).entries.values():
        broken = {rule_of[code] for code in entry.findings if code not in without_a_rule}
        assert broken == set(entry.rules), entry.id
        assert len(entry.reason) > 20


def test_current_is_refused_for_nothing_that_an_interruption_does() -> None:
    """A place of a sweep is refused only if its scenario is, too, without any cut."""
    entries = load_dialect_baseline("message-parts/current").entries
    assert {entry.partition("@")[0] for entry in entries} <= set(entries)


def test_a_stale_entry_fails_the_run(tmp_path: Any) -> None:
    """One that says more than happens, and one that names no case."""
    file = tmp_path / "mine.yaml"
    cases = f"{{chat-orphan-tool-message: [{ONE_OF_TWO}, histories/none]}}"
    file.write_text(f"- {{departure: wrong, cases: {cases}, reason: none}}")
    only = scenarios_dir() / f"{ONE_OF_TWO}.yaml"
    events = list(run_history(RunOptions(roots=(only,), history="langchain/documented", baseline=file)))
    assert [e.result.outcome for e in events if isinstance(e, ResultReady)] == [Outcome.STALE]
    assert isinstance(events[-1], RunFinished)
    assert [finding.code for finding in events[-1].problems] == ["baseline-unmatched"]
    assert not events[-1].passed


def test_the_rules_of_a_departure_are_those_of_its_cases(tmp_path: Any) -> None:
    """Read with each case, beside clauses and rulings."""
    file = tmp_path / "mine.yaml"
    file.write_text("- {departure: d, cases: {history-orphan-return: [a, b]}, reason: same, rules: [C1]}")
    assert {e.id: e.rules for e in load_baseline(file).entries.values()} == {"a": ("C1",), "b": ("C1",)}


def test_a_history_that_nobody_has_is_wrong_usage() -> None:
    """The names that there are are told."""
    with pytest.raises(UsageError, match="no history is called 'langchan'"):
        list(run_history(RunOptions(history="langchan")))


def test_several_processes_say_the_same() -> None:
    """`--jobs` deals scenarios out, and the verdicts come in the same order."""
    one, two = (
        [
            e.result.id
            for e in run_history(RunOptions(ids=("basics",), history=REPAIRED.name, jobs=jobs))
            if isinstance(e, ResultReady)
        ]
        for jobs in (1, 2)
    )
    assert one == two
