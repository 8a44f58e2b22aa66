"""The few rules by which a model API would take a history or not, as far as the table of histories needs them.

Each function returns the names of the rules that a payload breaks: C1 to C3, A1, A2, A4 to A6, G1 to G3, R1, R2.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Payload = Sequence[dict[str, Any]]


def chat(messages: Payload) -> set[str]:
    """Calls are answered directly after their message, and nothing else is; an assistant says something."""
    broken: set[str] = set()
    waiting: set[str] = set()
    for message in messages:
        if message["role"] == "tool":
            broken |= set() if message["tool_call_id"] in waiting else {"C2"}
            waiting.discard(message["tool_call_id"])
            continue
        broken |= {"C1"} if waiting else set()
        waiting = {call["id"] for call in message.get("tool_calls", ())}
        if message["role"] == "assistant" and message["content"] is None and not waiting:
            broken.add("C3")
    return broken | ({"C1"} if waiting else set())


def responses(items: Payload) -> set[str]:
    """Calls and outputs pair up."""
    calls = {item["call_id"] for item in items if item["type"] == "function_call"}
    outputs = {item["call_id"] for item in items if item["type"] == "function_call_output"}
    return ({"R1"} if calls - outputs else set()) | ({"R2"} if outputs - calls else set())


def anthropic(messages: Payload) -> set[str]:
    """Uses are answered in the next message, texts are not blank, and the user has the last word."""
    broken: set[str] = set()
    uses: set[str] = set()
    for message in messages:
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        results = {block["tool_use_id"] for block in blocks if block["type"] == "tool_result"}
        broken |= {"A1"} if uses - results else set()
        broken |= {"A2"} if results - uses else set()
        broken |= {"A4"} if any(b["type"] == "text" and not b["text"].strip() for b in blocks) else set()
        broken |= set() if blocks else {"A23" if message["role"] == "assistant" else "A5"}
        uses = {block["id"] for block in blocks if block["type"] == "tool_use"}
    return broken | ({"A6"} if messages[-1]["role"] != "user" else set()) | ({"A1"} if uses else set())


def gemini(contents: Payload) -> set[str]:
    """As many responses as calls, directly after them, and calls directly after the user or a response."""
    broken: set[str] = set()
    calls = 0
    before = ""
    for content in contents:
        made = sum("functionCall" in part for part in content["parts"])
        given = sum("functionResponse" in part for part in content["parts"])
        broken |= {"G1"} if given != calls else set()
        broken |= {"G2"} if made and before != "user" else set()
        broken |= {"G3"} if given and not calls else set()
        calls, before = made, content["role"]
    return broken | ({"G1"} if calls else set())
