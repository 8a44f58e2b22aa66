"""What a history holds of each agent turn."""

from __future__ import annotations

import pytest
from tests.histories.message_parts.build import (
    answer,
    call,
    cancelled,
    interrupt,
    journal_of,
    result,
    scenario,
    signature,
    stream_error,
    text,
    thought,
    user,
)

from tpharness.histories.message_parts import MESSAGE_PARTS
from tpharness.histories.projections import CallContent, ResultContent, TurnContent

PLAN, CURRENT = MESSAGE_PARTS["message-parts/plan"], MESSAGE_PARTS["message-parts/current"]
CUT = TurnContent(interrupted=True)
SLOW = CallContent(call_id="c2", name="slow", arguments="{}")
STOPPED = ResultContent(call_id="c2", outcome="aborted", content="[Request interrupted by user for tool use]")

# by HISTORIES 1.7: what of each input is in the stored form, (plan, current)
HELD = {
    "k02-thinking-call-and-answer": (
        TurnContent(
            texts=("check", "done"),
            thinking=("hmm",),
            signatures=("sig",),
            calls=(CallContent(call_id="c1", name="fast", arguments='{"city": "Paris"}'),),
            results=(ResultContent(call_id="c1", outcome="success", content="sunny"),),
            usage=True,
        ),
        None,
    ),
    "k03-before-any-delta": (CUT, CUT),
    "k04-thinking-only": (TurnContent(thinking=("hmm",), interrupted=True), CUT),
    "k05-mid-text-after-thinking": (
        TurnContent(texts=(" Hello ",), thinking=("think",), signatures=("sig",), interrupted=True),
        TurnContent(texts=("Hello",), interrupted=True),
    ),
    "k06-mid-arguments": (CUT, CUT),
    "k08-tool-runs": (TurnContent(texts=("ok",), calls=(SLOW,), results=(STOPPED,), interrupted=True), None),
    "k12-model-call-fails": (CUT, TurnContent(texts=("Hel",), interrupted=True)),
    "k13-tool-times-out": (
        TurnContent(
            texts=("too slow",),
            calls=(CallContent(call_id="c1", name="slow", arguments="{}"),),
            results=(
                ResultContent(
                    call_id="c1", outcome="error", content="Tool slow execution error: TimeoutError after 120 s"
                ),
            ),
        ),
        None,
    ),
}


@pytest.mark.parametrize("name", HELD)
def test_what_is_held_of_an_input(name: str) -> None:
    """None in the table: the same for both."""
    played = journal_of(scenario(f"histories/{name}"))
    planned, current = HELD[name]
    assert PLAN.turn_contents(PLAN.store(played)) == (planned,)
    assert CURRENT.turn_contents(CURRENT.store(played)) == (current or planned,)


def test_an_entry_for_each_agent_turn() -> None:
    """A user message, and what follows it; one that nothing follows was answered by what is lost."""
    history = [user("a"), answer(text("x"), stop="stop"), user("b"), user("c"), answer(text("y"), stop="stop")]
    assert CURRENT.turn_contents(history) == (TurnContent(texts=("x",)), TurnContent(), TurnContent(texts=("y",)))
    assert CURRENT.turn_contents([]) == ()
    assert CURRENT.turn_contents([answer(text("x"))]) == (TurnContent(texts=("x",)),)


def test_texts_are_one_entry_a_response() -> None:
    """The contract: texts and thinking whole, one entry a response; each signature on its own."""
    made = answer(thought("a"), signature("s"), thought("b"), signature("t"), text("x"), text("y"), stop="stop")
    held = TurnContent(texts=("xy",), thinking=("ab",), signatures=("s", "t"))
    assert PLAN.turn_contents([user("q"), made]) == (held,)


@pytest.mark.parametrize(
    "told",
    [
        [answer(text("x"), stop="aborted")],
        [answer(call("c", "t")), cancelled("c", "t")],
        [interrupt(notice=False)],
        [stream_error("net down")],
    ],
)
def test_what_tells_an_interruption(told: list[dict[str, object]]) -> None:
    """An aborted message or result, an entry, a failed call that no other follows."""
    assert [held.interrupted for held in CURRENT.turn_contents([user("q"), *told])] == [True]
    assert [held.interrupted for held in CURRENT.turn_contents([*told])] == [True]


def test_a_failed_call_that_another_follows_tells_none() -> None:
    """The retry went through."""
    history = [user("q"), stream_error("net down"), answer(text("x"), stop="stop")]
    assert [held.interrupted for held in PLAN.turn_contents(history)] == [False]


def test_a_call_without_a_result_tells_none() -> None:
    """It may wait for an answer, or the program may have ended: the history does not tell."""
    history = [user("q"), answer(call("a", "t"), call("b", "t")), result("a", "t", "success", "1")]
    assert [held.interrupted for held in PLAN.turn_contents(history)] == [False]
