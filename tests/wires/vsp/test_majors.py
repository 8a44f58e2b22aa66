"""The strict view says what each major of the AI SDK would refuse."""

from __future__ import annotations

import json

import pytest

from tpharness.findings import Level, Place
from tpharness.resources import schema_path
from tpharness.wires.vsp import chunks
from tpharness.wires.vsp import records as c
from tpharness.wires.vsp.majors import (
    CHUNK_TYPES,
    FINISH_REASONS,
    SDK_REFUSES_NULL,
    SDK_REFUSES_TYPE,
    SDK_REFUSES_VALUE,
    SDK_UNNAMED_FIELD,
    check_chunk,
)

# Chunk, and for each of the majors 5, 6, 7 the kinds of findings, by hand from what the three packages accept.
CASES = [
    ({"type": "start-step"}, [[], [], []]),
    ({"type": "text-delta", "id": "t", "delta": "", "providerMetadata": {"p": {"a": 1}}}, [[], [], []]),
    ({"type": "data-x", "data": None, "id": "i", "transient": True}, [[], [], []]),
    ({"type": "message-metadata", "messageMetadata": None}, [[], [], []]),
    ({"type": "start", "messageMetadata": None}, [[], [], []]),
    ({"type": "finish", "finishReason": "stop"}, [[], [], []]),
    ({"type": "finish", "finishReason": "interrupted"}, [[SDK_REFUSES_VALUE], [SDK_REFUSES_VALUE], []]),
    ({"type": "finish", "finishReason": "unknown"}, [[], [SDK_REFUSES_VALUE], [SDK_REFUSES_VALUE]]),
    ({"type": "finish", "finishReason": "tool_call"}, [[SDK_REFUSES_VALUE]] * 3),
    ({"type": "abort", "reason": "user"}, [[SDK_UNNAMED_FIELD], [], []]),
    ({"type": "reset-step"}, [[SDK_REFUSES_TYPE], [SDK_REFUSES_TYPE], []]),
    ({"type": "custom", "kind": "a.b"}, [[SDK_REFUSES_TYPE], [SDK_REFUSES_TYPE], []]),
    ({"type": "reasoning-file", "url": "u", "mediaType": "m"}, [[SDK_REFUSES_TYPE], [SDK_REFUSES_TYPE], []]),
    (
        {"type": "tool-approval-response", "approvalId": "a", "approved": True},
        [[SDK_REFUSES_TYPE], [SDK_REFUSES_TYPE], []],
    ),
    ({"type": "tool-output-denied", "toolCallId": "k"}, [[SDK_REFUSES_TYPE], [], []]),
    (
        {"type": "tool-approval-request", "approvalId": "a", "toolCallId": "k", "isAutomatic": True},
        [[SDK_REFUSES_TYPE], [SDK_UNNAMED_FIELD], []],
    ),
    ({"type": "text-end", "id": "t", "citations": []}, [[SDK_UNNAMED_FIELD], [SDK_UNNAMED_FIELD], []]),
    ({"type": "tool-input-start", "toolCallId": "k", "toolName": "n", "title": "T"}, [[SDK_UNNAMED_FIELD], [], []]),
    (
        {"type": "tool-input-start", "toolCallId": "k", "toolName": "n", "inputEncoding": "yaml"},
        [[SDK_UNNAMED_FIELD], [SDK_REFUSES_VALUE], [SDK_REFUSES_VALUE]],
    ),
    (
        {"type": "tool-output-available", "toolCallId": "k", "output": 1, "providerMetadata": {}},
        [[SDK_UNNAMED_FIELD], [], []],
    ),
    ({"type": "wat"}, [[SDK_REFUSES_TYPE]] * 3),
    ({"type": "data", "name": "data-x", "value": 1}, [[SDK_REFUSES_TYPE]] * 3),
    ({"type": "thinking-start", "id": "t"}, [[SDK_REFUSES_TYPE]] * 3),
    ({"type": "start", "messageId": None}, [[SDK_REFUSES_NULL]] * 3),
    ({"type": "text-start", "id": "t", "extra": 1}, [[SDK_UNNAMED_FIELD]] * 3),
    ({"type": "data-x", "data": 1, "extra": 1}, [[SDK_UNNAMED_FIELD]] * 3),
    ({"type": "text-start", "id": "t", "providerMetadata": {"p": 1}}, [[SDK_REFUSES_VALUE]] * 3),
    ({"type": "data-x", "data": {"a": [{"__proto__": 1}]}}, [[SDK_REFUSES_VALUE]] * 3),
    ({"type": "text-start"}, [[c.CHUNK_BAD_FIELD]] * 3),
    ({"no": "type"}, [[c.CHUNK_NOT_OBJECT]] * 3),
    (
        {"type": "steering-message", "id": "s", "parts": [{"type": "text", "text": "a"}, {"type": "image"}]},
        [[SDK_REFUSES_TYPE], [SDK_REFUSES_TYPE], [SDK_REFUSES_VALUE]],
    ),
]


