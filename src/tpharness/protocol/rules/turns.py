"""Rules of turns: input is stored once, interrupted turns, empty messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tpharness.findings import Finding, Place
from tpharness.protocol import problems as p
from tpharness.protocol.rules.index import Index, message_pointer
from tpharness.protocol.versions import Tier, tier

__all__ = ["find_bad_turns", "find_repeated_input"]

_CLIENTS_REASON = "incomplete_stream"


def find_bad_turns(index: Index) -> Iterator[Finding]:
    """R9, R18, R24, R27: find repeated input, turns that their version cannot show, and what has no content."""
    for t, m in find_repeated_input(index):
        yield p.REPEATED.at(Place(pointer=message_pointer(t, m)))
    for t, turn in enumerate(index.thread["turns"]):
        if turn["turn_type"] != "agent":
            continue
        status = turn.get("completion_status")
        if not index.version.features.interrupted_turns:
            if status in ("interrupted", "streaming"):
                yield p.OLD_INTERRUPTED.at(Place(pointer=f"/turns/{t}"), got=status)
        elif status == "interrupted":
            if not any(map(_carries, turn["messages"])):
                yield p.EMPTY_TURN.at(Place(pointer=f"/turns/{t}"))
            if turn["interruption"]["reason"] == _CLIENTS_REASON:
                place = Place(pointer=f"/turns/{t}/interruption/reason")
                yield p.CLIENTS_REASON.at(place, got=_CLIENTS_REASON, expected="network_failure")
    for t, m, message in index.messages:
        if message["message_type"] != "system" and not message["parts"]:
            yield p.EMPTY_MESSAGE.at(Place(pointer=message_pointer(t, m)))


def find_repeated_input(index: Index) -> Iterator[tuple[int, int]]:
    """R9: find requests that repeat the user turn before theirs; return the indexes of turn and message."""
    before: Mapping[str, Any] | None = None
    for t, turn in enumerate(index.thread["turns"]):
        if turn["turn_type"] != "agent":
            before = turn
            continue
        for m, message in enumerate(turn["messages"]):
            if message["message_type"] != "system":  # events may come before the first request
                if before is not None and _repeats(message, before):
                    yield t, m
                break
        before = None


def _repeats(request: Mapping[str, Any], user_turn: Mapping[str, Any]) -> bool:
    parts, said = request["parts"] if request["message_type"] == "request" else (), user_turn["parts"]
    return bool(parts) and (parts == said or list(map(_one_text, parts)) == list(map(_one_text, said)))


def _one_text(part: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a prompt whose list of one text is that text (R9)."""
    content = part.get("content")
    if part["part_kind"] == "user-prompt" and isinstance(content, list) and len(content) == 1:
        return {**part, "content": content[0]}
    return part


def _carries(message: Mapping[str, Any]) -> bool:
    return message["message_type"] != "system" or tier(message["event_type"]) is Tier.NORMATIVE
