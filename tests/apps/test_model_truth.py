"""What the model is told that it said is compared with what it said: whole, cut, joined, invented."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.apps.by_hand import (
    ASKS,
    CALL,
    CHECKS,
    DONE,
    FIRST,
    HISTORY,
    PART,
    PIECES,
    SCREEN,
    TOLD_CALL,
    TYPES,
    WHOLE,
    asked,
    evidence,
    found,
)

from tpharness.apps.cases.case import Cut, CutBy
from tpharness.apps.checks.truth import sent_twice, unsaid
from tpharness.apps.client import End, Fetched
from tpharness.apps.evidence import CutSeen, ReplySeen, has_seen
from tpharness.apps.provider.exchange import ExchangeOutcome
from tpharness.model_apis.messages import HistoryCall, HistoryMessage, HistoryResult
from tpharness.model_apis.plan import Plan, Thinking

SAID = ["I will look. ", "It is eighteen degrees."]


@pytest.mark.parametrize(
    "told",
    [
        "",
        "I will look.",
        "I will",
        "It is eigh",
        "I will look. It is eighteen degrees.",
        "I will look.It is",
        "I will look.\n\nIt is eighteen",
        "  I  will look. ",
        "I will look. It isIt is",
        "I wI wI will",
        "I willIt is eighteen degrees.",
    ],
)
def test_a_beginning_of_what_was_said_is_said(told: str) -> None:
    """Answers may be joined, and each may be cut at its end."""
    assert unsaid(told, SAID) == ""


@pytest.mark.parametrize(
    ("told", "rest"),
    [
        ("I will look. [stopped]", "[stopped]"),
        ("I will go", "go"),
        ("will look.", "will look."),
        ("It is nineteen", "nineteen"),
        ("Sorry.", "Sorry."),
        ("It is eighIt was cold", "It was cold"),
    ],
)
def test_anything_else_is_not(told: str, rest: str) -> None:
    """What is left is shown."""
    assert unsaid(told, SAID) == rest


def test_a_character_that_came_in_two_halves_is_one() -> None:
    """JavaScript's servers cut it there (R43); half of it at the end is a beginning."""
    assert unsaid("a🚀b", ["a\ud83d\ude80b"]) == ""
    assert unsaid("a", ["a\ud83d"]) == ""
    assert unsaid("a🚀", ["a\ud83db"]) == "🚀"


def test_nothing_was_said_before_the_first_answer() -> None:
    """Then anything is an invention."""
    assert unsaid("Hello", []) == "Hello"
    assert unsaid("", []) == ""


@pytest.mark.parametrize("check", sorted(set(CHECKS) - {"answered", "branches", "same-view", "stops-or-goes-on"}))
def test_a_history_that_is_kept_whole_is_fine(check: str) -> None:
    """No check finds anything."""
    assert found(check, evidence(*WHOLE)) == []


def test_a_cut_text_of_arguments_is_no_invention_and_a_repaired_one_is() -> None:
    """The raw beginning is what the model said; whether its API takes it is another check's."""
    seen = evidence(*WHOLE)
    first, second = seen.turns
    cut = replace(first.asked[0], pieces=3, outcome=ExchangeOutcome.DISCONNECTED)
    raw = HistoryCall(call_id="c1", name="book", args='{"city":"Pa', raw='{"city":"Pa')
    repaired = HistoryCall(call_id="c1", name="book", args={"city": "Pa"}, raw='{"city":"Pa"}')
    for call, codes in ((raw, []), (repaired, ["arguments-invented"]), (TOLD_CALL, ["arguments-invented"])):
        told = (HISTORY[0], HistoryMessage(role="assistant", text="Let me see.", calls=(call,)), ASKS)
        turns = (replace(first, asked=(cut,)), replace(second, asked=(replace(second.asked[0], history=told),)))
        assert found("prefix", replace(seen, turns=turns)) == codes


def test_arguments_in_another_order_are_the_same() -> None:
    """JSON objects have no order, and numbers no spelling."""
    same = HistoryCall(call_id="c1", name="book", args={"city": "Paris"}, raw='{ "city" : "Paris" }')
    assert (
        found("prefix", evidence(HISTORY[0], HistoryMessage(role="assistant", calls=(same,)), *HISTORY[2:], ASKS)) == []
    )


