"""Held against the real library: messages make the round trip, and each integration formats as `model_input` does."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    FunctionMessage,
    HumanMessage,
    SystemMessage,
    messages_from_dict,
    messages_to_dict,
)
from pydantic import SecretStr
from tests.distribution import Sample
from tests.histories.langchain.drawn_messages import BLOCK_MESSAGES, MESSAGES
from tests.histories.langchain.folding import history
from tests.histories.langchain.states import SELECTED, states_of

from tpharness.errors import InputError, UsageError
from tpharness.histories.langchain import LANGCHAIN
from tpharness.histories.langchain import real as real_module
from tpharness.histories.langchain.real import from_messages, to_messages
from tpharness.histories.langchain.reducer import INTERRUPTED_CALL
from tpharness.model_apis.check import check_payload
from tpharness.resources import scenarios_dir
from tpharness.run.select import SelectedScenario

KEY = SecretStr("k")
FEW = settings(max_examples=50)  # for each of three integrations
CODE = LANGCHAIN["langchain/documented"]
HISTORIES = sorted(path.stem for path in (scenarios_dir() / "histories").glob("l-*.yaml"))


@pytest.mark.parametrize("name", HISTORIES)
@pytest.mark.parametrize("dialect", [CODE, LANGCHAIN["langchain/repaired"]], ids=lambda dialect: dialect.variant)
def test_a_state_is_what_the_library_writes_of_it(name: str, dialect: Any) -> None:
    """To the key: read by messages_from_dict and written by messages_to_dict, the document is the same."""
    document = dialect.store(history(name))
    messages = to_messages(document)
    assert messages_to_dict(messages) == document["messages"]
    assert from_messages(messages) == document


@given(MESSAGES | BLOCK_MESSAGES)
def test_messages_make_the_round_trip(messages: list[BaseMessage]) -> None:
    """Objects that are written down and read again are equal, contents of blocks and system messages too."""
    document = from_messages(messages)
    assert to_messages(document) == messages
    assert messages_from_dict(document["messages"]) == messages


@pytest.mark.parametrize(
    ("message", "wrong"),
    [
        (FunctionMessage(content="x", name="f"), "with a type of human, ai, tool, system"),
        (HumanMessage([{"type": "video"}]), "a block 0 that is not an object with a type of text"),
        (HumanMessage([{"type": "tool_use", "id": "c1", "name": "f", "input": {}}]), "a type of text"),
        (AIMessage(["a"]), "a block 0 that is not an object with a type of text, thinking, tool_use"),
        (
            AIMessage([{"type": "text", "text": "a"}, {"type": "tool_use", "id": "c1"}]),
            "a tool_use block 1 without name",
        ),
    ],
    ids=lambda one: one if isinstance(one, str) else type(one).__name__,
)
def test_messages_that_cannot_be_formatted_are_refused(message: BaseMessage, wrong: str) -> None:
    """The error names the message and the block."""
    with pytest.raises(InputError, match=f"message 1 .*{wrong}"):
        from_messages([HumanMessage("q"), message])


def test_the_core_does_without_the_library() -> None:
    """Only `real` imports it."""
    package = Path(real_module.__file__).parent
    users = [
        path.name
        for path in package.glob("*.py")
        if re.search(r"^\s*(from|import) langchain", path.read_text(), re.MULTILINE)
    ]
    assert users == ["real.py"]


def test_a_missing_library_is_an_error_that_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """The core does without it; asking for real messages without it is a mistake of the caller."""
    monkeypatch.delitem(sys.modules, "tpharness.histories.langchain.real")
    monkeypatch.setitem(sys.modules, "langchain_core.messages", None)
    with pytest.raises(UsageError, match="langchain-core is not installed") as caught:
        __import__("tpharness.histories.langchain.real")
    assert caught.value.hint == "pip install 'tpharness[langchain]'"


def _openai(*, responses: bool) -> Callable[[list[BaseMessage]], Any]:
    from langchain_openai import ChatOpenAI  # a second, and not every worker has these tests

    model = ChatOpenAI(model="m", api_key=KEY, use_responses_api=responses)
    return lambda messages: model._get_request_payload(messages)["input" if responses else "messages"]


def _anthropic() -> Callable[[list[BaseMessage]], Any]:
    from langchain_anthropic import ChatAnthropic

    model = ChatAnthropic(model_name="m", api_key=KEY, timeout=None, stop=None)
    return lambda messages: model._get_request_payload(messages)["messages"]


REAL = {
    "openai-chat": lambda: _openai(responses=False),
    "openai-responses": lambda: _openai(responses=True),
    "anthropic": _anthropic,  # Gemini's integration wants another google-genai than its SDK types
}


@pytest.fixture(scope="module", params=REAL)
def real(request: pytest.FixtureRequest) -> tuple[Any, Callable[[list[BaseMessage]], Any]]:
    """A provider, and the real formatter of its integration."""
    return request.param, REAL[request.param]()


@FEW
@given(messages=MESSAGES)
def test_any_messages_are_formatted_as_the_integration_does(real: Any, messages: list[BaseMessage]) -> None:
    """Dangling calls, orphans, blanks, odd ids and cut arguments included."""
    provider, formatted = real
    assert CODE.model_input(from_messages(messages), provider) == formatted(messages)


@FEW
@given(messages=BLOCK_MESSAGES)
def test_blocks_and_system_messages_are_formatted_as_the_integration_does(
    real: Any, messages: list[BaseMessage]
) -> None:
    """Texts, thinking and calls as blocks, and calls that are in the blocks alone."""
    provider, formatted = real
    assert CODE.model_input(from_messages(messages), provider) == formatted(messages)


def test_a_call_among_the_blocks_outlives_its_deletion() -> None:
    """Scenario 2 on a message of Anthropic's API: `tool_calls` is deleted, the block is sent and refused."""
    call = {"type": "tool_use", "id": "c1", "name": "slow", "input": {"a": 1}}
    answer = AIMessage(
        [{"type": "text", "text": "ok"}, call], tool_calls=[{"name": "slow", "args": {"a": 1}, "id": "c1"}]
    )
    answer.content = [*answer.content, {"type": "text", "text": INTERRUPTED_CALL}]
    answer.tool_calls = []
    messages = [SystemMessage("Be brief."), HumanMessage("q"), answer, HumanMessage("Go on.")]
    state = from_messages(messages)
    sent = CODE.model_input(state, "anthropic")
    assert sent == _anthropic()(messages)
    assert {finding.code for finding in check_payload("anthropic", sent)} == {"anthropic-call-unanswered"}
    (turn, _) = CODE.turn_contents(state)
    assert [(kept.call_id, kept.name, kept.arguments) for kept in turn.calls] == [("c1", "slow", '{"a":1}')]


