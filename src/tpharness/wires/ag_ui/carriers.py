"""What AG-UI has no member for, and how it travels all the same, so that a strict consumer of AG-UI keeps it.

`metadata` of an event has an object under `KEY` with what is said of a message, a call or a result. A CUSTOM event
whose name begins with `PREFIX` carries a chunk that AG-UI has no event for: its type follows, its members are the
value.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tpharness.wires.vsp.carrier import CARRIER

__all__ = ["FACTS", "KEY", "PREFIX", "carried", "carry", "read_facts"]

KEY = "threadprotocol"
PREFIX = "threadprotocol."
FACTS = f"{PREFIX}{CARRIER}"
"""The name of the CUSTOM event with the facts of a run."""

_FLAGS = ("announced", "cut", "empty", "json", "provider_executed", "reported", "step", "text_open")
_WORDS = ("finish_reason", "outcome", "reason", "tool_call_id", "tool_name")
_FORMS: Mapping[str, type] = {
    **dict.fromkeys(_FLAGS, bool),
    **dict.fromkeys(_WORDS, str),
    "provider_metadata": dict,
}
"""The form of each fact; `input` may be anything."""


def carry(chunk: Mapping[str, Any]) -> dict[str, Any]:
    """Return the event that carries a chunk."""
    value = {name: item for name, item in chunk.items() if name != "type"}
    return {"type": "CUSTOM", "name": f"{PREFIX}{chunk.get('type')}", "value": value}


def carried(event: Any) -> dict[str, Any]:
    """Return the facts that the metadata of an event carries."""
    return read_facts(event.metadata)


def read_facts(metadata: Any) -> dict[str, Any]:
    """Return the facts in the metadata of an event, if it has any. What has another form is not one of ours."""
    said = metadata.get(KEY) if isinstance(metadata, dict) else None
    if not isinstance(said, dict):
        return {}
    return {name: fact for name, fact in said.items() if isinstance(fact, _FORMS.get(name, object))}
