"""Whether two values are surely the same, as Python's `==` does not say: it takes 1, 1.0 and True for one. Pure."""

from __future__ import annotations

import marshal
import operator
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any

import msgspec
import orjson

from tpharness.targets import Packet, Reference

__all__ = ["same"]

_ATOMS = frozenset((str, bytes, int, bool, type(None)))
_PLAIN = orjson.OPT_PASSTHROUGH_SUBCLASS | orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME
_WITHOUT_REFERENCES = 2  # the version of marshal's format that writes equal values as equal bytes


def same(one: Any, other: Any) -> bool:
    """Whether two values are the same in type and content, also in the order of keys; False in doubt."""
    if one is other:
        return True
    kind = type(one)
    if kind is not type(other):
        return False
    if kind in _ATOMS or kind is Packet:
        return bool(one == other)
    if kind is tuple or kind is list:
        return len(one) == len(other) and (all(map(operator.is_, one, other)) or all(map(same, one, other)))
    if kind is dict:
        return _same_mapping(one, other)
    if kind is float:
        return repr(one) == repr(other)
    if kind is Reference:
        return True  # it has no state
    names = _names(kind)  # type: ignore[arg-type]  # a class can be hashed
    return bool(names) and all(same(getattr(one, name), getattr(other, name)) for name in names)


def _same_mapping(one: dict[Any, Any], other: dict[Any, Any]) -> bool:
    if len(one) != len(other):
        return False
    try:
        return one == other and orjson.dumps(one, option=_PLAIN) == orjson.dumps(other, option=_PLAIN)
    except (TypeError, RecursionError):  # a lone surrogate, a number beyond 64 bits, what is not JSON, or is too deep
        pass
    try:
        return marshal.dumps(one, _WITHOUT_REFERENCES) == marshal.dumps(other, _WITHOUT_REFERENCES)
    except ValueError:  # something in it is not plain data
        return all(map(same, one, other)) and all(map(same, one.values(), other.values()))


@cache
def _names(kind: type) -> tuple[str, ...]:
    """Return the fields of a record, none for any other type."""
    if is_dataclass(kind):
        return tuple(one.name for one in fields(kind))
    return kind.__struct_fields__ if issubclass(kind, msgspec.Struct) else ()
