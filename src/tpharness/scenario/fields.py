"""Typed reading of the maps of a scenario file.

In: a node and the words for its place. Out: values of the kinds asked for; a value of another kind is a problem and
reads as absent, so that one load reports everything that is wrong with a file.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from datetime import UTC, datetime
from enum import Enum
from typing import Any, TypeVar

from tpharness.scenario.locate import ListNode, MapNode, Node, ScalarNode, plain
from tpharness.scenario.position import Position
from tpharness.scenario.problems import BAD_VALUE, MISSING_KEY, UNKNOWN_KEY, Problems, did_you_mean

__all__ = ["Fields", "iso_time", "shown"]

E = TypeVar("E", bound=Enum)
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?(Z|[+-]\d\d:\d\d)\Z")


def shown(node: Node) -> Any:
    """Return what a finding shows of a node: the value of a scalar, the kind of anything else."""
    if isinstance(node, ScalarNode):
        return "null" if node.value is None else node.value
    return "a list" if isinstance(node, ListNode) else "a map"


def iso_time(text: str) -> str | None:
    """Return an ISO 8601 time in UTC with `Z` and as few fraction digits as it needs (R37), None if it is none."""
    if not _TIME.match(text):
        return None
    try:
        moment = datetime.fromisoformat(text).astimezone(UTC).replace(tzinfo=None)
    except (ValueError, OverflowError):
        return None
    return (moment.isoformat().rstrip("0") if moment.microsecond else moment.isoformat()) + "Z"


class Fields:
    """A map with a known set of keys. Making one reports the keys that are not allowed, and a node that is no map."""

    def __init__(self, node: Node, problems: Problems, where: str, allowed: Iterable[str]) -> None:
        self.problems = problems
        self.where = where
        self.position = node.position
        self._items: dict[str, Node] = {}
        self._keys: dict[str, Position] = {}
        self.is_map = isinstance(node, MapNode)
        if not isinstance(node, MapNode):
            problems.add(BAD_VALUE, node.position, f"{where or 'the scenario'} must be a map", got=shown(node))
            return
        self._items, self._keys = node.items, node.keys
        names = tuple(allowed)
        for key in node.items:
            if key not in names:
                near = did_you_mean(key, names)
                said = f"{self._at()}unknown key {key!r}{near}"
                problems.add(UNKNOWN_KEY, node.keys[key], said, expected=", ".join(names))

    def __contains__(self, key: str) -> bool:
        return key in self._items

    def key_spot(self, key: str) -> Position:
        """Return where the key stands, or where the map begins."""
        return self._keys.get(key, self.position)

    def value_spot(self, key: str) -> Position:
        """Return where the value of the key stands, or where the map begins."""
        node = self._items.get(key)
        return self.position if node is None else node.position

    def path(self, key: str) -> str:
        """Return the words for a place in this map."""
        return f"{self.where}.{key}" if self.where else key

    def node(self, key: str, *, required: bool = False) -> Node | None:
        """Return the node of a key."""
        node = self._items.get(key)
        if node is None and required:
            self.missing(key)
        return node

    def missing(self, key: str) -> None:
        """Report a key that should be there."""
        self.problems.add(MISSING_KEY, self.position, f"{self._at()}the key {key!r} is missing")

    def bad(self, key: str, expected: str, said: str = "") -> None:
        """Report the value of a key."""
        node = self._items[key]
        message = f"{self.path(key)} has a wrong value{said}"
        self.problems.add(BAD_VALUE, node.position, message, got=shown(node), expected=expected)

    def any(self, key: str, default: Any = None) -> Any:
        """Return a free JSON value."""
        node = self._items.get(key)
        return default if node is None else plain(node)

    def text(self, key: str, *, required: bool = False, empty: bool = False) -> str | None:
        """Return a string, not empty unless `empty`; a number is refused with the advice to quote it."""
        node = self.node(key, required=required)
        if node is None:
            return None
        if isinstance(node, ScalarNode) and isinstance(node.value, str) and (node.value or empty):
            return node.value
        number = isinstance(node, ScalarNode) and isinstance(node.value, int | float)
        self.bad(key, "a string" if empty else "a string that is not empty", "; put it in quotes" if number else "")
        return None

    def flag(self, key: str) -> bool | None:
        """Return true or false."""
        node = self._items.get(key)
        if node is None:
            return None
        if isinstance(node, ScalarNode) and isinstance(node.value, bool):
            return node.value
        self.bad(key, "true or false")
        return None

    def count(self, key: str, *, required: bool = False) -> int | None:
        """Return a whole number from 0."""
        node = self.node(key, required=required)
        if node is None:
            return None
        if isinstance(node, ScalarNode) and type(node.value) is int and node.value >= 0:
            return node.value
        self.bad(key, "a whole number from 0")
        return None

    def seconds(self, key: str, *, required: bool = False) -> float | None:
        """Return a number of seconds from 0 to a day."""
        node = self.node(key, required=required)
        if node is None:
            return None
        if isinstance(node, ScalarNode) and type(node.value) in (int, float) and 0 <= node.value <= 86_400:
            return float(node.value)
        self.bad(key, "a number of seconds from 0 to 86400")
        return None

    def time(self, key: str) -> str | None:
        """Return an ISO time, in UTC with `Z`."""
        said = self.text(key)
        if said is None:
            return None
        moment = iso_time(said)
        if moment is None:
            self.bad(key, "an ISO 8601 time with an offset, such as 2025-01-20T10:00:00Z")
        return moment

    def choice(self, key: str, kind: type[E]) -> E | None:
        """Return a member of an enum by its value."""
        said = self.text(key)
        if said is None:
            return None
        try:
            return kind(said)
        except ValueError:
            names = [str(member.value) for member in kind]
            self.bad(key, f"one of {', '.join(names)}", did_you_mean(said, names))
            return None

    def texts(self, key: str, *, required: bool = False, least: int = 0) -> tuple[tuple[str, Position], ...]:
        """Return a list of different strings, each with its place."""
        node = self.node(key, required=required)
        if node is None:
            return ()
        if not isinstance(node, ListNode):
            self.bad(key, "a list of strings")
            return ()
        if len(node.items) < least:
            self.bad(key, f"a list of at least {least}")
        found: dict[str, Position] = {}
        for item in node.items:
            if not isinstance(item, ScalarNode) or not isinstance(item.value, str) or not item.value:
                said = f"{self.path(key)} must hold strings"
                self.problems.add(BAD_VALUE, item.position, said, got=shown(item), expected="a string")
            elif item.value in found:
                self.problems.add(BAD_VALUE, item.position, f"{self.path(key)} names {item.value!r} twice")
            else:
                found[item.value] = item.position
        return tuple(found.items())

    def items(self, key: str, *, required: bool = False, least: int = 0) -> list[Node]:
        """Return the nodes of a list."""
        node = self.node(key, required=required)
        if node is None:
            return []
        if not isinstance(node, ListNode):
            self.bad(key, "a list")
            return []
        if len(node.items) < least:
            self.bad(key, f"a list of at least {least}")
        return node.items

    def one_of(self, names: Collection[str], *, what: str) -> str | None:
        """Return which of the keys is there; none, or more than one, is a problem."""
        there = [name for name in names if name in self._items]
        if len(there) == 1:
            return there[0]
        said = f"{self._at()}{what} needs {'only ' if there else ''}one of {', '.join(names)}"
        self.problems.add(BAD_VALUE, self.position, said, got=", ".join(there) or None)
        return None

    def _at(self) -> str:
        return f"{self.where}: " if self.where else ""
