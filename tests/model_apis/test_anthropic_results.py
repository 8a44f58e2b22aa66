"""What a tool returned, as Anthropic's API takes it: no text of a result is empty (A18), a failure has one (A24)."""

from __future__ import annotations

from typing import Any

import pytest

from tpharness.model_apis.anthropic.history import write_payload
from tpharness.model_apis.history_parts import NO_WORDS

WORDS = [{"type": "text", "text": NO_WORDS}]


def result(content: Any, outcome: str) -> dict[str, Any]:
    """Return the block of a result, of a history with one call."""
    call = {"part_kind": "tool-call", "tool_name": "t", "tool_call_id": "c", "args": {}}
    answer = {"part_kind": "tool-return", "tool_name": "t", "tool_call_id": "c", "content": content, "outcome": outcome}
    history = [
        {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "q"}]},
        {"kind": "response", "parts": [call]},
        {"kind": "request", "parts": [answer]},
    ]
    block: dict[str, Any] = write_payload(history)["messages"][-1]["content"][0]
    return block


@pytest.mark.parametrize(
    ("content", "outcome", "sent"),
    [
        ("", "success", ""),
        ([], "success", ""),
        (["", "x"], "success", [{"type": "text", "text": "x"}]),
        ("", "failed", WORDS),
        ([], "failed", WORDS),
        (["", "x"], "failed", [{"type": "text", "text": "x"}]),
    ],
)
def test_no_text_of_a_result_is_empty(content: Any, outcome: str, sent: Any) -> None:
    """A result without a text is the empty text itself; one that failed says so in words."""
    block = result(content, outcome)
    assert block["content"] == sent
    assert block["is_error"] is (outcome == "failed")
