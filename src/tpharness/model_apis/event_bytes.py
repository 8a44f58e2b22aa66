"""JSON and server-sent events as model APIs write them."""

from __future__ import annotations

import json
from typing import Any

import orjson

from tpharness.output import json_bytes

__all__ = ["event", "load", "named_event"]


def load(text: str | bytes) -> Any:
    """Return the value of a JSON text. ValueError if it is not JSON."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return json.loads(text)  # large integers and lone surrogates


def event(value: Any) -> bytes:
    """Return an event of a stream without a name."""
    return b"data: %b\n\n" % json_bytes(value)


def named_event(value: dict[str, Any]) -> bytes:
    """Return an event whose name is its `type`."""
    return b"event: %b\ndata: %b\n\n" % (value["type"].encode("ascii"), json_bytes(value))
