"""Reading JSON values that may have any shape: what is not as expected reads as absent, and nothing raises."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["PayloadEntry", "entries", "listed", "objects", "string", "value_of"]

_NOTHING: Mapping[str, Any] = {}


@dataclass(frozen=True, slots=True)
class PayloadEntry:
    """One message, item or content of a payload with its JSON pointer; empty where the payload holds no object."""

    pointer: str
    value: Mapping[str, Any]


def listed(value: Any) -> list[Any]:
    """Return a list as it is, anything else as an empty one."""
    return value if isinstance(value, list) else []


def string(value: Any, *names: str) -> str | None:
    """Return the text under the first of these names that is there, None where there is no text."""
    found = value_of(value, *names)
    return found if isinstance(found, str) else None


def value_of(value: Any, *names: str) -> Any:
    """Return what stands under the first of these names that is there; None when there is nothing or no object."""
    if isinstance(value, Mapping):
        for name in names:
            if value.get(name) is not None:
                return value[name]
    return None


def objects(value: Any, pointer: str) -> Iterator[PayloadEntry]:
    """Yield the objects of a list with their pointers; other items and other values are passed over."""
    for index, item in enumerate(listed(value)):
        if isinstance(item, Mapping):
            yield PayloadEntry(f"{pointer}/{index}", item)


def entries(value: Any, pointer: str = "") -> list[PayloadEntry]:
    """Return one entry for each item of a list, so that what stands next to what stays true."""
    return [
        PayloadEntry(f"{pointer}/{index}", item if isinstance(item, Mapping) else _NOTHING)
        for index, item in enumerate(listed(value))
    ]
