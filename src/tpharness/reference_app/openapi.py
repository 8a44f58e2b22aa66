"""The contract as one OpenAPI document, with what it refers to inside."""

from __future__ import annotations

from functools import cache
from typing import Any

import orjson

from tpharness.resources import conformance_dir, schema_path
from tpharness.suite_yaml import load_suite_yaml

__all__ = ["openapi_document"]

_CONTROL = "schemas/control.schema.json#/$defs/"
_EVENT = "urn:tpharness:schema:server-event"
_OWN = "#/$defs/"
_SCHEMAS = "#/components/schemas/"


@cache
def openapi_document() -> dict[str, Any]:
    """Return the contract; the definitions of the schema files stand under `components/schemas`."""
    document: dict[str, Any] = load_suite_yaml(conformance_dir() / "control.openapi.yaml")
    control = orjson.loads(schema_path("control").read_bytes())
    event = orjson.loads(schema_path("server-event").read_bytes())
    schemas = {name: _rewrite_references(schema, "") for name, schema in control["$defs"].items()}
    schemas |= {
        f"event_{name}": _rewrite_references(schema, "event_") for name, schema in event.pop("$defs", {}).items()
    }
    kept = {k: v for k, v in event.items() if k not in ("$id", "$schema")}
    schemas["server_event"] = _rewrite_references(kept, "event_")
    rewritten: dict[str, Any] = _rewrite_references(document, "")
    rewritten["components"]["schemas"] = schemas
    return rewritten


def _rewrite_references(value: Any, prefix: str) -> Any:
    """Return a copy in which references lead to where the definitions stand now."""
    if isinstance(value, list):
        return [_rewrite_references(item, prefix) for item in value]
    if not isinstance(value, dict):
        return value
    out = {k: _rewrite_references(v, prefix) for k, v in value.items()}
    target = value.get("$ref")
    if isinstance(target, str):
        if target == _EVENT:
            out["$ref"] = f"{_SCHEMAS}server_event"
        elif target.startswith(_CONTROL):
            out["$ref"] = _SCHEMAS + target.removeprefix(_CONTROL)
        elif target.startswith(_OWN):
            out["$ref"] = f"{_SCHEMAS}{prefix}{target.removeprefix(_OWN)}"
        elif target == "#" and prefix:
            out["$ref"] = f"{_SCHEMAS}server_event"
    return out
