"""Which texts and thoughts of a run are open: from their start to their end, or that of their response (R10, R60)."""

from __future__ import annotations

from typing import Any

import pytest

from tpharness.server_events import OpenTexts

Event = dict[str, Any]
REQUEST: Event = {"event_kind": "model_request"}
RESULT: Event = {"event_kind": "function_tool_result", "part": {"tool_call_id": "c1"}}


def start(index: int, kind: str = "text") -> Event:
    """Return the start of a part."""
    return {"event_kind": "part_start", "index": index, "part": {"part_kind": kind, "content": "Hi"}}


def end(index: int, kind: str = "text") -> Event:
    """Return the end of a part."""
    return {"event_kind": "part_end", "index": index, "part": {"part_kind": kind}}


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        pytest.param([], [], id="nothing"),
        pytest.param([start(0)], [("text", 0)], id="a text"),
        pytest.param([start(0, "thinking")], [("thinking", 0)], id="a thought"),
        pytest.param([start(0, "tool-call")], [], id="a call"),
        pytest.param([start(0), end(0)], [], id="its end"),
        pytest.param([start(0), end(1)], [("text", 0)], id="an end of nothing"),
        pytest.param([start(0), end(0), start(1)], [("text", 1)], id="the second text"),
        pytest.param([start(0), start(1, "thinking"), start(2)], [("text", 0), ("text", 1), ("thinking", 0)], id="3"),
        pytest.param([start(0), start(0)], [("text", 1)], id="a new response at its index"),
        pytest.param([start(0), REQUEST], [], id="the model is asked again"),
        pytest.param([start(0), RESULT, start(1)], [("text", 1)], id="a tool has returned"),
        pytest.param([start(0), {"event_kind": "error", "error_text": "x"}], [("text", 0)], id="an error"),
        pytest.param([{"event_kind": "part_start", "index": 0}], [], id="a start of nothing"),
    ],
)
def test_texts_that_are_open(events: list[Event], expected: list[tuple[str, int]]) -> None:
    """Each is counted among all of its kind in the run."""
    texts = OpenTexts()
    for event in events:
        texts.feed(event)
    assert sorted(texts.open) == sorted(expected)
    begun = [event for event in events if event["event_kind"] == "part_start" and "part" in event]
    for kind in ("text", "thinking"):
        assert texts.begun[kind] == sum(event["part"]["part_kind"] == kind for event in begun)
