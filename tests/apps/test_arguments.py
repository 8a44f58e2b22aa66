"""Arguments are made from a tool's schema, and their text is cut where a repair would guess."""

from __future__ import annotations

import json
from typing import Any

import jsonschema_rs
import pytest

from tpharness.apps.cases.arguments import arguments_for, cut_arguments, other_arguments
from tpharness.errors import UsageError

SCHEMAS: list[dict[str, Any]] = [
    {"type": "object", "properties": {}},
    {"type": "object", "properties": {"city": {"type": "string"}, "nights": {"type": "integer", "minimum": 1}}},
    {"type": "object", "properties": {"a": {"enum": ["x", "y"]}, "b": {"const": 7}}, "required": ["a", "b"]},
    {
        "type": "object",
        "properties": {"a": {"type": "string", "minLength": 9}, "b": {"type": "string", "maxLength": 2}},
    },
    {"type": "object", "properties": {"n": {"type": "number", "exclusiveMinimum": 5, "maximum": 6.5}}},
    {"type": "object", "properties": {"n": {"type": "integer", "multipleOf": 5, "minimum": 7}}},
    {"type": "object", "properties": {"n": {"type": "integer", "maximum": -3}}},
    {"type": "object", "properties": {"d": {"type": "string", "format": "date"}, "x": {"type": ["null", "boolean"]}}},
    {"type": "object", "properties": {"l": {"type": "array", "items": {"type": "integer"}, "minItems": 3}}},
    {
        "type": "object",
        "properties": {"guest": {"$ref": "#/$defs/Guest"}, "room": {"anyOf": [{"type": "null"}, {"type": "string"}]}},
        "required": ["guest"],
        "$defs": {"Guest": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}},
    },
    {"allOf": [{"type": "object", "required": ["a"]}, {"properties": {"a": {"type": "boolean"}}}]},
    {"type": "object", "properties": {"a": {"type": "string", "pattern": "^.*$", "default": "set"}}, "required": ["a"]},
]


@pytest.mark.parametrize("schema", SCHEMAS, ids=lambda schema: json.dumps(schema)[:60])
def test_the_arguments_fit_the_schema(schema: dict[str, Any]) -> None:
    """By a validator that knows nothing of how they were made."""
    assert jsonschema_rs.is_valid(schema, arguments_for("tool", schema))


@pytest.mark.parametrize(
    ("schema", "other"),
    [
        (SCHEMAS[0], None),
        (SCHEMAS[1], {"city": "Rome", "nights": 2}),
        (SCHEMAS[2], None),
        (SCHEMAS[4], None),
        (SCHEMAS[7], None),
        ({"type": "object", "properties": {"nights": {"type": "integer"}}}, {"nights": 3}),
    ],
)
def test_other_arguments_differ_in_a_value_that_is_allowed(schema: dict[str, Any], other: Any) -> None:
    """A date, a fixed value or a range that leaves nothing stays as it is."""
    assert other_arguments(arguments_for("tool", schema), schema) == other


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"zip": {"type": "string", "pattern": "^[0-9]{5}$"}}, "required": ["zip"]},
        {"type": "object", "properties": {"a": {"not": {}}}, "required": ["a"]},
    ],
)
def test_what_cannot_be_made_is_asked_of_the_user(schema: dict[str, Any]) -> None:
    """No wrong arguments are sent in silence."""
    with pytest.raises(UsageError, match="no arguments for the tool 'book'") as raised:
        arguments_for("book", schema)
    assert "--tool-args 'book=" in raised.value.hint


def test_a_schema_that_refers_to_itself_ends() -> None:
    """A tree without end is cut off, and refused where the schema wants more."""
    tree = {"$ref": "#/$defs/Tree"}
    schema = {**tree, "$defs": {"Tree": {"type": "object", "properties": {"child": tree}, "required": ["child"]}}}
    with pytest.raises(UsageError):
        arguments_for("grow", schema)


@pytest.mark.parametrize("args", [{"city": "Paris", "nights": 2}, {"n": 2}, {}, {"q": "x"}, {"a": {"b": "deep"}}])
def test_the_pieces_are_the_text_and_the_cut_is_inside_it(args: dict[str, Any]) -> None:
    """Nothing is lost between the pieces; before the cut the text is never whole."""
    text = json.dumps(args, separators=(",", ":"))
    pieces, place = cut_arguments(text)
    assert "".join(pieces) == text
    assert 1 <= place <= len(pieces)
    assert all(pieces)


def test_the_cut_is_inside_the_first_text() -> None:
    """`{"city":"Pa` is what a repair makes a city of."""
    pieces, place = cut_arguments('{"city":"Paris","nights":2}')
    assert "".join(pieces[:place]) == '{"city":"Pa'
