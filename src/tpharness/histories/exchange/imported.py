"""What becomes of imported messages: a valid thread, and what it does not have of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tpharness.errors import InputError, ThreadError
from tpharness.findings import Level, json_type
from tpharness.protocol.losses import Loss
from tpharness.protocol.rules import check_thread
from tpharness.protocol.versions import newest_version

__all__ = ["Imported", "make_thread", "require_messages"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """A valid thread; places of the losses are those in the messages."""

    thread: dict[str, Any]
    losses: tuple[Loss, ...]


def require_messages(value: Any, name: str, *, tag: str, tags: Sequence[str], part_tag: str) -> list[dict[str, Any]]:
    """Return a JSON value as a list of messages with parts. InputError says which is not one, and what was expected.

    `tag` is the field of a message that is one of `tags`, `part_tag` the text field that says what a part is.
    """
    hint = f"a list of messages with {tag} and parts, as in {name}"
    if not isinstance(value, list):
        raise InputError(f"not {name}: a list was expected, not {json_type(value)}", hint=hint)
    for index, message in enumerate(value):
        if not (type(message) is dict or isinstance(message, Mapping)) or message.get(tag) not in tags:
            raise InputError(f"not {name}: /{index} has no {tag} that is one of {', '.join(tags)}", hint=hint)
        parts = message.get("parts")
        if not isinstance(parts, list):
            raise InputError(f"not {name}: /{index}/parts is not a list", hint=hint)
        for number, part in enumerate(parts):
            if not (type(part) is dict or isinstance(part, Mapping)) or not isinstance(part.get(part_tag), str):
                raise InputError(f"not {name}: /{index}/parts/{number} has no text {part_tag}", hint=hint)
    return value


def make_thread(
    turns: list[dict[str, Any]], *, thread_id: str, agent: Mapping[str, Any], at: str, until: str, safe: bool = False
) -> dict[str, Any]:
    """Return the thread with these turns and one agent. ThreadError if it breaks rules of its version.

    `safe` says that every value in the turns is known to have a canonical form (R38).
    """
    thread = {
        "version": newest_version().value,
        "thread_id": thread_id,
        "created_at": at,
        "updated_at": until,
        "agents": {agent["agent_id"]: {**agent, "created_at": at}},
        "turns": turns,
    }
    safe = safe and thread_id.isascii() and str(agent["agent_id"]).isascii()  # a name may have lone surrogates
    findings = tuple(finding for finding in check_thread(thread, safe=safe) if finding.level is Level.MUST)
    if findings:
        hint = "the places are those of the thread that would be made; correct the messages"
        raise ThreadError("no valid thread can be made of these messages", findings=findings, hint=hint)
    return thread
