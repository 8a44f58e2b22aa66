"""What AG-UI has no member for, and how it travels all the same, so that a strict consumer of AG-UI keeps it.

`metadata` of an event has an object under `KEY` with what is said of a message, a call or a result. A CUSTOM event
whose name begins with `PREFIX` carries a chunk that AG-UI has no event for: its type follows, its members are the
value.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import UNSET

__all__ = ["KEY", "PREFIX", "carried", "carry"]

KEY = "threadprotocol"
PREFIX = "threadprotocol."


def carry(chunk: Mapping[str, Any]) -> dict[str, Any]:
    """Return the event that carries a chunk."""
    value = {name: item for name, item in chunk.items() if name != "type"}
    return {"type": "CUSTOM", "name": f"{PREFIX}{chunk.get('type')}", "value": value}


def carried(event: Any) -> dict[str, Any]:
    """Return what the metadata of an event carries; nothing for what another producer has put there."""
    said = event.metadata.get(KEY) if event.metadata is not UNSET else None
    return said if isinstance(said, dict) else {}
