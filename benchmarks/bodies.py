"""Bodies of streams that benchmarks read, as the events they are made of."""

from __future__ import annotations

import json
from collections.abc import Iterable

__all__ = ["READ", "event", "long_event", "long_text", "reads_of", "steps"]

READ = 16 * 1024
"""Bytes of a read, as a client gets them."""

DONE = b"data: [DONE]\n\n"
LONG = 8 * 1024 * 1024
TEXTS, ARGUMENTS = 60, 32
WORDS = ("the ", "weather ", "in ", "Paris ", "is ", "mild, ", "with some ", "clouds; ")


def event(value: object) -> bytes:
    """Return one chunk as an event of the stream."""
    return b"data: " + json.dumps(value, separators=(",", ":")).encode() + b"\n\n"


def steps(count: int) -> list[bytes]:
    """Return a message of steps with a text of 60 deltas and a call of 32 deltas each: 202 make about 20,000 chunks."""
    chunks: list[dict[str, object]] = [{"type": "start", "messageId": "msg_1"}]
    for step in range(count):
        text, call = f"txt_{step}", {"toolCallId": f"call_{step}"}
        given = {f"k{i}": i for i in range(ARGUMENTS)}
        pieces = [f'{"{" if i == 0 else ","}"k{i}":{i}' for i in range(ARGUMENTS - 1)]
        pieces.append(f',"k{ARGUMENTS - 1}":{ARGUMENTS - 1}}}')
        chunks += [
            {"type": "start-step"},
            {"type": "text-start", "id": text},
            *_deltas("text-delta", {"id": text}, "delta", (WORDS[i % len(WORDS)] for i in range(TEXTS))),
            {"type": "text-end", "id": text},
            {"type": "tool-input-start", **call, "toolName": "look"},
            *_deltas("tool-input-delta", call, "inputTextDelta", pieces),
            {"type": "tool-input-available", **call, "toolName": "look", "input": given},
            {"type": "tool-output-available", **call, "output": {"ok": True, "rows": [1, 2, 3]}},
            {"type": "finish-step"},
        ]
    return _whole([*chunks, {"type": "finish", "finishReason": "stop"}])


def long_text(deltas: int) -> list[bytes]:
    """Return a message of one text."""
    chunks: list[dict[str, object]] = [{"type": "start", "messageId": "m1"}, {"type": "text-start", "id": "t"}]
    chunks += _deltas("text-delta", {"id": "t"}, "delta", (f"word{i} " for i in range(deltas)))
    return _whole([*chunks, {"type": "text-end", "id": "t"}, {"type": "finish"}])


def long_event() -> bytes:
    """Return one event of 8 MiB."""
    return event({"type": "text-delta", "id": "t", "delta": "x" * LONG})


def reads_of(body: bytes, size: int) -> list[bytes]:
    """Split a body into reads of one size."""
    return [body[i : i + size] for i in range(0, len(body), size)]


def _deltas(kind: str, of: dict[str, str], field: str, pieces: Iterable[str]) -> list[dict[str, object]]:
    return [{"type": kind, **of, field: piece} for piece in pieces]


def _whole(chunks: Iterable[object]) -> list[bytes]:
    return [*map(event, chunks), DONE]
