"""The name of a call that comes in pieces is the same on both sides (R39)."""

from __future__ import annotations

from typing import Any

from tpharness import fold
from tpharness.wires.vsp.encode import to_wire
from tpharness.wires.vsp.server import Encoder

AT = "2025-01-20T10:00:00Z"
CALL = {"part_kind": "tool-call", "tool_name": "bo", "tool_call_id": "c1"}
EVENTS: list[dict[str, Any]] = [
    {"event_kind": "part_start", "index": 0, "part": CALL},
    {"event_kind": "part_delta", "index": 0, "delta": {"part_delta_kind": "tool_call", "tool_name_delta": "ok"}},
    {"event_kind": "part_delta", "index": 0, "delta": {"part_delta_kind": "tool_call", "tool_name_delta": None}},
    {"event_kind": "model_response_end"},
    {"event_kind": "function_tool_result", "part": {"tool_call_id": "c1", "content": 1}},
    {"event_kind": "agent_run_result"},
]


def test_a_client_has_the_whole_name() -> None:
    """The input of the call is sent when its response has ended, so it can have the name that was put together."""
    encoder = Encoder(agent_id="assistant", carriers=False)
    chunks = [*encoder.start(AT), *(chunk for event in EVENTS for chunk in encoder.feed(event))]
    sides: list[list[dict[str, Any]]] = [EVENTS, [to_wire(chunk) for chunk in chunks]]
    for messages in (fold("Hi", side).thread["turns"][1]["messages"] for side in sides):
        assert [part["tool_name"] for message in messages for part in message["parts"]] == ["book", "book"]
