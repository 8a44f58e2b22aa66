"""What few threads need before one pass over them says that they are plain (`plain`), loaded for the first of them.

In: any JSON value. Out: the same with parts that no rule looks at in place of its custom parts, which may hold anything
(R7). Or in: the records of a plain thread. Out: whether something in it may be worth knowing.
"""

from __future__ import annotations

from typing import Any

from tpharness.facts import are_unparsed, is_uuid
from tpharness.protocol.plain import INTERRUPTED
from tpharness.protocol.plain_records import (
    PlainCall,
    PlainEvent,
    PlainFile,
    PlainInput,
    PlainPrompt,
    PlainProviderCall,
    PlainThread,
    PlainUserTurn,
)

__all__ = ["is_odd", "without_custom_parts"]

_KINDS = ("custom:", "meta:")
_NAMESPACES = ("data-", "meta:", "source.")
_IN_RESPONSE = {"part_kind": "text", "content": ""}
_IN_REQUEST = {"part_kind": "retry-prompt", "content": ""}


def without_custom_parts(thread: Any) -> tuple[Any, list[Any]]:
    """Return the thread with a part for each custom part of its messages, and these; the thread itself if it has none.

    The thread is not modified. Custom parts of a user turn stay: what the user said is compared with what follows (R9).
    """
    custom: list[Any] = []
    turns = thread.get("turns") if type(thread) is dict else None
    if type(turns) is not list:
        return thread, custom
    plain = [_plain_turn(turn, custom) for turn in turns]
    return ({**thread, "turns": plain} if custom else thread), custom


def _plain_turn(turn: Any, custom: list[Any]) -> Any:
    messages = turn.get("messages") if type(turn) is dict else None
    if type(messages) is not list:
        return turn
    return {**turn, "messages": [_plain_message(message, custom) for message in messages]}


def _plain_message(message: Any, custom: list[Any]) -> Any:
    parts = message.get("parts") if type(message) is dict else None
    found = list(filter(_is_custom, parts)) if type(parts) is list else []
    if parts is None or not found:
        return message
    custom += found
    plain = _IN_RESPONSE if message.get("message_type") == "response" else _IN_REQUEST
    return {**message, "parts": [plain if _is_custom(part) else part for part in parts]}


def _is_custom(part: Any) -> bool:
    return type(part) is dict and type(kind := part.get("part_kind")) is str and kind.startswith(_KINDS)


def is_odd(thread: PlainThread) -> bool:
    """Whether something may be worth knowing in a thread that keeps the rules (R2, R7, R12, R49)."""
    if not all(map(is_uuid, thread.agents)):
        return True
    for turn in thread.turns:
        for message in (turn,) if isinstance(turn, PlainUserTurn) else turn.messages:
            if isinstance(message, PlainEvent):
                if not message.event_type.startswith(_NAMESPACES):
                    return True
                continue
            for part in message.parts:
                if isinstance(part, PlainInput | PlainPrompt) and INTERRUPTED in str(part.content):
                    return True
                if isinstance(part, PlainFile) and part.content["kind"].endswith("-url"):
                    return True
                if isinstance(part, PlainCall | PlainProviderCall) and are_unparsed(part.args):
                    return True
    return False
