"""How two threads relate when one has seen more than the other: shared by the checks `prefix` and `monotonicity`.

Turn by turn, the messages of the lesser thread are in the greater one, in the same order. Whole cycles and events are
compared, so both sides must have the same message; but returns to calls of earlier turns come one by one, so a request
of these may have more of them in the greater thread, and stand later (R61). Links to other threads are only ever
appended.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tpharness.checks.contract import Thread
from tpharness.findings import Finding, Kind, Place
from tpharness.judging_time import heed_judging_time
from tpharness.protocol.canonical import canonical_message
from tpharness.protocol.compare import content_thread, identical
from tpharness.protocol.versions import newest_version
from tpharness.scenario.records import Compare

__all__ = ["find_lost_links", "first_missing"]

LINKS_SHRANK = Kind("links-shrank")
_RETURNS = ("tool-return", "retry-prompt")
_NO_TIME = "1970-01-01T00:00:00Z"


def first_missing(lesser: Thread, greater: Thread, mode: Compare) -> tuple[str, str] | None:
    """Return pointer and description of the first thing of `lesser` that `greater` lacks, or None."""
    return _walk(lesser["turns"], greater["turns"], _form(mode))


def find_lost_links(lesser: Thread, greater: Thread) -> list[Finding]:
    """Report the first link of `lesser` that `greater` does not have at the same place: links are only appended."""
    theirs = _links(greater)
    for index, link in enumerate(_links(lesser)):
        if index >= len(theirs) or not identical(theirs[index], link):
            return [LINKS_SHRANK.at(Place(pointer=f"/relationships/links/{index}"), got=theirs[index:], expected=link)]
    return []


def _links(thread: Thread) -> Sequence[Any]:
    return (thread.get("relationships") or {}).get("links") or []


def _walk(
    lesser: Sequence[Mapping[str, Any]], greater: Sequence[Mapping[str, Any]], form: Callable[[Any], Any]
) -> tuple[str, str] | None:
    place = 0
    for index, turn in enumerate(lesser):
        pointer = f"/turns/{index}"
        # A turn in which the lesser side kept nothing does not appear there (R24): the next match decides.
        while place < len(greater) and not _fits(turn, greater[place], form):
            place += 1
        if place == len(greater):
            return pointer, _why(turn, greater[index : index + 1], form)
        place += 1
    return None


def _fits(turn: Mapping[str, Any], other: Mapping[str, Any], form: Callable[[Any], Any]) -> bool:
    if turn is other:
        return True
    if turn["turn_type"] != other["turn_type"]:
        return False
    if turn["turn_type"] == "user":
        return identical(form(turn), form(other))
    return _missing(turn, other, form) is None


def _missing(turn: Mapping[str, Any], other: Mapping[str, Any], form: Callable[[Any], Any]) -> int | None:
    """Return the index of the first message of `turn` that `other` lacks in this order."""
    mine, theirs = turn["messages"], other["messages"]
    own = _own_calls(turn)
    same = 0
    for one, two in zip(mine, theirs, strict=False):
        if one is not two:
            break
        same += 1
    place = same
    for index in range(same, len(mine)):
        heed_judging_time()  # returns to earlier calls are looked for in all messages, each of them
        if place < len(theirs) and identical(mine[index], theirs[place]):  # then their forms are, too
            place += 1
            continue
        if _answers_earlier_turns(mine[index], own):
            if not any(_has_returns(two, mine[index], form) for two in theirs):
                return index
            continue
        wanted = form(mine[index])
        while place < len(theirs) and not identical(form(theirs[place]), wanted):
            place += 1
        if place == len(theirs):
            return index
        place += 1
    return None


def _own_calls(turn: Mapping[str, Any]) -> frozenset[Any]:
    return frozenset(
        part.get("tool_call_id")
        for message in turn["messages"]
        for part in message.get("parts") or ()
        if part.get("part_kind") == "tool-call"
    )


def _answers_earlier_turns(message: Mapping[str, Any], own: frozenset[Any]) -> bool:
    """Whether a message has returns only, for calls that its turn does not have; a retry prompt may have no call."""
    parts = message.get("parts") or ()
    return bool(parts) and all(
        part.get("part_kind") in _RETURNS and part.get("tool_call_id") not in (None, *own) for part in parts
    )


def _has_returns(message: Mapping[str, Any], wanted: Mapping[str, Any], form: Callable[[Any], Any]) -> bool:
    """Whether a message has all returns of another one, each unchanged, in the same order."""
    if message["message_type"] != wanted["message_type"]:
        return False
    held = iter([_alone(message, part, form) for part in message.get("parts") or ()])
    return all(
        any(identical(one, two) for two in held) for one in (_alone(wanted, part, form) for part in wanted["parts"])
    )


def _alone(message: Mapping[str, Any], part: Mapping[str, Any], form: Callable[[Any], Any]) -> Any:
    """Return one part in the form of a comparison, without the time of its message."""
    return form({"message_type": message["message_type"], "timestamp": _NO_TIME, "parts": [part]})


def _why(turn: Mapping[str, Any], candidate: Sequence[Mapping[str, Any]], form: Callable[[Any], Any]) -> str:
    if turn["turn_type"] == "user" or not candidate or candidate[0]["turn_type"] == "user":
        return f"a whole {turn['turn_type']} turn is missing"
    index = _missing(turn, candidate[0], form)
    if index is None:
        return "the turn is at a different place"
    message = turn["messages"][index]
    what = message.get("event_type") or " ".join(str(p.get("part_kind")) for p in message.get("parts", ()))
    return f"message {index} ({message['message_type']}: {what}) is missing or different"


def _form(mode: Compare) -> Callable[[Any], Any]:
    if mode is Compare.EXACT:
        return lambda value: canonical_message(value) if "message_type" in value else value.get("parts")
    return _content


def _content(value: Mapping[str, Any]) -> Any:
    """Mask one message or user turn by itself, so that earlier ones do not matter."""
    if "message_type" not in value:
        return value.get("parts")
    turn = {"turn_type": "agent", "agent_id": "a", "started_at": "", "messages": [value]}
    masked = content_thread({"version": newest_version().value, "turns": [turn]})
    return masked["turns"][0]["messages"] if masked["turns"] else None