def test_thinking_that_was_not_thought_is_an_invention() -> None:
    """Thinking is what the model said, too."""
    told = HistoryMessage(role="assistant", text="It is done.", thinking="The user is nice.")
    assert found("prefix", evidence(*HISTORY, told, ASKS)) == ["text-invented"]


def test_a_call_of_another_id_and_the_same_name_is_the_call() -> None:
    """Applications may give ids of their own."""
    own = HistoryCall(call_id="own-1", name="book", args={"city": "Paris"}, raw="{}")
    assert found("prefix", evidence(HISTORY[0], HistoryMessage(role="assistant", calls=(own,)), ASKS)) == []


def test_a_user_turn_is_counted_in_one_message_or_several() -> None:
    """Some APIs want the messages of one role joined."""
    joined = HistoryMessage(role="user", text="(1) Do it.\n\n(2) And?")
    assert found("user-turns", evidence(joined)) == []
    assert found("user-turns", evidence(ASKS)) == ["user-turn-lost"]
    assert found("user-turns", evidence(joined, ASKS)) == ["user-turn-doubled"]
    assert found("user-turns", evidence(ASKS, HISTORY[0])) == ["user-turn-misplaced"]


def test_a_tool_that_was_told_to_have_run_is_not_forgotten_when_its_result_is_a_note() -> None:
    """That nobody knows whether it ran is enough."""
    note = HistoryMessage(role="tool", results=(HistoryResult(call_id="c1", content="interrupted", is_error=True),))
    assert found("effects", evidence(*HISTORY[:2], note, ASKS)) == []


def test_an_effect_that_only_the_model_knew_of_is_forgotten() -> None:
    """The run went on after its user had left: the screen has no result, and the next request no call."""
    seen = evidence(HISTORY[0], HistoryMessage(role="assistant", text="Let me see."), ASKS)
    first, second = seen.turns
    seen = replace(seen, turns=(replace(first, screen=SCREEN[:1]), second))
    assert found("effects", seen) == ["effect-forgotten"]
    assert found("cycles-kept", seen) == []


def test_a_late_first_request_of_the_next_turn_is_what_is_compared() -> None:
    """A request of the next turn that came while the run before went on knows less, and may."""
    seen = evidence(*WHOLE)
    first, second = seen.turns
    early = asked(1, Plan(), HISTORY[0], ASKS, started_at=2.5, ended_at=2.8)
    seen = replace(seen, turns=(first, replace(second, asked=(early, *second.asked))))
    assert seen.following is not None
    assert seen.following[1].started_at == 5.0
    assert found("cycles-kept", seen) == []


@pytest.mark.parametrize(
    ("told", "said", "twice"),
    [
        ([], [], ""),
        (["I will"], ["I will see"], ""),
        (["I will see", "I will see"], ["I will see", "I will see"], ""),
        (["I will see I will see"], ["I will see", "I will see"], ""),
        (["I will see I will see"], ["I will see"], "I will see"),
        (["I will see", "I will"], ["I will see"], "I will"),
        (["I will", "I will see"], ["I will see", "I will do"], ""),
        (["I will", "I will see"], ["I will do", "I will see"], ""),
        (["So far", "So far", "So far"], ["So far so good", "So far", "So far it is"], ""),
        (["So far", "So far", "So far"], ["So far so good", "So far"], "So far"),
        (["a b", "a"], ["a", "a b"], ""),
        (["", " "], ["a"], ""),
        (["I willI will"], ["I will see"], "I will"),
        (["I willI do"], ["I will see", "I do it"], ""),
    ],
)
def test_an_answer_is_told_as_often_as_it_was_said(told: list[str], said: list[str], twice: str) -> None:
    """Each text that is told stands for one answer, whole or its beginning, in whatever order."""
    assert sent_twice(told, said) == twice


def test_half_an_answer_that_is_told_twice_is_no_invention() -> None:
    """Also where the model has said more of it than the application has read."""
    seen = evidence(*WHOLE)
    first, second = seen.turns
    for half in ("Let me", "Let me see."):
        told = (HISTORY[0], HistoryMessage(role="assistant", text=half + half), ASKS)
        turns = (first, replace(second, asked=(replace(second.asked[0], history=told),)))
        assert found("prefix", replace(seen, turns=turns)) == ["answer-doubled"]


