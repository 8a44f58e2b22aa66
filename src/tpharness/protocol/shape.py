"""Check that a JSON value has the basic shape of a thread, so that it can be hashed, compared and converted.

This is much less than the schema requires: an incomplete or invalid thread still has a hash. Only values whose turns,
messages or parts cannot be read are refused.
"""

from __future__ import annotations

from typing import Any

__all__ = ["find_shape_problem"]


def find_shape_problem(thread: Any) -> str | None:
    """Return the first place that is not shaped like a thread, with the reason; None if there is none."""
    if not isinstance(thread, dict) or not isinstance(thread.get("turns"), list):
        return "an object with a list of turns was expected"
    if not isinstance(thread.get("agents", {}), dict):
        return "/agents is not an object"
    for t, turn in enumerate(thread["turns"]):
        problem = _of_turn(turn)
        if problem:
            return f"/turns/{t}{problem}"
    return None


def _of_turn(turn: Any) -> str:
    """Return the first problem of a turn, as the rest of its pointer and the reason; an empty text if there is none."""
    if not isinstance(turn, dict):
        return " is not an object"
    if turn.get("interruption") is not None and not isinstance(turn["interruption"], dict):
        return "/interruption is not an object"
    problem = _of_parts(turn)
    if problem:
        return problem
    messages = turn.get("messages", [])
    if not _are_objects(messages):
        return "/messages is not a list of objects"
    for m, message in enumerate(messages):
        problem = _of_parts(message)
        if problem:
            return f"/messages/{m}{problem}"
        if not isinstance(message.get("event_type", ""), str):
            return f"/messages/{m}/event_type is not a string"
    return ""


def _of_parts(owner: dict[str, Any]) -> str:
    parts = owner.get("parts", [])
    if not _are_objects(parts):
        return "/parts is not a list of objects"
    for p, part in enumerate(parts):
        if not isinstance(part.get("part_kind", ""), str):
            return f"/parts/{p}/part_kind is not a string"
    return ""


def _are_objects(value: Any) -> bool:
    if not isinstance(value, list):
        return False
    for item in value:  # noqa: SIM110  # most lists are short, and `all` makes a generator for each
        if not isinstance(item, dict):
            return False
    return True
