"""What the arguments of a stored call are, and what an answer says.

Half arguments are a cut text, or have the mark of a framework.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tpharness.facts import are_unparsed
from tpharness.protocol.parse import parse_json

__all__ = ["are_half", "read_object", "without_time"]


def are_half(arguments: Any) -> bool:
    """Whether arguments are a text that is not a JSON object, or what a framework makes of one."""
    if isinstance(arguments, str):
        return arguments.strip() != "" and read_object(arguments) is None
    return are_unparsed(arguments)


def read_object(text: str) -> dict[str, Any] | None:
    """Return the JSON object in a text, None if there is none."""
    parsed = parse_json(text.encode("utf-8", "surrogatepass"))
    return parsed.value if parsed.ok and isinstance(parsed.value, dict) else None


def without_time(part: Mapping[str, Any]) -> dict[str, Any]:
    """Return what an answer says, whenever it was said."""
    return {name: field for name, field in part.items() if name != "timestamp"}
