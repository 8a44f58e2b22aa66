"""Reading JSON values of any form: a value that is not of the expected type is treated as absent; nothing raises."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

__all__ = ["PayloadEntry", "as_list", "entries", "is_object_text", "objects", "string", "turns", "value_of"]

_NOTHING: Mapping[str, Any] = {}


@dataclass(frozen=True, slots=True)
class PayloadEntry:
    """One message, item or content of a payload with its JSON pointer; empty if the value is not an object."""

    pointer: str
    value: Mapping[str, Any]


def as_list(value: Any) -> list[Any]:
    """Return the value if it is a list, else an empty list."""
    return value if isinstance(value, list) else []


def string(value: Any, *names: str) -> str | None:
    """Return the value of the first of these fields that is set, or None if it is not a text."""
    found = value_of(value, *names)
    return found if isinstance(found, str) else None


def value_of(value: Any, *names: str) -> Any:
    """Return the value of the first of these fields that is set, or None; only objects have fields."""
    if isinstance(value, dict):
        for name in names:
            found = value.get(name)
            if found is not None:
                return found
    return None


def is_object_text(text: str) -> bool:
    """Whether a text is one JSON object: not half of one, not two, not a text in a text."""
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def objects(value: Any, pointer: str) -> Iterator[PayloadEntry]:
    """Yield the objects of a list with their pointers; other values are skipped."""
    for index, item in enumerate(as_list(value)):
        if isinstance(item, dict):
            yield PayloadEntry(f"{pointer}/{index}", item)


def entries(value: Any, pointer: str = "") -> list[PayloadEntry]:
    """Return one entry for each item of a list, so that neighbours stay neighbours."""
    return [
        PayloadEntry(f"{pointer}/{index}", item if isinstance(item, dict) else _NOTHING)
        for index, item in enumerate(as_list(value))
    ]


def turns(messages: Sequence[PayloadEntry]) -> list[list[PayloadEntry]]:
    """Return messages or contents in turns: neighbours of one role make one (A7, G9)."""
    return [list(turn) for _, turn in groupby(messages, key=lambda entry: string(entry.value, "role"))]
