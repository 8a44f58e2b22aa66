"""LangChain.js, for which the design is written: what scenario 2 leaves of a call, in memory and in storage."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.histories.node_oracle import NodeOracle

from tpharness.acceptance.check import check_payload
from tpharness.histories.langchain import LANGCHAIN
from tpharness.histories.langchain.state import ai, human

DOCUMENTED = LANGCHAIN["langchain/documented"]
CALLS = [{"id": "c1", "name": "slow", "args": {"a": 1}}]
APIS: dict[Any, str] = {"openai-chat": "chat-call-unanswered", "openai-responses": "responses-call-unanswered"}


@pytest.fixture(scope="module")
def package() -> Iterator[NodeOracle]:
    """The real packages, in a program of their own for all tests of this module."""
    here = Path(__file__).parent / "langchain_js"
    with NodeOracle("drive.mjs", scripts=here, packages=here) as program:
        yield program


def unanswered(sent: dict[str, Any]) -> set[str]:
    """Return the APIs that are sent a call without a result."""
    return {api for api, code in APIS.items() if code in {finding.code for finding in check_payload(api, sent[api])}}


@pytest.mark.node
def test_a_message_of_the_api_keeps_its_deleted_calls(package: NodeOracle) -> None:
    """With one call: `additional_kwargs` still has it, and the formatter sends it; our formatter does the same."""
    real = package.ask({"text": "ok", "calls": CALLS})
    assert unanswered(real["sent"]) == set(APIS)
    kept = real["stored"][1]["data"]["additional_kwargs"]["tool_calls"]
    answer = ai(real["stored"][1]["data"]["content"])
    answer["data"]["additional_kwargs"]["tool_calls"] = kept
    state = [human("q"), answer]
    for api in APIS:
        calls = [item for item in DOCUMENTED.model_input(state, api, next_user="Go on.") if "call" in str(item)]
        assert calls, api
    assert unanswered({api: DOCUMENTED.model_input(state, api, next_user="Go on.") for api in APIS}) == set(APIS)


@pytest.mark.node
def test_a_message_of_the_design_loses_its_calls_until_it_is_stored(package: NodeOracle) -> None:
    """In memory the deletion holds; what is written has the calls again, and so has what is read of it."""
    real = package.ask({"text": "ok", "calls": CALLS, "own": True})
    assert unanswered(real["sent"]) == set()
    assert [call["id"] for call in real["stored"][1]["data"]["tool_calls"]] == ["c1"]
    assert unanswered(real["again"]) == set(APIS)
