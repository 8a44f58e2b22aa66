"""Interrupted histories of a command line that keeps messages, by hand: which of them three APIs take.

Rows and columns are those of the table of such histories: chat, Anthropic, Gemini, each taking (✓) or refusing (✗) what
it is sent, with the next user message at its end. Refused is what breaks a rule at level MUST; the default options are
those of the newest models.
"""

from __future__ import annotations

from typing import Any

import pytest

from tpharness.findings import Level
from tpharness.model_apis.check import check_payload
from tpharness.model_apis.registry import ApiName

MARK = "\n[Tool call was interrupted – execution incomplete]"
HALF = 'Interrupted Tool Call: {"ci'
PARIS = '\nTool Call: {"city": "Paris"}'

H = ("human", "Hi")
NEXT = ("human", "Go on")


def ai(text: str, *calls: str) -> tuple[Any, ...]:
    """Return what the model said and the ids of what it called."""
    return ("ai", text, *calls)


def tool(call: str) -> tuple[Any, ...]:
    """Return the result of a call."""
    return ("tool", call)


# The rule that refuses, for each API; "" where it takes the history.
ROWS: dict[str, tuple[list[tuple[Any, ...]], str, str, str]] = {
    "L01 text": ([H, ai("Hello"), NEXT], "", "", ""),
    "L02 a call, its result, text": (
        [H, ai("Check." + PARIS, "c1"), tool("c1"), ai("It is sunny."), NEXT],
        *("", "", ""),
    ),
    "L03 nothing streamed": ([H, NEXT], "", "", ""),
    "L04 mid text": ([H, ai("Hello"), NEXT], "", "", ""),
    "L05 mid arguments": ([H, ai(HALF), NEXT], "", "", ""),
    "L06 mid arguments after text": ([H, ai("Check."), ai(HALF), NEXT], "", "", ""),
    "L07 during execution": ([H, ai("ok" + PARIS + MARK), NEXT], "", "", ""),
    "L08 one of two done, last element": (
        [H, ai("ok" + PARIS, "c1", "c2"), tool("c1"), NEXT],
        *("C1", "A1", "G1"),
    ),
    "L08b one of two done, last AI message": ([H, ai("ok" + PARIS + MARK), tool("c1"), NEXT], "C2", "A2", "G3"),
    "L08c one of two done, answered calls kept": (
        [H, ai("ok" + PARIS + MARK, "c1"), tool("c1"), NEXT],
        *("", "", ""),
    ),
    "L09 one complete, one half": ([H, ai("ok" + PARIS, "c1"), ai(HALF), NEXT], "C1", "A1", "G1"),
    "L09b one complete, one half, repaired": ([H, ai("ok" + PARIS + MARK), ai(HALF), NEXT], "", "", ""),
    "L10 after the result": ([H, ai("ok" + PARIS, "c1"), tool("c1"), NEXT], "", "", ""),
    "L11 mid final text": ([H, ai("ok" + PARIS, "c1"), tool("c1"), ai("It is"), NEXT], "", "", ""),
    "L12 only a space": ([H, ai(" "), NEXT], "", "A4", ""),
    "L13 two interruptions": ([H, ai("He"), NEXT, ai("Hel"), NEXT], "", "", ""),
    "L14 during execution without text before": ([H, ai(PARIS + MARK), NEXT], "", "", ""),
    "L15 run again without a user message": ([H, ai("It is")], "", "A6", ""),
}


def chat(history: list[tuple[Any, ...]]) -> list[dict[str, Any]]:
    """Write a history as messages of chat."""
    messages: list[dict[str, Any]] = []
    for kind, text, *calls in history:
        if kind == "human":
            messages.append({"role": "user", "content": text})
        elif kind == "tool":
            messages.append({"role": "tool", "tool_call_id": text, "content": "sunny"})
        else:
            function = {"name": "get_weather", "arguments": '{"city": "Paris"}'}
            made = [{"id": call, "type": "function", "function": function} for call in calls]
            messages.append({"role": "assistant", "content": text, **({"tool_calls": made} if made else {})})
    return messages


def anthropic(history: list[tuple[Any, ...]]) -> list[dict[str, Any]]:
    """Write a history as messages of Anthropic, results in a message of their own."""
    messages: list[dict[str, Any]] = []
    for kind, text, *calls in history:
        if kind == "human":
            messages.append({"role": "user", "content": text})
        elif kind == "tool":
            result = {"type": "tool_result", "tool_use_id": text, "content": "sunny"}
            messages.append({"role": "user", "content": [result]})
        else:
            made = [{"type": "tool_use", "id": c, "name": "get_weather", "input": {"city": "Paris"}} for c in calls]
            messages.append({"role": "assistant", "content": [{"type": "text", "text": text}, *made]})
    return messages


def gemini(history: list[tuple[Any, ...]]) -> list[dict[str, Any]]:
    """Write a history as contents of Gemini."""
    contents: list[dict[str, Any]] = []
    for kind, text, *calls in history:
        if kind == "human":
            contents.append({"role": "user", "parts": [{"text": text}]})
        elif kind == "tool":
            response = {"name": "get_weather", "response": {"output": "sunny"}}
            contents.append({"role": "user", "parts": [{"function_response": response}]})
        else:
            made = [{"function_call": {"name": "get_weather", "args": {"city": "Paris"}}} for _ in calls]
            contents.append({"role": "model", "parts": [{"text": text}, *made]})
    return contents


APIS: dict[ApiName, Any] = {"openai-chat": chat, "anthropic": anthropic, "gemini": gemini}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.split()[0])
@pytest.mark.parametrize("api", APIS)
def test_what_an_api_takes_of_an_interrupted_history(api: ApiName, row: str) -> None:
    """✓ is not a finding at MUST; ✗ is the rule that the row's sentence points at, and the first of them."""
    history, *refused = ROWS[row]
    expected = refused[list(APIS).index(api)]
    found = [f for f in check_payload(api, APIS[api](history)) if f.level is Level.MUST]
    assert [f.message.partition(":")[0] for f in found][:1] == ([expected] if expected else [])


def test_two_assistant_messages_in_a_row_are_worth_a_warning() -> None:
    """L06 is taken, and not every server of that API is known to (C5)."""
    found = check_payload("openai-chat", chat(ROWS["L06 mid arguments after text"][0]))
    assert [(f.message[:2], f.level) for f in found] == [("C5", Level.SHOULD)]
