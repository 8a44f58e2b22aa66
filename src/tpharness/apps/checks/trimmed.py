"""What an application leaves out of a request because it sends its model only the end of a long chat.

What is left out is the beginning: everything in front of the first message, call or answer of the chat that is sent.
Pure; the checks of what was lost ask it. An application says `trims = ["messages"]`, and a case may be long.
"""

from __future__ import annotations

from collections.abc import Iterator

from tpharness.apps.checks.truth import is_part_of, normal
from tpharness.apps.evidence import AppEvidence, Asked, TurnSeen

__all__ = ["left_out"]

Item = tuple[int, str, str]
"""The number of a turn, what it is ("message", "call" or "answer"), and its words or its id."""


def left_out(evidence: AppEvidence, turn: TurnSeen, asked: Asked) -> frozenset[Item]:
    """Return what of the turns before is in front of all that a request tells; nothing where nobody trims."""
    if not evidence.trims_messages:
        return frozenset()
    users, said = (_texts(asked, role) for role in ("user", "assistant"))
    calls = {call.call_id for call in asked.sent_calls()}
    missing: list[Item] = []
    for item in _items(evidence, turn):
        _, kind, value = item
        sent = value in calls if kind == "call" else is_part_of(value, users if kind == "message" else said)
        if sent:
            break
        missing.append(item)
    return frozenset(missing)


def _items(evidence: AppEvidence, turn: TurnSeen) -> Iterator[Item]:
    """Yield the messages, answers and calls of the turns before one, in order."""
    for earlier in evidence.branch(turn)[:-1]:
        yield earlier.number, "message", earlier.says
        for asked in earlier.asked:
            if normal(asked.said):
                yield earlier.number, "answer", asked.said
            for call in asked.called:
                yield earlier.number, "call", call.call_id


def _texts(asked: Asked, role: str) -> str:
    return "\n".join(message.text for message in asked.history if message.role == role)