def test_a_system_message_in_the_middle_is_an_error_where_models_differ() -> None:
    """Some of Anthropic's models take it, and for others the integration moves it."""
    state = from_messages([HumanMessage("q"), SystemMessage("Be brief.")])
    with pytest.raises(UsageError, match="message 1 is a system message"):
        CODE.model_input(state, "anthropic")


@pytest.mark.parametrize("arguments", ['{"a": 1}', '{"a', "null"])
def test_calls_that_the_message_of_the_api_still_has_are_sent(real: Any, arguments: str) -> None:
    """`additional_kwargs.tool_calls`, with `tool_calls` deleted: a message that is read has them again."""
    provider, formatted = real
    state = from_messages([HumanMessage("q"), AIMessage("ok")])
    function = {"name": "f", "arguments": arguments}
    kept = {"tool_calls": [{"id": "c1", "type": "function", "function": function}]}
    state["messages"][1]["data"]["additional_kwargs"] = kept
    assert CODE.model_input(state, provider) == formatted(to_messages(state))
    assert "c1" in str(CODE.model_input(state, provider))


@pytest.mark.sampled
def test_each_state_is_formatted_as_the_integration_does(real: Any, sample: Sample[SelectedScenario]) -> None:
    """Of every variant, after every event of every scenario, with the next user message at its end.

    Arguments that are not an object are left out: JavaScript's parser takes them, and no AIMessage of Python has them.
    """
    provider, formatted = real
    states = states_of(chosen := sample(SELECTED))
    for state in states.distinct:
        if not all(
            isinstance(call["args"], dict)
            for message in state["messages"]
            for call in message["data"].get("tool_calls", ())
        ):
            continue
        messages = [*to_messages(state), HumanMessage("Go on.")]
        assert CODE.model_input(state, provider, next_user="Go on.") == formatted(messages)
    assert states.count > 8 * len(chosen)
    assert len(states.distinct) > len(chosen)
