"""The server's fold: every event in every state, and agreement with hand-written bytes."""

from __future__ import annotations

from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.about import about

from tpharness.dialects import DIALECTS, ThreadHeader
from tpharness.journal import UserTurn
from tpharness.protocol.compare import same_content
from tpharness.protocol.versions import Version
from tpharness.readings import Readings
from tpharness.server_events import EventKind, Recorder, RunState
from tpharness.server_events.recorder import TRANSITIONS
from tpharness.wires.vsp.assembler import Assembler
from tpharness.wires.vsp.encode import to_wire
from tpharness.wires.vsp.server import Encoder

T = "2025-01-20T10:00:00Z"
HEADER = ThreadHeader(thread_id="t", created_at=T, agents={"assistant": {"agent_id": "assistant"}})
CALL = {"part_kind": "tool-call", "tool_name": "a", "tool_call_id": "c", "args": "{}"}
RETURN = {"part_kind": "tool-return", "tool_name": "a", "tool_call_id": "c", "content": 1, "outcome": "success"}
TEXT = {"part_kind": "text", "content": "x"}

EXAMPLES: dict[EventKind, dict[str, Any]] = {
    EventKind.PART_START: {"index": 0, "part": TEXT},
    EventKind.PART_DELTA: {"index": 0, "delta": {"part_delta_kind": "text", "content_delta": "y"}},
    EventKind.PART_END: {"index": 0, "part": {**TEXT, "content": "xy"}},
    EventKind.FINAL_RESULT: {},
    EventKind.FUNCTION_TOOL_CALL: {"part": CALL},
    EventKind.FUNCTION_TOOL_RESULT: {"part": RETURN},
    EventKind.OUTPUT_TOOL_CALL: {"part": CALL},
    EventKind.OUTPUT_TOOL_RESULT: {"part": RETURN},
    EventKind.DEFERRED_TOOL_REQUESTS: {},
    EventKind.DEFERRED_TOOL_RESULTS: {},
    EventKind.ENQUEUED_MESSAGES: {"messages": [{"parts": [{"part_kind": "user-prompt", "content": "go"}]}]},
    EventKind.CUSTOM: {"name": "app-x", "data": 1},
    EventKind.AGENT_RUN_RESULT: {},
    EventKind.MODEL_REQUEST: {"model_name": "m"},
    EventKind.MODEL_RESPONSE_END: {"usage": {"input_tokens": 1}, "finish_reason": "stop"},
    EventKind.TOOL_PROGRESS: {"tool_call_id": "c", "content": 1},
    EventKind.SYSTEM_EVENT: {"event_type": "data-app-x", "event_data": 1},
    EventKind.ERROR: {"error_text": "boom"},
    EventKind.STALL: {"seconds": 3},
    EventKind.RESPONSE_RESET: {},
    EventKind.AGENT_START: {"agent_id": "other"},
}
EVENTS = [{"event_kind": kind.value, **fields} for kind, fields in EXAMPLES.items()]


def thread(recorder: Recorder, reason: str = "network_failure") -> dict[str, Any]:
    """Cut the run and return its thread."""
    recorder.interrupt(reason, T)
    return cast("dict[str, Any]", DIALECTS[Version.V0_0_4].renderer(HEADER, Readings()).render(recorder.journal()))


def both_sides(events: list[dict[str, Any]]) -> tuple[Recorder, list[dict[str, Any]]]:
    """Record events, and encode them; return the recorder and the chunks."""
    recorder, encoder = Recorder(), Encoder(agent_id="assistant")
    recorder.begin("assistant", T)
    chunks = encoder.start(T)
    for event in events:
        recorder.feed(event)
        chunks += encoder.feed(event)
    return recorder, [to_wire(chunk) for chunk in chunks]


def test_there_is_an_example_of_every_event() -> None:
    """The table is tried with each kind of event."""
    assert set(EXAMPLES) == set(EventKind)


PREFIXES: dict[RunState, list[EventKind]] = {
    RunState.BETWEEN: [],
    RunState.RESPONDING: [EventKind.PART_START],
    RunState.EXECUTING: [EventKind.PART_START, EventKind.PART_DELTA, EventKind.PART_END, EventKind.MODEL_RESPONSE_END],
    RunState.ENDED: [EventKind.AGENT_RUN_RESULT],
}


@pytest.mark.parametrize("state", list(RunState), ids=lambda state: state.name)
def test_any_event_in_any_state_is_folded_or_named(state: RunState) -> None:
    """An event that has no place is a finding with its index, and the thread is what it would be without it (R36)."""
    for kind in EventKind:
        with about(kind):
            feed_behind(state, kind)


def feed_behind(state: RunState, kind: EventKind) -> None:
    """Feed an event to a recorder in a state, and compare it with one that was not fed it."""
    plain, with_it = Recorder(), Recorder()
    for recorder in (plain, with_it):
        recorder.begin("assistant", T)
        for step in PREFIXES[state]:
            recorder.feed({"event_kind": step.value, **EXAMPLES[step]})
        assert recorder.state is state
    with_it.feed({"event_kind": kind.value, **EXAMPLES[kind]})
    if (state, kind) not in TRANSITIONS:
        assert [f.place.event for f in with_it.findings] == [len(PREFIXES[state])]
        assert thread(with_it) == thread(plain)


