"""The example in plain Node over AG-UI: what it makes of streams that no reference server sends, and what it sends.

That it passes the suite over this wire is in test_plain_suite.py. Its client was written from docs/AG_UI_STREAM.md, the
rulings and AG-UI's specification, so that where it and the reference part, one of the four is wrong.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.examples.stdio import Ask, asked
from tests.wires.ag_ui.streams import FOLDS, STREAMS, body_of, value_at
from tests.wires.ag_ui.test_ag_ui_servers import RECORDED

from tpharness import fold
from tpharness.scenario.outline import outline
from tpharness.targets.nodejs import find_node

pytestmark = pytest.mark.node

EXAMPLE = Path(__file__).parents[2] / "examples" / "plain_node.mjs"
AT = "2025-01-20T10:00:00Z"
AGENTS = {"assistant": {"agent_id": "assistant", "agent_name": "Assistant", "created_at": AT}}
HEADER = {"thread_id": "t", "created_at": AT, "agents": AGENTS, "versions": ["0.0.4"], "wire": "ag-ui"}


@pytest.fixture(scope="module")
def ask() -> Iterator[Ask]:
    """Start one process; return what asks it one thing and gives its answer."""
    with asked(str(find_node().executable), EXAMPLE, "--stdio") as ask:
        yield ask


def received(ask: Ask, body: bytes) -> list[dict[str, Any]]:
    """Play one stream on the client, all of it in one read; return the turns of 0.0.4."""
    packets = [{"data": body.decode("utf-8", "replace"), "at": AT}]
    stream = {"turn_type": "agent", "agent_id": "assistant", "begun_at": AT, "packets": packets, "end": {"at": AT}}
    answer = ask({"op": "receive", "id": 1, "case": {**HEADER, "turns": [stream]}})
    turns: list[dict[str, Any]] = answer["received"]["threads"]["0.0.4"]["turns"]
    return turns


@pytest.mark.parametrize("vector", FOLDS, ids=[vector["name"] for vector in FOLDS])
def test_a_stream_makes_the_thread_that_a_person_has_read_in_it(ask: Ask, vector: dict[str, Any]) -> None:
    """The vectors of the rulings, which hold the reference too."""
    turns = received(ask, body_of(vector))
    assert outline({"turns": turns}) == vector["outline"]
    for pointer, value in vector.get("values", {}).items():
        assert value_at(turns, pointer) == value, pointer


@pytest.mark.parametrize("stream", STREAMS, ids=[stream["name"] for stream in STREAMS])
def test_it_rejects_what_a_client_has_to_reject_and_nothing_else(ask: Ask, stream: dict[str, Any]) -> None:
    """Legal streams that look odd, and streams that break a rule: what was delivered before stays (G9)."""
    turns = received(ask, body_of(stream))
    assert outline({"turns": turns}) == outline(fold("Hi", body_of(stream)).thread)[1:]


def served(ask: Ask, *events: dict[str, Any]) -> list[dict[str, Any]]:
    """Play one run on the server; return the events of its stream."""
    run = {"turn_type": "agent", "agent_id": "assistant", "started_at": AT, "events": [{**e, "at": AT} for e in events]}
    answer = ask({"op": "serve", "id": 1, "case": {**HEADER, "turns": [run]}})["served"]
    body = "".join(packet["data"] for packet in answer["streams"][0])
    return [json.loads(frame.removeprefix("data: ")) for frame in body.split("\n\n") if frame]


TEXT = {"event_kind": "part_start", "index": 0, "part": {"part_kind": "text", "content": "Hi"}}
CALL = {
    "event_kind": "part_start",
    "index": 0,
    "part": {"part_kind": "tool-call", "tool_name": "f", "tool_call_id": "c"},
}
ARGUMENTS = {"event_kind": "part_delta", "index": 0, "delta": {"part_delta_kind": "tool_call", "args_delta": "{}"}}
RETURN = {"tool_name": "f", "tool_call_id": "c", "content": "ok"}
RESULT = {"event_kind": "function_tool_result", "part": RETURN}
FINISHED = {"event_kind": "agent_run_result"}


def test_a_run_that_fails_ends_as_a_failure(ask: Ask) -> None:
    """Its error has come before; whatever is open ends with it. One that goes on after an error has succeeded (R27)."""
    error = {"event_kind": "error", "error_text": "it broke"}
    *_, failed = served(ask, TEXT, error, {**FINISHED, "finish_reason": "error"})
    assert failed == {"type": "RUN_ERROR", "message": "it broke", "metadata": {"threadprotocol": {"reported": True}}}
    *_, ended = served(ask, TEXT, error)
    assert ended == failed
    *_, whole = served(ask, error, TEXT, {**FINISHED, "finish_reason": "stop"})
    assert (whole["type"], whole["outcome"]) == ("RUN_FINISHED", {"type": "success"})


def test_a_call_says_no_more_than_is_needed(ask: Ask) -> None:
    """Deltas that are the JSON of the input say it; a call without its result is named, and one with it is not."""
    events = served(ask, CALL, ARGUMENTS, RESULT, FINISHED)
    assert [one for one in events if one["type"] == "TOOL_CALL_END"] == [{"type": "TOOL_CALL_END", "toolCallId": "c"}]
    assert events[-1]["outcome"] == {"type": "success"}
    *_, waiting = served(ask, CALL, ARGUMENTS, FINISHED)
    assert waiting["outcome"] == {"type": "success", "pendingToolCallIds": ["c"]}


ODD_EVENTS: list[dict[str, Any]] = [
    {"event_kind": "part_start", "index": 1.5, "part": {"part_kind": "text", "content": "no"}},
    {"event_kind": "part_start", "index": "1", "part": {"part_kind": "text", "content": "no"}},
    {"event_kind": "part_start", "index": -1, "part": {"part_kind": "text", "content": "no"}},
    {"event_kind": "part_start", "index": 1, "part": {"part_kind": "text", "content": 5}},
    {"event_kind": "part_start", "index": 1, "part": {"part_kind": "tool-call", "tool_name": "f", "tool_call_id": 5}},
    {"event_kind": "part_delta", "index": 0, "delta": {"part_delta_kind": "tool_call", "args_delta": 5}},
    {"event_kind": "function_tool_result", "part": {**RETURN, "outcome": 5}},
    {"event_kind": "function_tool_result", "part": {**RETURN, "tool_call_id": 5}},
    {"event_kind": "tool_progress", "tool_call_id": "c"},
    {"event_kind": "model_request", "parts": [{"part_kind": "user-prompt", "content": 5}]},
    {"event_kind": "model_request", "parts": [{"part_kind": "user-prompt", "content": "Hi"}], "model_name": 5},
    {"event_kind": "enqueued_messages", "messages": [{"parts": [{"part_kind": "user-prompt", "content": [5]}]}]},
    {"event_kind": "model_response_end", "usage": "much"},
    {"event_kind": "model_response_end", "finish_reason": 5},
    {"event_kind": "system_event", "event_type": 5},
    {"event_kind": "system_event", "event_type": "a", "transient": "no"},
    {"event_kind": "custom", "name": 5},
    {"event_kind": "error", "error_text": 5},
    {"event_kind": "agent_start", "agent_id": ""},
    {"event_kind": "agent_run_result", "finish_reason": 5},
    {"event_kind": "agent_run_result", "usage": 5},
]


@pytest.mark.parametrize("odd", ODD_EVENTS, ids=json.dumps)
def test_an_event_of_the_model_that_does_not_fit_changes_nothing(ask: Ask, odd: dict[str, Any]) -> None:
    """Each has a field in a form that no event has (R36); the call of the run still waits for its result."""
    assert served(ask, CALL, odd, ARGUMENTS, RESULT, FINISHED) == served(ask, CALL, ARGUMENTS, RESULT, FINISHED)


def test_it_reads_recordings_of_real_servers_as_the_reference_does(ask: Ask) -> None:
    """With their own ids, order and omissions."""
    files = [file for file in sorted(RECORDED.glob("*/*.sse")) if file.read_bytes()]
    parted = []
    for file in files:
        expected = outline(fold("Hi", file).thread)[1:]
        if outline({"turns": received(ask, file.read_bytes())}) != expected:
            parted.append(file)
    assert parted == []
