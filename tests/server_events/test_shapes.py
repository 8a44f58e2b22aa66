"""What an event must look like: the table that the server's side goes by and the published schema say the same."""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tpharness.dialects import DIALECTS, ThreadHeader
from tpharness.findings import Finding, Place
from tpharness.journal import UserTurn
from tpharness.readings import Readings, UnfinishedRule
from tpharness.resources import scenarios_dir, schema_path
from tpharness.server_events import EventKind, Recorder, event_kind
from tpharness.server_events.events import MALFORMED, event_time
from tpharness.server_events.forms import Form, ListOf, Record, TaggedRecord
from tpharness.server_events.shapes import EVENT
from tpharness.wires.vsp.encode import to_wire
from tpharness.wires.vsp.server import Encoder

T = "2025-01-20T10:00:00Z"
HEADER = ThreadHeader(thread_id="t", created_at=T, agents={"assistant": {"agent_id": "assistant"}})
SCHEMA = json.loads(schema_path("server-event").read_text("utf-8"))
VALIDATOR = jsonschema_rs.Draft202012Validator(SCHEMA, validate_formats=True)

CALL = {"tool_name": "a", "tool_call_id": "c", "args": '{"a": 1}'}
FILE = {"kind": "binary", "media_type": "text/plain", "data": "aGk=", "url": None, "identifier": "x"}
PARTS: tuple[dict[str, Any], ...] = (
    {"part_kind": "text", "content": "x", "id": "i"},
    {"part_kind": "thinking", "content": "x", "signature": "s", "provider_name": "p", "id": None},
    {"part_kind": "tool-call", **CALL},
    {"part_kind": "builtin-tool-call", **CALL, "provider_name": "p"},
    {"part_kind": "builtin-tool-return", "tool_name": "a", "tool_call_id": "c", "content": [1], "provider_name": "p"},
    {"part_kind": "file", "content": FILE, "id": "i"},
    {"part_kind": "custom:x", "content": 5, "tool_call_id": []},
)
DELTAS: tuple[dict[str, Any], ...] = (
    {"part_delta_kind": "text", "content_delta": "x"},
    {"part_delta_kind": "thinking", "content_delta": "x", "signature_delta": "s", "provider_name": "p"},
    {"part_delta_kind": "tool_call", "args_delta": "{", "tool_name_delta": "a", "tool_call_id": "c"},
    {"part_delta_kind": "tool_call", "args_delta": {"a": 1}, "tool_name_delta": None, "tool_call_id": "c"},
    {"part_delta_kind": "new", "signature_delta": 5},
)
RESULT = {"part_kind": "tool-return", "tool_name": "a", "tool_call_id": "c", "content": {"a": 1}}
RESULTS: tuple[dict[str, Any], ...] = (
    {**RESULT, "outcome": "denied", "status": "error", "metadata": [{"type": "data-x", "data": 1}]},
    {**RESULT, "outcome": "new", "content_ref": {"uri": "u"}, "metadata": "m"},
    {"part_kind": "retry-prompt", "tool_call_id": "c", "content": [{}]},
)
PROMPTS = [
    {"part_kind": "user-prompt", "content": "go"},
    {"part_kind": "user-prompt", "content": ["a", {"kind": "image-url", "url": "u"}]},
    {"part_kind": "new"},
]
SAMPLES: dict[EventKind, tuple[dict[str, Any], ...]] = {
    EventKind.PART_START: tuple({"index": 0, "part": part} for part in PARTS),
    EventKind.PART_DELTA: tuple({"index": 0, "delta": delta} for delta in DELTAS),
    EventKind.PART_END: tuple({"index": 0, "part": part} for part in PARTS),
    EventKind.FINAL_RESULT: ({"tool_name": []},),
    EventKind.FUNCTION_TOOL_CALL: ({"part": {"part_kind": "tool-call", **CALL}, "args_valid": None},),
    EventKind.FUNCTION_TOOL_RESULT: tuple({"part": part} for part in RESULTS),
    EventKind.OUTPUT_TOOL_CALL: ({"part": CALL},),
    EventKind.OUTPUT_TOOL_RESULT: tuple({"part": part} for part in RESULTS),
    EventKind.DEFERRED_TOOL_REQUESTS: ({},),
    EventKind.DEFERRED_TOOL_RESULTS: ({},),
    EventKind.ENQUEUED_MESSAGES: ({"messages": [{"parts": PROMPTS}, {"parts": None}, {}]},),
    EventKind.CUSTOM: ({"name": "app-x", "event_name": None, "data": 1},),
    EventKind.AGENT_RUN_RESULT: ({"usage": {"input_tokens": "x"}, "finish_reason": "stop"},),
    EventKind.MODEL_REQUEST: ({"model_name": "m", "provider_name": "p", "parts": PROMPTS},),
    EventKind.MODEL_RESPONSE_END: (
        {
            "usage": {"input_tokens": 1},
            "finish_reason": "new",
            "model_name": "m",
            "provider_name": "p",
            "provider_response_id": "r",
        },
    ),
    EventKind.TOOL_PROGRESS: ({"tool_call_id": "c", "content": None},),
    EventKind.SYSTEM_EVENT: (
        {"event_type": "source.url", "event_data": {"type": 1}, "target_agents": ["a"], "transient": False},
        {"event_type": "data-app-x", "event_data": 1, "source_agent": "a", "target_agents": [], "transient": True},
    ),
    EventKind.ERROR: ({"error_text": "boom"},),
    EventKind.STALL: ({"seconds": 0.5},),
    EventKind.RESPONSE_RESET: ({},),
    EventKind.AGENT_START: ({"agent_id": "other"},),
}
TIMES = {"at": "2025-01-20T10:00:01.5+01:00", "_t_ms": 12.5}
EVENTS = [{"event_kind": kind.value, **TIMES, **fields} for kind, samples in SAMPLES.items() for fields in samples]
ODD: tuple[Any, ...] = (
    *(None, True, False, -1, 0, 1.0, 1.5, 10**30, "", "x", "user-prompt", [], ["x"], [1], [[]], [{}], {}, {"x": 1}),
    *("2025-02-30T10:00:00Z", "9999-12-31T23:59:59Z", "2025-01-20", "２025-01-20T10:00:00Z", T, f"{T}\n"),
    *(f"2025-01-20T{rest}" for rest in ("24:00:00Z", "10:60:00Z", "10:00:60Z", "10:00:00.1234567891Z", "10:00:00z")),
    *(f"2025-01-20T10:00:00{rest}" for rest in ("", ".Z", ".123456789Z", "+23:59", "-24:00", "+10:60", "+0100")),
)


