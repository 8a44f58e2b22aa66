"""Plain answers: to titles, summaries and whatever else is asked beside the conversations.

An application may ask for an answer of a certain form. What has to be JSON is the smallest value that fits the schema;
a tool that has to be called is called with the smallest arguments.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tpharness.model_apis.plan import Call, Plan, Text
from tpharness.model_apis.server import Request
from tpharness.output import json_bytes

__all__ = ["PLAIN_TEXT", "plain_plan", "smallest"]

PLAIN_TEXT = "A plain answer."
_DEEPEST = 12
_FORMATS = {
    "date": "2025-01-01",
    "date-time": "2025-01-01T00:00:00Z",
    "time": "00:00:00Z",
    "email": "a@example.org",
    "uri": "http://127.0.0.1/",
    "url": "http://127.0.0.1/",
    "uuid": "00000000-0000-4000-8000-000000000000",
}


def plain_plan(request: Request, number: int) -> Plan:
    """Return the answer to a request that nobody planned."""
    if request.output_schema is not None:
        return Plan(items=(Text(pieces=(json_bytes(smallest(request.output_schema)).decode(),)),))
    if request.forced_tool in request.tools:
        name = str(request.forced_tool)
        arguments = json_bytes(smallest(request.tools[name])).decode()
        return Plan(items=(Call(call_id=f"call_plain_{number}", name=name, pieces=(arguments,)),))
    return Plan(items=(Text(pieces=(PLAIN_TEXT,)),))


def smallest(schema: Any) -> Any:
    """Return a small value that fits a JSON Schema: required fields only, the first of several choices.

    Patterns, and conditions across fields, are not looked at.
    """
    return _smallest(schema, schema, 0)


def _smallest(schema: Any, root: Any, depth: int) -> Any:
    if not isinstance(schema, Mapping) or depth > _DEEPEST:
        return PLAIN_TEXT
    for key in ("const", "default"):
        if key in schema:
            return schema[key]
    if schema.get("enum"):
        return schema["enum"][0]
    if isinstance(schema.get("$ref"), str):
        return _smallest(_referred(schema["$ref"], root), root, depth + 1)
    for key in ("anyOf", "oneOf"):
        if schema.get(key):
            return _smallest({**schema[key][0], **_defs(schema)}, root, depth + 1)
    if schema.get("allOf"):
        return _smallest(_merged(schema, root), root, depth + 1)
    kind = schema.get("type")
    kind = kind[0] if isinstance(kind, list) and kind else kind
    if kind == "object" or "properties" in schema:
        properties = schema.get("properties") or {}
        return {name: _smallest(properties.get(name, {}), root, depth + 1) for name in schema.get("required") or []}
    if kind == "array":
        return [_smallest(schema.get("items", {}), root, depth + 1) for _ in range(schema.get("minItems") or 0)]
    return _scalar(kind, schema)


def _scalar(kind: Any, schema: Mapping[str, Any]) -> Any:
    if kind in ("integer", "number"):
        step = schema.get("multipleOf") or 1
        if "minimum" in schema:
            return -(-schema["minimum"] // step) * step
        if "exclusiveMinimum" in schema:
            return (schema["exclusiveMinimum"] // step + 1) * step
        limit = schema.get("maximum", schema.get("exclusiveMaximum"))
        return step if limit is None or limit > step else (limit // step - 1) * step
    if kind == "boolean":
        return False
    if kind == "null":
        return None
    text = _FORMATS.get(schema.get("format", ""), PLAIN_TEXT)
    text = text.ljust(schema.get("minLength") or 0, ".")
    return text[: schema["maxLength"]] if isinstance(schema.get("maxLength"), int) else text


def _defs(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {key: schema[key] for key in ("properties", "required") if key in schema}


def _merged(schema: Mapping[str, Any], root: Any) -> dict[str, Any]:
    merged: dict[str, Any] = {key: value for key, value in schema.items() if key != "allOf"}
    properties, required = dict(merged.get("properties") or {}), list(merged.get("required") or [])
    for part in schema["allOf"]:
        schema = _referred(part["$ref"], root) if isinstance(part.get("$ref"), str) else part
        properties |= schema.get("properties") or {}
        required += schema.get("required") or []
        merged = {**schema, **merged}
    merged.pop("$ref", None)
    return merged | ({"properties": properties, "required": list(dict.fromkeys(required))} if properties else {})


def _referred(reference: str, root: Any) -> Any:
    found = root
    for step in reference.removeprefix("#").split("/"):
        if step:
            found = found.get(step.replace("~1", "/").replace("~0", "~"), {}) if isinstance(found, Mapping) else {}
    return found
