"""The published schemas of threads: the documents' own examples fit, and what does not fit is told by its place."""

from __future__ import annotations

import copy
from typing import Any

import jsonschema_rs
import orjson
import pytest

from tpharness.protocol.rules import check_thread
from tpharness.protocol.schema import schema_findings
from tpharness.resources import schema_path

VERSIONS = ("2.0.0", "0.0.3", "0.0.4")
DAY = "2025-01-15T10:0"


def registered(agent_id: str, name: str, model: str, provider: str) -> dict[str, Any]:
    """Return an entry of the registry as the example thread has it."""
    return {
        "agent_id": agent_id,
        "agent_name": name,
        "model_name": model,
        "provider_name": provider,
        "created_at": f"{DAY}0:00Z",
    }


# 2.0.0 specification, section "Example Thread".
EXAMPLE: dict[str, Any] = {
    "version": "2.0.0",
    "thread_id": "550e8400-e29b-41d4-a716-446655440000",
    "created_at": f"{DAY}0:00Z",
    "updated_at": f"{DAY}5:00Z",
    "title": "Multi-agent weather discussion",
    "agents": {
        "agent_001": registered("agent_001", "Weather Assistant", "gpt-4", "openai"),
        "agent_002": registered("agent_002", "Travel Planner", "claude-3-opus", "anthropic"),
    },
    "turns": [
        {
            "turn_type": "user",
            "submitted_at": f"{DAY}0:00Z",
            "parts": [{"part_kind": "user-prompt", "content": "What's the weather like in Tokyo?"}],
        },
        {
            "turn_type": "agent",
            "agent_id": "agent_001",
            "started_at": f"{DAY}0:01Z",
            "completed_at": f"{DAY}0:05Z",
            "messages": [
                {
                    "message_type": "response",
                    "timestamp": f"{DAY}0:02Z",
                    "agent_id": "agent_001",
                    "model_name": "gpt-4",
                    "parts": [
                        {"part_kind": "text", "content": "Let me check the current weather in Tokyo."},
                        {
                            "part_kind": "tool-call",
                            "tool_name": "get_weather",
                            "tool_call_id": "call_001",
                            "args": {"city": "Tokyo", "units": "celsius"},
                        },
                    ],
                },
                {
                    "message_type": "request",
                    "timestamp": f"{DAY}0:03Z",
                    "agent_id": "agent_001",
                    "parts": [
                        {
                            "part_kind": "tool-return",
                            "tool_name": "get_weather",
                            "tool_call_id": "call_001",
                            "status": "success",
                            "content": {"temperature": 18, "conditions": "partly cloudy"},
                        }
                    ],
                },
                {
                    "message_type": "response",
                    "timestamp": f"{DAY}0:04Z",
                    "agent_id": "agent_001",
                    "model_name": "gpt-4",
                    "parts": [
                        {
                            "part_kind": "text",
                            "content": "The weather in Tokyo is currently 18°C and partly cloudy. "
                            "Travel Planner, what do you think?",
                        }
                    ],
                },
                {
                    "message_type": "system",
                    "timestamp": f"{DAY}0:05Z",
                    "event_type": "agent.handoff",
                    "event_data": {"from": "agent_001", "to": "agent_002", "reason": "explicit_mention"},
                    "source_agent": "agent_001",
                    "target_agents": ["agent_002"],
                },
            ],
            "total_usage": {"input_tokens": 120, "output_tokens": 45, "total_tokens": 165},
        },
        {
            "turn_type": "agent",
            "agent_id": "agent_002",
            "started_at": f"{DAY}0:05Z",
            "completed_at": f"{DAY}0:08Z",
            "messages": [
                {
                    "message_type": "request",
                    "timestamp": f"{DAY}0:05Z",
                    "agent_id": "agent_002",
                    "parts": [
                        {
                            "part_kind": "user-prompt",
                            "content": "Based on the weather, what activities would you recommend?",
                        }
                    ],
                },
                {
                    "message_type": "response",
                    "timestamp": f"{DAY}0:06Z",
                    "agent_id": "agent_002",
                    "model_name": "claude-3-opus",
                    "provider_name": "anthropic",
                    "parts": [
                        {
                            "part_kind": "thinking",
                            "content": "The weather is mild and partly cloudy...",
                            "provider_name": "anthropic",
                        },
                        {
                            "part_kind": "text",
                            "content": "Perfect weather for sightseeing! I'd recommend visiting temples and parks.",
                        },
                    ],
                },
            ],
            "total_usage": {"input_tokens": 150, "output_tokens": 35, "thinking_tokens": 20, "total_tokens": 205},
        },
    ],
}
# 2.0.0 specification, section "Example: Message Enrichment": the turns; the root is that of the example thread.
ENRICHMENT = {
    **EXAMPLE,
    "turns": [
        {
            "turn_type": "user",
            "submitted_at": f"{DAY}0:00Z",
            "parts": [{"part_kind": "user-prompt", "content": "weather tokyo"}],
        },
        {
            "turn_type": "agent",
            "agent_id": "agent_001",
            "started_at": f"{DAY}0:01Z",
            "completed_at": f"{DAY}0:05Z",
            "messages": [
                {
                    "message_type": "system",
                    "timestamp": f"{DAY}0:01Z",
                    "event_type": "prompt.enriched",
                    "event_data": {
                        "original": "weather tokyo",
                        "enriched": "Please provide current weather information for Tokyo, Japan, including "
                        "temperature, conditions, and humidity.",
                    },
                },
                {
                    "message_type": "response",
                    "timestamp": f"{DAY}0:02Z",
                    "agent_id": "agent_001",
                    "parts": [{"part_kind": "text", "content": "Let me check the weather in Tokyo for you..."}],
                },
            ],
        },
    ],
}
# 0.0.4 amendments, section "No Special Prepending Needed". The page abbreviates: agent_id (R3), tool_call_id and status
# are filled in here, and a root is put around it.
INTERRUPTED: dict[str, Any] = {
    **EXAMPLE,
    "version": "0.0.4",
    "turns": [
        {
            "turn_type": "user",
            "submitted_at": "2025-01-20T10:00:00Z",
            "parts": [{"part_kind": "user-prompt", "content": "What's the weather?"}],
        },
        {
            "turn_type": "agent",
            "agent_id": "agent_001",
            "started_at": "2025-01-20T10:00:01Z",
            "completion_status": "interrupted",
            "interruption": {"reason": "user_cancelled", "interrupted_at": "2025-01-20T10:00:15Z"},
            "messages": [
                {
                    "message_type": "response",
                    "timestamp": "2025-01-20T10:00:02Z",
                    "agent_id": "agent_001",
                    "parts": [{"part_kind": "tool-call", "tool_name": "get_weather", "tool_call_id": "c", "args": {}}],
                },
                {
                    "message_type": "request",
                    "timestamp": "2025-01-20T10:00:10Z",
                    "agent_id": "agent_001",
                    "parts": [
                        {
                            "part_kind": "tool-return",
                            "tool_name": "get_weather",
                            "tool_call_id": "c",
                            "status": "success",
                            "content": {},
                        }
                    ],
                },
            ],
        },
        {
            "turn_type": "user",
            "submitted_at": "2025-01-20T10:00:20Z",
            "parts": [{"part_kind": "user-prompt", "content": "Try Berlin instead"}],
        },
    ],
}
EXAMPLES = {"example thread": EXAMPLE, "message enrichment": ENRICHMENT, "interrupted turn": INTERRUPTED}
IMAGE = {"kind": "image-url", "url": "https://x/y.png", "identifier": "i"}
BINARY = {"kind": "binary", "data": "AA==", "media_type": "image/png", "identifier": "i"}


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_documents_own_examples_are_valid(name: str) -> None:
    """Neither the schema nor a rule complains about what the documents themselves show."""
    assert check_thread(EXAMPLES[name]) == []


