"""The real langchain-google-genai beside `langchain`: every state of the suite, and drawn messages with blocks.

Not among the tests that `pytest` collects, because the package needs an older google-genai than the types that
payloads are checked against:

    pip install . pytest hypothesis langchain-google-genai==4.4.2
    python -m pytest -c /dev/null --rootdir=. --noconftest tests/histories/langchain/oracle_gemini.py
"""

from __future__ import annotations

import logging
from typing import Any

from hypothesis import given, settings
from langchain_core.messages import BaseMessage
from langchain_google_genai.chat_models import _parse_chat_history
from tests.histories.langchain.drawn_messages import BLOCK_MESSAGES, MESSAGES
from tests.histories.langchain.states import SELECTED, states_of

from tpharness.histories.langchain import LANGCHAIN
from tpharness.histories.langchain.real import from_messages, to_messages

DOCUMENTED = LANGCHAIN["langchain/documented"]
logging.disable()  # the package warns of each block that it leaves out


def contents(messages: list[BaseMessage]) -> list[dict[str, Any]]:
    """Return the contents that the package sends."""
    _, sent = _parse_chat_history(messages, model="gemini-2.5-pro")
    return [one.model_dump(mode="json", exclude_none=True, by_alias=True) for one in sent]


def test_every_state_is_formatted_as_the_package_does() -> None:
    """Of every variant, after every event of every scenario."""
    states = states_of(SELECTED)
    for state in states.distinct:
        assert DOCUMENTED.model_input(state, "gemini") == contents(to_messages(state))
    assert len(states.distinct) > 1500


@settings(max_examples=500, derandomize=True)
@given(MESSAGES | BLOCK_MESSAGES)
def test_any_messages_are_formatted_as_the_package_does(messages: list[BaseMessage]) -> None:
    """Dangling calls, orphans, blanks, odd ids, cut arguments, blocks and system messages included."""
    assert DOCUMENTED.model_input(from_messages(messages), "gemini") == contents(messages)
