"""What a stream says beside its thread: the id of its message, and which texts and thoughts it has ended.

In: the bytes of one stream. Out: `Said`. It reads chunks as plain JSON and shares no code with the client's fold.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tpharness.wires.contract import Said
from tpharness.wires.sse.parser import SseParser

__all__ = ["read_said"]

_BEGINS = {"text-start": "text", "reasoning-start": "thinking", "thinking-start": "thinking"}
_ENDS = {"text-end": "text", "reasoning-end": "thinking", "thinking-end": "thinking"}


def read_said(data: bytes) -> Said:
    """Return what a stream says; an id that begins again names another text (R36)."""
    message_id: str | None = None
    texts: list[tuple[str, Mapping[str, Any] | None]] = []
    open_at: dict[tuple[str, str], int] = {}
    for event in SseParser().feed_data(data):
        try:
            chunk = json.loads(event)
        except ValueError:
            continue
        if not isinstance(chunk, dict):
            continue
        kind, block = str(chunk.get("type")), str(chunk.get("id"))
        if kind == "start" and message_id is None:
            message_id = str(chunk.get("messageId") or "")
        elif kind in _BEGINS:
            open_at[_BEGINS[kind], block] = len(texts)
            texts.append((_BEGINS[kind], None))
        elif kind in _ENDS and (place := open_at.pop((_ENDS[kind], block), None)) is not None:
            texts[place] = _ENDS[kind], chunk
    return Said(message_id=message_id, texts=tuple(texts))