@pytest.mark.parametrize("version", VERSIONS)
def test_each_schema_is_a_schema_of_its_version_alone(version: str) -> None:
    """JSON Schema 2020-12, self-contained: each reference leads into the file itself."""
    schema = orjson.loads(schema_path(f"thread-{version}").read_bytes())
    jsonschema_rs.meta.validate(schema)
    assert schema["$schema"].endswith("2020-12/schema")
    assert schema["properties"]["version"] == {"const": version}
    assert {ref for ref in references(schema) if ref.removeprefix("#/$defs/") not in schema["$defs"]} == set()
    assert [name for name, one in schema["$defs"].items() if "description" not in one and "enum" not in one] == ["turn"]


def references(schema: Any) -> set[str]:
    """Return every $ref of a schema."""
    inside = schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ()
    own = {schema["$ref"]} if isinstance(schema, dict) and "$ref" in schema else set()
    return own.union(*map(references, inside))


def with_version(version: str) -> dict[str, Any]:
    """Return the example thread in a version (R1)."""
    document = copy.deepcopy(EXAMPLE) | {"version": version}
    if version == "0.0.4":
        for turn in document["turns"][1:]:
            turn["completion_status"] = "complete"
    return document


def put(document: dict[str, Any], pointer: str, value: Any) -> dict[str, Any]:
    """Return the document with a value at a pointer; Ellipsis takes the field away."""
    *path, last = pointer.split("/")[1:]
    holder: Any = document
    for step in path:
        holder = holder[int(step) if isinstance(holder, list) else step]
    if value is ...:
        del holder[last]
    elif isinstance(holder, list):
        holder[int(last)] = value
    else:
        holder[last] = value
    return document


