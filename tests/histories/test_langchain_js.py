"""LangChain.js, for which the design is written: what it sends of every state, and what its storage brings back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.distribution import Sample
from tests.histories.langchain.states import SELECTED, states_of
from tests.histories.node_oracle import NodeOracle

from tpharness.errors import UsageError
from tpharness.findings import Level
from tpharness.histories.langchain import LANGCHAIN
from tpharness.histories.langchain.javascript import FORMATS_JS
from tpharness.histories.langchain.state import ai_calls
from tpharness.model_apis.check import check_payload
from tpharness.run.select import SelectedScenario

JS = LANGCHAIN["langchain/js"]
UNANSWERED = {
    "openai-chat": "chat-call-unanswered",
    "openai-responses": "responses-call-unanswered",
    "anthropic": "anthropic-call-unanswered",
    "gemini": "gemini-responses-uneven",
}
OPENAI = {"openai-chat", "openai-responses"}


@pytest.fixture(scope="module")
def package() -> Iterator[NodeOracle]:
    """The real packages, in a program of their own for all tests of this module."""
    here = Path(__file__).parent / "langchain_js"
    with NodeOracle("drive.mjs", scripts=here, packages=here) as program:
        yield program


def ours(state: Any) -> dict[str, Any]:
    """Return what we say is sent to each API; an error where the package refuses to send anything."""
    sent: dict[str, Any] = {}
    for api in FORMATS_JS:
        try:
            sent[api] = JS.model_input(state, api)
        except UsageError:
            sent[api] = "refused"
    return sent


def real(sent: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the packages sent."""
    return {api: "refused" if isinstance(payload, dict) else payload for api, payload in sent.items()}


def unanswered(sent: Mapping[str, Any]) -> set[str]:
    """Return the APIs that are sent a call without a result."""
    return {
        api
        for api, payload in sent.items()
        if UNANSWERED[api] in {one.code for one in check_payload(api, payload) if one.level is Level.MUST}
    }


def deleted(state: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the messages of a state whose calls the interruption has deleted."""
    answers = [message for message in state["messages"] if message["type"] == "ai"]
    return [
        message
        for message in answers
        if message["data"]["additional_kwargs"] and not ai_calls(message)  # invalid calls are not deleted
    ]


def calls(messages: Sequence[Mapping[str, Any]]) -> list[list[tuple[Any, ...]]]:
    """Return the calls of each AIMessage."""
    return [
        [(call["id"], call["name"], call["args"]) for call in message["data"].get("tool_calls", ())]
        for message in messages
        if message["type"] == "ai"
    ]


@pytest.mark.node
@pytest.mark.sampled
def test_each_state_is_sent_and_stored_as_the_packages_do(
    package: NodeOracle, sample: Sample[SelectedScenario]
) -> None:
    """After every event: the design's own messages of Python's variants, and those that an API has said.

    The latter in memory, and read again from storage, where calls that were deleted are back.
    """
    chosen, changed = sample(SELECTED), 0
    own, said = states_of(chosen, "documented", "repaired"), states_of(chosen, "js")
    for state in own.distinct:
        assert ours(state) == real(package.ask({**state, "made": "own"})["sent"])
    for state in said.distinct:
        found = package.ask({**state, "made": "of-the-api"})
        stored = JS.loads(JS.dumps(state))
        assert ours(state) == real(found["sent"])
        assert calls(stored["messages"]) == calls(found["stored"])
        if found["again"] is not None:
            assert ours(stored) == real(found["again"])
            assert stored != state
            changed += 1
    assert (own.count > 8 * len(chosen), len(own.distinct) > len(chosen)) == (True, True)
    assert (said.count > 4 * len(chosen), len(said.distinct) > len(chosen), changed > 0) == (True, True, True)


def cut_in_one_call(state: Mapping[str, Any]) -> bool:
    """Whether the last message of a state is one whose one call was deleted, and every call before has its result."""
    before, last = state["messages"][:-1], state["messages"][-1:]
    answered = {message["data"]["tool_call_id"] for message in before if message["type"] == "tool"}
    made = {call_id for message in calls(before) for call_id, _, _ in message}
    one = [message for message in deleted(state) if len(message["data"]["additional_kwargs"]["tool_calls"]) == 1]
    return last != [] and one == deleted(state) == last and made == answered


@pytest.mark.node
def test_one_call_at_a_time_is_taken_only_of_the_designs_own_messages_in_memory(package: NodeOracle) -> None:
    """At every place where scenario 2 deletes the one call that waits; OpenAI's message and storage keep it."""
    about_interruptions = [one for one in SELECTED if one.id.startswith(("histories/", "interruptions/"))]
    states = [state for state in states_of(about_interruptions, "js").distinct if cut_in_one_call(state)]
    for state in states:
        own = package.ask({**state, "made": "own"})
        assert unanswered(own["sent"]) == set()
        assert unanswered(own["again"]) == set(FORMATS_JS)
        assert unanswered(package.ask({**state, "made": "of-the-api"})["sent"]) == OPENAI
    assert len(states) > 20


@pytest.mark.node
@pytest.mark.parametrize(
    ("says", "streamed", "kept"),
    [
        ("openai-chat", False, True),
        ("openai-chat", True, True),
        ("openai-responses", False, True),
        ("anthropic", False, True),
        ("gemini", False, False),
    ],
)
def test_what_scenario_2_leaves_of_a_call_depends_on_the_api_that_said_it(
    package: NodeOracle, says: str, streamed: bool, kept: bool
) -> None:
    """OpenAI's and Anthropic's messages have the call a second time, which is sent; the package for Gemini skips it."""
    found = package.ask({"says": says, "streamed": streamed})
    assert found["calls"] == 1
    assert unanswered({says: found["sent"]}) == ({says} if kept else set())


@pytest.mark.node
def test_a_message_of_the_responses_api_is_sent_as_it_came(package: NodeOracle) -> None:
    """Not even the words that scenario 2 adds to it are sent."""
    assert "interrupted" not in str(package.ask({"says": "openai-responses"})["sent"])
    assert "interrupted" in str(package.ask({"says": "anthropic"})["sent"])
