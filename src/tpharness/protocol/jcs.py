"""JSON canonicalisation by RFC 8785 (JCS): one value, one sequence of bytes.

A walk over the value finds the nodes that orjson would write differently: numbers, keys beyond the BMP. Only those are
written here; orjson writes the rest. Integers beyond ±(2^53−1), NaN, infinities, lone surrogates
and keys that are not strings are errors that name the place (R38). No Unicode normalisation.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

import orjson

from tpharness import protocol
from tpharness.errors import TpharnessError

__all__ = [
    "MAX_SAFE_INTEGER",
    "CanonicalError",
    "are_surely_safe",
    "has_odd_number",
    "jcs",
    "unsafe_places",
    "write_safe",
]

MAX_SAFE_INTEGER = 2**53 - 1
_PRIVATE_USE = "\ue000"  # the first character that UTF-16 and UTF-8 order differently from a surrogate pair
_SURROGATE = re.compile("[\ud800-\udfff]")
_MAX_DEPTH = 900
_LEAST_LARGE = 1e21  # from here on a whole number is written with an exponent
_SCALARS = frozenset((str, int, bool, type(None)))
_WHOLE = re.compile(rb"\.0(?:[,}\]]|\Z)")
_EXPONENT = re.compile(rb"e[+-]?[0-9]++(?:[,}\]]|\Z)")
_BELOW_PRIVATE_USE = bytes(range(_PRIVATE_USE.encode()[0]))


class CanonicalError(TpharnessError):
    """A value without a canonical form; `pointer` is the JSON pointer of the place."""

    def __init__(self, pointer: str, reason: str) -> None:
        super().__init__(f"{pointer or '(root)'}: {reason}", hint="send such values as strings (R38)")
        self.pointer = pointer
        self.reason = reason


def jcs(value: Any, *, safe: bool = False) -> bytes:
    """Return the canonical bytes of a JSON value. CanonicalError names the first place without a canonical form.

    `safe` says that every place in it is known to have one.
    """
    try:
        if safe and _is_canonical(written := orjson.dumps(value, option=orjson.OPT_SORT_KEYS)):
            return written
        return orjson.dumps(_normal(value), option=orjson.OPT_SORT_KEYS)
    except (TypeError, ValueError, AttributeError, RecursionError):  # AttributeError: a key that is not a string
        for pointer, reason in unsafe_places(value):
            raise CanonicalError(pointer, reason) from None
        return protocol.rfc8785.write_by_rfc(value).encode()


def _is_canonical(written: bytes) -> bool:
    """Whether what orjson wrote of a safe value, with its keys in order, is certainly canonical."""
    return not has_odd_number(written) and (written.isascii() or not written.translate(None, _BELOW_PRIVATE_USE))


def has_odd_number(written: bytes) -> bool:
    """Whether what orjson wrote may have a number that RFC 8785 writes otherwise: one like 2.0 or 1e-7.

    A text that has such a number before a comma or a bracket looks so, too.
    """
    return _WHOLE.search(written) is not None or _EXPONENT.search(written) is not None


def write_safe(value: Any, *, largest: float = math.inf) -> bytes | None:
    """Return the JSON of a value if every place in it certainly has a canonical form (R38), None if in doubt.

    The keys are in the order of the value. Where there is doubt, `unsafe_places` finds the places, if there are any.
    Numbers whose canonical form has an exponent are in doubt from `largest` on.
    """
    try:
        written = orjson.dumps(value, option=orjson.OPT_STRICT_INTEGER)  # refuses odd keys, surrogates, large integers
    except TypeError:
        return None
    return written if are_surely_safe([value], largest=largest) else None


def are_surely_safe(waiting: list[Any], *, largest: float = math.inf) -> bool:
    """Whether values that orjson writes certainly have canonical forms; the list is used up, `largest` as above.

    It writes numbers that are not finite and objects of Python's, too.
    """
    while waiting:
        item = waiting.pop()
        kind = type(item)
        if kind is float:
            if not (-MAX_SAFE_INTEGER <= item <= MAX_SAFE_INTEGER or _LEAST_LARGE <= abs(item) < largest):
                return False
            continue
        if kind is dict:
            item = item.values()
        elif kind in _SCALARS:
            continue
        elif kind is not list:
            return False
        for inner in item:
            if type(inner) not in _SCALARS:
                waiting.append(inner)  # noqa: PERF401  # a comprehension is a call for every list, most of them short
    return True


def unsafe_places(value: Any) -> Iterator[tuple[str, str]]:
    """Yield pointer and reason of every place without a canonical form (R38), however deep the value is nested.

    In the order of the document, an object's keys before what is in it. Linear: pointers are made for what is yielded.
    """
    waiting: list[Iterator[tuple[Any, Any]]] = [iter([(None, value)])]
    path: list[Any] = []  # the steps to what the last iterator goes through; the first is the document itself
    while waiting:
        for step, item in waiting[-1]:
            kind = type(item)
            if (kind is str and item.isascii()) or (kind is int and -MAX_SAFE_INTEGER <= item <= MAX_SAFE_INTEGER):
                continue  # nearly everything there is, without a call
            if not isinstance(item, dict | list | tuple):
                reason = _unsafe_scalar(item)
                if reason:
                    yield _pointer([*path, step]), reason
            elif len(path) > _MAX_DEPTH:
                yield _pointer([*path, step]), "the value is nested too deeply"
            else:
                if isinstance(item, dict):
                    yield from ((_pointer([*path, step]), reason) for reason in _unsafe_keys(item))
                path.append(step)
                waiting.append(iter(item.items() if isinstance(item, dict) else enumerate(item)))
                break
        else:
            waiting.pop()
            if path:
                path.pop()


def _unsafe_keys(value: dict[Any, Any]) -> Iterator[str]:
    for key in value:
        if not isinstance(key, str):
            yield f"the key {key!r} is not a string"
        elif not key.isascii() and _SURROGATE.search(key):
            yield "a key has a lone surrogate"


def _pointer(steps: list[Any]) -> str:
    """Return the JSON pointer of a place; the first step is the document itself."""
    return "".join(f"/{escape(str(step))}" for step in steps[1:])


def _unsafe_scalar(value: Any) -> str:
    """Return why a value without inner values has no canonical form, or "" if it has one."""
    match value:
        case str() if not value.isascii() and _SURROGATE.search(value):
            return "the text has a lone surrogate"
        case None | bool() | str():
            return ""
        case int() if not -MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER:
            shown = str(value) if abs(value) < 10**40 else "of more than 40 digits"
            return f"the integer {shown} is beyond ±(2^53−1)"
        case float() if not math.isfinite(value):
            return f"{value} is not a JSON number"
        case float() if MAX_SAFE_INTEGER < abs(value) < _LEAST_LARGE:  # written as an integer, and read back as one
            return f"the number {value:.6g} is an integer beyond ±(2^53−1)"
        case int() | float():
            return ""
    return f"{type(value).__name__} is not a JSON value"


def escape(key: str) -> str:
    """Escape a key for a JSON pointer (RFC 6901)."""
    return key.replace("~", "~0").replace("/", "~1")


def _normal(value: Any) -> Any:
    """Return the value with the nodes that orjson would write differently replaced, or the value itself."""
    kind = type(value)
    if kind is dict:
        return _normal_dict(value)
    if kind is list:
        out: list[Any] | None = None
        for index, item in enumerate(value):
            kind = type(item)
            if kind is str or (kind is int and -MAX_SAFE_INTEGER <= item <= MAX_SAFE_INTEGER):
                continue  # nearly all there is, without a call
            normal = _normal(item)
            if normal is not item:
                if out is None:
                    out = value.copy()
                out[index] = normal
        return value if out is None else out
    if kind is str or value is None or kind is bool:
        return value
    if kind is int:
        if -MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER:
            return value
        raise ValueError
    if kind is float:
        return _normal_float(value)
    if isinstance(value, dict):
        return _normal_dict(dict(value))
    if isinstance(value, tuple):
        return _normal(list(value))
    raise TypeError


def _normal_dict(value: dict[str, Any]) -> Any:
    out: dict[str, Any] | None = None
    odd = False
    for key, item in value.items():
        if not key.isascii() and max(key) >= _PRIVATE_USE:
            odd = True
        kind = type(item)
        if kind is str or (kind is int and -MAX_SAFE_INTEGER <= item <= MAX_SAFE_INTEGER):
            continue
        normal = _normal(item)
        if normal is not item:
            if out is None:
                out = value.copy()
            out[key] = normal
    if odd:
        return orjson.Fragment(protocol.rfc8785.write_by_rfc(value))
    return value if out is None else out


def _normal_float(value: float) -> Any:
    # Between these bounds both write the shortest digits in the same form, unless the value is a whole number.
    if 1e-5 <= value < 1e15 or -1e15 < value <= -1e-5:
        return int(value) if value.is_integer() else value
    if not math.isfinite(value):
        raise ValueError
    return orjson.Fragment(protocol.rfc8785.es_number(value))