REQUIRED = [
    ("", "thread_id created_at updated_at agents turns"),
    ("/agents/agent_001", "agent_id agent_name created_at"),
    ("/turns/0", "turn_type submitted_at parts"),
    ("/turns/1", "turn_type agent_id started_at completed_at messages"),
    ("/turns/1/messages/0", "message_type timestamp agent_id parts"),
    ("/turns/1/messages/1", "agent_id parts"),
    ("/turns/1/messages/3", "timestamp event_type"),
    ("/turns/0/parts/0", "part_kind content"),
    ("/turns/1/messages/0/parts/0", "part_kind content"),
    ("/turns/1/messages/0/parts/1", "tool_name tool_call_id args"),
    ("/turns/1/messages/1/parts/0", "tool_name tool_call_id status content"),
    ("/turns/2/messages/1/parts/0", "provider_name"),
]


@pytest.mark.parametrize(("holder", "name"), [(holder, name) for holder, names in REQUIRED for name in names.split()])
def test_a_missing_field_is_one_finding_at_the_object_that_lacks_it(holder: str, name: str) -> None:
    """What every version requires is missed at its place, once, without conclusions from what is not there."""
    for version in VERSIONS:
        found = schema_findings(put(with_version(version), f"{holder}/{name}", ...))
        assert [f.place.pointer for f in found] == [holder], version


@pytest.mark.parametrize(
    ("pointer", "value"),
    [
        ("/thread_id", ""),
        ("/created_at", "2025-01-20"),
        ("/updated_at", "20250120T100000Z"),
        ("/agents", []),
        ("/agents/agent_001/agent_id", ""),
        ("/turns", {}),
        ("/turns/0", "Hi"),
        ("/turns/0/turn_type", "tool"),
        ("/turns/0/parts/0/part_kind", ""),
        ("/turns/0/parts/0/content", 7),
        ("/turns/1/completed_at", None),
        ("/turns/1/completed_at", "soon"),
        ("/turns/1/total_usage/input_tokens", -1),
        ("/turns/1/total_usage/output_tokens", 1.5),
        ("/turns/1/messages/0/message_type", "tool"),
        ("/turns/1/messages/0/finish_reason", "tool-calls"),
        ("/turns/1/messages/0/usage", {"input_tokens": "12"}),
        ("/turns/1/messages/0/parts/0/content", None),
        ("/turns/1/messages/0/parts/1/tool_call_id", ""),
        ("/turns/1/messages/1/parts/0/status", "denied"),
        ("/turns/1/messages/3/event_type", ""),
        ("/turns/1/messages/3/target_agents", [1]),
    ],
)
def test_a_wrong_value_is_found_where_it_stands(pointer: str, value: Any) -> None:
    """The place of a finding leads to the wrong value or into it, in every version."""
    for version in VERSIONS:
        places = [str(f.place.pointer) for f in schema_findings(put(with_version(version), pointer, value))]
        assert places != [], version
        assert [place for place in places if not place.startswith(pointer)] == [], version


def test_a_wrong_value_inside_an_optional_object_is_named_itself() -> None:
    """Null or an object: the finding is about the field inside, not about the alternatives."""
    document = put(with_version("0.0.4"), "/turns/1/total_usage/input_tokens", -1)
    assert [f.place.pointer for f in schema_findings(document)] == ["/turns/1/total_usage/input_tokens"]


