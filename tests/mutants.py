"""Mutants of real documents and streams: what a program that is nearly right, or a network, could make of them.

A mutant is made from a seed, so that a failure can be made again from the number in its message.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from typing import Any

from tests.places import places, replace_at

__all__ = ["ODD_VALUES", "mutate_bytes", "mutate_lines", "mutate_value"]

ODD_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 7, 2**53, 2**64, -(2**70), 10**400, 0.5, -0.0, 5e-324),
    *(float("nan"), float("inf"), float("-inf")),
    *("", " ", "x", "\ud83d", "\udc00\ud800", "\x00", "\u2028", "é\u0301", "a" * 5000, "__proto__", "constructor"),
    *("2025-02-30T10:00:00Z", "2025-01-20T10:00:00+99:99", "0000-00-00", "tool-return", "user", "response", "0.0.3"),
    *("data:;base64,***", "http://[::1", "sha256:", "/", "#", "{", "[1", '{"a":1,"a":2}'),
    *([], {}, [[]], [None], [7], [{}], {"": None}, {"": {"": []}}, {"a": {"b": 1}}, {"/": 1, "~": 2}),
)
"""Values that are legal in some place of some document, and in most are not."""

_TEXTS = (
    b"NaN",
    b"-Infinity",
    b"1e999",
    b"1E400",
    b"9" * 4400,
    b"-",
    b'"\\ud800"',
    b'"\\u0000"',
    b"\xff",
    b"\xef\xbb\xbf",
)
_SEPARATORS = (b"", b"\n", b"\r\n", b"\r", b"\n\n", b":", b": ", b"data:", b"event: x\n", b"id: 1\n", b"retry: 1\n")


def mutate_value(value: Any, chance: random.Random) -> bytes:
    """Return a JSON text of the value with one to three things changed: in the value, or in its text."""
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        value = chance.choice(_CHANGES)(value, chance)
    text = json.dumps(value, ensure_ascii=chance.random() < 0.5).encode("utf-8", "surrogatepass")
    return mutate_bytes(text, chance) if chance.random() < 0.15 else text


def mutate_lines(lines: Sequence[bytes], chance: random.Random, *, prefix: bytes = b"", end: bytes = b"\n") -> bytes:
    """Return a stream of lines of JSON behind `prefix`, of which some are changed, lost, doubled or moved."""
    kept = list(lines)
    for _ in range(chance.choice((1, 1, 2, 4))):
        at = chance.randrange(len(kept)) if kept else 0
        match chance.randrange(6):
            case 0:
                del kept[at : at + chance.choice((1, 1, 3))]
            case 1:
                kept[at:at] = kept[at : at + 2]
            case 2:
                kept.insert(chance.randrange(len(kept) + 1), kept.pop(at) if kept else b"")
            case 3:
                kept.insert(at, chance.choice(_SEPARATORS))
            case _ if kept and kept[at].startswith(prefix + b"{"):
                kept[at] = prefix + _mutate_text(kept[at][len(prefix) :], chance)
    data = end.join(kept) + end
    return mutate_bytes(data, chance) if chance.random() < 0.2 else data


def _mutate_text(text: bytes, chance: random.Random) -> bytes:
    try:
        return mutate_value(json.loads(text), chance)
    except ValueError:  # a change before has already spoilt it
        return mutate_bytes(text, chance)


def mutate_bytes(data: bytes, chance: random.Random) -> bytes:
    """Return the bytes with a place of them changed, cut out or written twice."""
    at = chance.randrange(len(data) + 1)
    match chance.randrange(5):
        case 0:
            return data[:at]
        case 1:
            return data[:at] + data[at + chance.choice((1, 1, 2, 30)) :]
        case 2:
            return data[:at] + bytes([chance.randrange(256)]) + data[at + 1 :]
        case 3:
            return data[:at] + chance.choice((*_TEXTS, *_SEPARATORS)) + data[at:]
        case _:
            return data[:at] + data[max(0, at - chance.choice((5, 60))) :]


def _place(value: Any, chance: random.Random) -> tuple[Any, ...]:
    return chance.choice([(), *places(value)])


def _at(value: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        value = value[step]
    return value


def _put_odd(value: Any, chance: random.Random) -> Any:
    return replace_at(value, _place(value, chance), chance.choice(ODD_VALUES))


def _put_other(value: Any, chance: random.Random) -> Any:
    """Put there what stands elsewhere in the same document: right by its type, wrong by its place."""
    return replace_at(value, _place(value, chance), _at(value, _place(value, chance)))


def _remove(value: Any, chance: random.Random) -> Any:
    path = _place(value, chance)
    if not path:
        return value
    inside = _at(value, path[:-1])
    kept = {k: v for k, v in inside.items() if k != path[-1]} if isinstance(inside, dict) else list(inside)
    if isinstance(kept, list):
        del kept[path[-1]]
    return replace_at(value, path[:-1], kept)


def _double(value: Any, chance: random.Random) -> Any:
    path = _place(value, chance)
    inside = _at(value, path[:-1])
    if not path or not isinstance(inside, list):
        return value
    at = path[-1]
    return replace_at(value, path[:-1], [*inside[:at], inside[at], *inside[at:]])


def _add(value: Any, chance: random.Random) -> Any:
    path = _place(value, chance)
    inside = _at(value, path)
    if isinstance(inside, dict):
        key = chance.choice(("", "x", "/", "type", "kind", "id", "\ud800", "seq", "__proto__", "content", "parts"))
        return replace_at(value, path, {**inside, key: chance.choice(ODD_VALUES)})
    if isinstance(inside, list):
        return replace_at(value, path, [*inside, chance.choice(ODD_VALUES)])
    return value


def _wrap(value: Any, chance: random.Random) -> Any:
    path = _place(value, chance)
    inside = _at(value, path)
    wrapped: Any = chance.choice(([inside], {"a": inside}, {"": inside}, str(inside), [inside, inside]))
    if isinstance(inside, list) and inside and chance.random() < 0.5:
        wrapped = chance.choice((inside[0], inside[::-1], inside[1:]))
    return replace_at(value, path, wrapped)


def _deepen(value: Any, chance: random.Random) -> Any:
    path = _place(value, chance)
    inside = _at(value, path)
    for _ in range(chance.choice((3, 60, 300))):
        inside = [inside]
    return replace_at(value, path, inside)


_CHANGES: tuple[Callable[[Any, random.Random], Any], ...] = (
    *(_put_odd, _put_odd, _put_odd, _put_odd, _put_other, _put_other),
    *(_remove, _remove, _double, _add, _wrap, _deepen),
)
