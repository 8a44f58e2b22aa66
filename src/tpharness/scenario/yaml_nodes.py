"""YAML text → nodes with their positions.

In: the bytes of one scenario file. Out: the root `Node`, or findings. A scenario is JSON data in YAML syntax: scalars
follow the JSON subset of the YAML 1.2 core schema, so `yes`, `1:30`, `0.0.4`, `010` and dates stay strings; keys are
strings as written; merge keys have no special meaning, and tags other than `!!str` are refused. Duplicate keys are
errors.

Nodes are built from the parser's events and not by PyYAML's composer, which recurses in C, so that a line of ten
thousand brackets would end the process. Aliases share the nodes of their anchors, and their expansion is bounded.

PyYAML 6.0.4 has a limit on nesting of its own, of 1000 levels, and reads up to 1024 characters ahead of its events: a
line of a thousand brackets fails before there is an event for the second of them. What is nested deeper than our own
limit gets our own answer all the same, at our own place: where the parser gives up, the events of the text before that
place are asked as well.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import yaml

from tpharness.scenario.position import Position
from tpharness.scenario.problems import DUPLICATE_KEY, NOT_YAML, TOO_LARGE, Problems

__all__ = [
    "FLOAT",
    "INT",
    "MAX_BYTES",
    "MAX_DEPTH",
    "MAX_SHARED",
    "ListNode",
    "MapNode",
    "Node",
    "Position",
    "ScalarNode",
]
__all__ += ["plain", "read_yaml"]

MAX_BYTES = 16 * 1024 * 1024
MAX_DEPTH = 200
MAX_SHARED = 100_000
"""The number of nodes that the expansion of aliases may add to the document."""

INT = re.compile(r"-?(0|[1-9][0-9]*)\Z")
FLOAT = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?\Z")
_WORDS: Mapping[str, Any] = {"": None, "~": None, "null": None, "true": True, "false": False}
_STR_TAG = "tag:yaml.org,2002:str"
_PARSER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(slots=True, kw_only=True)
class ScalarNode:
    """A JSON scalar."""

    position: Position
    value: Any
    size: int = 1


@dataclass(slots=True, kw_only=True)
class ListNode:
    """A list. `size` counts its nodes with aliases expanded."""

    position: Position
    items: list[Node] = field(default_factory=list)
    size: int = 1


@dataclass(slots=True, kw_only=True)
class MapNode:
    """A map with string keys; `keys` has the position of each key."""

    position: Position
    items: dict[str, Node] = field(default_factory=dict)
    keys: dict[str, Position] = field(default_factory=dict)
    size: int = 1


Node: TypeAlias = ScalarNode | ListNode | MapNode


def plain(node: Node) -> Any:
    """Return the JSON value of a node; every call makes a new value."""
    if isinstance(node, ScalarNode):
        return node.value
    if isinstance(node, ListNode):
        return [plain(item) for item in node.items]
    return {key: plain(item) for key, item in node.items.items()}


def read_yaml(data: bytes, problems: Problems) -> Node | None:
    """Return the root node; None if the text is empty, or not usable: then problems were added."""
    if len(data) > MAX_BYTES:
        problems.add(TOO_LARGE, None, "the file is too large", got=f"{len(data)} bytes", expected=f"≤ {MAX_BYTES}")
        return None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        position = Position(before.count(b"\n") + 1, len(before) - before.rfind(b"\n"))
        problems.add(NOT_YAML, position, "the file is not UTF-8", got=f"byte 0x{data[error.start]:02x}")
        return None
    builder = _Builder(problems)
    try:
        for event in _parse_events(text):
            if not builder.handle(event):
                return None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        deep = _find_too_deep(text[: mark.index]) if mark is not None else None
        if deep is not None:
            builder.refuse_depth(deep)
            return None
        where = _position(mark) if mark is not None else _offset_position(text, getattr(error, "position", None))
        message = _describe(error)
        if mark is not None and text[mark.index : mark.index + 1] == "\t":
            message = "a tab stands here, and YAML is indented with spaces"
        problems.add(NOT_YAML, where, f"the file is not YAML: {message}")
        return None
    return builder.root


def _parse_events(text: str) -> Iterator[Any]:
    parser = _PARSER(text)
    try:
        while parser.check_event():
            yield parser.get_event()
    finally:
        parser.dispose()


def _find_too_deep(text: str) -> Any:
    """Return the event that opens one level more than may be open; None if the parser comes to none."""
    level = 0
    try:
        for event in _parse_events(text):
            level += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if level > MAX_DEPTH:
                return event
    except yaml.YAMLError:
        pass
    return None


def _describe(error: yaml.YAMLError) -> str:
    """Return what the parser says, and where what it did not read to its end begins."""
    message = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error).split("\n", 1)[0]
    return f"{message}{_beginning(error)}"


def _beginning(error: yaml.YAMLError) -> str:
    """Return where the list, map or text begins in which the parser stopped; "" if it stopped at a beginning."""
    mark = getattr(error, "context_mark", None)
    if mark is None or _position(mark) == _position(getattr(error, "problem_mark", mark)):
        return ""
    where = _position(mark)
    return f" {getattr(error, 'context', '')} that begins in line {where.line}, column {where.column}"


def _offset_position(text: str, index: int | None) -> Position | None:
    """Return the position of a character that the reader refuses; `index` counts bytes of UTF-8."""
    if index is None:
        return None
    before = text.encode()[:index].decode("utf-8", "ignore")
    return Position(before.count("\n") + 1, len(before) - before.rfind("\n"))


def _position(mark: Any) -> Position:
    return Position(mark.line + 1, mark.column + 1)


@dataclass(slots=True)
class _OpenNode:
    """A list or map that has not ended; `key` is the key that waits for its value."""

    node: ListNode | MapNode
    anchor: str | None
    key: tuple[str, Position] | None = None


class _Builder:
    """Builds nodes from parser events; `handle` returns whether to go on."""

    def __init__(self, problems: Problems) -> None:
        self._problems = problems
        self._stack: list[_OpenNode] = []
        self._anchors: dict[str, Node | None] = {}
        self._shared = 0
        self._documents = 0
        self.root: Node | None = None

    def handle(self, event: Any) -> bool:
        match event:
            case yaml.ScalarEvent():
                return self._scalar(event)
            case yaml.AliasEvent():
                return self._alias(event)
            case yaml.SequenceStartEvent():
                return self._open(event, ListNode(position=_position(event.start_mark)))
            case yaml.MappingStartEvent():
                return self._open(event, MapNode(position=_position(event.start_mark)))
            case yaml.SequenceEndEvent() | yaml.MappingEndEvent():
                opened = self._stack.pop()
                if opened.anchor is not None:
                    self._anchors[opened.anchor] = opened.node
                return self._put(opened.node)
            case yaml.DocumentStartEvent():
                self._documents += 1
                if self._documents > 1:
                    return self._refuse(event, "the file holds more than one document")
        return True

    def _scalar(self, event: Any) -> bool:
        position = _position(event.start_mark)
        if event.tag is not None and event.tag not in ("!", _STR_TAG):
            return self._refuse(event, "tags are not supported", got=event.tag)
        top = self._stack[-1] if self._stack else None
        if top is not None and isinstance(top.node, MapNode) and top.key is None:
            if event.value in top.node.items:
                first = top.node.keys[event.value]
                message = f"the key {event.value!r} is here and also in line {first.line}"
                self._problems.add(DUPLICATE_KEY, position, message)
            top.key = (event.value, position)
            return True
        bare = event.tag is None and not event.style and event.implicit[0]
        node = ScalarNode(position=position, value=_scalar_value(event.value) if bare else event.value)
        if event.anchor is not None:
            self._anchors[event.anchor] = node
        return self._put(node)

    def _alias(self, event: Any) -> bool:
        node = self._anchors.get(event.anchor)
        if node is None:
            known = event.anchor in self._anchors
            message = "an alias stands inside its own anchor" if known else "an alias names no anchor"
            return self._refuse(event, message, got=f"*{event.anchor}")
        self._shared += node.size
        if self._shared > MAX_SHARED:
            return self._refuse(event, "aliases expand to too much", expected=f"≤ {MAX_SHARED} nodes")
        return self._put(node)

    def _open(self, event: Any, node: ListNode | MapNode) -> bool:
        if event.tag is not None and event.tag != "!":
            return self._refuse(event, "tags are not supported", got=event.tag)
        if len(self._stack) >= MAX_DEPTH:
            return self.refuse_depth(event)
        if self._stack and isinstance(self._stack[-1].node, MapNode) and self._stack[-1].key is None:
            return self._refuse(event, "a key must be a string")
        if event.anchor is not None:
            self._anchors[event.anchor] = None
        self._stack.append(_OpenNode(node, event.anchor))
        return True

    def _put(self, node: Node) -> bool:
        if not self._stack:
            self.root = node
            return True
        top = self._stack[-1]
        top.node.size += node.size
        if isinstance(top.node, ListNode):
            top.node.items.append(node)
        elif top.key is None:
            self._problems.add(NOT_YAML, node.position, "an alias cannot be a key")
            return False
        else:
            key, position = top.key
            if key not in top.node.items:
                top.node.items[key] = node
                top.node.keys[key] = position
            top.key = None
        return True

    def refuse_depth(self, event: Any) -> bool:
        """Add the problem that the event opens one level more than may be open."""
        return self._refuse(event, "lists and maps are nested too deep", expected=f"≤ {MAX_DEPTH} levels")

    def _refuse(self, event: Any, message: str, **facts: Any) -> bool:
        self._problems.add(NOT_YAML, _position(event.start_mark), message, **facts)
        return False


def _scalar_value(text: str) -> Any:
    if text in _WORDS:
        return _WORDS[text]
    if INT.match(text):
        return json.loads(text) if len(text) < 1000 else text
    if FLOAT.match(text):
        number = float(text)
        return number if number - number == 0 else text
    return text