@pytest.mark.parametrize(
    ("pointer", "value"),
    [
        ("/flavour", {"any": None}),
        ("/agents/agent_001/model_name", None),
        ("/updated_at", "2025-01-20T10:00:00.123456"),
        ("/turns/0/flavour", [1]),
        ("/turns/0/parts/0/content", []),
        ("/turns/0/parts/0/content", ["a", IMAGE, BINARY, {"kind": "hologram", "x": 1}]),
        ("/turns/0/parts/0/content", [{**IMAGE, "kind": kind} for kind in ("audio-url", "video-url", "document-url")]),
        ("/turns/1/total_usage", None),
        ("/turns/1/total_usage/cache_tokens", 5),
        ("/turns/1/messages/0/finish_reason", "content_filter"),
        ("/turns/1/messages/0/parts/0", {"part_kind": "custom:chart", "content": 5}),
        ("/turns/1/messages/0/parts/0", {"part_kind": "file", "content": BINARY}),
        ("/turns/1/messages/0/parts/0", {"part_kind": "thinking", "provider_name": "x", "signature": "s"}),
        ("/turns/1/messages/1/parts/0/content", None),
        ("/turns/1/messages/1/parts/0/status", "validation_error"),
        ("/turns/1/messages/3/event_data", None),
        ("/turns/1/messages/3/event_type", "anything.at.all"),
    ],
)
def test_what_the_documents_allow_is_accepted(pointer: str, value: Any) -> None:
    """R7: unknown fields and kinds are never refused, and every kind of content that is defined is accepted."""
    for version in VERSIONS:
        assert schema_findings(put(with_version(version), pointer, value)) == [], version


@pytest.mark.parametrize("item", [IMAGE, BINARY, {**IMAGE, "kind": "document-url"}])
def test_user_content_needs_what_its_kind_requires(item: dict[str, Any]) -> None:
    """2.0.0, multi-modal content: each kind has its fields, identifier among them."""
    for name in item:
        content = [{k: v for k, v in item.items() if k != name}]
        found = schema_findings(put(with_version("0.0.4"), "/turns/0/parts/0/content", content))
        assert [f.place.pointer for f in found] == ["/turns/0/parts/0/content/0"]


def test_completion_status_is_required_from_0_0_4_on() -> None:
    """R19: an agent turn of 0.0.4 says which it is; the versions before know complete turns only."""
    assert schema_findings(put(with_version("0.0.4"), "/turns/1/completion_status", ...))
    for value in ("paused", None):
        assert schema_findings(put(with_version("0.0.4"), "/turns/1/completion_status", value))
    assert schema_findings(with_version("0.0.3")) == []
    assert schema_findings(with_version("2.0.0")) == []


@pytest.mark.parametrize(
    ("name", "value", "where"),
    [
        ("interruption", ..., "/turns/1"),
        ("interruption", None, "/turns/1/interruption"),
        ("interruption", {"interrupted_at": "2025-01-20T10:00:15Z"}, "/turns/1/interruption"),
        ("interruption", {"reason": "timeout"}, "/turns/1/interruption"),
        ("interruption", {"reason": "", "interrupted_at": "2025-01-20T10:00:15Z"}, "/turns/1/interruption/reason"),
        ("completed_at", "2025-01-20T10:00:15Z", "/turns/1/completed_at"),
        ("completion_status", "complete", "/turns/1"),
    ],
)
def test_an_interrupted_turn_has_an_interruption_and_no_end(name: str, value: Any, where: str) -> None:
    """R19: reason and interrupted_at instead of completed_at, and neither with the other's status."""
    found = schema_findings(put(copy.deepcopy(INTERRUPTED), f"/turns/1/{name}", value))
    assert where in [f.place.pointer for f in found]


def test_the_reason_of_an_interruption_is_any_word() -> None:
    """R7: the five reasons are extensible."""
    assert schema_findings(put(copy.deepcopy(INTERRUPTED), "/turns/1/interruption/reason", "power_cut")) == []


@pytest.mark.parametrize("version", ["0.0.3", "0.0.4"])
@pytest.mark.parametrize(
    ("reference", "where"),
    [
        ({"uri": "s3://b/k", "size_bytes": 7, "hash": None, "media_type": "text/plain"}, None),
        ({"size_bytes": 7}, ""),
        ({"uri": ""}, "/uri"),
        ({"uri": "s3://b/k", "size_bytes": -1}, "/size_bytes"),
        ("s3://b/k", ""),
    ],
)
def test_a_reference_has_the_shape_of_a_reference(version: str, reference: Any, where: str | None) -> None:
    """R6: a return by reference, with a URI; what is wrong with the reference is told inside it."""
    holder = "/turns/1/messages/1/parts/0"
    document = put(put(with_version(version), f"{holder}/content", ...), f"{holder}/content_ref", reference)
    places = [f.place.pointer for f in schema_findings(document)]
    assert places == [] if where is None else f"{holder}/content_ref{where}" in places


def test_many_errors_are_cut_off() -> None:
    """A document of which nothing fits gives findings that a person can read; the last says that there are others."""
    document = with_version("0.0.4") | {"turns": [7] * 500}
    *first, last = schema_findings(document)
    assert len(first) == 50
    assert not any("more" in f.message for f in first)
    assert last.message == "and more does not fit the schema, the first of it here"