@given(st.lists(st.sampled_from(EVENTS), max_size=25))
def test_no_sequence_of_events_crashes(events: list[dict[str, Any]]) -> None:
    """Legal or not, a run folds."""
    recorder = Recorder()
    recorder.begin("assistant", T)
    for event in events:
        recorder.feed(event)
    thread(recorder)


@pytest.mark.parametrize(
    "event",
    [
        None,
        7,
        [],
        {},
        {"event_kind": 3},
        {"event_kind": "part_start"},
        {"event_kind": "part_start", "index": 0, "part": 1},
    ],
)
def test_what_is_no_event_is_a_finding(event: Any) -> None:
    """A malformed event is reported and left aside."""
    recorder = Recorder()
    recorder.begin("assistant", T)
    recorder.feed(event)
    assert [f.code for f in recorder.findings] == ["server-event-malformed"]


CALL_START = {"event_kind": "part_start", "index": 0, "part": {**CALL, "args": None}}
TEXT_START = {"event_kind": "part_start", "index": 0, "part": TEXT}


@pytest.mark.parametrize(
    ("start", "event", "code"),
    [
        (CALL_START, {"delta": {"part_delta_kind": "text", "content_delta": "x"}}, "server-part-unknown"),
        (TEXT_START, {"delta": {"part_delta_kind": "tool_call", "args_delta": "x"}}, "server-part-unknown"),
        (TEXT_START, {"delta": {"part_delta_kind": "new", "content_delta": "x"}}, "server-event-unknown"),
        (TEXT_START, {"part": {"part_kind": "thinking", "content": "x"}}, "server-part-unknown"),
    ],
    ids=["text-for-call", "call-for-text", "new-kind", "end-of-another-kind"],
)
def test_what_is_of_another_kind_than_its_part_changes_nothing(
    start: dict[str, Any], event: dict[str, Any], code: str
) -> None:
    """A delta or an end of another kind is named, and neither thread nor stream has anything of it (R36)."""
    kind = "part_delta" if "delta" in event else "part_end"
    recorder, encoder = Recorder(), Encoder(agent_id="assistant")
    recorder.begin("assistant", T)
    encoder.start(T)
    recorder.feed(start)
    encoder.feed(start)
    before = recorder.version
    odd = {"event_kind": kind, "index": 0, **event}
    recorder.feed(odd)
    assert [(f.code, f.place.event) for f in recorder.findings] == [(code, 1)]
    assert recorder.version == before
    assert encoder.feed(odd) == []


@pytest.mark.parametrize("first", [None, "", "{}", {}, {"a": 1}], ids=repr)
@pytest.mark.parametrize("more", ['{"b": 2}', {"b": 2}, {}], ids=repr)
def test_both_sides_agree_on_arguments_of_mixed_forms(first: Any, more: Any) -> None:
    """Arguments as text and as objects, in one call: an object counts, on the thread and on the wire (R12)."""
    events: list[dict[str, Any]] = [
        {"event_kind": "part_start", "index": 0, "part": {**CALL, "args": first}},
        {"event_kind": "part_delta", "index": 0, "delta": {"part_delta_kind": "tool_call", "args_delta": more}},
        {"event_kind": "model_response_end"},
        {"event_kind": "agent_run_result"},
    ]
    recorder, chunks = both_sides(events)
    told = [chunk["input"] for chunk in chunks if chunk["type"] == "tool-input-available"]
    assert told == [thread(recorder)["turns"][0]["messages"][0]["parts"][0]["args"]]


@pytest.mark.parametrize(
    "events",
    [
        [{"event_kind": "custom", "name": "", "event_name": "", "data": 1}],
        [
            {"event_kind": "part_start", "index": 0, "part": {**CALL, "args": "{}"}},
            {"event_kind": "function_tool_call", "part": CALL},
            {
                "event_kind": "function_tool_result",
                "part": {
                    "tool_call_id": CALL["tool_call_id"],
                    "outcome": "interrupted",
                    "metadata": [{"type": "data-app-seat", "data": 4}],
                },
            },
        ],
    ],
    ids=["custom event without a name", "events of a tool that was stopped"],
)
def test_what_is_not_sent_is_not_kept_either(events: list[dict[str, Any]]) -> None:
    """An event without a name, and what a tool tells that the interruption stopped, which is not a return (R41)."""
    recorder, chunks = both_sides([*events, {"event_kind": "agent_run_result"}])
    turns = thread(recorder)["turns"]
    assert [one for turn in turns for one in turn["messages"] if one["message_type"] == "system"] == []
    assert {chunk["type"] for chunk in chunks if chunk["type"].startswith("data-")} <= {"data-sys-tp"}


