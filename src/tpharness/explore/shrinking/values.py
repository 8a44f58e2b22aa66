"""Less of a list, and simpler JSON values: the small steps of a shrinker. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

__all__ = ["shorter_lists", "simplify_values"]

_T = TypeVar("_T")


def shorter_lists(items: Sequence[_T]) -> Iterator[list[_T]]:
    """Yield the items without a run of them: the longest runs first, then shorter ones, from the back."""
    size = len(items)
    while size:
        for begin in range(len(items) - size, -1, -size):
            yield [*items[:begin], *items[begin + size :]]
        size //= 2


def simplify_values(value: Any) -> Iterator[Any]:
    """Yield simpler values in the place of one: without a part of it, or with a part of it made simpler."""
    if isinstance(value, dict):
        for keys in shorter_lists(list(value)):
            yield {key: value[key] for key in keys}
        for key, item in value.items():
            yield from ({**value, key: other} for other in simplify_values(item))
    elif isinstance(value, list):
        yield from shorter_lists(value)
        for index, item in enumerate(value):
            yield from ([*value[:index], other, *value[index + 1 :]] for other in simplify_values(item))
    elif isinstance(value, str) and len(value) > 1:
        yield value[: len(value) // 2]
        yield value[len(value) // 2 :]
    elif isinstance(value, int | float) and not isinstance(value, bool) and value not in (0, 1):
        yield 0
        yield 1
