"""Outline a thread for people: one line for each turn, with the kinds of its messages and parts but not their content.

    user
    agent interrupted user_cancelled: response(text tool-call:c1) request(tool-return:c1) event(data-tp-error)

In: a thread document of any version, well-formed or not. Out: lines. It shares no code with the dialects, since
scenarios use it to check them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["outline"]


def outline(thread: Mapping[str, Any]) -> list[str]:
    """Return one line for each turn. Malformed values show as `?`; a turn without `completion_status` is complete."""
    turns = thread.get("turns")
    return [_turn(turn) for turn in turns] if isinstance(turns, list | tuple) else []


def _turn(turn: Any) -> str:
    if not isinstance(turn, Mapping):
        return "?"
    kind = turn.get("turn_type")
    if kind != "agent":
        return str(kind or "?")
    messages = turn.get("messages")
    describe_node = [_message(message) for message in messages] if isinstance(messages, list | tuple) else ["?"]
    head = f"agent {_status(turn)}"
    return f"{head}: {' '.join(describe_node)}" if describe_node else head


def _status(turn: Mapping[str, Any]) -> str:
    status = turn.get("completion_status", "complete")
    if status != "interrupted":
        return str(status)
    interruption = turn.get("interruption")
    reason = interruption.get("reason") if isinstance(interruption, Mapping) else None
    return f"interrupted {reason or '?'}"


def _message(message: Any) -> str:
    if not isinstance(message, Mapping):
        return "?"
    kind = message.get("message_type")
    if kind == "system":
        return f"event({message.get('event_type', '?')})"
    parts = message.get("parts")
    describe_node = [_part(part) for part in parts] if isinstance(parts, list | tuple) else ["?"]
    return f"{kind or '?'}({' '.join(describe_node)})"


def _part(part: Any) -> str:
    if not isinstance(part, Mapping):
        return "?"
    kind, call_id = part.get("part_kind", "?"), part.get("tool_call_id")
    return str(kind) if call_id is None else f"{kind}:{call_id}"
