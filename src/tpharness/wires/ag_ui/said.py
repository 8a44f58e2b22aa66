"""What a stream of AG-UI says beside its thread: how its run has ended, and which approvals it asks for.

In: the bytes of one stream. Out: `Said`. It reads events as plain JSON, shares no code with the client's fold, and
passes over what carriers say: whoever reads AG-UI alone has nothing else. A message has no id of its own before its
parts, and a cut has to close what is open (G3), so that neither is said.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tpharness.wires.contract import Said
from tpharness.wires.sse.parser import SseParser

__all__ = ["read_said"]


def read_said(data: bytes) -> Said:
    """Return what the last end of a run in the stream says."""
    said = Said(end="")
    for frame in SseParser().feed(data):
        if b"RUN_" in frame.data:
            said = _of_end(frame.data) or said
    return said


def _of_end(data: bytes) -> Said | None:
    try:
        event = json.loads(data)
    except ValueError:
        return None
    kind = event.get("type") if isinstance(event, dict) else None
    if kind == "RUN_ERROR":
        return Said(end="failed")
    if kind != "RUN_FINISHED":
        return None
    outcome = event.get("outcome")
    named = outcome.get("type") if isinstance(outcome, dict) else None
    return Said(end="stopped" if named == "cancelled" else "finished", asks=tuple(_asked(outcome)))


def _asked(outcome: Any) -> list[str]:
    entries = outcome.get("interrupts") if isinstance(outcome, dict) and outcome.get("type") == "interrupt" else None
    asked = [entry for entry in entries if isinstance(entry, Mapping)] if isinstance(entries, list) else []
    return [str(entry["toolCallId"]) for entry in asked if "toolCallId" in entry]
