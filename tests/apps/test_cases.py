"""Cases: unique names, places inside the answers, scenarios with the application's own tool in place of theirs."""

from __future__ import annotations

import json
import re
from functools import cache

import pytest
from tests.apps.chat_app import ChatApp, Defect
from tests.apps.playing import play

from tpharness.apps.cases.basic import basic_cases, with_turn_after_next
from tpharness.apps.cases.case import AppCase, CaseTool, CutBy, Need
from tpharness.apps.cases.catalogue import BASIC, CaseSource, all_cases
from tpharness.apps.cases.from_scenarios import scenario_case
from tpharness.apps.cases.ledger import ledger_cases
from tpharness.apps.cases.own import own_cases, two_user_cases
from tpharness.apps.cases.sweep import sweep_cases
from tpharness.model_apis.plan import Break, Finish
from tpharness.resources import scenarios_dir
from tpharness.scenario import load_text
from tpharness.verdict import Outcome

TOOL = CaseTool(name="book_hotel", args={"city": "Paris", "nights": 2})
TOP = scenarios_dir()


@cache
def every() -> list[CaseSource]:
    """Return all cases, those of the suite's scenarios among them."""
    return all_cases(TOOL, sweep=True, scenarios=[TOP])


@cache
def every_case() -> list[AppCase]:
    """Return the same, made."""
    return [source.make("call_x") for source in every()]


ODD = CaseTool(name="call_0", args={"city": "call_0"}, other_args={"city": "Rome"})


@pytest.mark.parametrize("tool", [None, TOOL, ODD], ids=["no tool", "a tool", "a tool of an odd name"])
def test_only_the_ids_of_calls_are_new_when_a_case_is_made(tool: CaseTool | None) -> None:
    """Each case is what it is if it is made with its word in the first place, all of its calls have it, and no tool."""
    word = "call_tp_abc123"
    families = (basic_cases, own_cases, ledger_cases, two_user_cases, sweep_cases)
    known = [with_turn_after_next(case) for family in families for case in family(tool, word)]
    made = [source.make(word) for source in all_cases(tool, ledger=True, other_user=True, sweep=True)]
    assert made == known
    calls = [call for case in made for turn in case.turns for plan in turn.plans for call in plan.calls]
    assert bool(calls) is (tool is not None)
    assert all(call.call_id.startswith(word) for call in calls)


def test_names_are_unique_and_well_formed() -> None:
    """As the ids of scenarios, which they stand beside."""
    own = [source.id for source in all_cases(TOOL, sweep=True)]
    assert len({source.id for source in every()}) == len(every())
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*/[a-z]+(-[a-z]+)*(@piece-[0-9]+)?", name) for name in own)
    assert all(source.id == case.id for source, case in zip(every(), every_case(), strict=True))


def test_nine_cases_are_basic() -> None:
    """Without a tool, too, with one more that needs none; each case that can be named is there, if not to be played."""
    basic = [source.id for source in all_cases(TOOL) if source.group == BASIC]
    assert len(basic) == 9
    without = [source.id for source in all_cases(None) if source.group == BASIC]
    assert without == ["uncut/text", *basic]
    assert {source.id for source in all_cases(TOOL)} < {source.id for source in all_cases(None)}


def test_a_cut_is_where_its_plan_can_be_cut() -> None:
    """A hold or a break for the model, a call for a running tool; the last turn is always uncut."""
    for case in every_case():
        assert not case.turns or case.turns[-1].cut is None, case.id
        for turn in case.turns:
            if turn.cut is None:
                assert all(plan.hold_at is None for plan in turn.plans), case.id
                continue
            plan = turn.plans[turn.cut.request]
            if turn.cut.in_tool:
                assert plan.calls, case.id
                assert Need.TOOL in case.needs, case.id
            elif turn.cut.by is CutBy.MODEL:
                assert plan.breaks is not None, case.id
            else:
                assert plan.hold_at is not None, case.id


def test_ids_of_calls_are_new_each_time_and_differ_in_a_case() -> None:
    """An application may know an id of an earlier case."""
    for source in every():
        one, other = ([c.call_id for t in source.make(word).turns for p in t.plans for c in p.calls] for word in "ab")
        assert not set(one) & set(other)
        assert len(set(one)) == len(one)


def test_without_a_tool_no_case_calls_one() -> None:
    """They are there, and need it."""
    for source in all_cases(None, sweep=True):
        case = source.make("call_x")
        assert Need.TOOL in case.needs or not [c for t in case.turns for p in t.plans for c in p.calls]
        assert case.turns or Need.TOOL in case.needs


