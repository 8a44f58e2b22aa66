"""What happened is counted from the journal, and what is lost is the difference to what is held."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.histories.message_parts.build import inline, journal_of, scenario

from tpharness.histories.langchain import UnsupportedError
from tpharness.histories.losses import LOSS_KINDS, find_losses
from tpharness.histories.produced import journal_contents
from tpharness.histories.projections import CallContent, ResultContent, TurnContent
from tpharness.histories.registry import HISTORIES

Told = list[tuple[str, int]]


def call(call_id: str | None = "c1", name: str | None = "look", arguments: str = '{"a": 1}') -> CallContent:
    """A call; without id and name as a history holds one that became text."""
    return CallContent(call_id=call_id, name=name, arguments=arguments)


def result(call_id: str = "c1", content: str = "sunny", outcome: Any = "success") -> ResultContent:
    """What came back for a call."""
    return ResultContent(call_id=call_id, outcome=outcome, content=content)


def told(came: list[TurnContent], kept: list[TurnContent]) -> Told:
    """Return kind and turn of each loss."""
    return [(loss.kind, loss.turn) for loss in find_losses(came, kept)]


def cut(**facts: Any) -> TurnContent:
    """A turn that was interrupted."""
    return TurnContent(interrupted=True, **facts)


# ------------------------------------------------------------------------------------------------ what happened


def test_a_cut_response_counts_as_far_as_it_came() -> None:
    """K05: signed thinking that had ended, and a text with its blanks, of which no end was seen."""
    (turn,) = journal_contents(journal_of(scenario("histories/k05-mid-text-after-thinking")))
    assert turn == cut(thinking=("think",), signatures=("sig",), texts=(" Hello ",))


def test_a_half_call_counts_with_the_text_of_its_arguments() -> None:
    """K07: after a text that was whole."""
    (turn,) = journal_contents(journal_of(scenario("histories/k07-mid-arguments-after-text")))
    assert turn == cut(texts=("ok",), calls=(call("c1", "slow", '{"ci'),))


def test_results_usage_and_every_response_count() -> None:
    """K02: two responses are two texts; usage was told of the first alone."""
    (turn,) = journal_contents(journal_of(scenario("histories/k02-thinking-call-and-answer")))
    assert turn == TurnContent(
        texts=("check", "done"),
        thinking=("hmm",),
        signatures=("sig",),
        calls=(call("c1", "fast", '{"city": "Paris"}'),),
        results=(result("c1", "sunny"),),
        usage=True,
    )


def test_a_failed_response_counts_with_what_had_come() -> None:
    """K12: an error interrupts the turn, and the text was there."""
    (turn,) = journal_contents(journal_of(scenario("histories/k12-model-call-fails")))
    assert turn == cut(texts=("Hel",))


def test_a_failed_tool_has_come_back() -> None:
    """K13: its error is a result."""
    (turn,) = journal_contents(journal_of(scenario("histories/k13-tool-times-out")))
    assert [(r.call_id, r.outcome) for r in turn.results] == [("c1", "error")]


def test_turns_that_go_on_are_not_cut() -> None:
    """A turn whose run has not ended is no interrupted one; nor is a completed one."""
    (turn,) = journal_contents(journal_of(scenario("histories/k01-text-only")))
    assert turn == TurnContent(texts=("Hello",))


# ------------------------------------------------------------------------------------------------ each kind

WHOLE = cut(
    texts=("Let me look.",),
    thinking=("hmm",),
    signatures=("sig",),
    calls=(call(),),
    results=(result(),),
    usage=True,
)


def changed(**facts: Any) -> TurnContent:
    """Return the whole turn with other facts."""
    held = {name: getattr(WHOLE, name) for name in TurnContent.__slots__}
    return TurnContent(**{**held, **facts})


ONE_LOSS: list[tuple[str, TurnContent, list[str], str]] = [
    ("a text that is not held", changed(texts=()), ["partial-text"], "'Let me look.'"),
    ("the end of a text", changed(texts=("Let me",)), ["partial-text"], "' look.' at its end"),
    ("another text", changed(texts=("Something else.",)), ["partial-text"], "'Let me look.'"),
    ("a thought", changed(thinking=()), ["thinking"], "'hmm'"),
    ("a thought that became text", changed(thinking=(), texts=("hmm", "Let me look.")), ["thinking"], "'hmm'"),
    ("a signature", changed(signatures=()), ["signature"], "sig"),
    ("a signature that is another one", changed(signatures=("gis",)), ["signature"], "sig"),
    ("a whole call", changed(calls=()), ["partial-arguments", "tool-name"], '{"a": 1} of call c1'),
    ("the name alone", changed(calls=(call(name=None),)), ["tool-name"], "look of call c1"),
    ("name and id", changed(calls=(call(None, None),)), ["tool-name"], "look of call c1"),
    ("the end of arguments", changed(calls=(call(arguments='{"a"'),)), ["partial-arguments"], '{"a": 1} of call c1'),
    ("a result", changed(results=()), ["finished-result"], "'sunny' for call c1"),
    ("a result that is called aborted", changed(results=(result(outcome="aborted"),)), ["finished-result"], "'sunny'"),
    ("a result without its content", changed(results=(result(content=""),)), ["finished-result"], "'sunny'"),
    ("that it was cut", changed(interrupted=False), ["interruption-fact"], "nothing tells that the turn was cut"),
    ("the usage", changed(usage=False), ["usage"], "no token counts"),
]


@pytest.mark.parametrize(("what", "kept", "kinds", "detail"), ONE_LOSS, ids=[row[0] for row in ONE_LOSS])
def test_each_kind_of_loss_is_told_by_itself(what: str, kept: TurnContent, kinds: list[str], detail: str) -> None:
    """One fact is not held, and nothing else is said to be lost."""
    found = find_losses([WHOLE], [kept])
    assert [loss.kind for loss in found] == kinds, what
    assert detail in found[0].detail


NO_LOSS: list[tuple[str, TurnContent]] = [
    ("all of it", WHOLE),
    ("more than all of it", changed(texts=("Let me look.", "And more."), results=(result(), result("c2")))),
    ("a text in pieces", changed(texts=("Let me", " look."))),
    ("without the blanks between pieces", changed(texts=("Let me", "look."))),
    ("arguments as another JSON text", changed(calls=(call(arguments='{"a":1}'),))),
]


@pytest.mark.parametrize(("what", "kept"), NO_LOSS, ids=[row[0] for row in NO_LOSS])
def test_what_is_held_otherwise_is_not_lost(what: str, kept: TurnContent) -> None:
    """The form of what is held is the history's own business."""
    assert find_losses([WHOLE], [kept]) == [], what


