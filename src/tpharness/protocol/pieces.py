"""A large JSON value in pieces that a validator can be given one after another.

In: a JSON value. Out: smaller values of the same shape that together contain everything in it. A list may lack items
and an object entries whose names are not known, so a piece fits a schema if the whole does, as long as the schema does
not ask for a number of items or entries. What is wrong in the whole is wrong in one of the pieces.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Piece", "split"]

_LARGEST = 1000
_LONGEST = 65_536


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a value; `offsets` are, by the path of a list in the piece, how many items before it were left out."""

    value: Any
    offsets: Mapping[tuple[str | int, ...], int]

    def path(self, path: Sequence[str | int]) -> list[str | int]:
        """Return the path in the whole value for a path in this piece."""
        return [
            step + self.offsets.get(tuple(path[:depth]), 0) if isinstance(step, int) else step
            for depth, step in enumerate(path)
        ]


def split(value: Any, names: Collection[str]) -> Iterator[Piece]:
    """Split a value into pieces of about a thousand values; `names` are the fields that each piece of an object keeps.

    The time is in proportion to the value, whichever of its parts are large.
    """
    return _split(value, (), names)


def _split(value: Any, path: tuple[str | int, ...], names: Collection[str]) -> Iterator[Piece]:
    if _size(value) <= _LARGEST:
        yield Piece(value, {})
    elif isinstance(value, list):
        yield from _split_list(value, path, names)
    else:
        yield from _split_object(value, path, names)


def _split_list(value: list[Any], path: tuple[str | int, ...], names: Collection[str]) -> Iterator[Piece]:
    window: list[Any] = []
    held = 0
    for index, item in enumerate(value):
        size = _size(item)
        if window and held + size > _LARGEST:
            yield Piece(window, {path: index - len(window)})
            window, held = [], 0
        if size <= _LARGEST:
            window.append(item)
            held += size
            continue
        for piece in _split(item, (*path, 0), names):
            yield Piece([piece.value], {path: index, **piece.offsets})
    if window:
        yield Piece(window, {path: len(value) - len(window)})


def _split_object(value: Mapping[str, Any], path: tuple[str | int, ...], names: Collection[str]) -> Iterator[Piece]:
    frame = _frame(value, names)
    yield Piece(frame, {})
    window: dict[str, Any] = {}
    held = 0
    for name, item in value.items():
        size = _size(item)
        if size > _LARGEST:
            for piece in _split(item, (*path, name), names):
                yield Piece({**frame, name: piece.value}, piece.offsets)
        elif name not in frame:
            if held + size > _LARGEST:
                yield Piece({**frame, **window}, {})
                window, held = {}, 0
            window[name] = item
            held += size
    if window:
        yield Piece({**frame, **window}, {})


def _frame(value: Any, names: Collection[str]) -> Any:
    """Return what all pieces of a large value have in common: its known fields, without what is large in them."""
    if isinstance(value, str):
        return value[:_LONGEST]
    if _size(value) <= _LARGEST:
        return value
    if isinstance(value, list):
        return []
    return {name: _frame(item, names) for name, item in value.items() if name in names}


def _size(value: Any) -> int:
    """Return how many values a value has in it, itself among them; it stops counting above the largest piece."""
    size = 1
    waiting = [value]
    while waiting and size <= _LARGEST:
        item = waiting.pop()
        if isinstance(item, dict | list):
            size += len(item)
            if size <= _LARGEST:
                waiting += item.values() if isinstance(item, dict) else item
    return size
