"""Threads against the published JSON Schemas, `conformance/schemas/thread-*.schema.json`.

In: any JSON value. Out: a finding for each misfit; `misfits` says them in words, and is imported where there is one.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import jsonschema_rs
import orjson

from tpharness import protocol
from tpharness.findings import Finding, Kind, Place
from tpharness.protocol.versions import Version, version_names
from tpharness.resources import schema_path

__all__ = ["load_thread_schema", "schema_findings", "thread_validator"]

SCHEMA = Kind("thread-schema")
NO_VERSION = Kind("thread-version-unknown")


def schema_findings(thread: Any) -> list[Finding]:
    """Return what is wrong with a JSON value by its schema: the first 50 findings, then one if there are others.

    The others are not counted, since the validator takes 13 µs and 2 kB for each. It is given the value in pieces, and
    no more of them than are needed.
    """
    if not isinstance(thread, Mapping):
        return [SCHEMA.at(Place(pointer=""), "a thread must be an object", got=thread)]
    try:
        version = Version(thread.get("version"))
    except ValueError:
        return [NO_VERSION.at(Place(pointer="/version"), got=thread.get("version"), expected=version_names())]
    validator = thread_validator(version)
    try:
        if validator.is_valid(thread):
            return []
        return protocol.misfits.find_misfits(thread, version)
    except (
        ValueError,
        TypeError,
        OverflowError,
        RecursionError,
    ) as error:  # not a JSON value; a rule of its own reports it
        return [SCHEMA.at(Place(pointer=""), f"the document has a value that JSON cannot represent: {error}")]


@cache
def load_thread_schema(version: Version) -> Any:
    """Return the schema of the threads of a version."""
    return orjson.loads(schema_path(f"thread-{version.value}").read_bytes())


@cache
def thread_validator(version: Version) -> Any:
    """Return what validates threads of a version."""
    return jsonschema_rs.Draft202012Validator(load_thread_schema(version))