def test_a_call_keeps_the_name_of_its_tool() -> None:
    """The id alone does not make it the call of the model."""
    renamed = HistoryCall(call_id="c1", name="BOOK", args={"city": "Paris"}, raw='{"city": "Paris"}')
    told = (HISTORY[0], HistoryMessage(role="assistant", text="Let me see.", calls=(renamed,)), HISTORY[2], DONE, ASKS)
    (finding,) = CHECKS["prefix"].find(evidence(*told))
    assert (finding.code, finding.expected) == ("call-invented", 'book({"city":"Paris"})')


@pytest.mark.parametrize(
    ("told", "codes"),
    [
        ((*HISTORY, DONE, ASKS), []),
        ((*HISTORY, ASKS, DONE), ["answer-misplaced"]),
        ((HISTORY[0], ASKS, *HISTORY[1:], DONE), ["answer-misplaced"]),
        ((*HISTORY, ASKS), []),
    ],
)
def test_an_answer_stands_before_the_message_that_was_written_after_it(
    told: tuple[HistoryMessage, ...], codes: list[str]
) -> None:
    """Unless that was written while its run went on."""
    seen = evidence(*told)
    assert found("user-turns", seen) == codes
    meanwhile = evidence(*told, cut=CutSeen(cut=Cut(by=CutBy.SECOND_MESSAGE)))
    assert found("user-turns", meanwhile) == []


@pytest.mark.parametrize(
    ("shown", "told", "codes"),
    [
        ("booked", "booked", []),
        ({"number": 7}, '{"number": 7}', []),
        ("booked", '{"name": "book", "content": "booked"}', []),
        ({"number": 7}, '{"result": {"number": 7}}', []),
        ("7", "7", []),
        ("booked", "", ["result-told-otherwise"]),
        ({"number": 7}, '{"number": 8}', ["result-told-otherwise"]),
        ({"number": 7}, "7 is booked", ["result-told-otherwise"]),
    ],
)
def test_a_result_that_is_told_otherwise_than_shown_is_named(shown: Any, told: str, codes: list[str]) -> None:
    """It is a policy; an object and its JSON are the same."""
    history = (
        *HISTORY[:2],
        HistoryMessage(role="tool", results=(HistoryResult(call_id="c1", content=told),)),
        DONE,
        ASKS,
    )
    seen = evidence(*history)
    screen = ({"role": "assistant", "parts": [{**PART, "output": shown}, {"type": "text", "text": "It is done."}]},)
    seen = replace(seen, turns=tuple(replace(turn, screen=screen) for turn in seen.turns))
    assert [code for code in found("seen-and-told", seen) if code == "result-told-otherwise"] == codes


def test_a_result_of_another_call_is_found_by_what_the_user_saw() -> None:
    """Also where the model was never told the right one; one that nobody saw is not another call's."""
    for first, codes in (("seven", []), ("eight", ["result-misplaced"]), ("nine", [])):
        results = (HistoryResult(call_id="c1", content=first), HistoryResult(call_id="c2", content="eight"))
        calls = (TOLD_CALL, replace(TOLD_CALL, call_id="c2"))
        told = (
            HISTORY[0],
            HistoryMessage(role="assistant", calls=calls),
            HistoryMessage(role="tool", results=results),
            ASKS,
        )
        parts = [{**PART, "output": "seven"}, {**PART, "toolCallId": "c2", "output": "eight"}]
        seen = evidence(*told)
        screen = ({"role": "assistant", "parts": parts},)
        turns = tuple(replace(turn, screen=screen, asked=turn.asked[:1]) for turn in seen.turns)
        assert found("cycles-kept", replace(seen, turns=turns)) == codes


@pytest.mark.parametrize("status", [0, 400, 404, 500])
def test_a_stop_button_that_is_refused_is_not_one_that_is_ignored(status: int) -> None:
    """The run goes on since nobody has told the application to stop it: what was sent has to change first."""
    cut = CutSeen(cut=Cut(by=CutBy.STOP), asked_after=1, answered=Fetched(status=status, text="no such field"))
    seen = evidence(*WHOLE, cut=cut)
    assert found("stops-or-goes-on", seen) == ["stop-refused"]


