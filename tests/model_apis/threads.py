"""Well-formed complete threads, generated: user and agent take turns, calls have returns, runs end with text."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

__all__ = ["complete_threads"]

AT = "2025-01-20T10:{:02}:{:02}Z"
WORDS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12).filter(str.strip)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
    lambda inside: st.lists(inside, max_size=2) | st.dictionaries(st.sampled_from("ab"), inside, max_size=2),
    max_leaves=4,
)
ARGUMENTS = (
    st.none() | st.just('{"ci') | st.just('{"a": 1}') | st.dictionaries(st.sampled_from("ab"), VALUES, max_size=2)
)
IMAGE = {"kind": "binary", "data": "aGk=", "media_type": "image/png", "identifier": "i1"}


@st.composite
def complete_threads(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a thread of version 2.0.0. Either every response thinks, with a signature, or none does."""
    thinking = draw(st.none() | st.sampled_from(("openai", "anthropic", "google", "elsewhere")))
    turns: list[dict[str, Any]] = []
    for number in range(draw(st.integers(1, 3))):
        content: Any = draw(WORDS)
        if draw(st.booleans()):
            content = [content, IMAGE]
        prompt = {"part_kind": "user-prompt", "content": content}
        turns.append({"turn_type": "user", "submitted_at": AT.format(2 * number, 0), "parts": [prompt]})
        turns.append(draw(_agent_turns(2 * number + 1, thinking)))
    return {
        "version": "2.0.0",
        "thread_id": "t",
        "created_at": AT.format(0, 0),
        "updated_at": AT.format(59, 0),
        "agents": {"a": {"agent_id": "a", "agent_name": "Ann", "created_at": AT.format(0, 0)}},
        "turns": turns,
    }


@st.composite
def _agent_turns(draw: st.DrawFn, minute: int, thinking: str | None) -> dict[str, Any]:
    messages: list[dict[str, Any]] = []

    def add(kind: str, *parts: dict[str, Any], **more: Any) -> None:
        at = AT.format(minute, len(messages) + 1)
        messages.append({"message_type": kind, "timestamp": at, "agent_id": "a", "parts": list(parts), **more})

    def thought(step: int) -> list[dict[str, Any]]:
        part = {"part_kind": "thinking", "content": "hm", "provider_name": thinking, "signature": "c2ln"}
        return [{**part, "thinking_id": f"rs_{minute}_{step}"}] if thinking else []

    for step in range(draw(st.integers(0, 2))):
        ids = [f"c{minute}_{step}_{k}" for k in range(draw(st.integers(1, 3)))]
        texts = [{"part_kind": "text", "content": words} for words in draw(st.lists(WORDS, max_size=1))]
        calls = [{"part_kind": "tool-call", "tool_name": "f", "tool_call_id": i, "args": draw(ARGUMENTS)} for i in ids]
        add("response", *thought(step), *texts, *calls, model_name="m", provider_name=thinking)
        finished, cut = draw(st.permutations(ids)), draw(st.integers(0, len(ids)))
        for some in (finished[:cut], finished[cut:]):
            if some:  # within a request, returns stand in the order of their calls (R11)
                add("request", *(draw(_returns(call)) for call in sorted(some)))
    add("response", *thought(9), {"part_kind": "text", "content": draw(WORDS)}, model_name="m", provider_name=thinking)
    return {
        "turn_type": "agent",
        "agent_id": "a",
        "started_at": AT.format(minute, 0),
        "completed_at": AT.format(minute, 59),
        "messages": messages,
    }


@st.composite
def _returns(draw: st.DrawFn, call: str) -> dict[str, Any]:
    part = {"tool_name": "f", "tool_call_id": call}
    if draw(st.integers(0, 5)) == 0:
        return {**part, "part_kind": "retry-prompt", "content": draw(WORDS)}
    status = draw(st.sampled_from(("success", "error", "validation_error")))
    return {**part, "part_kind": "tool-return", "status": status, "content": draw(VALUES)}
