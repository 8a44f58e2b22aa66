"""The table of interrupted histories: what the design's state is, and which model APIs take it."""

from __future__ import annotations

import pytest
from tests.histories.langchain import acceptance
from tests.histories.langchain.folding import CALL, history, short
from tests.histories.langchain.table import CODE, PROSE, REPAIRED, ROWS, Row

from tpharness.histories.langchain import LANGCHAIN, LangChainDialect

CASES = [pytest.param(row, dialect, id=f"{row.name}-{dialect.variant}") for row in ROWS for dialect in row.dialects]


@pytest.mark.parametrize(("row", "dialect"), CASES)
def test_the_state_after_the_interruption(row: Row, dialect: LangChainDialect) -> None:
    """Nothing is left in a buffer, and the messages are those of the table."""
    document = dialect.store(history(row.scenario, row.turns))
    assert short(document) == list(row.state)
    assert not document["response_buffer"]
    assert not document["tool_call_buffers"]


@pytest.mark.parametrize(("row", "dialect"), CASES)
def test_which_apis_take_it(row: Row, dialect: LangChainDialect) -> None:
    """Sound for one open call a response, rejected for parallel ones; the repaired variant is taken but for L15."""
    document = dialect.store(history(row.scenario, row.turns))
    payloads = {
        provider: dialect.model_input(document, provider, next_user=row.next_user)
        for provider in ("openai-chat", "anthropic", "gemini")
    }
    broken = (
        acceptance.chat(payloads["openai-chat"]),
        acceptance.anthropic(payloads["anthropic"]),
        acceptance.gemini(payloads["gemini"]),
    )
    assert " ".join("no" if rules else "yes" for rules in broken) == row.taken


@pytest.mark.parametrize(("row", "dialect"), CASES)
def test_responses_takes_what_chat_takes(row: Row, dialect: LangChainDialect) -> None:
    """Both OpenAI APIs want calls and results in pairs; Responses takes what stands between them (L16)."""
    document = dialect.store(history(row.scenario, row.turns))
    payload = dialect.model_input(document, "openai-responses", next_user=row.next_user)
    taken = "yes" if row.name == "L16" else row.taken.split()[0]
    assert ("no" if acceptance.responses(payload) else "yes") == taken


def test_the_rules_broken_by_parallel_calls() -> None:
    """L08 leaves a call open, L08b a result without its call."""
    journal = history("l-08-one-of-two-tools-done")
    code, prose = CODE.store(journal), PROSE.store(journal)
    assert acceptance.chat(CODE.model_input(code, "openai-chat", next_user="Go on.")) == {"C1"}
    assert acceptance.anthropic(CODE.model_input(code, "anthropic", next_user="Go on.")) == {"A1"}
    assert acceptance.gemini(CODE.model_input(code, "gemini", next_user="Go on.")) == {"G1"}
    assert acceptance.chat(PROSE.model_input(prose, "openai-chat", next_user="Go on.")) == {"C2"}
    assert acceptance.anthropic(PROSE.model_input(prose, "anthropic", next_user="Go on.")) == {"A2"}


@pytest.mark.parametrize("dialect", [CODE, REPAIRED], ids=lambda dialect: dialect.variant)
def test_the_cli_shows_no_tool_message(dialect: LangChainDialect) -> None:
    """Results are recorded, never printed."""
    document = dialect.store(history("l-11-in-the-final-text"))
    assert dialect.replay(document) == [
        {"type": "user", "text": "Weather?"},
        {"type": "assistant", "text": f"Check.\nTool Call: {CALL}"},
        {"type": "assistant", "text": "It is"},
    ]


def test_names() -> None:
    """What users call the variants."""
    assert list(LANGCHAIN) == ["langchain/documented", "langchain/repaired", "langchain/js"]
    assert [dialect.name for dialect in LANGCHAIN.values()] == list(LANGCHAIN)
