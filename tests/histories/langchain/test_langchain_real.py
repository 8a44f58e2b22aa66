"""Held against the real library: messages make the round trip, and each integration formats as `model_input` does."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_anthropic import ChatAnthropic
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    messages_from_dict,
    messages_to_dict,
)
from langchain_openai import ChatOpenAI
from pydantic import SecretStr
from tests.histories.langchain.folding import history

from tpharness.errors import InputError, UsageError
from tpharness.histories.langchain import LANGCHAIN
from tpharness.histories.langchain import real as real_module
from tpharness.histories.langchain.real import from_messages, to_messages
from tpharness.resources import scenarios_dir

KEY = SecretStr("k")
CODE = LANGCHAIN["langchain/documented"]
HISTORIES = sorted(path.stem for path in (scenarios_dir() / "histories").glob("l-*.yaml"))

TEXTS = st.text(alphabet='a{}":1 \n\u2013\u00e9', max_size=6)
IDS = st.sampled_from(["c1", "c2", "functions.f:0"])
ARGS = st.dictionaries(st.sampled_from("ab"), st.one_of(st.none(), st.integers(-9, 9), TEXTS), max_size=2)
CALLS = st.builds(lambda i, a: {"name": "f", "args": a, "id": i, "type": "tool_call"}, IDS, ARGS)
INVALID = st.builds(
    lambda i, a: {"name": "f", "args": a, "id": i, "error": None, "type": "invalid_tool_call"}, IDS, TEXTS
)
MESSAGES = st.lists(
    st.one_of(
        st.builds(HumanMessage, TEXTS),
        st.builds(
            lambda text, calls, invalid: AIMessage(text, tool_calls=calls, invalid_tool_calls=invalid),
            TEXTS,
            st.lists(CALLS, max_size=2),
            st.lists(INVALID, max_size=2),
        ),
        st.builds(
            lambda text, call_id, status: ToolMessage(text, tool_call_id=call_id, status=status),
            TEXTS,
            IDS,
            st.sampled_from(["success", "error"]),
        ),
    ),
    max_size=6,
)


@pytest.mark.parametrize("name", HISTORIES)
@pytest.mark.parametrize("dialect", LANGCHAIN.values(), ids=lambda dialect: dialect.variant)
def test_a_state_is_what_the_library_writes_of_it(name: str, dialect: Any) -> None:
    """To the key: read by messages_from_dict and written by messages_to_dict, the document is the same."""
    document = dialect.store(history(name))
    messages = to_messages(document)
    assert messages_to_dict(messages) == document["messages"]
    assert from_messages(messages) == document


@given(MESSAGES)
def test_messages_make_the_round_trip(messages: list[BaseMessage]) -> None:
    """Objects that are written down and read again are equal."""
    document = from_messages(messages)
    assert to_messages(document) == messages
    assert messages_from_dict(document["messages"]) == messages


def test_messages_that_the_design_does_not_write_are_refused() -> None:
    """A system message, contents of blocks."""
    for message in (SystemMessage("Be brief."), HumanMessage([{"type": "text", "text": "a"}])):
        with pytest.raises(InputError, match="message 0"):
            from_messages([message])


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
    model = ChatOpenAI(model="m", api_key=KEY, use_responses_api=responses)
    return lambda messages: model._get_request_payload(messages)["input" if responses else "messages"]


def _anthropic() -> Callable[[list[BaseMessage]], Any]:
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


@given(messages=MESSAGES)
def test_any_messages_are_formatted_as_the_integration_does(real: Any, messages: list[BaseMessage]) -> None:
    """Dangling calls, orphans, blanks, odd ids and cut arguments included."""
    provider, formatted = real
    assert CODE.model_input(from_messages(messages), provider) == formatted(messages)


@pytest.mark.parametrize("arguments", ['{"a": 1}', '{"a'])
def test_calls_that_the_message_of_the_api_still_has_are_sent(real: Any, arguments: str) -> None:
    """`additional_kwargs.tool_calls`, with `tool_calls` deleted: a message that is read has them again."""
    provider, formatted = real
    state = from_messages([HumanMessage("q"), AIMessage("ok")])
    function = {"name": "f", "arguments": arguments}
    kept = {"tool_calls": [{"id": "c1", "type": "function", "function": function}]}
    state["messages"][1]["data"]["additional_kwargs"] = kept
    assert CODE.model_input(state, provider) == formatted(to_messages(state))
    assert "c1" in str(CODE.model_input(state, provider))


@pytest.mark.parametrize("name", HISTORIES)
@pytest.mark.parametrize("dialect", LANGCHAIN.values(), ids=lambda dialect: dialect.variant)
def test_each_history_is_formatted_as_the_integration_does(real: Any, dialect: Any, name: str) -> None:
    """With the next user message at its end."""
    provider, formatted = real
    document = dialect.store(history(name))
    messages = [*to_messages(document), HumanMessage("Go on.")]
    assert dialect.model_input(document, provider, next_user="Go on.") == formatted(messages)
