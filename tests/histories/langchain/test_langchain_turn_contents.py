"""What a state holds of each agent turn: GAP-7's losses are what is missing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.histories.langchain.folding import CALL, OTHER_CALL, history, run

from tpharness.errors import InputError
from tpharness.histories.langchain import LANGCHAIN, REPAIRED, LangChainDialect
from tpharness.histories.langchain.state import ai, human, tool
from tpharness.histories.projections import CallContent, HistoryDialect, ResultContent, TurnContent

CODE: HistoryDialect = LANGCHAIN["langchain/documented"]
FIXED: HistoryDialect = LANGCHAIN["langchain/repaired"]

SUNNY = ResultContent(call_id="c1", outcome="success", content="sunny")


def named(call_id: str, arguments: str) -> CallContent:
    """Return a call that is held whole."""
    return CallContent(call_id=call_id, name="get_weather", arguments=arguments)


def flat(arguments: str) -> CallContent:
    """Return a call of which the text is left."""
    return CallContent(call_id=None, name=None, arguments=arguments)


TABLE = [
    ("l-01-text", CODE, [TurnContent(texts=("Hello",))]),
    (
        "l-02-tool-and-answer",
        CODE,
        [TurnContent(texts=("Check.", "It is sunny."), calls=(named("c1", CALL),), results=(SUNNY,))],
    ),
    ("l-03-before-the-first-delta", CODE, [TurnContent()]),
    ("l-04-in-a-text", CODE, [TurnContent(texts=("Hello",))]),
    ("l-05-in-arguments", CODE, [TurnContent(calls=(flat('{"ci'),))]),
    ("l-06-in-arguments-after-a-text", CODE, [TurnContent(texts=("Check.",), calls=(flat('{"ci'),))]),
    ("l-07-while-one-tool-runs", CODE, [TurnContent(texts=("ok",), calls=(flat(CALL),), interrupted=True)]),
    (
        "l-08-one-of-two-tools-done",
        CODE,
        [TurnContent(texts=("ok",), calls=(named("c1", CALL), named("c2", OTHER_CALL)), results=(SUNNY,))],
    ),
    (
        "l-08-one-of-two-tools-done",
        FIXED,
        [TurnContent(texts=("ok",), calls=(named("c1", CALL), flat(OTHER_CALL)), results=(SUNNY,), interrupted=True)],
    ),
    ("l-09-in-the-second-call", CODE, [TurnContent(texts=("ok",), calls=(named("c1", CALL), flat('{"ci')))]),
    (
        "l-09-in-the-second-call",
        FIXED,
        [TurnContent(texts=("ok",), calls=(flat(CALL), flat('{"ci')), interrupted=True)],
    ),
    ("l-12-only-a-space", CODE, [TurnContent(texts=(" ",))]),
    ("l-12-only-a-space", FIXED, [TurnContent()]),
    ("l-13-twice", CODE, [TurnContent(texts=("Hello",)), TurnContent(texts=("World",))]),
    ("l-14-while-a-tool-runs-without-a-text", CODE, [TurnContent(calls=(flat(CALL),), interrupted=True)]),
]


@pytest.mark.parametrize(("name", "dialect", "held"), TABLE, ids=[f"{n}-{d.name}" for n, d, _ in TABLE])
def test_what_an_interrupted_history_holds(name: str, dialect: HistoryDialect, held: list[TurnContent]) -> None:
    """A marker tells of the interruption; half texts and half calls do not (GAP-7)."""
    assert dialect.turn_contents(dialect.store(history(name))) == held


def test_thinking_and_usage_are_not_held() -> None:
    """The design has no event for either."""
    thought = "{thinking: hmm, signature: s}"
    response = "{response: [" + thought + ", {text: Hello}], usage: {output_tokens: 3}}"
    assert CODE.turn_contents(CODE.store(run(response))) == [TurnContent(texts=("Hello",))]


def test_arguments_keep_the_spaces_in_which_they_came() -> None:
    """The text beside the structured call has them."""
    journal = run('{response: [{call: f, id: c1, raw: \'{"a":1,  "b": 2}\'}]}', "{returns: {c1: {error: no}}}")
    (held,) = CODE.turn_contents(CODE.store(journal))
    assert held.calls == (CallContent(call_id="c1", name="f", arguments='{"a":1,  "b": 2}'),)
    assert held.results == (ResultContent(call_id="c1", outcome="error", content="no"),)


def test_a_structured_call_without_its_text_is_held_as_canonical_json() -> None:
    """A state that something else wrote; arguments that are not an object are the text they are."""
    message = ai("x")
    message["data"]["tool_calls"] = [{"name": "f", "args": {"b": 1, "a": "\u00e9"}, "id": "c1", "type": "tool_call"}]
    message["data"]["invalid_tool_calls"] = [{"name": "f", "args": "{", "id": "c2", "error": None}]
    (held,) = CODE.turn_contents([human("a"), message])
    assert [call.arguments for call in held.calls] == ['{"a":"\u00e9","b":1}', "{"]
    assert [call.call_id for call in held.calls] == ["c1", "c2"]


def test_text_alone_holds_calls_without_names() -> None:
    """GAP-2, text only."""
    dialect = LangChainDialect(variant="text", choices=replace(REPAIRED, calls="text-only"))
    (held,) = dialect.turn_contents(dialect.store(history("l-10-after-a-result")))
    assert held == TurnContent(texts=("Check.",), calls=(flat(CALL),), results=(SUNNY,))


def test_messages_before_the_first_user_are_a_turn() -> None:
    """A conversation may begin with the agent."""
    assert CODE.turn_contents([ai("Hello"), human("Hi"), ai("Yes?")]) == [
        TurnContent(texts=("Hello",)),
        TurnContent(texts=("Yes?",)),
    ]
    assert CODE.turn_contents([]) == []


def calling(where: str, **changed: Any) -> list[dict[str, Any]]:
    """Return an AIMessage with one call that is not as it has to be."""
    call = {"name": "f", "args": {} if where == "tool_calls" else "{", "id": "c1"}
    return [{"type": "ai", "data": {"content": "", where: [{**call, **changed}]}}]


BAD: list[tuple[Any, str]] = [
    (None, "a list of messages is needed"),
    ({}, "a list of messages is needed"),
    ({"messages": [], "tool_call_buffers": "x"}, "/tool_call_buffers"),
    ({"messages": [], "tool_call_buffers": [1]}, "/tool_call_buffers"),
    ([None], "message 0 is not an object with a type"),
    ([human("a"), {"type": "function", "data": {"content": "x"}}], "message 1 is not an object with a type"),
    ([{"type": "human"}], "message 0 has no data with a content that is text"),
    ([{"type": "human", "data": {"content": 7}}], "content that is text"),
    ([{"type": "human", "data": {"content": [{"type": "image", "url": "u"}]}}], "message 0 has a block 0 that is not"),
    ([{"type": "ai", "data": {"content": [{"type": "thinking"}]}}], "a thinking block 0 without thinking"),
    ([{"type": "tool", "data": {"content": "a"}}], "message 0 has no tool_call_id"),
    ([{"type": "ai", "data": {"content": "a", "tool_calls": {}}}], "message 0 has tool_calls that are not a list"),
    ([{"type": "ai", "data": {"content": "a", "tool_calls": [{"name": "f"}]}}], "message 0 has tool_calls"),
    ([{"type": "ai", "data": {"content": "a", "invalid_tool_calls": [1]}}], "message 0 has invalid_tool_calls"),
    (calling("tool_calls", args="{"), "message 0 has tool_calls"),
    (calling("tool_calls", id=7), "message 0 has tool_calls"),
    (calling("invalid_tool_calls", args={}), "message 0 has invalid_tool_calls"),
]


@pytest.mark.parametrize(("document", "message"), BAD, ids=range(len(BAD)))
def test_what_is_no_state_is_refused_by_every_projection(document: Any, message: str) -> None:
    """With its place, never with a KeyError."""
    for project in (CODE.replay, CODE.turn_contents, lambda value: CODE.model_input(value, "gemini")):
        with pytest.raises(InputError, match=message):
            project(document)


def test_a_list_of_messages_is_a_state() -> None:
    """What messages_to_dict returns can be looked at as it is."""
    messages = [human("a"), tool("b", "c1", "success"), ai("")]
    assert CODE.replay(messages) == [{"type": "user", "text": "a"}]
