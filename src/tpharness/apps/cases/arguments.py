"""Arguments for a tool, made from its JSON Schema: the plainest value that the schema allows.

In: a JSON Schema. Out: an object, or UsageError where no plain value fits, so that the user gives one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jsonschema_rs

from tpharness.errors import UsageError

__all__ = ["arguments_for", "cut_arguments", "other_arguments"]

_DEEPEST = 8
_FORMATS = {
    "date": "2026-11-20",
    "date-time": "2026-11-20T21:32:40Z",
    "time": "21:32:40Z",
    "email": "guest@example.org",
    "uri": "https://example.org/",
    "uuid": "0d6f0c4c-6f0e-4d7c-9a1d-3f2b6c1e8a55",
}
_WORD, _OTHER_WORD = "Paris", "Rome"


def arguments_for(name: str, schema: Any) -> dict[str, Any]:
    """Return arguments that the schema of a tool accepts. UsageError where this module finds none."""
    root = schema if isinstance(schema, Mapping) else {}
    value = _value(root, root, _DEEPEST)
    arguments = value if isinstance(value, dict) else {}
    try:
        accepted = jsonschema_rs.is_valid(dict(root), arguments)
    except (jsonschema_rs.ValidationError, ValueError):
        accepted = False
    if not accepted:
        raise UsageError(
            f"no arguments for the tool {name!r} can be made from its schema",
            hint=f"give them: tools.args = {{{name} = {{…}}}}, or --tool-args '{name}={{…}}'",
        )
    return arguments


def other_arguments(arguments: Mapping[str, Any], schema: Any) -> dict[str, Any] | None:
    """Return arguments with one other value that the schema of a tool accepts, None if none is found.

    `arguments` are those of `arguments_for`. Of texts only the plain word is changed: others have a format.
    """
    root = schema if isinstance(schema, Mapping) else {}
    for name, value in arguments.items():
        if value == _WORD:
            other: Any = _OTHER_WORD
        elif isinstance(value, int | float) and not isinstance(value, bool):
            other = value + 1
        else:
            continue
        changed = {**arguments, name: other}
        if jsonschema_rs.is_valid(dict(root), changed):
            return changed
    return None


def cut_arguments(text: str, *, length: int = 4) -> tuple[tuple[str, ...], int]:
    """Cut the JSON text of arguments into pieces; return them, and how many end inside the first text value.

    Such a place is where an application that repairs the text would guess: `{"city":"Par` reads as a city. Without a
    text value it is the middle.
    """
    pieces = [text[at : at + length] for at in range(0, len(text), length)] or [""]
    value = text.find(':"')
    if value < 0:
        return tuple(pieces), max(1, len(pieces) // 2)
    inside = value + 2 + max(1, (text.find('"', value + 2) - value - 2) // 2)
    head, rest = text[:inside], text[inside:]
    first = [head[at : at + length] for at in range(0, len(head), length)]
    return (*first, *(rest[at : at + length] for at in range(0, len(rest), length))), len(first)


def _value(schema: Any, root: Mapping[str, Any], depth: int) -> Any:
    if not isinstance(schema, Mapping) or not depth:
        return _WORD
    if "$ref" in schema:
        return _value(_referred(str(schema["$ref"]), root), root, depth - 1)
    for key in ("const", "default"):
        if key in schema:
            return schema[key]
    for key in ("examples", "enum"):
        if isinstance(schema.get(key), list) and schema[key]:
            return schema[key][0]
    for key in ("anyOf", "oneOf"):
        options = schema.get(key)
        if isinstance(options, list) and options:
            chosen = next((o for o in options if isinstance(o, Mapping) and o.get("type") != "null"), options[0])
            return _value({**{k: v for k, v in schema.items() if k != key}, **chosen}, root, depth - 1)
    if isinstance(schema.get("allOf"), list):
        merged: dict[str, Any] = {k: v for k, v in schema.items() if k != "allOf"}
        for part in schema["allOf"]:
            merged |= part if isinstance(part, Mapping) else {}
        return _value(merged, root, depth - 1)
    return _of_type(schema, root, depth)


def _of_type(schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> Any:
    kinds = schema.get("type", "object" if "properties" in schema else "string")
    kind = next((k for k in kinds if k != "null"), "null") if isinstance(kinds, list) else kinds
    match kind:
        case "object":
            fields = schema.get("properties", {})
            required = schema.get("required", list(fields))
            return {name: _value(fields.get(name, {}), root, depth - 1) for name in required}
        case "array":
            return [_value(schema.get("items", {}), root, depth - 1)] * max(1, int(schema.get("minItems", 1)))
        case "integer" | "number":
            return _number(schema)
        case "boolean":
            return True
        case "null":
            return None
        case _:
            return _text(schema)


def _number(schema: Mapping[str, Any]) -> Any:
    low, high = schema.get("minimum"), schema.get("maximum")
    above, below = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
    low = above + 1 if isinstance(above, int | float) and not isinstance(above, bool) else low
    high = below - 1 if isinstance(below, int | float) and not isinstance(below, bool) else high
    value = 2 if low is None else max(2, low)
    value = value if high is None else min(value, high)
    step = schema.get("multipleOf")
    return step * -(-value // step) if step else value


def _text(schema: Mapping[str, Any]) -> str:
    word = _FORMATS.get(str(schema.get("format")), _WORD)
    word = word.ljust(int(schema.get("minLength", 0)), "x")
    return word[: int(schema["maxLength"])] if "maxLength" in schema else word


def _referred(reference: str, root: Mapping[str, Any]) -> Any:
    found: Any = root
    for step in reference.removeprefix("#").strip("/").split("/"):
        name = step.replace("~1", "/").replace("~0", "~")
        found = found.get(name, {}) if isinstance(found, Mapping) and not isinstance(found, Sequence) else {}
    return found
