"""Pair the items of two lists, so that a missing item is reported once and not for every later one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import Any

__all__ = ["Pair", "align"]

_MOST_STEPS = 1_000_000
"""A search that would take more steps is skipped; this happens with many items that only their kind distinguishes."""

Key = Callable[[Any], str]
Pair = tuple[int | None, int | None]


def align(one: Sequence[Any], other: Sequence[Any], keys: Sequence[Key]) -> Iterator[Pair]:
    """Yield pairs of indices in order, None where the other list does not have the item.

    Items with an equal first key are paired first; the items between them are aligned by the next key. Runs of equal
    length that are left at the end are paired although no key matches.
    """
    yield from _align(list(enumerate(one)), list(enumerate(other)), keys)


def _align(mine: list[tuple[int, Any]], theirs: list[tuple[int, Any]], keys: Sequence[Key]) -> Iterator[Pair]:
    if keys and mine and theirs:
        key, *others = keys
        for alike, a, b in _runs([key(item) for _, item in mine], [key(item) for _, item in theirs]):
            yield from _pair(mine[a], theirs[b]) if alike else _align(mine[a], theirs[b], others)
    elif len(mine) == len(theirs) or len(mine) * len(theirs) > _MOST_STEPS:
        yield from _pair(mine, theirs)
    else:
        yield from _pair(mine, [])
        yield from _pair([], theirs)


def _pair(mine: list[tuple[int, Any]], theirs: list[tuple[int, Any]]) -> Iterator[Pair]:
    for ours, their in zip_longest(mine, theirs):
        yield ours[0] if ours else None, their[0] if their else None


def _runs(mine: list[str], theirs: list[str]) -> Iterator[tuple[bool, slice, slice]]:
    """Yield runs of equal and of different items, in order. A common beginning and end are found without a search."""
    shorter = min(len(mine), len(theirs))
    head = next((n for n in range(shorter) if mine[n] != theirs[n]), shorter)
    tail = next((n for n in range(shorter - head) if mine[-1 - n] != theirs[-1 - n]), shorter - head)
    a, b = slice(head, len(mine) - tail), slice(head, len(theirs) - tail)
    yield True, slice(0, head), slice(0, head)
    counts = Counter(theirs[b])
    if sum(counts[key] for key in mine[a]) > _MOST_STEPS:
        yield False, a, b
    else:
        for tag, i1, i2, j1, j2 in SequenceMatcher(None, mine[a], theirs[b], autojunk=False).get_opcodes():
            yield tag == "equal", slice(head + i1, head + i2), slice(head + j1, head + j2)
    yield True, slice(a.stop, len(mine)), slice(b.stop, len(theirs))