@pytest.mark.parametrize(("wire", "kinds"), CASES, ids=[json.dumps(wire)[:80] for wire, _ in CASES])
def test_each_major_refuses_what_its_schema_refuses(wire, kinds):
    """Findings of the majors 5, 6 and 7 are those written beside the chunk."""
    assert [[f.kind for f in check_chunk(wire, major)] for major in (5, 6, 7)] == kinds


@pytest.mark.parametrize(("wire", "kinds"), CASES, ids=[json.dumps(wire)[:80] for wire, _ in CASES])
def test_without_a_major_only_what_all_refuse_is_reported(wire, kinds):
    """A chunk that some major takes without a word is fine; one that all complain of is not."""
    assert bool(check_chunk(wire)) == all(kinds)


def test_findings_name_the_place_and_what_is_allowed():
    """A finding carries the place that was given, the value and the values that are accepted."""
    place = Place(event=4)
    (finding,) = check_chunk({"type": "finish", "finishReason": "unknown"}, 6, place=place)
    assert finding.place == place
    assert finding.level is Level.SHOULD
    assert finding.got == "unknown"
    assert finding.expected == "one of content-filter, error, length, other, stop, tool-calls"
    assert "AI SDK 6" in finding.message


@pytest.mark.parametrize(
    ("chunk", "kinds"),
    [
        (c.Done(), []),
        (c.FinishChunk(finish_reason="interrupted"), [SDK_REFUSES_VALUE]),
        (c.UnknownChunk(type="wat", raw={"type": "wat"}), [SDK_REFUSES_TYPE]),
        (c.DataChunk(name="data-x", data=1), []),
        (chunks.decode_chunk(b"{"), [c.CHUNK_NOT_JSON]),
    ],
    ids=["done", "finish", "unknown", "data", "malformed"],
)
def test_records_can_be_checked_too(chunk, kinds):
    """A record is judged by what it would be on the wire."""
    assert [f.kind for f in check_chunk(chunk, 6)] == kinds


def test_the_table_and_the_published_schema_say_the_same():
    """Types, majors, required and optional fields, and finish reasons of `CHUNK_TYPES` equal those in the schema."""
    definitions = json.loads(schema_path("vsp-chunk").read_text())["$defs"]
    assert definitions.pop("data-amendments")["x-majors"] == []
    definitions["data-*"] = definitions.pop("data")
    assert set(definitions) == set(CHUNK_TYPES)
    for name, row in CHUNK_TYPES.items():
        published = definitions[name]
        assert published["x-majors"] == sorted(row.majors), name
        assert published.get("required", []) == sorted(row.required, key=published.get("required", []).index), name
        optional = {
            field: set(value.get("x-majors", row.majors)) if isinstance(value, dict) else set(row.majors)
            for field, value in published.get("properties", {}).items()
            if field not in row.required
        }
        assert optional == {field: set(majors) for field, majors in row.optional.items()}, name
    values = definitions["finish"]["properties"]["finishReason"]["x-values"]
    assert {int(major): set(reasons) for major, reasons in values.items()} == FINISH_REASONS
