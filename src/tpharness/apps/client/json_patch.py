"""JSON Patch (RFC 6902), as an AG-UI client applies it: all operations, or none. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

__all__ = ["PatchError", "patched"]


class PatchError(ValueError):
    """An operation cannot be applied; nothing of the patch counts."""


def patched(value: Any, operations: Sequence[Mapping[str, Any]]) -> Any:
    """Return a copy of a JSON value with all operations applied. PatchError names the one that does not fit."""
    holder = {"": deepcopy(value)}
    for number, operation in enumerate(operations, 1):
        try:
            _apply(holder, operation)
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise PatchError(f"operation {number} cannot be applied: {error}") from error
    return holder[""]


def _apply(holder: dict[str, Any], operation: Mapping[str, Any]) -> None:
    kind, path = operation["op"], _keys(operation["path"])
    match kind:
        case "add":
            _add(holder, path, deepcopy(operation["value"]))
        case "replace":
            _get(holder, path)
            _set(holder, path, deepcopy(operation["value"]))
        case "remove":
            _take(holder, path)
        case "move":
            _add(holder, path, _take(holder, _keys(operation["from"])))
        case "copy":
            _add(holder, path, deepcopy(_get(holder, _keys(operation["from"]))))
        case "test":
            if _get(holder, path) != operation["value"]:
                raise ValueError(f"{operation['path']} has another value")
        case _:
            raise ValueError(f"there is no operation {kind!r}")


def _keys(pointer: str) -> list[str]:
    """Return the keys of a JSON pointer below the holder of the whole value."""
    if pointer and not pointer.startswith("/"):
        raise ValueError(f"{pointer!r} is not a JSON pointer")
    return [key.replace("~1", "/").replace("~0", "~") for key in pointer.split("/")]


def _get(value: Any, keys: Sequence[str]) -> Any:
    for key in keys:
        value = value[_index(value, key)] if isinstance(value, list) else value[key]
    return value


def _index(values: list[Any], key: str, *, end: int = 0) -> int:
    if not key.isdecimal() or int(key) >= len(values) + end:
        raise IndexError(f"{key!r} is not a place in a list of {len(values)}")
    return int(key)


def _add(holder: dict[str, Any], keys: Sequence[str], value: Any) -> None:
    parent = _get(holder, keys[:-1])
    if isinstance(parent, list):
        parent.insert(len(parent) if keys[-1] == "-" else _index(parent, keys[-1], end=1), value)
    else:
        _set(holder, keys, value)


def _set(holder: dict[str, Any], keys: Sequence[str], value: Any) -> None:
    parent = _get(holder, keys[:-1])
    if isinstance(parent, list):
        parent[_index(parent, keys[-1])] = value
    elif isinstance(parent, dict):
        parent[keys[-1]] = value
    else:
        raise TypeError(f"{keys[-1]!r} has no parent")


def _take(holder: dict[str, Any], keys: Sequence[str]) -> Any:
    parent = _get(holder, keys[:-1])
    return parent.pop(_index(parent, keys[-1]) if isinstance(parent, list) else keys[-1])