def both(event: Any) -> bool:
    """Return the verdict of the table, after the schema has given the same."""
    fits = not EVENT.mismatches(event)
    assert VALIDATOR.is_valid(event) is fits, event
    return fits


def places(form: Form, value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], bool]]:
    """Yield the path of every field that the table has for a value, and whether it is required."""
    match form:
        case TaggedRecord():
            record = form.records.get(value[form.tag], form.other)
            for place, required in places(record, value, path):
                yield place, required or place == (*path, form.tag)
        case Record() if value is not None:
            for name, field in form.fields.items():
                yield (*path, name), name in form.required
                if name in value:
                    yield from places(field, value[name], (*path, name))
        case ListOf() if value is not None:
            for number, item in enumerate(value):
                yield (*path, number), True
                yield from places(form.item, item, (*path, number))


def changed(event: dict[str, Any], path: tuple[Any, ...], *values: Any) -> dict[str, Any]:
    """Return the event with another value at a place, or without what stands there."""
    copy = deepcopy(event)
    owner: Any = copy
    for step in path[:-1]:
        owner = owner[step]
    if values:
        owner[path[-1]] = values[0]
    elif isinstance(owner, dict):
        owner.pop(path[-1], None)
    return copy


def test_there_is_a_shape_and_a_sample_of_every_event() -> None:
    """The table has each kind of event, and nothing else."""
    assert set(EVENT.records) == {kind.value for kind in EventKind}
    assert set(SAMPLES) == set(EventKind)


def test_the_schema_is_a_schema() -> None:
    """It is valid JSON Schema 2020-12 and named as the others are."""
    jsonschema_rs.meta.validate(SCHEMA)
    assert SCHEMA["$id"] == "urn:tpharness:schema:server-event"


@pytest.mark.parametrize("kind", list(EventKind), ids=lambda kind: kind.value)
def test_table_and_schema_agree_on_every_field(kind: EventKind) -> None:
    """The samples fit; each field without its value, and with each odd one, is judged alike by both."""
    for event in (e for e in EVENTS if e["event_kind"] == kind.value):
        assert both(event)
        for path, required in places(EVENT, event):
            if not isinstance(path[-1], int):
                assert both(changed(event, path)) is not required
            for odd in ODD:
                both(changed(event, path, odd))


@pytest.mark.parametrize("value", [*ODD, {"event_kind": "new"}, {"event_kind": "new", "at": 5}, {"event_kind": []}])
def test_table_and_schema_agree_on_what_is_no_event(value: Any) -> None:
    """What is not an object, or has no kind, is refused; a kind that nobody knows passes (R7)."""
    assert both(value) is (value == {"event_kind": "new"})


def test_recorded_events_fit() -> None:
    """Every event that a real server reported fits both."""
    files = list(scenarios_dir().rglob("*.events.jsonl"))
    assert files
    for file in files:
        for line in file.read_bytes().splitlines():
            assert both(json.loads(line)), file


