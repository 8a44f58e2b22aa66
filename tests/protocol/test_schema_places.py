"""Every place of the schemas of threads has a finding in words: no misfit is told in the words of a validator."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any

import pytest
from tests.places import places, replace_at

from tpharness.clauses import load_clauses
from tpharness.protocol.misfits import load_schema_places
from tpharness.protocol.schema import schema_findings
from tpharness.protocol.versions import Version
from tpharness.resources import schema_path

VERSIONS = [version.value for version in Version]
ASSERTIONS = ("type", "enum", "const", "minLength", "minimum", "pattern", "anyOf")
VALIDATOR_WORDS = re.compile(
    r"is not of type|required property|does not match|is not valid under|is not one of|shorter than|less than the"
)
AGENT = "6b1f0c1e-58b4-4c0e-8a53-0c8f6d2a7e01"
TIME = "2025-01-20T10:00:02Z"
BINARY = {"kind": "binary", "data": "AA==", "media_type": "image/png", "identifier": "i"}
PARTS: list[dict[str, Any]] = [
    {"part_kind": "text", "content": "x", "id": "t"},
    {"part_kind": "thinking", "content": "x", "signature": "s", "provider_name": "p", "thinking_id": "t"},
    {"part_kind": "tool-call", "tool_name": "f", "tool_call_id": "c9", "args": {}},
    {"part_kind": "file", "content": BINARY, "id": "f"},
    {"part_kind": "builtin-tool-call", "tool_name": "s", "tool_call_id": "b1", "args": {}},
    {"part_kind": "builtin-tool-return", "tool_name": "s", "tool_call_id": "b1", "content": 1},
]
ANSWERS: list[dict[str, Any]] = [
    {"part_kind": "tool-return", "tool_name": "f", "tool_call_id": "c9", "status": "success", "content": 1},
    {"part_kind": "retry-prompt", "content": "x", "tool_name": "f", "tool_call_id": "c9"},
    {
        "part_kind": "user-prompt",
        "content": ["x", {"kind": "image-url", "url": "u", "identifier": "i"}, BINARY],
    },
]
SEEN_BEFORE = {  # what a condition of the schema has seen to be an object, and the version, which chooses the schema
    *("thread", "thread.version", "user_turn", "agent_turn", "text", "thinking", "tool-call", "retry-prompt"),
    *("user-prompt", "file", "url_content", "binary_content"),
}
REFERENCE = {"uri": "s3://b/k", "size_bytes": 1, "hash": "ab" * 32, "media_type": "text/plain"}
ODD: list[Any] = [None, math.nan, math.inf, True, -1, 1.5, "", "soon", [], [7], {}, {"kind": ""}]


def crowded(version: str) -> dict[str, Any]:
    """Return a thread that fits the schema and has every object and field that the version describes."""
    both = {"timestamp": TIME, "agent_id": AGENT}
    facts = {"model_name": "m", "provider_name": "p", "provider_response_id": "r", "finish_reason": "stop"}
    usage = {"input_tokens": 1, "output_tokens": 1, "thinking_tokens": 1, "total_tokens": 2}
    event = {"event_type": "data-app-x", "event_data": 1, "source_agent": AGENT, "target_agents": [AGENT]}
    by_reference = {k: v for k, v in ANSWERS[0].items() if k != "content"} | {"content_ref": REFERENCE}
    answers = [*ANSWERS, by_reference] if version != "2.0.0" else ANSWERS
    messages: list[dict[str, Any]] = [
        {"message_type": "response", **both, **facts, "usage": usage, "parts": PARTS},
        {"message_type": "request", **both, "parts": answers},
        {"message_type": "system", "timestamp": TIME, **event},
    ]
    turn = {"turn_type": "agent", "agent_id": AGENT, "started_at": TIME, "total_usage": usage, "messages": messages}
    complete: dict[str, Any] = {**turn, "completed_at": TIME}
    cut = {**turn, "completion_status": "interrupted", "interruption": {"reason": "error", "interrupted_at": TIME}}
    if version == "0.0.4":
        complete["completion_status"] = "complete"
    entry = {"agent_id": AGENT, "agent_name": "A", "model_name": "m", "provider_name": "p", "config_ref": "c"}
    user = {"turn_type": "user", "submitted_at": TIME, "parts": [{"part_kind": "user-prompt", "content": "Hi"}]}
    links = [{"thread_id": AGENT, "relation": "referenced", "metadata": 1}]
    return {
        "version": version,
        "thread_id": "t",
        "created_at": TIME,
        "updated_at": TIME,
        "title": "x",
        "metadata": {},
        "agents": {AGENT: {**entry, "created_at": TIME}},
        "relationships": {"links": links},
        "turns": [{**user, "client_metadata": {"ui:x": 1}}, complete, *([cut] if version == "0.0.4" else [])],
    }


def assertions(version: str) -> set[str]:
    """Return every place of a schema that asserts something, by the names of `schema-places.yaml`."""
    schema = json.loads(schema_path(f"thread-{version}").read_text("utf-8"))
    found = set(walk({k: v for k, v in schema.items() if k != "$defs"}, "thread"))
    for name, definition in schema["$defs"].items():
        found.update(walk(definition, name))
    return found


def owed(version: str) -> set[str]:
    """Return the places of a schema at which something can be wrong."""
    seen = SEEN_BEFORE if version != "2.0.0" else {*SEEN_BEFORE, "tool-return"}
    return assertions(version) - seen


def walk(node: dict[str, Any], name: str) -> Iterator[str]:
    """Yield the places below a node of a schema; `then` and `else` of a turn are its two kinds."""
    if any(keyword in node for keyword in ASSERTIONS):
        yield name
    yield from (f"{name}.{field}" for field in node.get("required", ()))
    for field, below in node.get("properties", {}).items():
        yield from walk(below, f"{name}.{field}")
    for keyword in ("items", "additionalProperties"):
        if keyword in node:
            yield from walk(node[keyword], name)
    for branch in node.get("allOf", ()):
        told: dict[str, Any] = next(iter(branch["if"].get("properties", {}).values()), {})
        own = str(told["const"]) if "const" in told else "|".join(told.get("enum", ()))
        yield from walk(branch["then"], own if name in ("part", "message") else name)
    for keyword, kind in (("then", "interrupted_turn"), ("else", "complete_turn")):
        if keyword in node:
            yield from walk(node[keyword], kind if name == "agent_turn" else name)


def test_the_table_has_every_place_of_every_schema_and_no_other() -> None:
    """A field that a schema begins to describe needs its words here."""
    described = {place for version in VERSIONS for place in assertions(version)}
    assert described - set(load_schema_places()) == set()
    assert set(load_schema_places()) - described == set()


@pytest.mark.parametrize("version", VERSIONS)
def test_the_thread_that_is_broken_below_fits_its_schema(version: str) -> None:
    """What is found is then due to what was changed."""
    assert schema_findings(crowded(version)) == []


def broken(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the document with each place changed to odd values, and without it."""
    for path in places(document):
        for value in ODD:
            yield replace_at(document, path, value)
        if isinstance(path[-1], str):
            yield removed(document, path)
    for t, turn in enumerate(document["turns"]):  # what belongs to a turn of the other kind
        for field, value in (("completed_at", TIME), ("interruption", {"reason": "error", "interrupted_at": TIME})):
            yield replace_at(document, ("turns", t), {**turn, field: value})


