"""Check that a JSON value has the basic shape of a thread, so that it can be hashed, compared and converted.

This is much less than the schema requires: an incomplete or invalid thread still has a hash. Only values whose turns,
messages or parts cannot be read are refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

__all__ = ["find_shape_problem"]


def find_shape_problem(thread: Any) -> str | None:
    """Return the first place that is not shaped like a thread, with the reason; None if there is none."""
    return next(_problems(thread), None)


def _problems(thread: Any) -> Iterator[str]:
    if not isinstance(thread, dict) or not isinstance(thread.get("turns"), list):
        yield "an object with a list of turns was expected"
        return
    if not isinstance(thread.get("agents", {}), dict):
        yield "/agents is not an object"
    for t, turn in enumerate(thread["turns"]):
        yield from _turn(turn, f"/turns/{t}")


def _turn(turn: Any, at: str) -> Iterator[str]:
    if not isinstance(turn, dict):
        yield f"{at} is not an object"
        return
    if not isinstance(turn.get("interruption", {}), dict | None):
        yield f"{at}/interruption is not an object"
    yield from _parts(turn, at)
    messages = turn.get("messages", [])
    if not _objects(messages):
        yield f"{at}/messages is not a list of objects"
        return
    for m, message in enumerate(messages):
        yield from _parts(message, f"{at}/messages/{m}")
        if not isinstance(message.get("event_type", ""), str):
            yield f"{at}/messages/{m}/event_type is not a string"


def _parts(owner: dict[str, Any], at: str) -> Iterator[str]:
    parts = owner.get("parts", [])
    if not _objects(parts):
        yield f"{at}/parts is not a list of objects"
        return
    for p, part in enumerate(parts):
        if not isinstance(part.get("part_kind", ""), str):
            yield f"{at}/parts/{p}/part_kind is not a string"


def _objects(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, dict) for item in value)