def test_hand_written_events_and_bytes_agree() -> None:
    """An anchor without our encoder: the same run as events and as bytes, written by hand, is one thread."""
    recorder, assembler = Recorder(), Assembler()
    user = UserTurn(at=T, parts=({"part_kind": "user-prompt", "content": "Both?"},))
    recorder.add_user_turn(user)
    assembler.add_user_turn(user)
    recorder.begin("assistant", T)
    for event in (
        {"event_kind": "part_start", "index": 0, "part": {"part_kind": "thinking", "content": "h", "signature": None}},
        {"event_kind": "part_delta", "index": 0, "delta": {"part_delta_kind": "thinking", "content_delta": "m"}},
        {
            "event_kind": "part_end",
            "index": 0,
            "part": {"part_kind": "thinking", "content": "hm", "signature": "s", "provider_name": "p"},
        },
        {"event_kind": "part_start", "index": 1, "part": {**CALL, "tool_call_id": "c1", "args": '{"n":'}},
        {"event_kind": "part_delta", "index": 1, "delta": {"part_delta_kind": "tool_call", "args_delta": " 1}"}},
        {"event_kind": "part_start", "index": 2, "part": {**CALL, "tool_call_id": "c2", "args": {"n": 2}}},
        {"event_kind": "function_tool_call", "part": {**CALL, "tool_call_id": "c1", "args": '{"n": 1}'}},
        {"event_kind": "function_tool_result", "part": {**RETURN, "tool_call_id": "c2", "outcome": "failed"}},
        {"event_kind": "function_tool_result", "part": {**RETURN, "tool_call_id": "c1"}},
        {"event_kind": "part_start", "index": 0, "part": TEXT},
        {"event_kind": "part_end", "index": 0, "part": TEXT},
        {"event_kind": "agent_run_result"},
    ):
        recorder.feed(event)
    assembler.begin(T)
    assembler.feed(
        b'data: {"type":"start"}\n\ndata: {"type":"start-step"}\n\n'
        b'data: {"type":"reasoning-start","id":"r"}\n\ndata: {"type":"reasoning-delta","id":"r","delta":"hm"}\n\n'
        b'data: {"type":"reasoning-end","id":"r","providerMetadata":{"p":{"signature":"s"}}}\n\n'
        b'data: {"type":"tool-input-available","toolCallId":"c1","toolName":"a","input":{"n":1}}\n\n'
        b'data: {"type":"tool-input-available","toolCallId":"c2","toolName":"a","input":{"n":2}}\n\n'
        b'data: {"type":"tool-output-error","toolCallId":"c2","errorText":"no"}\n\n'
        b'data: {"type":"tool-output-available","toolCallId":"c1","output":1}\n\n'
        b'data: {"type":"finish-step"}\n\ndata: {"type":"start-step"}\n\n'
        b'data: {"type":"text-start","id":"t"}\n\ndata: {"type":"text-delta","id":"t","delta":"x"}\n\n'
        b'data: {"type":"text-end","id":"t"}\n\ndata: {"type":"finish-step"}\n\n'
        b'data: {"type":"finish","finishReason":"stop"}\n\ndata: [DONE]\n\n',
        T,
    )
    assembler.close(None, T)
    renderer = DIALECTS[Version.V0_0_4]
    server: Any = renderer.renderer(HEADER, Readings()).render(recorder.journal())
    client = renderer.renderer(HEADER, Readings()).render(assembler.journal())
    assert same_content(server, client)
    returns = server["turns"][1]["messages"][1]["parts"]
    assert [part["tool_call_id"] for part in returns] == ["c1", "c2"]  # R11: the order of the calls
    assert recorder.findings == []
    assert assembler.findings == []


def test_a_model_request_is_one_of_its_agent() -> None:
    """What the agent before asked is told of no response of the next, in the thread and on the wire (R45)."""
    events: list[dict[str, Any]] = [
        {"event_kind": "model_request", "model_name": "m1", "provider_name": "p1"},
        {"event_kind": "part_start", "index": 0, "part": TEXT},
        {"event_kind": "part_end", "index": 0, "part": TEXT},
        {"event_kind": "agent_start", "agent_id": "assistant"},
        {"event_kind": "model_response_end", "finish_reason": "stop"},
        {"event_kind": "agent_start", "agent_id": "other"},
        {"event_kind": "part_start", "index": 0, "part": TEXT},
        {"event_kind": "part_end", "index": 0, "part": TEXT},
        {"event_kind": "model_response_end", "finish_reason": "stop"},
    ]
    recorder, chunks = both_sides(events)
    told = [chunk["data"].get("model_name") for chunk in chunks if chunk["type"] == "data-sys-tp"]
    assert (told.count("m1"), told[-1]) == (1, None)
    assert [m.get("model_name") for t in thread(recorder)["turns"] for m in t["messages"]] == ["m1", None]


def test_a_million_misplaced_events_are_counted() -> None:
    """Memory does not grow with the mistakes of a server: fifty findings are kept, and the number of the others."""
    recorder = Recorder()
    recorder.begin("assistant", T)
    for _ in range(1000):
        recorder.feed(
            {"event_kind": "part_delta", "index": 0, "delta": {"part_delta_kind": "text", "content_delta": "y"}}
        )
    assert [f.place.event for f in recorder.findings] == [*range(50), 50]
    assert recorder.findings[-1].message == "and 950 more, the first of them here"
