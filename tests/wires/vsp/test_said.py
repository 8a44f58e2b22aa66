"""What a stream says beside its thread: the id of its message, and which texts it has ended."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tpharness.wires.contract import Said
from tpharness.wires.vsp.said import read_said

Chunk = dict[str, Any]
START: Chunk = {"type": "text-start", "id": "t"}
END: Chunk = {"type": "text-end", "id": "t"}
THOUGHT: Chunk = {"type": "reasoning-start", "id": "t"}


@pytest.mark.parametrize(
    ("chunks", "message_id", "texts"),
    [
        pytest.param([], None, [], id="nothing"),
        pytest.param([{"type": "start"}], "", [], id="no id"),
        pytest.param([{"type": "start", "messageId": "m"}, {"type": "start", "messageId": "n"}], "m", [], id="two"),
        pytest.param([START], None, [("text", None)], id="open"),
        pytest.param([START, {"type": "text-delta", "id": "t", "delta": "x"}, END], None, [("text", END)], id="ended"),
        pytest.param([START, THOUGHT, END], None, [("text", END), ("thinking", None)], id="ids apart"),
        pytest.param([START, END, START], None, [("text", END), ("text", None)], id="the id again"),
        pytest.param([END, {"type": "thinking-start", "id": "r"}], None, [("thinking", None)], id="an end of nothing"),
        pytest.param(["text-start", [], START], None, [("text", None)], id="what is not a chunk"),
    ],
)
def test_what_a_stream_says(chunks: list[Any], message_id: str | None, texts: list[Any]) -> None:
    """In the order in which the texts began."""
    data = b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks) + b"data: [DONE]\n\n"
    assert read_said(data) == Said(message_id=message_id, texts=tuple(texts))


@pytest.mark.parametrize(("approval", "asks"), [("c1", "c1"), ("a1", "c1 as a1")])
def test_an_approval_has_the_id_of_its_call(approval: str, asks: str) -> None:
    """Another id than that of the call is shown beside it (R64)."""
    asking = {"type": "tool-approval-request", "approvalId": approval, "toolCallId": "c1"}
    assert read_said(b"data: " + json.dumps(asking).encode() + b"\n\n").asks == (asks,)