def test_blanks_are_no_text_and_no_loss() -> None:
    """L12 and K05: nobody misses white space."""
    assert told([TurnContent(texts=(" ", " Hello "))], [TurnContent(texts=("Hello",))]) == []


def test_a_call_that_has_only_begun_has_no_arguments_to_lose() -> None:
    """Its tool is known, and that is lost."""
    assert told([cut(calls=(call(arguments=""),))], [cut()]) == [("tool-name", 0)]


# ------------------------------------------------------------------------------------------------ whose turn it was


def test_a_turn_that_is_left_out_is_lost_whole_and_its_neighbours_are_not() -> None:
    """0.0.3 leaves interrupted turns out; the same words in another turn do not stand for them."""
    came = [TurnContent(texts=("ok",)), cut(texts=("ok",)), TurnContent(texts=("done",))]
    kept = [TurnContent(texts=("ok",)), TurnContent(texts=("done",))]
    assert told(came, kept) == [("partial-text", 1), ("interruption-fact", 1)]
    assert told(came[1:], kept[1:]) == [("partial-text", 0), ("interruption-fact", 0)]


def test_the_flag_of_a_turn_without_facts_is_that_of_the_turn_at_its_place() -> None:
    """K03 before and after other turns: an entry that tells the interruption and nothing else."""
    came = [TurnContent(texts=("a",)), cut(), TurnContent(texts=("b",)), cut()]
    kept = [TurnContent(texts=("a",)), cut(), TurnContent(texts=("b",)), TurnContent()]
    assert told(came, kept) == [("interruption-fact", 3)]
    assert told(came, [kept[0], TurnContent(), kept[2], cut()]) == [("interruption-fact", 1)]


