"""Lists of turns, messages or parts that hold other items than a scenario expects → what to do, in words. Pure.

In: a thread, the part of it that is wanted, and the path to the first value that differs. Out: a sentence about the
item on that path that is missing, too much, elsewhere or in another one; "" where both lists hold the same items, so
that only the value is another. What is wanted may name a few fields of an item.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tpharness.checks.expectations import find_mismatch
from tpharness.checks.outline_change import KEPT, LEFT_OUT, order_reason
from tpharness.findings import shorten, tell_apart
from tpharness.ordinals import nth

__all__ = ["NOUNS", "at_path", "change_of_lists", "item_words", "sort_of", "why_left_out", "words_of_owner"]

NOUNS = {"turns": "turn", "messages": "message", "parts": "part"}
_RETURNS = ("tool-return", "retry-prompt")
_OF_AN_AGENT = {
    "messages",
    "agent_id",
    "completion_status",
    "interruption",
    "total_usage",
    "started_at",
    "completed_at",
}
_OF_AN_EVENT = {"event_type", "event_data", "source_agent", "target_agents"}
_ANOTHER = {
    "turns": "each input of the user is a turn, each run is one, and an agent with another id begins another (R45)",
    "messages": "each call of the model is a response, and what the user or a tool says ends it (R40, R44)",
}


def change_of_lists(thread: Any, wanted: Any, steps: Sequence[str]) -> str:
    """Return what to do about an item on a path, from the outside in; "" if the lists hold the same items."""
    for depth, name in enumerate(steps[:-1]):
        if name in NOUNS and steps[depth + 1].isdecimal():
            held, right = at_path(thread, steps[: depth + 1]), at_path(wanted, steps[: depth + 1])
            if isinstance(held, list | tuple) and isinstance(right, list | tuple):
                index = int(steps[depth + 1])
                change = _change(held, right, index, NOUNS[name], words_of_owner(steps[:depth]))
                change = change or _joined(held, right, index, name, steps[depth + 2 :])
                if change:
                    return change
    return ""


def _change(held: Sequence[Any], right: Sequence[Any], at: int, noun: str, owner: str) -> str:
    """Return what to do about the item at an index, which is not the one that is wanted there."""
    if at >= min(len(held), len(right)):
        return ""
    missing = next((n for n in range(1, len(right) - len(held) + 1) if _fits(held[at], right[at + n], noun)), 0)
    if missing:
        these = item_words(noun, at, at + missing - 1)
        return f"keep {these}{_shown(right[at])}{owner}: {_why_kept(right[at], held[at], noun)}"
    more = next((n for n in range(1, len(held) - len(right) + 1) if _fits(held[at + n], right[at], noun)), 0)
    if more:
        these = item_words(noun, at, at + more - 1)
        return f"leave {these}{owner} out: {why_left_out(held[at], noun)}"
    if len(held) != len(right):
        return ""
    for place in (n for n in range(at + 1, len(held)) if _fits(held[n], right[at], noun)):
        rest = [*held[at:place], *held[place + 1 :]]
        if all(any(_fits(item, one, noun) for one in right[at + 1 :]) for item in rest):
            there = f"in the place of {item_words(noun, at)}" if noun == "turn" else f"at {at}"
            return f"put {item_words(noun, place)}{owner} {there}: {_order(right[at], noun)}"
    return ""


def _shown(item: Any) -> str:
    """Return the id or the name of an item in brackets, "" if a scenario wants none."""
    for field in ("tool_call_id", "event_type", "part_kind", "message_type"):
        if isinstance(item, Mapping) and isinstance(item.get(field), str):
            return f" ({shorten(item[field], 60)})"
    return ""


def _why_kept(item: Any, held: Any, noun: str) -> str:
    """Return why an item that is wanted has to be there; `held` stands in its place."""
    sort = sort_of(item, noun)
    if noun == "part" and isinstance(held, Mapping) and str(held.get("part_kind")) in _RETURNS:
        return f"{KEPT['request']}, and the ids of calls are compared whole, character by character"
    return KEPT.get(sort) or KEPT["part"]


def _joined(held: Sequence[Any], right: Sequence[Any], at: int, name: str, rest: Sequence[str]) -> str:
    """Return what to do where an item holds what the next one should: there are fewer items, and one has more."""
    if len(held) >= len(right) or at + 1 >= len(right):
        return ""
    inner = [step for step in rest if step in NOUNS]
    if not inner or len(rest) < 2 or not rest[1].isdecimal():
        content, wanted = (at_path(items[at], ["content"]) if at < len(items) else None for items in (held, right))
        if name == "parts" and isinstance(content, str) and isinstance(wanted, str) and content.startswith(wanted):
            return (
                f"begin another part behind {len(wanted)} characters of part {at}: "
                "texts with a start and an end each are not joined (R13)"
            )
        return ""
    if at >= len(held):
        return ""
    place = int(rest[1])
    items, wanted_items = at_path(held[at], rest[:1]), at_path(right[at], rest[:1])
    if not isinstance(items, list | tuple) or not isinstance(wanted_items, list | tuple) or place != len(wanted_items):
        return ""
    inside = f"{NOUNS[rest[0]]} {place} of {item_words(NOUNS[name], at)}"
    ids = [turn.get("agent_id") for turn in (held[at], right[at + 1]) if name == "turns" and isinstance(turn, Mapping)]
    two = len(ids) == 2 and all(ids) and ids[0] != ids[1]
    named = " ({} and {} are two)".format(*tell_apart(*(f'"{one}"' for one in ids))) if two else ""
    return f"begin another {NOUNS[name]} with {inside}: {_ANOTHER[name]}{named}"


def _fits(held: Any, right: Any, noun: str) -> bool:
    """Whether an item is the one that is wanted, as far as that is said, and of its sort."""
    sort = sort_of(right, noun)
    return sort in ("", noun, sort_of(held, noun)) and find_mismatch(held, right) is None


def _order(item: Any, noun: str) -> str:
    if noun == "turn":
        return "turns stand in the order in which they began"
    sort = sort_of(item, noun)
    return order_reason(str(item.get("part_kind", "text")) if noun == "part" else sort)


def why_left_out(item: Any, noun: str) -> str:
    """Return why a turn, message or part must not be there."""
    return LEFT_OUT.get(sort_of(item, noun)) or LEFT_OUT["part"]


def sort_of(item: Any, noun: str) -> str:
    """Return what a scenario wants there, of which it may have named a few fields: a word of `KEPT`, or ""."""
    if not isinstance(item, Mapping):
        return ""
    said = str(item.get("turn_type") or item.get("message_type") or "")
    if said:
        return "event" if said == "system" else said
    if noun == "turn":
        return "agent" if item.keys() & _OF_AN_AGENT else "user"
    if noun == "message":
        answers = any(
            isinstance(part, Mapping) and str(part.get("part_kind")) in _RETURNS for part in item.get("parts") or ()
        )
        return "event" if item.keys() & _OF_AN_EVENT else "request" if answers else "response"
    return "request" if item.get("part_kind") in _RETURNS else noun


def item_words(noun: str, index: int, last: int | None = None) -> str:
    """Return an item, or several up to the last one, in words: "message 2", "messages 2 to 4", "the second turn"."""
    if last in (None, index):
        return nth(index, noun) if noun == "turn" else f"{noun} {index}"
    return f"{nth(index, noun)} to {nth(last or 0, 'one')}" if noun == "turn" else f"{noun}s {index} to {last}"


def words_of_owner(steps: Sequence[str]) -> str:
    """Return whose something is, in words: " of part 2 of message 0 of the second turn"."""
    if len(steps) % 2:
        return ""
    pairs = zip(steps[-2::-2], steps[::-2], strict=True)
    words = (nth(int(at), "turn") if name == "turns" else f"{NOUNS.get(name, name)} {at}" for name, at in pairs)
    return "".join(f" of {one}" for one in words)


def at_path(document: Any, steps: Sequence[str]) -> Any:
    """Return the value that a path leads to, None where there is none."""
    value = document
    for step in steps:
        try:
            value = value[int(step)] if isinstance(value, list | tuple) else value[step]
        except (KeyError, IndexError, ValueError, TypeError):
            return None
    return value