def removed(document: dict[str, Any], path: tuple[Any, ...]) -> dict[str, Any]:
    """Return the document without a field."""
    copy: dict[str, Any] = json.loads(json.dumps(document))
    holder: Any = copy
    for step in path[:-1]:
        holder = holder[step]
    del holder[path[-1]]
    return copy


@pytest.mark.parametrize("version", VERSIONS)
def test_whatever_does_not_fit_is_told_in_words_and_by_its_clause(version: str) -> None:
    """At each place of the schema of a version, odd values and nothing at all lead to a finding that a person reads."""
    reached: dict[str, set[str]] = {}
    for document in broken(crowded(version)):
        for finding in schema_findings(document):
            assert not VALIDATOR_WORDS.search(finding.message), finding.line()
            assert finding.kind.clauses, finding.line()
            reached.setdefault(finding.code, set()).add(f"{finding.message}; {finding.expected}")
    table = {place: load_schema_places()[place] for place in owed(version)}
    silent = {
        place
        for place, one in table.items()
        if not any(one.expected in told for told in reached.get(one.kind.code, ()))
    }
    assert silent == set()


@pytest.mark.parametrize("version", VERSIONS)
def test_each_clause_that_the_table_leads_to_holds_for_a_version_that_has_the_place(version: str) -> None:
    """A finding does not send its reader to a clause of another version alone."""
    clauses = load_clauses()
    for place in owed(version):
        kind = load_schema_places()[place].kind
        assert any(version in clauses[clause].versions for clause in kind.clauses), place


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        ("completion_status", None, "an agent turn has no completion_status"),
        ("completion_status", "paused", "the completion_status of an agent turn is not complete or interrupted"),
        ("completed_at", None, "a complete turn has no completed_at"),
        ("completed_at", "soon", "completed_at is not an ISO 8601 time such as 2025-01-20T10:00:00Z"),
        ("interruption", {"reason": "error", "interrupted_at": TIME}, "a complete turn has an interruption"),
        ("agent_id", "", "the agent_id of an agent turn is not the id of the agent that ran"),
        ("messages", [7], "this is not an object with message_type and timestamp"),
    ],
)
def test_the_words_say_what_is_wrong_with_a_turn(path: str, value: Any, words: str) -> None:
    """One finding, about the object and the field by the names that a person knows."""
    thread = crowded("0.0.4")
    thread["turns"][1] = {**thread["turns"][1], path: value}
    assert [finding.message for finding in schema_findings(thread)] == [words]