@pytest.mark.parametrize(
    ("by", "in_tool", "left", "asked_after", "declared", "codes"),
    [
        (CutBy.LEAVE, False, 0.02, 0, "stop", []),
        (CutBy.LEAVE, False, None, 0, "stop", ["runs-on"]),
        (CutBy.LEAVE, False, None, 0, "continue", []),
        (CutBy.LEAVE, False, 0.02, 0, "continue", ["gives-up"]),
        (CutBy.LEAVE, False, None, 1, None, []),
        (CutBy.LEAVE, True, None, 0, "stop", []),
        (CutBy.LEAVE, True, None, 1, "stop", ["runs-on"]),
        (CutBy.STOP, False, None, 0, "continue", ["stop-ignored"]),
        (CutBy.STOP, False, 0.02, 0, "continue", []),
        (CutBy.STOP, True, None, 1, None, ["stop-ignored"]),
    ],
)
def test_what_is_declared_is_held_against_what_was_seen(
    by: CutBy, in_tool: bool, left: float | None, asked_after: int, declared: str | None, codes: list[str]
) -> None:
    """A run that nobody reads stops, or goes on; the stop button always stops it."""
    cut = CutSeen(cut=Cut(by=by, in_tool=in_tool), left_after=left, asked_after=asked_after)
    seen = replace(evidence(*WHOLE, cut=cut), on_disconnect=declared)
    assert found("stops-or-goes-on", seen) == codes


@pytest.mark.parametrize(
    ("reply", "codes"),
    [
        (ReplySeen(types=("start", "error")), []),
        (ReplySeen(types=("start", "error"), end=End.REFUSED), []),
        (ReplySeen(types=("start", "error", "finish"), finish_reason="error"), []),
        (ReplySeen(types=("start", "error", "finish"), finish_reason="stop"), ["failure-as-finish"]),
        (ReplySeen(types=("start", "error", "finish")), ["failure-as-finish"]),
        (ReplySeen(types=("start", "error", "finish"), end=End.REFUSED), ["failure-as-finish"]),
        (ReplySeen(types=TYPES, finish_reason="error"), []),
        (ReplySeen(types=TYPES, finish_reason="stop"), ["failure-as-finish"]),
        (ReplySeen(types=("start",)), ["failure-unsaid"]),
        (ReplySeen(status=500, content_type="application/json"), []),
        (ReplySeen(status=200, content_type="text/plain"), ["failure-unsaid"]),
        (ReplySeen(types=("start",), end=End.LEFT), []),
    ],
)
def test_a_failure_of_the_model_is_told_to_the_client(reply: ReplySeen, codes: list[str]) -> None:
    """By an error chunk, a finish reason or a status; never by an ordinary end."""
    seen = evidence(*WHOLE)
    first, second = seen.turns
    broken = replace(first.asked[1], outcome=ExchangeOutcome.BROKEN)
    seen = replace(seen, turns=(replace(first, asked=(first.asked[0], broken), reply=reply), second))
    assert found("stream-valid", seen) == codes


def test_a_screen_has_seen_an_answer_when_its_end_is_there() -> None:
    """All of the text and the thoughts, the arguments as far as they came; a call may also be there whole."""
    half = asked(1, replace(FIRST, items=(FIRST.items[0], replace(CALL, pieces=PIECES[:1]))))
    text = {"type": "text", "text": "Let me see."}
    streaming = {"type": "tool-book", "toolCallId": "c1", "state": "input-streaming"}
    for parts, seen in (
        ([text], False),
        ([text, streaming], False),
        ([text, {**streaming, "rawInput": PIECES[0]}], True),
        ([text, {**streaming, "state": "input-available"}], True),
        ([{"type": "text", "text": "Let me"}, {**streaming, "rawInput": PIECES[0]}], False),
    ):
        assert has_seen([{"role": "assistant", "parts": parts}], half) is seen
    thinking = asked(1, Plan(items=(Thinking(pieces=("They want it.",)),)))
    for thought, seen in (("They want", False), ("They want it.", True)):
        parts = [{"type": "reasoning", "text": thought}]
        assert has_seen([{"role": "assistant", "parts": parts}], thinking) is seen
