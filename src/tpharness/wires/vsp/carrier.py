"""Carriers: `data-sys-tp` chunks, by which a server sends the client facts that the stream itself does not carry.

A fact holds for what follows until the next carrier that names it, the model's name and provider no longer than the
turn of their agent. Facts about one response (usage, finish reason, the provider's response id) are used up by that
response, `tool_return` by the next output, `source_agent` and `target_agents` by the next event.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tpharness.facts import is_time

__all__ = ["CARRIER", "STANDING", "CarriedFacts", "apply_carried_return", "facts_of"]

CARRIER = "data-sys-tp"
_TYPES: Mapping[str, type] = {"usage": dict, "tool_return": dict, "target_agents": list}
"""The type of a fact; a fact that is not listed is text."""
_TIMES = ("timestamp", "started_at", "completed_at", "interrupted_at")
_STATUSES = ("success", "error", "validation_error")
STANDING = ("model_name", "provider_name")
_OF_RESPONSE = ("provider_response_id", "usage", "finish_reason")


class CarriedFacts(dict[str, Any]):
    """The facts in force at one place of a stream, by name. Few streams have any, and each chunk asks for some."""

    def take_in(self, data: Any) -> None:
        """Take in the facts of a carrier."""
        self.update(facts_of(data))

    def leave_agent(self) -> None:
        """Forget the model of an agent that hands over, and when its turn ended: the next agent has its own (R45)."""
        for name in (*STANDING, "completed_at", "interrupted_at", "reason"):
            self.pop(name, None)

    def take(self, name: str) -> Any:
        """Return a fact and use it up; None if it is not in force."""
        return self.pop(name, None)

    def at_response_start(self) -> dict[str, Any]:
        """Return the standing facts of a response that begins."""
        return {k: self[k] for k in STANDING if k in self} if self else {}

    def at_response_end(self) -> dict[str, Any]:
        """Return, and use up, the facts of the response that ends."""
        facts = {k: self.pop(k) for k in _OF_RESPONSE if k in self}
        return {**self.at_response_start(), **facts} if facts else {}


def facts_of(data: Any) -> dict[str, Any]:
    """Return the facts in the data of a carrier, if it is an object; a value that is not such a fact is ignored."""
    return {k: v for k, v in data.items() if _is_fact(k, v)} if isinstance(data, Mapping) else {}


def _is_fact(name: str, value: Any) -> bool:
    """Whether a value has the type of its fact; a time is one with or without an offset (R47)."""
    if not isinstance(value, _TYPES.get(name, str)) or (name in ("agent_id", "reason") and not value):  # R2
        return False
    return name not in _TIMES or is_time(value) or is_time(f"{value}Z")


def apply_carried_return(fields: dict[str, Any], carried: Any) -> tuple[str, dict[str, Any]]:
    """Return the kind and the fields of a return: those of the wire, overridden by those of a carrier.

    `carried` is the carrier's `tool_return`: `{part_kind?, status?, content?, content_ref?, metadata?}`. A reference
    replaces the content unless the carrier sends both (R6); a `retry-prompt` has no status (R22).
    """
    if not isinstance(carried, Mapping):
        return "tool-return", fields
    facts = dict(carried)
    kind = str(facts.pop("part_kind", "tool-return"))
    if facts.get("status") not in _STATUSES:  # an unknown outcome is ignored (R22)
        facts.pop("status", None)
    if "content_ref" in facts and "content" not in facts:
        fields.pop("content", None)
    if kind == "retry-prompt":
        fields.pop("status", None)
    fields.update((k, facts[k]) for k in ("status", "content", "content_ref", "metadata") if k in facts)
    return kind, fields
