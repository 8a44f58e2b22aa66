"""The table of interrupted histories: what the design's state is, and which model APIs take it.

States and verdicts are those of the table, worked out from the design's own code. One verdict differs from the table,
and says why.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pytest
from tests.histories.langchain import acceptance
from tests.histories.langchain.folding import CALL, MARKER, OTHER_CALL, ai, history, human, short, tool

from tpharness.histories.langchain import DOCUMENTED, LANGCHAIN, LangChainDialect

CODE = LANGCHAIN["langchain/documented"]
REPAIRED = LANGCHAIN["langchain/repaired"]
PROSE = LangChainDialect(variant="prose", choices=replace(DOCUMENTED, open_calls="last-ai"))

HI, WEATHER = human("Hi"), human("Weather?")
BOTH = f"ok\nTool Call: {CALL}\nTool Call: {OTHER_CALL}"


@dataclass(frozen=True, kw_only=True)
class Row:
    """One row of the table. `taken` is the verdict of Chat, Anthropic and Gemini on the state before `next_user`."""

    name: str
    scenario: str
    dialects: tuple[LangChainDialect, ...]
    state: tuple[tuple[Any, ...], ...]
    taken: str
    turns: int | None = None
    next_user: str | None = "Go on."


ROWS = (
    Row(
        name="L01",
        scenario="l-01-text",
        dialects=(CODE, PROSE, REPAIRED),
        state=(HI, ai("Hello")),
        taken="yes yes yes",
    ),
    Row(
        name="L02",
        scenario="l-02-tool-and-answer",
        dialects=(CODE, PROSE, REPAIRED),
        state=(WEATHER, ai(f"Check.\nTool Call: {CALL}", "c1"), tool("sunny", "c1"), ai("It is sunny.")),
        taken="yes yes yes",
    ),
    Row(
        name="L03",
        scenario="l-03-before-the-first-delta",
        dialects=(CODE, PROSE, REPAIRED),
        state=(HI,),
        taken="yes yes yes",
    ),
    Row(
        name="L04",
        scenario="l-04-in-a-text",
        dialects=(CODE, PROSE, REPAIRED),
        state=(HI, ai("Hello")),
        taken="yes yes yes",
    ),
    Row(
        name="L05",
        scenario="l-05-in-arguments",
        dialects=(CODE, PROSE, REPAIRED),
        state=(WEATHER, ai('Interrupted Tool Call: {"ci')),
        taken="yes yes yes",
    ),
    Row(
        name="L06",
        scenario="l-06-in-arguments-after-a-text",
        dialects=(CODE, PROSE, REPAIRED),
        state=(WEATHER, ai("Check."), ai('Interrupted Tool Call: {"ci')),
        taken="yes yes yes",
    ),
    Row(
        name="L07",
        scenario="l-07-while-one-tool-runs",
        dialects=(CODE, PROSE, REPAIRED),
        state=(WEATHER, ai(f"ok\nTool Call: {CALL}{MARKER}")),
        taken="yes yes yes",
    ),
    Row(  # the last element is the result, which has no calls
        name="L08",
        scenario="l-08-one-of-two-tools-done",
        dialects=(CODE,),
        state=(WEATHER, ai(BOTH, "c1", "c2"), tool("sunny", "c1")),
        taken="no no no",
    ),
    Row(  # the table says no for Gemini too; langchain-google-genai leaves out results that no call asks for
        name="L08b",
        scenario="l-08-one-of-two-tools-done",
        dialects=(PROSE,),
        state=(WEATHER, ai(BOTH + MARKER), tool("sunny", "c1")),
        taken="no no yes",
    ),
    Row(
        name="L08c",
        scenario="l-08-one-of-two-tools-done",
        dialects=(REPAIRED,),
        state=(WEATHER, ai(BOTH + MARKER, "c1"), tool("sunny", "c1")),
        taken="yes yes yes",
    ),
    Row(  # the half call is pushed first, and hides the message with the whole one
        name="L09",
        scenario="l-09-in-the-second-call",
        dialects=(CODE, PROSE),
        state=(WEATHER, ai(f"ok\nTool Call: {CALL}", "c1"), ai('Interrupted Tool Call: {"ci')),
        taken="no no no",
    ),
    Row(
        name="L09b",
        scenario="l-09-in-the-second-call",
        dialects=(REPAIRED,),
        state=(WEATHER, ai(f"ok\nTool Call: {CALL}{MARKER}"), ai('Interrupted Tool Call: {"ci')),
        taken="yes yes yes",
    ),
    Row(
        name="L10",
        scenario="l-10-after-a-result",
        dialects=(CODE, PROSE, REPAIRED),
        state=(WEATHER, ai(f"Check.\nTool Call: {CALL}", "c1"), tool("sunny", "c1")),
        taken="yes yes yes",
    ),
    Row(
        name="L11",
        scenario="l-11-in-the-final-text",
        dialects=(CODE, PROSE, REPAIRED),
        state=(WEATHER, ai(f"Check.\nTool Call: {CALL}", "c1"), tool("sunny", "c1"), ai("It is")),
        taken="yes yes yes",
    ),
    Row(
        name="L12",
        scenario="l-12-only-a-space",
        dialects=(CODE, PROSE),
        state=(HI, ai(" ")),
        taken="yes no yes",
    ),
    Row(  # GAP-8 repaired
        name="L12b",
        scenario="l-12-only-a-space",
        dialects=(REPAIRED,),
        state=(HI,),
        taken="yes yes yes",
    ),
    Row(
        name="L13",
        scenario="l-13-twice",
        dialects=(CODE, PROSE, REPAIRED),
        state=(HI, ai("Hello"), human("Go on"), ai("World")),
        taken="yes yes yes",
    ),
    Row(  # the content begins with the line break
        name="L14",
        scenario="l-14-while-a-tool-runs-without-a-text",
        dialects=(CODE, PROSE, REPAIRED),
        state=(WEATHER, ai(f"\nTool Call: {CALL}{MARKER}")),
        taken="yes yes yes",
    ),
    Row(  # what the second run is sent: the model is to go on with its own words
        name="L15",
        scenario="l-15-run-again-without-a-user",
        dialects=(CODE, PROSE, REPAIRED),
        state=(HI, ai("Hello")),
        taken="yes no yes",
        turns=2,
        next_user=None,
    ),
)
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
    """Both OpenAI APIs want calls and results in pairs."""
    document = dialect.store(history(row.scenario, row.turns))
    payload = dialect.model_input(document, "openai-responses", next_user=row.next_user)
    assert ("no" if acceptance.responses(payload) else "yes") == row.taken.split()[0]


def test_the_rules_broken_by_parallel_calls() -> None:
    """L08 leaves a call open, L08b a result without its call."""
    journal = history("l-08-one-of-two-tools-done")
    code, prose = CODE.store(journal), PROSE.store(journal)
    assert acceptance.chat(CODE.model_input(code, "openai-chat", next_user="Go on.")) == {"C1"}
    assert acceptance.anthropic(CODE.model_input(code, "anthropic", next_user="Go on.")) == {"A1"}
    assert acceptance.gemini(CODE.model_input(code, "gemini", next_user="Go on.")) == {"G1"}
    assert acceptance.chat(PROSE.model_input(prose, "openai-chat", next_user="Go on.")) == {"C2"}
    assert acceptance.anthropic(PROSE.model_input(prose, "anthropic", next_user="Go on.")) == {"A2"}


def test_the_run_after_l15_answers_itself() -> None:
    """Without a word of the user between them, the half text and the next stand side by side."""
    document = CODE.store(history("l-15-run-again-without-a-user"))
    assert short(document) == [HI, ai("Hello"), ai("lo!")]


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
    assert list(LANGCHAIN) == ["langchain/documented", "langchain/repaired"]
    assert [dialect.name for dialect in LANGCHAIN.values()] == list(LANGCHAIN)
