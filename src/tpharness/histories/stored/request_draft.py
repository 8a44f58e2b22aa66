"""A request while it is repaired: its entries, where each of them was, and how a value in it is replaced."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["GONE", "SAME", "Draft", "Mended"]

SAME: Any = object()
"""Nothing can be done about a value."""
GONE: Any = object()
"""The value is left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mended:
    """What was done about a finding, by its number; `said` is the text that was left out or moved."""

    number: int
    done: str
    said: str = ""


@dataclass(slots=True, kw_only=True)
class Draft:
    """The entries of a request to be changed, in `body` under `field`; each was at the place that `places` has for it.

    `body` is None for a list of entries alone. What is in the entries is replaced and never changed, as they are those
    that somebody gave.
    """

    body: Mapping[str, Any] | None
    field: str
    entries: list[Any]
    places: list[str]

    @classmethod
    def of(cls, value: Any, field: str) -> Draft | None:
        """Return the draft of a request, None for what has no list of objects."""
        body = value if isinstance(value, Mapping) else None
        entries = value if body is None else body.get(field)
        if not isinstance(entries, list) or not all(isinstance(entry, Mapping) for entry in entries):
            return None
        base = "" if body is None else f"/{field}"
        places = [f"{base}/{index}" for index in range(len(entries))]
        return cls(body=body, field=field, entries=list(entries), places=places)

    def value(self) -> Any:
        """Return the request."""
        return self.entries if self.body is None else {**self.body, self.field: self.entries}

    def index(self, pointer: str) -> int | None:
        """Return the number of the entry that a pointer leads into, None for another part of the body."""
        steps = self._steps(pointer)
        return int(steps[0]) if steps else None

    def origin(self, pointer: str) -> str:
        """Return where the place was in the request that was given."""
        steps = self._steps(pointer)
        return "/".join([self.places[int(steps[0])], *steps[1:]]) if steps else pointer

    def edit(self, pointer: str, change: Callable[[Any], Any], *, up: int = 0) -> bool:
        """Replace the value `up` steps above a place by what `change` makes of it; return whether there is another."""
        steps = self._steps(pointer)
        if len(steps) <= up:
            return False
        made = _replaced(self.entries[int(steps[0])], steps[1 : len(steps) - up], change)
        if made is SAME:
            return False
        if made is GONE:
            self.remove(int(steps[0]))
        else:
            self.entries[int(steps[0])] = made
        return True

    def remove(self, index: int) -> None:
        """Leave an entry out."""
        del self.entries[index]
        del self.places[index]

    def insert(self, index: int, entry: Mapping[str, Any], place: str) -> None:
        """Put an entry before another one; `place` says what it is about."""
        self.entries.insert(index, dict(entry))
        self.places.insert(index, place)

    def move(self, index: int, to: int) -> None:
        """Put an entry before another one that stands earlier."""
        self.entries.insert(to, self.entries.pop(index))
        self.places.insert(to, self.places.pop(index))

    def replace_all(self, made: Iterable[tuple[str, Any]]) -> None:
        """Take other entries, each with the place that it had."""
        pairs = list(made)
        self.entries, self.places = [entry for _, entry in pairs], [place for place, _ in pairs]

    def pairs(self) -> Iterator[tuple[str, Any]]:
        """Yield each entry behind the place that it had."""
        return zip(self.places, self.entries, strict=True)

    def _steps(self, pointer: str) -> list[str]:
        """Return the steps from the entries on; none for a place elsewhere."""
        base = "" if self.body is None else f"/{self.field}"
        inside = pointer.removeprefix(f"{base}/")
        steps = inside.split("/")
        return steps if inside != pointer and steps[0].isdigit() and int(steps[0]) < len(self.entries) else []


def _replaced(value: Any, steps: Sequence[str], change: Callable[[Any], Any]) -> Any:
    """Return a value with another one in it; an object or a list of which nothing is left is left out too."""
    if not steps:
        return change(value)
    step, rest = steps[0], steps[1:]
    key: Any = int(step) if isinstance(value, list) else step
    if isinstance(value, Mapping) and key not in value:
        return SAME
    made = _replaced(value[key], rest, change)
    if made is SAME:
        return SAME
    copy = list(value) if isinstance(value, list) else dict(value)
    if made is GONE:
        del copy[key]
        return copy or GONE
    copy[key] = made
    return copy
