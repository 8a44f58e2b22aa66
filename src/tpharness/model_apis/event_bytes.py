"""JSON and server-sent events as model APIs write them."""

from __future__ import annotations

import json
from typing import Any

import orjson

from tpharness.output import json_bytes

__all__ = ["event", "load", "load_object", "named_event"]


def load(text: str | bytes) -> Any:
    """Return the value of a JSON text. ValueError if it is not JSON."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return json.loads(text)  # large integers and lone surrogates


def load_object(text: str) -> dict[str, Any]:
    """Return the arguments of a call where an API sends an object: half of one, and what is not one, is `{}`."""
    try:
        value = load(text or "{}")
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def event(value: Any) -> bytes:
    """Return an event of a stream without a name."""
    return b"data: %b\n\n" % json_bytes(value)


def named_event(value: dict[str, Any]) -> bytes:
    """Return an event whose name is its `type`."""
    return b"event: %b\ndata: %b\n\n" % (value["type"].encode("ascii"), json_bytes(value))