def test_two_runs_that_are_held_as_one_turn_lose_nothing() -> None:
    """L15: a run again without a user's message; its flags are told by what both are held as."""
    came = [cut(texts=("It is",), usage=True), TurnContent(texts=("It is eighteen.",))]
    assert told(came, [cut(texts=("It is", "It is eighteen."), usage=True)]) == []
    assert told([came[1], cut()], [cut(texts=("It is eighteen.",))]) == []


def test_a_turn_that_is_held_as_two_loses_nothing() -> None:
    """A message that the user sends while the turn goes on begins a turn in histories that know no other beginning."""
    came = [cut(texts=("a", "b"), usage=True)]
    assert told(came, [TurnContent(texts=("a",), usage=True), cut(texts=("b",))]) == []
    assert told([cut(texts=("a",))], [TurnContent(texts=("a",)), cut()]) == []


def test_an_id_that_comes_again_is_paired_by_what_it_asks() -> None:
    """The first call with the id was dropped with its turn, the second one is held."""
    came = [
        cut(calls=(call(arguments='{"a": 1}'),)),
        TurnContent(calls=(call(arguments='{"a": 2}'),), results=(result(),)),
    ]
    kept = [TurnContent(calls=(call(arguments='{"a":2}'),), results=(result(),))]
    assert told(came, kept) == [("partial-arguments", 0), ("tool-name", 0), ("interruption-fact", 0)]


def test_losses_come_in_the_order_of_turns_and_kinds() -> None:
    """So that two lists can be compared."""
    everything = [loss.kind for loss in find_losses([WHOLE, WHOLE], [])]
    assert everything == [*LOSS_KINDS, *LOSS_KINDS]


WORDS = st.text("ab ", max_size=3)
TURNS = st.lists(
    st.builds(
        TurnContent,
        texts=st.lists(WORDS, max_size=2).map(tuple),
        thinking=st.lists(WORDS, max_size=2).map(tuple),
        signatures=st.lists(st.sampled_from("st"), max_size=2).map(tuple),
        calls=st.lists(st.builds(call, st.sampled_from(["c1", "c2"]), st.just("look"), WORDS), max_size=2).map(tuple),
        results=st.lists(st.builds(result, st.sampled_from(["c1", "c2"]), WORDS), max_size=2).map(tuple),
        interrupted=st.booleans(),
        usage=st.booleans(),
    ),
    max_size=4,
)


@given(TURNS)
def test_a_history_that_holds_everything_loses_nothing(turns: list[TurnContent]) -> None:
    """Whatever happened; and half of it loses nothing that the whole would not lose."""
    assert find_losses(turns, turns) == []
    every = find_losses(turns, [])
    assert {loss.turn for loss in every if loss.kind == "interruption-fact"} == {
        i for i, turn in enumerate(turns) if turn.interrupted
    }


@given(TURNS, TURNS)
def test_no_pair_of_histories_is_too_odd(came: list[TurnContent], kept: list[TurnContent]) -> None:
    """A loss is of a turn that happened, and no more is lost than with nothing held."""
    found = find_losses(came, kept)
    assert all(0 <= loss.turn < len(came) for loss in found)
    assert len(found) <= len(find_losses(came, []))


# ------------------------------------------------------------------------------------------------ each place

