"""Where generators draw their choices from: a random source with a seed, or Hypothesis.

A generator asks for one thing only, a whole number in a range, in which smaller is simpler. So one generator serves the
campaign, which is fast, and the Hypothesis strategies, which shrink.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Protocol, TypeVar

__all__ = ["Chance", "Source", "flag", "many", "one_of", "shuffled"]

_T = TypeVar("_T")


class Source(Protocol):
    """Gives whole numbers."""

    def number(self, low: int, high: int) -> int:
        """Return a number from `low` to `high`, both included."""
        ...


class Chance:
    """A source with a seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed).random  # noqa: S311  # repeatable on purpose

    def number(self, low: int, high: int) -> int:
        """Return a number from `low` to `high`, each as likely as the others."""
        return low if low == high else low + int(self._random() * (high - low + 1))


def one_of(source: Source, values: Sequence[_T]) -> _T:
    """Return one of the values; the first is the simplest."""
    return values[source.number(0, len(values) - 1)]


def flag(source: Source, one_in: int = 2) -> bool:
    """Return True once in so many times; False is simpler."""
    return source.number(0, one_in - 1) == one_in - 1


def many(source: Source, least: int, most: int, one_in: int = 3) -> Iterator[int]:
    """Yield 0, 1, 2, …, at least and at most so often, stopping once in so many times after the least.

    Each step is a choice of its own, so that a shrinker can leave one out in the middle.
    """
    for count in range(most):
        if count >= least and not flag_on(source, one_in):
            return
        yield count


def flag_on(source: Source, one_in: int) -> bool:
    """Return False once in so many times; False is simpler."""
    return source.number(0, one_in - 1) > 0


def shuffled(source: Source, values: Sequence[_T]) -> list[_T]:
    """Return the values in some order; their own is the simplest."""
    left = list(values)
    return [left.pop(source.number(0, len(left) - 1)) for _ in values]
