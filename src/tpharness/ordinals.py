"""Places in a list as people count them, for prose; pointers and ids count from 0. Loaded where something is said."""

from __future__ import annotations

__all__ = ["nth"]

_FIRST = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")


def nth(index: int, noun: str) -> str:
    """Return the item of a list at an index, which counts from 0, as people count: "the second turn"."""
    number = index + 1
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"the {_FIRST[index] if index < len(_FIRST) else f'{number}{ending}'} {noun}"
