"""Threads against the published JSON Schemas, `conformance/schemas/thread-*.schema.json`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import jsonschema_rs
import orjson

from tpharness.findings import Finding, Kind, Place
from tpharness.protocol.jcs import escape
from tpharness.protocol.versions import Version, version_names
from tpharness.resources import schema_path

__all__ = ["schema_findings"]

SCHEMA = Kind("thread-schema")
NO_VERSION = Kind("thread-version-unknown")
_MOST = 50


def schema_findings(thread: Any) -> list[Finding]:
    """Return what is wrong with a JSON value by its schema, at most 50 findings."""
    if not isinstance(thread, Mapping):
        return [SCHEMA.at(Place(pointer=""), "a thread must be an object", got=thread)]
    try:
        version = Version(thread.get("version"))
    except ValueError:
        return [NO_VERSION.at(Place(pointer="/version"), got=thread.get("version"), expected=version_names())]
    validator = _validator(version)
    try:
        if validator.is_valid(thread):
            return []
        errors = list(validator.iter_errors(thread))
    except (ValueError, TypeError, OverflowError) as error:  # not a JSON value; a rule of its own reports it
        return [SCHEMA.at(Place(pointer=""), f"the document has a value that JSON cannot represent: {error}")]
    return [_finding(error) for error in errors[:_MOST]]


def _finding(error: Any) -> Finding:
    path = list(error.instance_path)
    pointer = "".join(f"/{escape(str(step))}" for step in path)
    return SCHEMA.at(Place(pointer=pointer), _short(error.message), got=getattr(error, "instance", None))


def _short(message: str) -> str:
    return message if len(message) <= 200 else f"{message[:90]} … {message[-100:]}"


@cache
def _validator(version: Version) -> Any:
    schema = orjson.loads(schema_path(f"thread-{version.value}").read_bytes())
    return jsonschema_rs.Draft202012Validator(schema)