VERSIONS = ("0.0.4", "0.0.3", "2.0.0")
PLAN, CURRENT = "message-parts/plan", "message-parts/current"
CODE, REPAIRED = "langchain/documented", "langchain/repaired"
TEXT, ARGS, TOOL, THOUGHT, SIGNATURE, CUT, RESULT = LOSS_KINDS[:7]

BY_HAND: list[tuple[str, dict[str, set[str]]]] = [
    # Threads drop what had not finished (R20) and, if nothing is left, the turn (R24). `current` keeps the visible text
    # of a cut response and nothing else of it, `plan` its texts and thoughts. `langchain` keeps texts,
    # and calls as text, and has no fact of an interruption but the words of scenario 2 (GAP-7).
    ("k03-before-any-delta", {"threads": {CUT}, PLAN: set(), CURRENT: set(), CODE: {CUT}, REPAIRED: {CUT}}),
    ("k04-thinking-only", {
        "threads": {THOUGHT, CUT}, PLAN: set(), CURRENT: {THOUGHT}, CODE: {THOUGHT, CUT}, REPAIRED: {THOUGHT, CUT},
    }),
    ("k05-mid-text-after-thinking", {
        "threads": {TEXT, THOUGHT, SIGNATURE, CUT}, PLAN: set(), CURRENT: {THOUGHT, SIGNATURE},
        CODE: {THOUGHT, SIGNATURE, CUT}, REPAIRED: {THOUGHT, SIGNATURE, CUT},
    }),
    ("k06-mid-arguments", {
        "threads": {ARGS, TOOL, CUT}, PLAN: {ARGS, TOOL}, CURRENT: {ARGS, TOOL},
        CODE: {TOOL, CUT}, REPAIRED: {TOOL, CUT},
    }),
    ("l-07-while-one-tool-runs", {
        "threads": {TEXT, ARGS, TOOL, CUT}, PLAN: set(), CURRENT: set(), CODE: {TOOL}, REPAIRED: {TOOL},
    }),
    ("l-08-one-of-two-tools-done", {
        "threads": {TEXT, ARGS, TOOL, CUT, RESULT}, PLAN: set(), CURRENT: set(), CODE: {CUT}, REPAIRED: {TOOL},
    }),
    ("l-10-after-a-result", {
        "0.0.4": set(), "threads": {TEXT, ARGS, TOOL, CUT, RESULT}, PLAN: set(), CURRENT: set(),
        CODE: {CUT}, REPAIRED: {CUT},
    }),
    ("l-11-in-the-final-text", {
        "0.0.4": {TEXT}, "threads": {TEXT, ARGS, TOOL, CUT, RESULT}, PLAN: set(), CURRENT: set(),
        CODE: {CUT}, REPAIRED: {CUT},
    }),
    # The plan writes the error and not the text; `current` hands the text to the retry.
    ("k12-model-call-fails", {
        "0.0.4": {TEXT}, "threads": {TEXT, CUT}, PLAN: {TEXT}, CURRENT: set(), CODE: {CUT}, REPAIRED: {CUT},
    }),
]  # fmt: skip