@pytest.mark.parametrize(
    ("event", "description"),
    [
        ({"event_kind": "stall"}, "stall: seconds is missing"),
        ({"event_kind": "stall", "seconds": float("nan")}, "stall: seconds is not a number from 0 to 1000000000"),
        ({"event_kind": "stall", "seconds": float("inf")}, "stall: seconds is not a number from 0 to 1000000000"),
        (
            {"event_kind": "error", "error_text": "x", "_t_ms": float("inf")},
            "error: _t_ms is not a number from 0 to 1000000000000, or null",
        ),
        (
            {"event_kind": "model_request", "parts": [{"part_kind": "x"}, {"part_kind": "user-prompt", "content": 5}]},
            "model_request: parts[1].content is not text, or a list of texts and objects",
        ),
        (
            {"event_kind": "part_start", "index": 0, "part": {"part_kind": "system-prompt", "content": "x"}},
            "part_start: part.part_kind is not text, and not the kind of a request's part",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_finding_names_the_field(event: dict[str, Any], description: str) -> None:
    """A malformed event is found with the path of its field, what was got and what was expected."""
    found = event_kind(event, Place(event=3))
    assert isinstance(found, Finding)
    assert (found.kind, found.message, found.place.event) == (MALFORMED, description, 3)
    assert found.expected


def test_text_may_hold_a_lone_surrogate() -> None:
    """A character that is split between two deltas is not a mismatch of either (R43)."""
    delta = {"part_delta_kind": "text", "content_delta": "\ud83d"}
    assert EVENT.mismatches({"event_kind": "part_delta", "index": 0, "delta": delta}) == ()


def test_a_time_beyond_the_calendar_is_no_time() -> None:
    """A run that begins at the calendar's end has no later times; the event keeps the time of the one before."""
    now = "9999-12-31T00:00:01Z"
    assert event_time({"_t_ms": 1e12, "event_kind": "stall"}, "9999-12-31T00:00:00Z", now) == now


def test_events_that_are_checked_natively_are_judged_as_by_the_table() -> None:
    """The types of the hot kinds are made of the table; one that let more through would hide a malformed event."""
    kinds = {kind.value for kind in EventKind}
    odd = (*ODD, -1, float("nan"), "\ud83d", (), {"\ud83d": 1}, {1: 2})
    verdicts = []
    for timed in EVENTS:
        event = {name: value for name, value in timed.items() if name != "_t_ms"}
        paths = [path for path, _ in places(EVENT, event)]
        variants = [event, timed, *(changed(event, path) for path in paths)]
        variants += [changed(event, path, value) for path in paths for value in odd]
        for variant in variants:
            known = not EVENT.mismatches(variant) and variant["event_kind"] in kinds
            assert isinstance(event_kind(variant), EventKind) is known, variant
            verdicts.append(known)
    assert verdicts.count(True) > 500 < verdicts.count(False)


ANYWHERE = st.one_of(st.sampled_from(ODD), st.just(float("inf")), st.just("\ud83d"), st.just(()))


@st.composite
def mutated(draw: st.DrawFn) -> dict[str, Any]:
    """An event, as it is or with one or two of its fields left out or changed."""
    event: dict[str, Any] = draw(st.sampled_from(EVENTS))
    for _ in range(draw(st.integers(0, 2))):
        paths = [path for path, _ in places(EVENT, event)] if not EVENT.mismatches(event) else []
        if paths:
            path = draw(st.sampled_from(paths))
            event = changed(event, path, draw(ANYWHERE)) if draw(st.booleans()) else changed(event, path)
    return event


def played(events: list[Any]) -> tuple[Recorder, list[dict[str, Any]], list[Any]]:
    """Record and encode a run of these events after a user turn; return recorder, chunks and threads."""
    recorder, encoder = Recorder(), Encoder(agent_id="assistant")
    prompt = {"part_kind": "user-prompt", "content": "go"}
    recorder.add_user_turn(UserTurn(at=T, parts=(prompt,)))
    recorder.begin("assistant", T)
    chunks = encoder.start(T, (prompt,))
    threads = []
    renderers = [
        dialect.renderer(HEADER, Readings(R20=rule)) for dialect in DIALECTS.values() for rule in UnfinishedRule
    ]
    for event in events:
        recorder.feed(event)
        chunks += encoder.feed(event)
    threads += [renderer.render(recorder.journal(partial=True)) for renderer in renderers]
    recorder.interrupt("network_failure", T)
    threads += [renderer.render(recorder.journal()) for renderer in renderers]
    return recorder, [to_wire(chunk) for chunk in chunks], threads


@settings(max_examples=60)
@given(st.lists(mutated(), max_size=12))
def test_odd_events_never_crash_and_change_nothing(events: list[dict[str, Any]]) -> None:
    """A malformed event is a finding; thread and stream are what they would be without it (R36)."""
    recorder, chunks, threads = played(events)
    bad = {f.place.event for f in recorder.findings if f.kind is MALFORMED}
    assert bad == {number for number, event in enumerate(events) if EVENT.mismatches(event)}
    without = played([event for number, event in enumerate(events) if number not in bad])
    assert (chunks, threads) == without[1:]
