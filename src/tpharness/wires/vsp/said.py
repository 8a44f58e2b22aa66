"""What a stream says beside its thread: the id of its message, ended texts and thoughts, approvals that wait.

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
_ANSWERS = ("tool-output-available", "tool-output-error", "tool-output-denied", "tool-input-error")


def read_said(data: bytes) -> Said:
    """Return what a stream says; an id that begins again names another text (R36)."""
    message_id: str | None = None
    texts: list[tuple[str, Mapping[str, Any] | None]] = []
    open_at: dict[tuple[str, str], int] = {}
    asked: dict[str, str] = {}  # by the id of an approval its call
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
        elif kind == "tool-approval-request":
            asked[str(chunk.get("approvalId"))] = str(chunk.get("toolCallId"))
        elif kind == "tool-approval-response":
            asked.pop(str(chunk.get("approvalId")), None)
        elif kind in _ANSWERS and not chunk.get("preliminary"):
            asked = {one: call for one, call in asked.items() if call != chunk.get("toolCallId")}
    asks = (call if call == one else f"{call} as {one}" for one, call in asked.items())
    return Said(message_id=message_id, texts=tuple(texts), asks=tuple(asks))
