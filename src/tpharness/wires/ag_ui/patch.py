"""JSON Patch (RFC 6902) and JSON Pointer (RFC 6901), on values that are never changed.

Our own, since the libraries that there are compare values as Python does, where `true` equals 1, and change the
document that they are given: a failed patch has to leave it as it was (rule 63).
"""

from __future__ import annotations

import re
from typing import Any

from tpharness.findings import shorten

__all__ = ["OPERATIONS", "PatchError", "apply_patch", "malformed_operation"]

OPERATIONS: dict[str, tuple[str, ...]] = {
    "add": ("value",),
    "remove": (),
    "replace": ("value",),
    "move": ("from",),
    "copy": ("from",),
    "test": ("value",),
}
"""Each operation with the members that it needs besides `op` and `path`."""

_INDEX = re.compile(r"0|[1-9][0-9]{0,15}")
_BAD_ESCAPE = re.compile(r"~(?![01])")


class PatchError(Exception):
    """A patch does not apply: which operation, and why."""


def malformed_operation(operation: Any) -> str | None:
    """Return what is wrong with the form of an operation; None if nothing is, or if it is not one of RFC 6902."""
    if not isinstance(operation, dict):
        return "an operation is not an object"
    name = operation.get("op")
    if not isinstance(name, str):
        return "op is not a string" if "op" in operation else "an operation does not have op"
    if name not in OPERATIONS:
        return None
    for member in ("path", *(one for one in OPERATIONS[name] if one == "from")):
        value = operation.get(member)
        if not isinstance(value, str):
            return f"{name}: {member} is not a string" if member in operation else f"{name} does not have {member}"
        if (value and not value.startswith("/")) or _BAD_ESCAPE.search(value):
            return f"{name}: {member} {shorten(value, 40)!r} is not a JSON pointer"
    if "value" in OPERATIONS[name] and "value" not in operation:
        return f"{name} does not have value"
    return None


def apply_patch(document: Any, patch: list[dict[str, Any]]) -> Any:
    """Return the document as the operations leave it. PatchError names the first that does not apply.

    Operations whose `op` RFC 6902 does not define are left out.
    """
    for index, operation in enumerate(patch):
        if operation["op"] not in OPERATIONS:
            continue
        try:
            document = _apply(document, operation)
        except PatchError as error:
            raise PatchError(
                f"operation {index}, {operation['op']} {shorten(operation['path'], 60)!r}: {error}"
            ) from None
    return document


def _apply(document: Any, operation: dict[str, Any]) -> Any:
    path = _tokens(operation["path"])
    match operation["op"]:
        case "add":
            return _put(document, path, operation["value"], insert=True)
        case "remove":
            return _remove(document, path)
        case "replace":
            _get(document, path)
            return _put(document, path, operation["value"], insert=False)
        case "copy":
            return _put(document, path, _get(document, _tokens(operation["from"])), insert=True)
        case "move":
            source = _tokens(operation["from"])
            value = _get(document, source)
            if path[: len(source)] == source and len(path) > len(source):
                raise PatchError("a value cannot be moved into itself")
            return value if not path else _put(_remove(document, source), path, value, insert=True)
    if not _equal(_get(document, path), operation["value"]):
        raise PatchError("the value is another one")
    return document


def _tokens(pointer: str) -> list[str]:
    return [token.replace("~1", "/").replace("~0", "~") for token in pointer.split("/")[1:]]


def _get(document: Any, path: list[str]) -> Any:
    for token in path:
        document = document[_key(document, token, end=False)]
    return document


def _key(value: Any, token: str, *, end: bool) -> Any:
    """Return where a token leads in a value: an existing member, or with `end` also behind the last element."""
    if isinstance(value, dict):
        if token in value:
            return token
        raise PatchError(f"there is no member {shorten(token, 40)!r}")
    if not isinstance(value, list):
        raise PatchError(f"the value does not have members, so there is no {shorten(token, 40)!r}")
    if end and token == "-":  # noqa: S105  # behind the last element
        return len(value)
    if not _INDEX.fullmatch(token):
        raise PatchError(f"{shorten(token, 40)!r} is not an index")
    index = int(token)
    if index > len(value) - (not end):
        raise PatchError(f"there is no element {index}")
    return index


def _put(document: Any, path: list[str], value: Any, *, insert: bool) -> Any:
    if not path:
        return value
    token, rest = path[0], path[1:]
    if rest:
        key = _key(document, token, end=False)
        return _with(document, key, _put(document[key], rest, value, insert=insert))
    if isinstance(document, dict):
        return {**document, token: value}
    key = _key(document, token, end=insert)
    return [*document[:key], value, *document[key:]] if insert else _with(document, key, value)


def _remove(document: Any, path: list[str]) -> Any:
    if not path:
        return None  # RFC 6902 does not say what is left; AG-UI's own client holds null
    key = _key(document, path[0], end=False)
    if len(path) > 1:
        return _with(document, key, _remove(document[key], path[1:]))
    if isinstance(document, dict):
        return {name: value for name, value in document.items() if name != key}
    return [*document[:key], *document[key + 1 :]]


def _with(document: Any, key: Any, value: Any) -> Any:
    if isinstance(document, dict):
        return {**document, key: value}
    return [*document[:key], value, *document[key + 1 :]]


def _equal(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal: numbers by value, and `true` is not a number."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_equal(value, other[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_equal, one, other))
    return bool(one == other) and type(one).__name__ in _comparable(other)


def _comparable(value: Any) -> tuple[str, ...]:
    return ("int", "float") if isinstance(value, int | float) else (type(value).__name__,)
