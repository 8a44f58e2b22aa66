"""Each gap of the design is one field of the choices, and each choice does what it says."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import pytest
from msgspec.structs import replace as changed
from tests.histories.langchain.folding import CALL, MARKER, OTHER_CALL, ai, history, human, run, short, tool

from tpharness.histories.langchain import DOCUMENTED, LANGCHAIN, Choices, LangChainDialect, UnsupportedError
from tpharness.histories.langchain.choices import OpenCallRule
from tpharness.journal import AgentTurn, Journal, Log

CODE = LANGCHAIN["langchain/documented"]
REPAIRED = LANGCHAIN["langchain/repaired"]
WEATHER = human("Weather?")

C1 = "{call: get_weather, id: c1, raw: '" + CALL + "'"
C2 = "{call: get_weather, id: c2, raw: '" + OTHER_CALL + "'"


def choosing(choices: Choices) -> LangChainDialect:
    """Return the documented design with other choices."""
    return LangChainDialect(variant="other", choices=choices)


def state(journal: Journal, choices: Choices = DOCUMENTED) -> list[tuple[object, ...]]:
    """Return the messages of a journal, short."""
    return short(choosing(choices).store(journal))


def test_gap_1_the_text_before_a_call_is_flushed_into_its_message() -> None:
    """Text and call are one message, so the results come directly after the calls."""
    journal = run("{response: [{text: Check.}, " + C1 + "}]}", "{returns: {c1: sunny}}")
    assert state(journal) == [WEATHER, ai(f"Check.\nTool Call: {CALL}", "c1"), tool("sunny", "c1")]


def test_gap_1_a_message_of_its_own_turns_text_and_call_round() -> None:
    """The text stays in its buffer until the MessageEvent, and then stands between call and result."""
    journal = run("{response: [{text: Check.}, " + C1 + "}]}", "{returns: {c1: sunny}}")
    choices = replace(DOCUMENTED, tool_event="own-message")
    assert state(journal, choices) == [WEATHER, ai(f"\nTool Call: {CALL}", "c1"), ai("Check."), tool("sunny", "c1")]


def test_gap_1_a_call_is_not_merged_into_the_message_of_an_earlier_response() -> None:
    """After a result the last AIMessage is that of the response before."""
    second = "{response: [" + C2 + "}], label: second}"
    journal = run("{response: [" + C1 + "}]}", "{returns: {c1: sunny}}", second, interrupt="second")
    flat = f"\nTool Call: {OTHER_CALL}{MARKER}"
    assert state(journal) == [WEATHER, ai(f"\nTool Call: {CALL}", "c1"), tool("sunny", "c1"), ai(flat)]


def test_gap_2_text_alone_leaves_results_without_calls() -> None:
    """Then there is nothing for the interruption to convert either."""
    choices = replace(DOCUMENTED, calls="text-only")
    done = history("l-10-after-a-result")
    assert state(done, choices) == [WEATHER, ai(f"Check.\nTool Call: {CALL}"), tool("sunny", "c1")]
    assert state(history("l-07-while-one-tool-runs"), choices) == [WEATHER, ai(f"ok\nTool Call: {CALL}")]


def both_buffers() -> Journal:
    """Fold a text and a half call, cut in the call."""
    call = "{call: get_weather, id: c1, deltas: ['{\"ci', 'ty\": 1}'], label: c}"
    return run("{response: [{text: Check.}, " + call + "]}", interrupt="c.start")


def test_gap_3_the_order_of_the_buffers() -> None:
    """The text came first; the design's scenarios have the call first."""
    text, call = ai("Check."), ai('Interrupted Tool Call: {"ci')
    assert state(both_buffers()) == [WEATHER, text, call]
    assert state(both_buffers(), replace(DOCUMENTED, buffer_order="call-first")) == [WEATHER, call, text]


def test_gap_4_which_message_loses_its_calls() -> None:
    """The last element, the last AIMessage, or each with an open call; the table has parallel calls."""
    answered = history("l-10-after-a-result")
    for rule in get_args(OpenCallRule):  # no call is open, so no rule touches the answered one
        last = state(answered, replace(DOCUMENTED, open_calls=rule))
        assert last == [WEATHER, ai(f"Check.\nTool Call: {CALL}", "c1"), tool("sunny", "c1")]


def test_gap_4_the_marker_comes_once_for_all_calls_of_a_message() -> None:
    """Both calls were running."""
    journal = run("{response: [" + C1 + "}, " + C2 + "}]}", "{start_tools: true, label: t}", interrupt="t")
    flat = ai(f"\nTool Call: {CALL}\nTool Call: {OTHER_CALL}{MARKER}")
    for rule in get_args(OpenCallRule):
        assert state(journal, replace(DOCUMENTED, open_calls=rule)) == [WEATHER, flat]


