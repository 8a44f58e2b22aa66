"""Which calls of a run are open: from their start until their end, or that of their response (R60, R10)."""

from __future__ import annotations

from typing import Any

import pytest

from tpharness.server_events import OpenCalls

Event = dict[str, Any]


def start(index: int, call: str, args: Any = None) -> Event:
    """Return the start of a call."""
    part = {"part_kind": "tool-call", "tool_name": "t", "tool_call_id": call, "args": args}
    return {"event_kind": "part_start", "index": index, "part": part}


def delta(index: int, args: Any) -> Event:
    """Return a piece of arguments."""
    return {"event_kind": "part_delta", "index": index, "delta": {"part_delta_kind": "tool_call", "args_delta": args}}


def end(index: int) -> Event:
    """Return the end of a part."""
    return {"event_kind": "part_end", "index": index, "part": {"part_kind": "tool-call"}}


def provider(kind: str, index: int, **more: Any) -> Event:
    """Return the start of a part of a call that the provider executes."""
    return {"event_kind": "part_start", "index": index, "part": {"part_kind": kind, "tool_call_id": "b1", **more}}


TEXT: Event = {"event_kind": "part_start", "index": 1, "part": {"part_kind": "text", "content": "Hi"}}


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        pytest.param([], set(), id="nothing"),
        pytest.param([TEXT], set(), id="a text"),
        pytest.param([start(0, "c1")], {"c1"}, id="a call that has begun"),
        pytest.param([start(0, "c1", "{}")], {"c1"}, id="text that is JSON"),
        pytest.param([start(0, "c1"), delta(0, "{}")], {"c1"}, id="a delta that completes JSON"),
        pytest.param([start(0, "c1"), TEXT], {"c1"}, id="another part has begun"),
        pytest.param([start(0, "c1"), end(0)], set(), id="its end"),
        pytest.param([provider("builtin-tool-call", 0, args='{"q')], {"b1"}, id="a call of the provider"),
        pytest.param([provider("builtin-tool-call", 0), provider("builtin-tool-return", 1)], set(), id="its output"),
        pytest.param([start(0, "c1"), start(1, "c2"), end(0)], {"c2"}, id="the end of another call"),
        pytest.param([start(0, "c1", {"x": 1})], set(), id="arguments at once"),
        pytest.param([start(0, "c1", {"x": 1}), delta(0, {"y": 2})], {"c1"}, id="a delta after arguments at once"),
        pytest.param([start(0, "c1"), end(0), delta(0, "1")], {"c1"}, id="it goes on after an early end"),
        pytest.param([start(0, "c1"), {"event_kind": "error", "error_text": "x"}], {"c1"}, id="an error"),
        pytest.param([start(0, "c1"), start(0, "c2")], {"c2"}, id="a new response at its index"),
        pytest.param([start(0, "c1"), {"event_kind": "part_end"}], {"c1"}, id="an end of nothing"),
        pytest.param([{"event_kind": "part_start", "index": 0}], set(), id="a start of nothing"),
    ],
)
def test_calls_that_are_open(events: list[Event], expected: set[str]) -> None:
    """By the events alone; whether the text is JSON does not matter."""
    calls = OpenCalls()
    for event in events:
        calls.feed(event)
    assert calls.ids == expected


@pytest.mark.parametrize(
    "kind",
    [
        *("model_request", "model_response_end", "response_reset", "enqueued_messages", "agent_start"),
        *("function_tool_call", "output_tool_call", "function_tool_result", "output_tool_result", "agent_run_result"),
    ],
)
def test_what_ends_a_response_ends_its_calls(kind: str) -> None:
    """R10, R40: a call whose own end does not come is whole at the end of its response."""
    calls = OpenCalls()
    calls.feed(start(0, "c1"))
    calls.feed({"event_kind": kind})
    assert calls.ids == set()
