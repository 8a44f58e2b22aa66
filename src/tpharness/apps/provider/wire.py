"""JSON and server-sent events as the four APIs write them."""

from __future__ import annotations

import json
from typing import Any

import orjson

__all__ = ["dump", "event", "load", "named_event"]


def dump(value: Any) -> bytes:
    """Return a value as compact JSON; lone surrogates and very large integers are escaped as JSON allows."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return json.dumps(value, separators=(",", ":")).encode("ascii")


def load(text: str | bytes) -> Any:
    """Return the value of a JSON text. ValueError if it is not JSON."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return json.loads(text)  # large integers and lone surrogates


def event(value: Any) -> bytes:
    """Return an event of a stream without a name."""
    return b"data: %b\n\n" % dump(value)


def named_event(value: dict[str, Any]) -> bytes:
    """Return an event whose name is its `type`."""
    return b"event: %b\ndata: %b\n\n" % (value["type"].encode("ascii"), dump(value))
