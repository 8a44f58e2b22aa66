"""The ids of a thread where others stand for them in a comparison by content (R39): what is shown has its own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["HeldIds"]

_FIELDS = ("agent_id", "source_agent", "tool_call_id")
_OF_AN_ID = re.compile(rf"/(?:turns|messages|parts)/\d+/(?:{'|'.join(_FIELDS)})\Z")


@dataclass(frozen=True, slots=True)
class HeldIds:
    """The ids of one thread, by those that stand for them in the comparison."""

    own: Mapping[str, str]

    def at(self, pointer: str, value: Any) -> Any:
        """Return a value as the thread has it, if the pointer leads to an id."""
        return self.own.get(value, value) if isinstance(value, str) and _OF_AN_ID.search(pointer) else value

    def held(self, item: Any) -> Any:
        """Return a turn, message or part with its own ids; what belongs to tools is left as it is."""
        if isinstance(item, list):
            return [self.held(one) for one in item]
        if not isinstance(item, Mapping):
            return item
        out = dict(item)
        for name in _FIELDS:
            if isinstance(out.get(name), str):
                out[name] = self.own.get(out[name], out[name])
        if isinstance(out.get("target_agents"), list):
            out["target_agents"] = [self.own.get(str(name), name) for name in out["target_agents"]]
        for name in ("messages", "parts"):
            if name in out:
                out[name] = self.held(out[name])
        return out
