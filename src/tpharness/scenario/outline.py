"""Outline a thread for people: one line for each turn, with the kinds of its messages and parts but not their content.

    user
    agent interrupted user_cancelled: response(text tool-call:c1) request(tool-return:c1) event(data-tp-error)

In: a thread document of any version, well-formed or not. Out: lines. It shares no code with the dialects, since
scenarios use it to check them. Whether a line that somebody has written can be one of a thread is decided here too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tpharness.protocol.reasons import find_misspelt_reason
from tpharness.protocol.rules.parts import DEFINED_KINDS
from tpharness.scenario.problems import suggest_name

__all__ = ["OUTLINE_FORM", "find_outline_slip", "outline"]

OUTLINE_FORM = (
    "user, agent complete or agent interrupted REASON; behind agent and ': ' the messages, "
    "such as response(KIND KIND:CALL-ID) request(KIND:CALL-ID) event(TYPE)"
)
_OWN = ("custom:", "meta:")
_KINDS = (*sorted(DEFINED_KINDS), "system-prompt", *_OWN)
_HEAD = re.compile(r"agent (?:complete|interrupted (.+))")
_PART = r"[^\s:()]+(?::\S+)?"
_EVENT = r"event\([^)]+\)"
_MESSAGE = rf"(?:(?:response|request)\((?:{_PART}(?: {_PART})*)?\)|{_EVENT})"
_MESSAGES = re.compile(rf"{_MESSAGE}(?: {_MESSAGE})*")
_KIND = re.compile(rf"{_EVENT}|(?:response|request)\(\)?|((?:custom:|meta:)?[^\s:()]+)\S*")


def find_outline_slip(line: str) -> str:
    """Return why a line cannot be one of a well-formed thread, "" if it can. Types of events and reasons are open."""
    head, colon, messages = line.partition(": ")
    agent = _HEAD.fullmatch(head)
    if (agent is None and line != "user") or (colon and not _MESSAGES.fullmatch(messages)):
        return "this line does not have the form of a turn"
    meant = find_misspelt_reason(agent[1]) if agent is not None and agent[1] else None
    if meant is not None:
        return f"the reason is misspelt; did you mean {meant!r}?"
    for kind in filter(None, _KIND.findall(messages)):
        if kind not in _KINDS and not kind.startswith(_OWN):
            return f"there is no part of the kind {kind!r}{suggest_name(kind, _KINDS)}"
    return ""


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
    shown = [_message(message) for message in messages] if isinstance(messages, list | tuple) else ["?"]
    head = f"agent {_status(turn)}"
    return f"{head}: {' '.join(shown)}" if shown else head


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
    shown = [_part(part) for part in parts] if isinstance(parts, list | tuple) else ["?"]
    return f"{kind or '?'}({' '.join(shown)})"


def _part(part: Any) -> str:
    if not isinstance(part, Mapping):
        return "?"
    kind, call_id = part.get("part_kind", "?"), part.get("tool_call_id")
    return str(kind) if call_id is None else f"{kind}:{call_id}"
