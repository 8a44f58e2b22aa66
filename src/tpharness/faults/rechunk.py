"""Split a stream differently without changing its content: other reads, other deltas."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tpharness.wires.sse.frames import split_frames

if TYPE_CHECKING:
    from tpharness.wires.contract import Wire

__all__ = ["awkward_places", "split_deltas", "split_event_deltas", "split_reads"]

_INSIDE_CHARACTERS = (  # of two bytes, of three, of four
    re.compile(rb"[\xc2-\xdf](?=[\x80-\xbf])"),
    re.compile(rb"[\xe0-\xef](?=[\x80-\xbf]{2})"),
    re.compile(rb"[\xe0-\xef][\x80-\xbf](?=[\x80-\xbf])"),
    re.compile(rb"[\xf0-\xf4](?=[\x80-\xbf]{3})"),
    re.compile(rb"[\xf0-\xf4][\x80-\xbf](?=[\x80-\xbf]{2})"),
    re.compile(rb"[\xf0-\xf4][\x80-\xbf]{2}(?=[\x80-\xbf])"),
)
_INSIDE_EVENTS = (re.compile(rb"\r(?=\n)"), re.compile(rb"\n(?=\r?\n)"), re.compile(rb'"type":(?=")'))


def split_reads(data: bytes, size: int) -> list[bytes]:
    """Return the same bytes in reads of `size`."""
    return [data[start : start + size] for start in range(0, len(data), size)]


def awkward_places(data: bytes) -> list[int]:
    """Return where a reader that takes each read for something whole is wrong: the first place of each kind, in order.

    They are inside a character, a line end, the end of an event and the text of a chunk, in bytes.
    """
    patterns = _INSIDE_EVENTS if data.isascii() else _INSIDE_EVENTS + _INSIDE_CHARACTERS
    found = (pattern.search(data) for pattern in patterns)
    return sorted({match.end() for match in found if match is not None})


def split_deltas(data: bytes, wire: Wire) -> bytes:
    """Return the same events with each delta sent in the smallest pieces that the wire allows.

    Only plain `data: {…}` events are split; everything else is passed on byte for byte.
    """
    return b"".join(piece for frame in split_frames(data) for piece in wire.split_delta(frame))


def split_event_deltas(event: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the same server event, a `part_delta` of text or arguments as one event for each character."""
    delta = event.get("delta")
    if event.get("event_kind") != "part_delta" or not isinstance(delta, Mapping):
        return [event]
    field = "args_delta" if delta.get("part_delta_kind") == "tool_call" else "content_delta"
    text = delta.get(field)
    extra = any(v is not None for k, v in delta.items() if k not in (field, "part_delta_kind", "tool_call_id"))
    if not isinstance(text, str) or len(text) < 2 or extra:
        return [event]
    return [{**event, "delta": {**delta, field: character}} for character in text]
