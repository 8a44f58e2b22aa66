"""Read the maps of a scenario file by type.

In: a node and the path at which it stands. Out: values of the requested types. A value of another type is reported and
treated as absent, so that one load reports everything that is wrong with a file.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from datetime import UTC, datetime
from enum import Enum
from typing import Any, TypeVar

from tpharness.scenario.position import Position
from tpharness.scenario.problems import BAD_VALUE, MISSING_KEY, UNKNOWN_KEY, Problems, suggest_name
from tpharness.scenario.yaml_nodes import ListNode, MapNode, Node, ScalarNode, plain

__all__ = ["Fields", "describe_node", "find_head", "normalize_time"]

E = TypeVar("E", bound=Enum)
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?(Z|[+-]\d\d:\d\d)\Z")


def describe_node(node: Node) -> Any:
    """Return how a finding shows a node: the value of a scalar, else "a list" or "a map"."""
    if isinstance(node, ScalarNode):
        return "null" if node.value is None else node.value
    return "a list" if isinstance(node, ListNode) else "a map"


def find_head(node: Node, problems: Problems, where: str, heads: Collection[str]) -> str | None:
    """Return the one key of a map that says what the map is. None, and a problem, if it has none of them or several."""
    keys = node.items if isinstance(node, MapNode) else {}
    found = [head for head in heads if head in keys]
    if len(found) == 1:
        return found[0]
    near = next((near for key in keys if (near := suggest_name(key, heads))), "") if not found else ""
    message = f"{where} must have one of the keys {', '.join(heads)}{near}"
    problems.add(BAD_VALUE, node.position, message, got=", ".join(found or keys) or describe_node(node))
    return None


def normalize_time(text: str) -> str | None:
    """Return an ISO 8601 time in UTC with `Z` and without trailing zeros (R37), or None if `text` is not a time."""
    if not _TIME.match(text):
        return None
    try:
        moment = datetime.fromisoformat(text).astimezone(UTC).replace(tzinfo=None)
    except (ValueError, OverflowError):
        return None
    return (moment.isoformat().rstrip("0") if moment.microsecond else moment.isoformat()) + "Z"


class Fields:
    """A map with a known set of keys. The constructor reports unknown keys, and a node that is not a map."""

    def __init__(self, node: Node, problems: Problems, where: str, allowed: Iterable[str]) -> None:
        self.problems = problems
        self.where = where
        self.position = node.position
        self._items: dict[str, Node] = {}
        self._keys: dict[str, Position] = {}
        self.is_map = isinstance(node, MapNode)
        if not isinstance(node, MapNode):
            problems.add(BAD_VALUE, node.position, f"{where or 'the scenario'} must be a map", got=describe_node(node))
            return
        self._items, self._keys = node.items, node.keys
        names = tuple(allowed)
        for key in node.items:
            if key not in names:
                near = suggest_name(key, names)
                message = f"{self._at()}unknown key {key!r}{near}"
                problems.add(UNKNOWN_KEY, node.keys[key], message, expected=", ".join(names))

    def __contains__(self, key: str) -> bool:
        return key in self._items

    def key_position(self, key: str) -> Position:
        """Return the position of the key, or that of the map if the key is absent."""
        return self._keys.get(key, self.position)

    def value_position(self, key: str) -> Position:
        """Return the position of the key's value, or that of the map if the key is absent."""
        node = self._items.get(key)
        return self.position if node is None else node.position

    def path(self, key: str) -> str:
        """Return the path of a key, such as `turns[1].interrupt`."""
        return f"{self.where}.{key}" if self.where else key

    def node(self, key: str, *, required: bool = False) -> Node | None:
        """Return the node of a key, None if it is absent; report that if it is `required`."""
        node = self._items.get(key)
        if node is None and required:
            self.report_missing(key)
        return node

    def report_missing(self, key: str) -> None:
        """Report that a key is missing."""
        self.problems.add(MISSING_KEY, self.position, f"{self._at()}the key {key!r} is missing")

    def report_bad(self, key: str, expected: str, detail: str = "") -> None:
        """Report that the value of a key is wrong; `detail` is added to the message."""
        node = self._items[key]
        message = f"{self.path(key)} has a wrong value{detail}"
        self.problems.add(BAD_VALUE, node.position, message, got=describe_node(node), expected=expected)

    def any(self, key: str, default: Any = None) -> Any:
        """Return any JSON value."""
        node = self._items.get(key)
        return default if node is None else plain(node)

    def text(self, key: str, *, required: bool = False, empty: bool = False) -> str | None:
        """Return a string, which may be empty only if `empty`. A number is reported with the advice to quote it."""
        node = self.node(key, required=required)
        if node is None:
            return None
        if isinstance(node, ScalarNode) and isinstance(node.value, str) and (node.value or empty):
            return node.value
        number = isinstance(node, ScalarNode) and isinstance(node.value, int | float)
        self.report_bad(
            key, "a string" if empty else "a string that is not empty", "; put it in quotes" if number else ""
        )
        return None

    def flag(self, key: str) -> bool | None:
        """Return a boolean."""
        node = self._items.get(key)
        if node is None:
            return None
        if isinstance(node, ScalarNode) and isinstance(node.value, bool):
            return node.value
        self.report_bad(key, "true or false")
        return None

    def count(self, key: str, *, required: bool = False) -> int | None:
        """Return an integer of at least 0."""
        node = self.node(key, required=required)
        if node is None:
            return None
        if isinstance(node, ScalarNode) and type(node.value) is int and node.value >= 0:
            return node.value
        self.report_bad(key, "a whole number from 0")
        return None

    def seconds(self, key: str, *, required: bool = False) -> float | None:
        """Return a number of seconds from 0 to a day."""
        node = self.node(key, required=required)
        if node is None:
            return None
        if isinstance(node, ScalarNode) and type(node.value) in (int, float) and 0 <= node.value <= 86_400:
            return float(node.value)
        self.report_bad(key, "a number of seconds from 0 to 86400")
        return None

    def time(self, key: str) -> str | None:
        """Return an ISO time, in UTC with `Z`."""
        text = self.text(key)
        if text is None:
            return None
        moment = normalize_time(text)
        if moment is None:
            self.report_bad(key, "an ISO 8601 time with an offset, such as 2025-01-20T10:00:00Z")
        return moment

    def choice(self, key: str, kind: type[E]) -> E | None:
        """Return a member of an enum by its value."""
        text = self.text(key)
        if text is None:
            return None
        try:
            return kind(text)
        except ValueError:
            names = [str(member.value) for member in kind]
            self.report_bad(key, f"one of {', '.join(names)}", suggest_name(text, names))
            return None

    def texts(self, key: str, *, required: bool = False, least: int = 0) -> tuple[tuple[str, Position], ...]:
        """Return a list of at least `least` distinct strings, each with its position."""
        node = self.node(key, required=required)
        if node is None:
            return ()
        if not isinstance(node, ListNode):
            self.report_bad(key, "a list of strings")
            return ()
        if len(node.items) < least:
            self.report_bad(key, f"a list of at least {least}")
        found: dict[str, Position] = {}
        for item in node.items:
            if not isinstance(item, ScalarNode) or not isinstance(item.value, str) or not item.value:
                message = f"{self.path(key)} must hold strings"
                self.problems.add(BAD_VALUE, item.position, message, got=describe_node(item), expected="a string")
            elif item.value in found:
                self.problems.add(BAD_VALUE, item.position, f"{self.path(key)} names {item.value!r} twice")
            else:
                found[item.value] = item.position
        return tuple(found.items())

    def items(self, key: str, *, required: bool = False, least: int = 0) -> list[Node]:
        """Return the nodes of a list of at least `least` items."""
        node = self.node(key, required=required)
        if node is None:
            return []
        if not isinstance(node, ListNode):
            self.report_bad(key, "a list")
            return []
        if len(node.items) < least:
            self.report_bad(key, f"a list of at least {least}")
        return node.items

    def one_of(self, names: Collection[str], *, what: str) -> str | None:
        """Return the one key of `names` that is present; report if there is none or more than one."""
        there = [name for name in names if name in self._items]
        if len(there) == 1:
            return there[0]
        message = f"{self._at()}{what} needs {'only ' if there else ''}one of {', '.join(names)}"
        self.problems.add(BAD_VALUE, self.position, message, got=", ".join(there) or None)
        return None

    def _at(self) -> str:
        return f"{self.where}: " if self.where else ""