THINKS = {"unsupported"}
STREAMED: dict[str, set[str]] = {
    "k03-before-any-delta": {CUT},
    "k04-thinking-only": THINKS,
    "k05-mid-text-after-thinking": THINKS,
    "k06-mid-arguments": {ARGS, TOOL, CUT},
    "l-07-while-one-tool-runs": {CUT},
    "l-08-one-of-two-tools-done": {CUT, RESULT},
    "l-10-after-a-result": {CUT},
    "l-11-in-the-final-text": {TEXT, CUT},
    "k12-model-call-fails": {TEXT, CUT},
}
"""What `langgraph` loses: what streams, and results until all have come. `pydantic-ai` loses nothing."""
WHOLE_RESPONSES: dict[str, set[str]] = {
    "k04-thinking-only": {THOUGHT},
    "k05-mid-text-after-thinking": {TEXT, THOUGHT, SIGNATURE},
    "k06-mid-arguments": {ARGS, TOOL},
    "l-11-in-the-final-text": {TEXT},
    "k12-model-call-fails": {TEXT},
}
"""What `chimera/python` loses: what streams. A missing end shows each cut."""
AS_IF_WHOLE: dict[str, set[str]] = {"k05-mid-text-after-thinking": {SIGNATURE}, "k06-mid-arguments": {ARGS}}
"""What `chimera/typescript` loses: signatures, which its stream does not have, and half arguments."""
WHOLE_STEPS: dict[str, set[str]] = {
    "k03-before-any-delta": {CUT},
    "k04-thinking-only": {THOUGHT, CUT},
    "k05-mid-text-after-thinking": {TEXT, THOUGHT, SIGNATURE, CUT},
    "k06-mid-arguments": {ARGS, TOOL, CUT},
    "l-07-while-one-tool-runs": {TEXT, ARGS, TOOL, CUT},
    "l-08-one-of-two-tools-done": {TEXT, ARGS, TOOL, CUT, RESULT},
    "l-10-after-a-result": {CUT},
    "l-11-in-the-final-text": {TEXT, CUT},
    "k12-model-call-fails": {TEXT, CUT},
}
"""What `openai-agents` loses: a step until all of it has ended, and each cut."""
LEFT: dict[str, set[str]] = {**WHOLE_STEPS, "l-07-while-one-tool-runs": set(), "l-08-one-of-two-tools-done": {RESULT}}
"""What `strands/left` loses: as above, but that a call without its result is kept, and shows the cut."""
CANCELLED = {name: lost - ({CUT} if name != "k12-model-call-fails" else set()) for name, lost in LEFT.items()}
"""What `strands/cancel` loses: the model has said "Cancelled by user"; an error of it leaves nothing, as above."""
NOT_HELD = {
    "langgraph": [name for name, lost in STREAMED.items() if lost is THINKS],  # it depends on the integration
    "strands/cancel": ["l-07-while-one-tool-runs", "l-08-one-of-two-tools-done"],  # it waits for the tools
}
WHOLE_RUNS: dict[str, set[str]] = {
    **WHOLE_STEPS,
    "l-10-after-a-result": {TEXT, ARGS, TOOL, CUT, RESULT},
    "l-11-in-the-final-text": {TEXT, ARGS, TOOL, CUT, RESULT},
}
"""What `openai-agents-js/session` loses: a run until it has its answer."""
WHOLE_RESPONSES_AND_RESULTS: dict[str, set[str]] = {**WHOLE_RESPONSES, "l-08-one-of-two-tools-done": {RESULT}}
"""What `google-adk` loses: what streams, and results until all have come.

After an abort an event shows each cut; of a loop that was left nothing does. An error of the model leaves one in both.
"""
EACH_RUN: dict[str, set[str]] = {
    **WHOLE_STEPS,
    "l-10-after-a-result": {ARGS, TOOL, RESULT, TEXT, CUT},
    "l-11-in-the-final-text": {ARGS, TOOL, RESULT, TEXT, CUT},
}
"""What `agent-framework/run` loses: all of a run that has not ended."""
EACH_RESPONSE: dict[str, set[str]] = {
    **WHOLE_STEPS,
    "l-07-while-one-tool-runs": {CUT},
    "l-08-one-of-two-tools-done": {RESULT, CUT},
    "l-10-after-a-result": {RESULT, CUT},
    "l-11-in-the-final-text": {TEXT, RESULT, CUT},
}
"""What `agent-framework/call` loses: what streams, and results until the response behind them is whole."""
WITH_WORDS: dict[str, set[str]] = {
    "k04-thinking-only": {THOUGHT},
    "k05-mid-text-after-thinking": {THOUGHT, SIGNATURE},
    "k06-mid-arguments": {ARGS, TOOL},
    "l-08-one-of-two-tools-done": {RESULT},
    "l-11-in-the-final-text": {TEXT},
    "k12-model-call-fails": {TEXT},
}
"""What `agno` loses of what its database has: half a text is kept where no answer of the run has words.

Each cut shows.
"""
UNMARKED = ("k03-before-any-delta", "l-07-while-one-tool-runs", "l-08-one-of-two-tools-done", "l-10-after-a-result")
"""Where `ai-sdk` does not tell that the turn was cut: nothing of it was streaming. It loses nothing else of these."""


