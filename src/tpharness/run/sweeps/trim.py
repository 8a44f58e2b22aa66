"""What of a thread a sweep need not judge again: the messages that stood there, unchanged, at the place before. Pure.

In: threads of the same run at two places. Out: how much of the last turn is the same, and the thread without that.
"""

from __future__ import annotations

from typing import Any

__all__ = ["same_messages", "shared", "stamp", "trimmed", "window"]


def _last_messages(thread: dict[str, Any]) -> list[Any] | None:
    turns = thread["turns"]
    if not turns or turns[-1]["turn_type"] != "agent":
        return None
    messages: list[Any] = turns[-1]["messages"]
    return messages


def same_messages(before: dict[str, Any], now: dict[str, Any]) -> bool:
    """Whether the last turn holds the same list of messages, as an object, and no turn was added."""
    one, two = _last_messages(before), _last_messages(now)
    return one is two and len(before["turns"]) == len(now["turns"])


def stamp(thread: dict[str, Any]) -> Any:
    """Return the interruption of the last turn."""
    turns = thread["turns"]
    return turns[-1].get("interruption") if turns else None


def shared(before: dict[str, Any], now: dict[str, Any]) -> int:
    """Return how many messages of the last turn are the same as before, from the front; 0 when turns were added."""
    one, two = _last_messages(before), _last_messages(now)
    if one is None or two is None or len(before["turns"]) != len(now["turns"]):
        return 0
    count = min(len(one), len(two))
    while count and one[:count] != two[:count]:  # the same objects compare at once; only the newest few can differ
        count -= 1
    return count


def window(thread: dict[str, Any], skip: int) -> int:
    """Return where a window over the last turn may begin, at most at message `skip`; 0 when nothing can be left out.

    It begins with the last whole cycle that was there before, so that it is a turn that could stand by itself.
    """
    messages = thread["turns"][-1]["messages"]
    start = skip - 1
    while start > 0 and messages[start]["message_type"] != "response":
        start -= 1
    if start <= 0:
        return 0
    parts = [part for message in messages[start:] for part in message.get("parts") or ()]
    calls = {part["tool_call_id"] for part in parts if part["part_kind"] == "tool-call"}
    answers = (part for part in parts if part["part_kind"] in ("tool-return", "retry-prompt"))
    return start if all(part.get("tool_call_id") in calls for part in answers) else 0


def trimmed(thread: dict[str, Any], skip: int) -> dict[str, Any]:
    """Return the thread with its last turn only, without the first `skip` messages of it, and the user turn before it.

    The turn then starts when the last message left out was written, so that the order in time is still judged.
    """
    turn = thread["turns"][-1]
    messages = turn["messages"]
    shorter = {**turn, "started_at": messages[skip - 1]["timestamp"], "messages": messages[skip:]}
    before = [t for t in thread["turns"][-2:-1] if t["turn_type"] == "user"]
    return {**thread, "turns": [*before, shorter]}
