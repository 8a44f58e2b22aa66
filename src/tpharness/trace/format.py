"""The names, sizes and lines of a trace: what its writer and its reader agree on.

A trace is a folder, or the same as a `.zip`:

    index.jsonl          what was played on whom; a line for each case; at last how it ended
    cases/00001.jsonl    one case: `conformance/schemas/trace-case.schema.json`
    wire/00001-0.bin     the bytes of a stream, as they were

Lines are JSON objects with a `kind`. The index is by `conformance/schemas/trace-index.schema.json`.
"""

from __future__ import annotations

import json
import re
from enum import Enum
from functools import cache
from typing import Any

import jsonschema_rs
import orjson

from tpharness.resources import schema_path

__all__ = [
    "FORMAT",
    "INDEX",
    "MAX_CASE",
    "MAX_TRACE",
    "MEMBER",
    "Traced",
    "case_file",
    "decode_line",
    "encode_line",
    "find_misfit",
    "wire_file",
]

FORMAT = "tpharness-trace/1"
INDEX = "index.jsonl"
MEMBER = re.compile(r"index\.jsonl|cases/[0-9]{5,7}\.jsonl|wire/[0-9]{5,7}-[0-9]{1,5}\.bin")
"""Every name that a file of a trace may have."""

MAX_TRACE = 50_000_000
"""Bytes that are written to a trace in all, before they are compressed."""
MAX_CASE = 8_000_000
"""Bytes of one case; more of its streams and of what it asked is left out, and the case says so."""


class Traced(Enum):
    """Which cases have a trace."""

    NONE = "none"
    FAILED = "failed"  # those that are not green
    ALL = "all"


def case_file(number: int) -> str:
    """Return the name of the file of a case; the first one has the number 1."""
    return f"cases/{number:05d}.jsonl"


def wire_file(number: int, stream: int) -> str:
    """Return the name of the file of a stream of a case."""
    return f"wire/{number:05d}-{stream}.bin"


def encode_line(line: Any) -> bytes:
    """Return a line with its end. Lone surrogates and large integers, which orjson cannot write, are kept."""
    try:
        return orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE | orjson.OPT_NON_STR_KEYS)
    except (TypeError, ValueError):
        return json.dumps(line, separators=(",", ":"), default=str).encode("ascii") + b"\n"


def decode_line(line: bytes) -> Any:
    """Return the value of a line. ValueError or RecursionError for what is not JSON."""
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError:
        return json.loads(line.decode("utf-8"))


def find_misfit(schema: str, line: Any) -> str:
    """Return why a line does not fit the schema `trace-index` or `trace-case`, "" if it does."""
    if not isinstance(line, dict):
        return "it is not a JSON object"
    validators = _validators(schema)
    validator = validators.get(str(line.get("kind")))
    if validator is None:
        return f"its kind is {str(line.get('kind'))[:40]!r}; known are {', '.join(validators)}"
    try:
        if validator.is_valid(line):
            return ""
    except (ValueError, OverflowError) as error:
        return f"a value that JSON readers do not share: {error}"
    misfit = next(iter(validator.iter_errors(line)))
    place = "".join(f"/{step}" for step in misfit.instance_path)
    return f"{place or 'it'}: {misfit.message[:200]}"


@cache
def _validators(name: str) -> dict[str, Any]:
    schema = orjson.loads(schema_path(name).read_bytes())
    kinds = [one["$ref"].rpartition("/")[2] for one in schema["oneOf"]]
    return {
        schema["$defs"][kind]["properties"]["kind"]["const"]: jsonschema_rs.Draft202012Validator(
            {"$defs": schema["$defs"], "$ref": f"#/$defs/{kind}"}
        )
        for kind in kinds
    }
