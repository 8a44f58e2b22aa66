"""The records and the JSON schema of AG-UI's events say the same; nothing that a peer sends makes the reader fail."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import pytest
from tests.places import places, replace_at
from tests.wires.ag_ui.streams import STREAMS, events_of

from tpharness.resources import schema_path
from tpharness.wires.ag_ui import records as r
from tpharness.wires.ag_ui.decode import NEWEST, REFUSED, VERSIONS, decode_typed, read_event, read_input
from tpharness.wires.ag_ui.judge import judge_stream
from tpharness.wires.ag_ui.patch import OPERATIONS, malformed_operation

SCHEMA = json.loads(schema_path("ag-ui-event").read_text("utf-8"))
ODD: tuple[Any, ...] = (None, True, -1, 0.5, 2**60, "odd", {}, [], [None], {"type": "odd"}, [{"op": "add"}])


def events() -> list[dict[str, Any]]:
    """Return every different event of the hand-written streams, and one for each type that they do not have whole."""
    found = {json.dumps(event, sort_keys=True): event for stream in STREAMS for event in events_of(stream)}
    posted = [stream["input"] for stream in STREAMS if "input" in stream]
    echoes = [{"type": "RUN_STARTED", "threadId": "t", "runId": "r", "input": one} for one in posted]
    asked = {"interruptId": "i1", "status": "resolved", "payload": {"approved": True}}
    whole = {"threadId": "t", "runId": "r", "messages": [], "context": [{"description": "d", "value": "v"}]}
    return [*found.values(), *echoes, {**echoes[0], "input": {**whole, "resume": [asked], "forwardedProps": 1}}]


def varied(event: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield an event, and with something odd, or nothing, or more at each of its places."""
    yield event
    yield {**event, "odd": 1}
    yield {**event, "rawEvent": {"x": None}, "metadata": {}, "timestamp": 5}
    for path in places(event):
        for odd in ODD:
            yield replace_at(event, path, odd)
        inside: Any = event
        for step in path[:-1]:
            inside = inside[step]
        if isinstance(inside, dict):
            rest = {key: value for key, value in inside.items() if key != path[-1]}
            yield replace_at(event, path[:-1], rest)
            yield replace_at(event, path[:-1], {**inside, "odd": 1})


def is_clean(event: dict[str, Any], version: tuple[int, int]) -> bool:
    """Whether the records take an event without a note."""
    read, notes = read_event(json.dumps(event).encode(), version)
    patch = read.delta if isinstance(read, r.StateDelta) else read.patch if isinstance(read, r.ActivityDelta) else []
    operations = all(malformed_operation(one) is None and one["op"] in OPERATIONS for one in patch)
    return read is not None and not notes and operations


@pytest.mark.parametrize("version", VERSIONS)
def test_the_records_take_what_the_schema_takes(version: str) -> None:
    """Each event of the streams, and each with something odd at each place, in both versions."""
    text = json.dumps(SCHEMA)
    if version == "1.0":
        text = text.replace('"since-1.1": {"type": "string", "x-since": "1.1"}', '"since-1.1": false')
    schema = jsonschema_rs.Draft202012Validator(json.loads(text))
    judged = 0
    for event in events():
        for one in varied(event):
            judged += 1
            assert is_clean(one, VERSIONS[version]) == schema.is_valid(one), one
    assert judged > 10_000


def test_what_is_read_in_one_step_is_what_is_read_with_care() -> None:
    """The quick way takes nothing that has a note in the newest version, and makes the same of it."""
    quick = 0
    for event in events():
        for one in varied(event):
            data = json.dumps(one).encode()
            try:
                read = decode_typed(data)
            except REFUSED:
                continue
            quick += 1
            assert (read, []) == read_event(data, NEWEST), one
    assert quick > 1_000


def test_the_schema_has_every_event_and_no_other() -> None:
    """31, each by its type."""
    named = [one["$ref"].removeprefix("#/$defs/") for one in SCHEMA["oneOf"]]
    assert sorted(named) == sorted(r.EVENTS)
    assert len(named) == 31
    assert {event["type"] for event in events()} >= set(r.EVENTS)


ODD_DATA = {
    b"": "ag-ui-not-an-event",
    b"[DONE]": "ag-ui-not-an-event",
    b"7": "ag-ui-not-an-event",
    b"[]": "ag-ui-not-an-event",
    b"{}": "ag-ui-not-an-event",
    b'{"type":7}': "ag-ui-not-an-event",
    b'{"type":"THINKING_START"}': "ag-ui-unknown-event",
    b'{"type":"run_started"}': "ag-ui-unknown-event",
    b"[" * 100_000: "ag-ui-not-an-event",
    b'{"type":"CUSTOM","name":"a","value":' + b"[" * 100_000 + b"]" * 100_000 + b"}": "ag-ui-not-an-event",
    b'{"type":"TEXT_MESSAGE_END","messageId":"m","timestamp":' + b"9" * 5000 + b"}": "ag-ui-malformed",
    b'{"type":"TEXT_MESSAGE_END","messageId":"m","timestamp":1e400}': "ag-ui-malformed",
    b'{"type":"TEXT_MESSAGE_END","messageId":"\xff","x":1}': "ag-ui-unknown-field",
}


@pytest.mark.parametrize("data", ODD_DATA, ids=range(len(ODD_DATA)))
def test_data_that_is_not_an_event_is_a_finding(data: bytes) -> None:
    """Deep, huge, empty or not JSON: never an exception."""
    assert [note.kind.code for note in read_event(data)[1]] == [ODD_DATA[data]]
    assert read_input(data)[1]


def test_lone_surrogates_stay() -> None:
    """A character may be cut between two deltas (R43), and its halves are not an error."""
    halves = [
        {"type": "STATE_SNAPSHOT", "snapshot": "\ud83d"},
        {"type": "CUSTOM", "name": "a.b", "value": {"\ude00": 1}},
    ]
    data = [json.dumps(event).encode() for event in halves]
    assert [read_event(one)[1] for one in data] == [[], []]
    body = b"".join(b"data: " + one + b"\n\n" for one in data)
    assert [one.code for one in judge_stream(body).findings] == ["ag-ui-first-event"]


def test_a_note_points_at_what_is_wrong() -> None:
    """A JSON pointer into the event; what is unknown in a list is left out, and what needs it with it."""
    parts = [
        {"type": "text", "text": "a"},
        {"type": "image", "source": {"type": "wire", "value": "x"}},
        {"type": "odd"},
    ]
    event = {"type": "TOOL_CALL_RESULT", "messageId": "r", "toolCallId": "c", "content": parts}
    read, notes = read_event(json.dumps(event).encode())
    assert isinstance(read, r.ToolCallResult)
    assert [part.__struct_config__.tag for part in read.content if not isinstance(part, str)] == ["text"]
    assert [(note.kind.code, note.pointer) for note in notes] == [
        ("ag-ui-unknown-value", "/content/1/source/type"),
        ("ag-ui-unknown-value", "/content/2/type"),
    ]