# ------------------------------------------------------------------------------------------------ scenarios

TEXT = """
description: A scenario for an application.
clauses: [cycle.kept]
turns:
  - user: "What's the weather?"
  - steps:
      - response:
          - {{text: [Let me, " look."]}}
          - {{call: get_weather, id: c1, args: {{city: Oslo}}, label: call}}
      - returns: {{c1: {{temp: 18}}}}
      - response: [{{text: [It is, " eighteen", " degrees."], label: answer}}]
{interrupt}
"""


def made(interrupt: str = "") -> AppCase:
    """Return the case of the scenario with an interruption."""
    text = TEXT.format(interrupt=f"    interrupt: {interrupt}" if interrupt else "")
    return scenario_case(load_text(text, id="own/weather"), TOOL, "call_x")


def test_a_run_is_split_at_its_returns_and_calls_the_own_tool() -> None:
    """What the tool returns is the application's business."""
    case = made()
    first, second = case.turns[0].plans
    assert case.turns[0].says == "What's the weather?"
    assert first.text == "Let me look."
    (call,) = first.calls
    assert (call.name, json.loads("".join(call.pieces))) == ("book_hotel", TOOL.args)
    assert second.text == "It is eighteen degrees."
    assert case.turns[0].cut is None
    assert len(case.turns) == 2


def test_the_place_of_an_interruption_is_kept() -> None:
    """In the answer, after as many pieces; while the tool runs, after the whole response."""
    case = made("{reason: user_cancelled, after: answer.mid}")
    cut = case.turns[0].cut
    assert cut is not None
    assert (cut.by, cut.request, cut.in_tool) == (CutBy.LEAVE, 1, False)
    plan = case.turns[0].plans[1]
    assert plan.hold_at is not None
    assert 0 < plan.hold_at < plan.piece_count


@pytest.mark.parametrize(
    ("name", "by", "in_tool"),
    [
        ("interruptions/mid-tool-args", CutBy.LEAVE, False),
        ("basics/cancelled-in-arguments", CutBy.LEAVE, False),
        ("interruptions/after-calls-before-tools", CutBy.LEAVE, True),
    ],
)
def test_scenarios_of_the_suite_keep_their_places(name: str, by: CutBy, in_tool: bool) -> None:
    """Named by what they are about."""
    found = {case.id: case for case in every_case()}
    if name not in found:
        pytest.fail(f"{name} is not a scenario any more: choose another")
    cut = found[name].turns[0].cut
    assert cut is not None
    assert (cut.by, cut.in_tool) == (by, in_tool)


def test_an_error_of_the_model_breaks_its_stream_and_a_halt_is_a_finish() -> None:
    """Each in the way in which a model API says it."""
    plan = made("{reason: error, after: answer.mid}").turns[0].plans[-1]
    assert plan.breaks is Break.ERROR
    plan = made("{reason: safety_halt, after: answer}").turns[0].plans[-1]
    assert plan.finish is Finish.CONTENT_FILTER


def test_what_cannot_be_played_says_why() -> None:
    """Hand-overs, events of the server, bytes of the client; about half are none of these."""
    reasons = {case.not_applicable for case in every_case()} - {""}
    for words in (
        "hands over",
        "events of the server",
        "only bytes of the client's stream",
        "only the application can",
    ):
        assert any(words in reason for reason in reasons), words
    from_suite = [
        case for case in every_case() if not case.id.startswith(("user-", "model-", "stop-", "reload", "uncut"))
    ]
    assert sum(not case.not_applicable for case in from_suite) > 0.45 * len(from_suite)


def test_a_scenario_and_a_sweep_find_what_the_basic_cases_find() -> None:
    """The same defect, by other cases."""
    app = ChatApp(Defect.REPAIRS_ARGUMENTS)
    ids = ("basics/cancelled-in-arguments", "user-leaves/every-piece@piece-6", "user-leaves/every-piece@piece-2")
    results = play(app, *ids, options={"sweep": True, "scenarios": (TOP,)})
    outcomes = {result.id: result.outcome for result in results}
    assert outcomes == {
        "basics/cancelled-in-arguments": Outcome.FAILED,
        "user-leaves/every-piece@piece-6": Outcome.FAILED,
        "user-leaves/every-piece@piece-2": Outcome.PASSED,
    }