def test_gap_5_what_the_model_gets_does_not_depend_on_when() -> None:
    """Only the stored state does: the half call is still in its buffer."""
    later = choosing(replace(DOCUMENTED, half_call="next-run"))
    journal = history("l-05-in-arguments")
    stored = later.store(journal)
    assert short(stored) == [WEATHER]
    assert stored["tool_call_buffers"] == ['{"ci']
    for provider in ("openai-chat", "openai-responses", "anthropic", "gemini"):
        at_once = CODE.model_input(CODE.store(journal), provider, next_user="Go on.")
        assert later.model_input(stored, provider, next_user="Go on.") == at_once


def test_gap_5_the_next_turn_finds_the_half_call_converted() -> None:
    """Before what the user says next, so that it stands where it happened."""
    call = "{call: f, id: c1, deltas: ['{\"a', '\": 1}'], label: c}"
    first = run("{response: [" + call + "]}", interrupt="c.start")
    both = Journal(ended=first.ended.append(history("l-01-text").ended[0]))
    expected = [WEATHER, ai('Interrupted Tool Call: {"a'), human("Hi")]
    assert state(both, replace(DOCUMENTED, half_call="next-run")) == expected
    assert state(both) == expected


def test_gap_6_one_buffer_cannot_hold_interleaved_arguments() -> None:
    """The documented design refuses the journal rather than make up what it would hold."""
    with pytest.raises(UnsupportedError, match="GAP-6") as caught:
        CODE.store(history("tools/interleaved-arguments"))
    assert "repaired" in caught.value.hint


def test_gap_6_a_buffer_for_each_call_holds_them() -> None:
    """Each text is whole; results in the order in which the tools ended."""
    assert DOCUMENTED.arguments == "one-buffer"
    content = '\nTool Call: {"n": 1}\nTool Call: {"m": 2}'
    expected = [human("Go"), ai(content, "c1", "c2"), tool("two", "c2"), tool("one", "c1")]
    assert short(REPAIRED.store(history("tools/interleaved-arguments"))) == expected


def test_gap_6_half_calls_that_interleave_become_a_message_each() -> None:
    """What came of the first call after its early end keeps it half."""
    journal = history("tools/interleaved-arguments", 1)
    assert short(REPAIRED.store(journal)) == [human("Go")]
    half = half_interleaved()
    texts = [ai('Interrupted Tool Call: {"n": 1}'), ai('Interrupted Tool Call: {"m"')]
    assert short(REPAIRED.store(half)) == [WEATHER, *texts]
    with pytest.raises(UnsupportedError):
        CODE.store(half)


def half_interleaved() -> Journal:
    """Fold two calls whose arguments interleave, cut before the second one is whole."""
    start = (
        "{event_kind: part_start, index: %d, part: {part_kind: tool-call, tool_name: f, tool_call_id: %s, args: %s}}"
    )
    delta = "{event_kind: part_delta, index: 0, delta: {part_delta_kind: tool_call, args_delta: ': 1}'}}"
    deltas = [start % (0, "c1", "'{\"n\"'"), start % (1, "c2", "'{\"m\"'"), delta]
    return run(*deltas, interrupt="end", head="server")


def test_gap_7_no_fact_of_the_interruption_is_added() -> None:
    """A text that was cut after its last word is the same as one that was whole."""
    cut, whole = history("l-04-in-a-text"), history("l-01-text")
    for dialect in LANGCHAIN.values():
        assert dialect.store(cut) == dialect.store(whole)


def test_gap_8_one_space_is_true() -> None:
    """JavaScript's truth keeps it, the repaired variant does not."""
    space = history("l-12-only-a-space")
    assert state(space) == [human("Hi"), ai(" ")]
    assert state(space, replace(DOCUMENTED, blank="non-blank")) == [human("Hi")]


def test_gap_8_half_arguments_of_white_space() -> None:
    """The same test on the other buffer; what is not kept does not stay in it."""
    call = "{call: f, id: c1, deltas: [\" \", '{}'], label: c}"
    journal = run("{response: [" + call + "]}", interrupt="c.start")
    assert state(journal) == [WEATHER, ai("Interrupted Tool Call:  ")]
    document = choosing(replace(DOCUMENTED, blank="non-blank")).store(journal)
    assert short(document) == [WEATHER]
    assert not document["tool_call_buffers"]


START = "{event_kind: part_start, index: %d, part: {part_kind: tool-call, tool_name: f, tool_call_id: %s, args: '{}'}}"
END = "{event_kind: part_end, index: 0, part: {part_kind: tool-call, tool_name: f, tool_call_id: c1, args: '{}'}}"


