"""Whether the arguments of a stored call are whole: half ones are a cut text, or have the mark of a framework."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tpharness.protocol.parse import parse_json

__all__ = ["are_half", "read_object"]

_MARKS = ("INVALID_JSON",)
"""Keys under which frameworks send what they could not parse: Pydantic AI's."""


def are_half(arguments: Any) -> bool:
    """Whether arguments are a text that is not a JSON object, or what a framework makes of one."""
    if isinstance(arguments, str):
        return arguments.strip() != "" and read_object(arguments) is None
    return isinstance(arguments, Mapping) and len(arguments) == 1 and next(iter(arguments)) in _MARKS


def read_object(text: str) -> dict[str, Any] | None:
    """Return the JSON object in a text, None if there is none."""
    parsed = parse_json(text.encode("utf-8", "surrogatepass"))
    return parsed.value if parsed.ok and isinstance(parsed.value, dict) else None