@pytest.mark.parametrize(("name", "expected"), BY_HAND, ids=[row[0] for row in BY_HAND])
def test_what_each_history_loses_at_each_place(name: str, expected: dict[str, set[str]]) -> None:
    """By the rules of each, for the scenario that has this place."""
    journal = journal_of(scenario(f"histories/{name}"))
    for history in HISTORIES.values():
        if name in NOT_HELD.get(history.name, ()):
            with pytest.raises(UnsupportedError, match=history.name):
                history.store(journal)
            continue
        found = find_losses(journal_contents(journal), history.turn_contents(history.store(journal)))
        unmarked: set[str] = {CUT} if name in UNMARKED else set()
        others: dict[str, set[str]] = {
            "message-parts/2.32": expected[CURRENT],
            # A call that is deleted while its tool runs stays in the API's form of its message.
            "langchain/js": expected[CODE] - ({TOOL} if name == "l-07-while-one-tool-runs" else set()),
            "langgraph": STREAMED[name],
            "pydantic-ai": set(),
            "ai-sdk": unmarked,
            "chimera/python": WHOLE_RESPONSES.get(name, set()),
            "chimera/typescript": AS_IF_WHOLE.get(name, set()),
            "openai-agents": WHOLE_STEPS[name],
            "openai-agents-js/session": WHOLE_RUNS[name],
            "openai-agents-js/list": WHOLE_STEPS[name],
            "google-adk/left": WHOLE_RESPONSES_AND_RESULTS.get(name, set())
            | (set() if name == "k12-model-call-fails" else {CUT}),
            "google-adk/aborted": WHOLE_RESPONSES_AND_RESULTS.get(name, set()),
            "agent-framework/run": EACH_RUN[name],
            "agent-framework/call": EACH_RESPONSE[name],
            "agno": WITH_WORDS.get(name, set()),
            "strands/left": LEFT[name],
            "strands/cancel": CANCELLED[name],
            **expected,
        }
        wanted = others.get(history.name, expected["threads"] if history.name in VERSIONS else None)
        assert {loss.kind for loss in found} == wanted, history.name


def test_the_second_step_loses_what_streams_and_no_more() -> None:
    """Arguments of the second step: 0.0.4 keeps the first cycle, and the interruption with it (R20)."""
    played = inline(
        "  - user: q\n"
        "  - steps:\n"
        "      - response: [{call: fast, id: c1, args: {}}]\n"
        "      - returns: {c1: one}\n"
        "      - response: [{text: So}, {call: slow, id: c2, deltas: ['{\"ci', 'ty\": 1}'], label: c}]\n"
        "    interrupt: {reason: user_cancelled, after: c.start}\n"
    )
    journal = journal_of(played)
    lost = {
        name: {loss.kind for loss in find_losses(journal_contents(journal), h.turn_contents(h.store(journal)))}
        for name, h in HISTORIES.items()
    }
    assert lost["0.0.4"] == {TEXT, ARGS, TOOL}
    assert lost["0.0.3"] == lost["2.0.0"] == {TEXT, ARGS, TOOL, CUT, RESULT}
    assert lost[PLAN] == lost[CURRENT] == {ARGS, TOOL}
    assert lost[CODE] == lost[REPAIRED] == {TOOL, CUT}
    assert lost["pydantic-ai"] == lost["ai-sdk"] == set()
    assert lost["langgraph"] == {TEXT, ARGS, TOOL, CUT}