def test_a_call_has_come_when_its_own_end_was_seen() -> None:
    """The ToolEvent does not wait for the end of the response, so this is scenario 2 and not 1."""
    begun = run(START % (0, "c1"), interrupt="end", head="server")
    assert state(begun) == [WEATHER, ai("Interrupted Tool Call: {}")]
    ended = run(START % (0, "c1"), END, interrupt="end", head="server")
    assert state(ended) == [WEATHER, ai(f"\nTool Call: {{}}{MARKER}")]


def test_a_call_has_come_when_the_next_one_begins() -> None:
    """Some streams say no ends of calls; a model that writes the next call has written the one before."""
    journal = run(START % (0, "c1"), START % (1, "c2"), interrupt="end", head="server")
    assert state(journal) == [WEATHER, ai("\nTool Call: {}", "c1"), ai("Interrupted Tool Call: {}")]


def test_calls_that_a_complete_run_left_open_are_not_repaired_by_a_later_interruption() -> None:
    """They wait for somebody (R30): the repair is of the run that was cut."""
    waiting = run("{response: [" + C1 + "}]}")
    both = Journal(ended=waiting.ended.append(history("l-04-in-a-text").ended[1]))
    expected = [WEATHER, ai(f"\nTool Call: {CALL}", "c1"), ai("Hello")]
    assert short(REPAIRED.store(both)) == expected


def test_text_after_a_call_of_the_same_response() -> None:
    """As documented it comes between call and result; repaired it joins the text before the call."""
    journal = run("{response: [{text: Check.}, " + C1 + "}, {text: ' Wait.'}]}", "{returns: {c1: sunny}}")
    result = tool("sunny", "c1")
    assert state(journal) == [WEATHER, ai(f"Check.\nTool Call: {CALL}", "c1"), ai(" Wait."), result]
    same = replace(DOCUMENTED, late_text="same-message")
    assert state(journal, same) == [WEATHER, ai(f"Check. Wait.\nTool Call: {CALL}", "c1"), result]


def test_texts_after_calls_join_in_their_order() -> None:
    """And all of them before the first call, where a reader looks for the reply."""
    parts = "{text: a}, " + C1 + "}, {text: b}, " + C2 + "}, {text: c}"
    document = REPAIRED.store(run("{response: [" + parts + "]}"))
    assert short(document) == [WEATHER, ai(f"abc\nTool Call: {CALL}\nTool Call: {OTHER_CALL}", "c1", "c2")]


def test_arguments_that_are_no_object_are_an_invalid_call() -> None:
    """As LangChain's own parsers have it; as documented such a call is not converted, for it is not in `tool_calls`."""
    broken = "{call: f, id: c1, raw: '[1, 2'}"
    journal = run("{response: [" + broken + "]}", "{start_tools: true, label: t}", interrupt="t")
    document = CODE.store(journal)
    assert short(document) == [WEATHER, ai("\nTool Call: [1, 2", "c1")]
    (invalid,) = document["messages"][1]["data"]["invalid_tool_calls"]
    assert invalid == {"type": "invalid_tool_call", "id": "c1", "name": "f", "args": "[1, 2", "error": None}
    assert short(REPAIRED.store(journal)) == [WEATHER, ai(f"\nTool Call: [1, 2{MARKER}")]


def test_a_call_without_arguments_has_an_empty_text() -> None:
    """The model wrote none, and the structured call has an empty object."""
    journal = run("{response: [{call: f, id: c1, args: null}]}", "{returns: {c1: {temp: 7}}}")
    assert state(journal) == [WEATHER, ai("\nTool Call: ", "c1"), tool('{"temp": 7}', "c1")]


def test_a_run_that_goes_on_shows_its_buffers() -> None:
    """Nothing is converted before something ends."""
    user, turn = history("l-06-in-arguments-after-a-text").ended
    assert isinstance(turn, AgentTurn)
    document = CODE.store(Journal(ended=Log((user,)), last=changed(turn, end=None)))
    assert short(document) == [WEATHER]
    assert document["response_buffer"] == "Check."
    assert document["tool_call_buffers"] == ['{"ci']


@pytest.mark.parametrize("what", ["{error: no}", "{denied: no}", "{retry_prompt: no}"])
def test_a_result_that_is_none_is_an_error(what: str) -> None:
    """LangChain knows success and error."""
    document = CODE.store(run("{response: [" + C1 + "}]}", "{returns: {c1: " + what + "}}"))
    data = document["messages"][2]["data"]
    assert (data["content"], data["status"]) == ("no", "error")


def test_any_end_but_completion_is_an_interruption() -> None:
    """A time-out and an error find the buffers as the user does."""
    for reason in ("timeout", "error", "network_failure"):
        journal = run("{response: [{text: [Hel, lo, '!'], label: t}]}", interrupt="t.mid", reason=reason)
        assert state(journal) == [WEATHER, ai("Hello")]
