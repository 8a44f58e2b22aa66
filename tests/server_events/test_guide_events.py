"""The server events of the 0.0.3 guide (R59): each is read as the events that say the same."""

from __future__ import annotations

from typing import Any

import pytest

from tpharness.dialects import DIALECTS, ThreadHeader
from tpharness.protocol.versions import Version
from tpharness.readings import Readings
from tpharness.scenario.outline import outline
from tpharness.server_events import Recorder
from tpharness.server_events.guide import GuideReader

START = "2025-01-20T10:00:00Z"
TEXT = {"part_kind": "text", "content": "Hello"}
RESPONSE = {"type": "model_response", "parts": [TEXT]}
CALL = {"type": "tool_call", "tool_name": "f", "args": {"x": 1}}
RETURN = {"type": "tool_return", "content": 1}
END = {"type": "completion"}


def fold(*events: Any) -> tuple[Any, list[str]]:
    """Return the thread of a run that was cut after these events, and the codes of what is wrong with them."""
    recorder, guide = Recorder(), GuideReader()
    recorder.begin("a", START)
    for event in events:
        for one in guide.feed(event):
            recorder.feed(one)
    recorder.interrupt("network_failure", "2025-01-20T10:00:09Z")
    header = ThreadHeader(
        thread_id="t", created_at=START, agents={"a": {"agent_id": "a", "agent_name": "A", "created_at": START}}
    )
    thread = DIALECTS[Version.V0_0_4].renderer(header, Readings()).render(recorder.journal())
    return thread, [finding.code for finding in recorder.findings]


@pytest.mark.parametrize(
    ("events", "wanted"),
    [
        ((RESPONSE, END), "response(text)"),
        (
            (RESPONSE, CALL, RETURN, RESPONSE, END),
            "response(text tool-call:call-1) request(tool-return:call-1) response(text)",
        ),
        (
            (CALL, CALL, RETURN, RETURN, END),
            "response(tool-call:call-1 tool-call:call-2) request(tool-return:call-1 tool-return:call-2)",
        ),
        ((RESPONSE, RESPONSE, END), "response(text) response(text)"),
        (
            ({"type": "text", "content": "Hel"}, {"type": "text", "content": "lo"}, CALL, END),
            "response(text tool-call:call-1)",
        ),
        (
            ({"type": "tool_call", "id": "x", "name": "f", "args": {}}, {**RETURN, "tool_call_id": "x"}, END),
            "response(tool-call:x) request(tool-return:x)",
        ),
    ],
)
def test_a_run_of_the_guides_events_is_a_turn(events: tuple[Any, ...], wanted: str) -> None:
    """A response holds the calls that follow it, a return answers the oldest open call, completion ends the run."""
    thread, wrong = fold(*events)
    assert outline(thread) == [f"agent complete: {wanted}"]
    assert wrong == []


def test_pieces_of_text_are_one_text() -> None:
    """0.0.3 guide, Event Processing Pipeline: `current_text_buffer += event.content`."""
    thread, _ = fold({"type": "text", "content": "Hel"}, {"type": "text", "content": "lo"}, END)
    assert thread["turns"][0]["messages"][0]["parts"] == [TEXT]


def test_a_run_without_completion_has_not_ended() -> None:
    """0.0.3 guide, Consistency Testing: a partial turn is discarded; in 0.0.4 its complete cycles stay."""
    assert outline(fold(RESPONSE)[0]) == []
    assert outline(fold(CALL, RETURN, RESPONSE)[0]) == [
        "agent interrupted network_failure: response(tool-call:call-1) request(tool-return:call-1)"
    ]


def test_a_failed_tool_is_told_by_its_status() -> None:
    """R22: an error answers its call as a result does."""
    thread, _ = fold(CALL, {**RETURN, "status": "error"}, END)
    assert thread["turns"][0]["messages"][1]["parts"][0]["status"] == "error"


def test_the_time_of_an_event_is_that_of_its_message() -> None:
    """R25: a response carries the time at which it started."""
    thread, _ = fold({**RESPONSE, "at": "2025-01-20T10:00:03Z"}, {**END, "at": "2025-01-20T10:00:04Z"})
    turn = thread["turns"][0]
    assert (turn["messages"][0]["timestamp"], turn["completed_at"]) == ("2025-01-20T10:00:03Z", "2025-01-20T10:00:04Z")


@pytest.mark.parametrize(
    ("event", "code"),
    [
        (RETURN, "server-event-malformed"),
        ({**RETURN, "tool_call_id": "nobody"}, "server-return-without-call"),
        ({"type": "model_response"}, "server-event-malformed"),
        ({"type": "model_response", "parts": [7]}, "server-event-malformed"),
        ({"type": "tool_call"}, "server-event-malformed"),
        ({"type": "tool_call", "tool_name": 7, "args": {}}, "server-event-malformed"),
        ({"type": "text"}, "server-event-malformed"),
        ({"type": "thought"}, "server-event-malformed"),
        ({"type": 7}, "server-event-malformed"),
        ([], "server-event-malformed"),
        (None, "server-event-malformed"),
    ],
)
def test_what_is_not_an_event_of_the_guide_changes_nothing(event: Any, code: str) -> None:
    """R36: it is named, and the thread is what it would be without it."""
    thread, wrong = fold(RESPONSE, event, END)
    assert code in wrong
    assert outline(thread) == ["agent complete: response(text)"]


def test_other_events_are_passed_on_as_they_are() -> None:
    """Events of Pydantic AI have a kind, and may have a type of their own."""
    event = {"event_kind": "custom", "type": "text", "name": "x"}
    assert GuideReader().feed(event) == [event]
