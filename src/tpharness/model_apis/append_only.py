"""Append-only: the input of an earlier model call is a prefix of the input of a later call (rule A10).

In: two payloads, or two lists of messages. Out: a finding at the first place where they differ. Appending a result
for an aborted call is allowed; rewriting a message to say that it was interrupted is not. The last user message may get
more blocks at its end: to the API that is the same as another user message (A7).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tpharness.findings import Finding, Kind, Place
from tpharness.protocol.jcs import escape

__all__ = ["Difference", "check_append_only", "first_difference"]

REWRITTEN = Kind("model-view-rewritten")

_LISTS = ("messages", "contents", "input")
_NOTHING = object()


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """The first place where two lists differ: the index of the item, the JSON pointer inside it, both values.

    `expected` is the earlier value; where one of the lists does not have the place, its value is "nothing".
    """

    index: int
    inside: str
    got: Any
    expected: Any


def check_append_only(before: Any, after: Any) -> list[Finding]:
    """Return at most one finding: the first place where `after` does not continue `before`, as a pointer into `after`.

    Each is a list, or an object with the list under `messages`, `contents` or `input` whose other fields are the same.
    """
    found = _difference_around(before, after)
    if found is None:
        name, earlier = _list_of(before)
        _, later = _list_of(after)
        difference = first_difference(earlier, later)
        if difference is None:
            return []
        pointer = f"{name}/{difference.index}{difference.inside}"
        what = "is missing" if difference.index >= len(later) else "is not as it was sent before"
        message = f"{difference.index + 1}. of {len(earlier)} entries {what}"
        return [REWRITTEN.at(Place(pointer=pointer), message, got=difference.got, expected=difference.expected)]
    pointer, got, expected = found
    return [REWRITTEN.at(Place(pointer=pointer), got=_or_nothing(got), expected=_or_nothing(expected))]


def first_difference(before: list[Any], after: list[Any]) -> Difference | None:
    """Return the first place where `after` does not continue `before`, or None if it continues it."""
    for index, item in enumerate(before):
        if index >= len(after):
            return Difference(index=index, inside="", got="nothing", expected=item)
        found = first_differing_value(item, after[index])
        if found is not None and not (index == len(before) - 1 and _only_adds_blocks(item, after[index])):
            inside, expected, got = found
            return Difference(index=index, inside=inside, got=_or_nothing(got), expected=_or_nothing(expected))
    return None


def _only_adds_blocks(before: Any, after: Any) -> bool:
    """Whether the last user message that was sent only has more blocks after those that it had."""
    if not (isinstance(before, Mapping) and isinstance(after, Mapping) and before.get("role") == "user"):
        return False
    for name in ("content", "parts"):
        one, other = before.get(name), after.get(name)
        if isinstance(one, list) and isinstance(other, list):
            return first_differing_value(before, {**after, name: other[: len(one)]}) is None
    return False


def _list_of(payload: Any) -> tuple[str, list[Any]]:
    if isinstance(payload, Mapping):
        for name in _LISTS:
            if isinstance(payload.get(name), list):
                return f"/{name}", payload[name]
    return "", payload if isinstance(payload, list) else []


def _difference_around(before: Any, after: Any) -> tuple[str, Any, Any] | None:
    """Compare what surrounds the lists. Return pointer, later value and earlier value, or None if they are equal."""
    names = _list_of(before)[0], _list_of(after)[0]
    if names[0] != names[1] or type(before) is not type(after):
        return "", after, before
    if isinstance(before, list):
        return None
    rest = [
        {k: v for k, v in p.items() if f"/{k}" != names[0]} if isinstance(p, Mapping) else p for p in (before, after)
    ]
    found = first_differing_value(*rest)
    return None if found is None else (found[0], found[2], found[1])


def _or_nothing(value: Any) -> Any:
    return "nothing" if value is _NOTHING or value is None else value


def first_differing_value(one: Any, other: Any) -> tuple[str, Any, Any] | None:
    """Return the first place, in the order of the first value, where two JSON values differ, or None if they are equal.

    True is not 1, and 1 is 1.0. Walks without recursion, however deep the values are.
    """
    waiting = [("", one, other)]
    while waiting:
        pointer, left, right = waiting.pop()
        if isinstance(left, Mapping) and isinstance(right, Mapping):
            waiting += reversed(list(_fields(pointer, left, right)))
        elif isinstance(left, list) and isinstance(right, list):
            waiting += reversed(list(_items(pointer, left, right)))
        elif isinstance(left, bool) is not isinstance(right, bool) or (left is not right and left != right):
            return pointer, left, right
    return None


def _fields(pointer: str, left: Mapping[str, Any], right: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    for key in (*left, *(key for key in right if key not in left)):
        yield f"{pointer}/{escape(str(key))}", left.get(key, _NOTHING), right.get(key, _NOTHING)


def _items(pointer: str, left: list[Any], right: list[Any]) -> Iterator[tuple[str, Any, Any]]:
    for index in range(max(len(left), len(right))):
        one, other = (items[index] if index < len(items) else _NOTHING for items in (left, right))
        yield f"{pointer}/{index}", one, other
