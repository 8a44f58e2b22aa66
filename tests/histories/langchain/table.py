"""The table of interrupted histories, worked out by hand from the design's own code: states, and who takes them.

One verdict differs from the design's table, and says why.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from tests.histories.langchain.folding import CALL, KEPT, MARKER, OTHER_CALL, ai, human, tool

from tpharness.histories.langchain import DOCUMENTED, LANGCHAIN, LangChainDialect

__all__ = ["CODE", "HI", "PROSE", "REPAIRED", "ROWS", "Row"]

CODE = LANGCHAIN["langchain/documented"]
REPAIRED = LANGCHAIN["langchain/repaired"]
JS = LANGCHAIN["langchain/js"]
PROSE = LangChainDialect(variant="prose", choices=replace(DOCUMENTED, open_calls="last-ai"))

HI, WEATHER = human("Hi"), human("Weather?")
TWO = '\nTool Call: {"n": 1}\nTool Call: {"n": 2}'
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
    Row(  # the call is deleted, and OpenAI is sent it in the form in which it was read
        name="L07c",
        scenario="l-07-while-one-tool-runs",
        dialects=(JS,),
        state=(WEATHER, ai(f"ok\nTool Call: {CALL}{MARKER}", KEPT)),
        taken="no yes yes",
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
    Row(  # and after it: the half text and the next stand side by side, without a word of the user between them
        name="L15b",
        scenario="l-15-run-again-without-a-user",
        dialects=(CODE, PROSE, REPAIRED),
        state=(HI, ai("Hello"), ai("lo!")),
        taken="yes yes yes",
    ),
    Row(  # the text behind the calls is a message between them and their results, which Gemini's integration moves
        name="L16",
        scenario="stream/interleaved-calls",
        dialects=(CODE, PROSE),
        state=(HI, ai(TWO, "c1", "c2"), ai("Both"), tool("two", "c2"), tool("one", "c1")),
        taken="no no yes",
    ),
    Row(  # the text is added to that of its message
        name="L16b",
        scenario="stream/interleaved-calls",
        dialects=(REPAIRED,),
        state=(HI, ai("Both" + TWO, "c1", "c2"), tool("two", "c2"), tool("one", "c1")),
        taken="yes yes yes",
    ),
)
