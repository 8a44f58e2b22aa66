"""Values and bytes to events of a stream: the writing half of `parser`.

Out: compact JSON in real UTF-8, and the bytes of one event. The same value always gives the same bytes.
"""

from __future__ import annotations

import json
import re
from typing import Any

from tpharness.errors import UsageError

__all__ = ["KEEP_ALIVE", "encode_data", "encode_json"]

KEEP_ALIVE = b": keep-alive\n\n"
"""The comment that the AI SDK's server sends while idle; every reader of event streams skips it."""

_SURROGATE = re.compile("[\ud800-\udfff]")
_LINE_END = re.compile(rb"\r\n|\r|\n")
_to_text = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


def encode_json(value: Any) -> bytes:
    """Write compact JSON in UTF-8; a lone surrogate, which UTF-8 cannot carry, is written as its escape (R43).

    UsageError for values that JSON cannot represent: NaN, infinities, Python objects.
    """
    try:
        text = _to_text(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(f"this chunk cannot be written as JSON: {error}") from error
    try:
        return text.encode()
    except UnicodeEncodeError:
        return _SURROGATE.sub(lambda match: f"\\u{ord(match.group()):04x}", text).encode()


def encode_data(data: bytes) -> bytes:
    """Write any bytes as one event, a data line for each of their lines."""
    return b"".join(b"data: %b\n" % line for line in _LINE_END.split(data)) + b"\n"
