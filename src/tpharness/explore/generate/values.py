"""The small values that generated cases are made of: texts, JSON values, names. Simple ones first, odd ones behind."""

from __future__ import annotations

from typing import Any

from tpharness.explore.generate.source import Source, many, one_of

__all__ = ["REASONS", "TOOLS", "json_value", "object_value", "text"]

TEXTS = (
    "a",
    "Hello",
    "It rains in Paris.",
    "",
    " ",
    "two\nlines\r\n",
    'quotes " and \\ slashes',
    "é",
    "e\u0301",
    "日本語",
    "🚀",
    "👩\u200d👩\u200d👧",
    "\u2028\u2029\u0085",
    "\ufeff",
    "\u0000\u001f\u007f",
    "\u202eabc",
    "data: x\n\n",
    "[DONE]",
    "null",
    "1e400",
    "yes",
    "x" * 300,
)
REASONS = ("network_failure", "user_cancelled", "timeout", "error", "safety_halt")
TOOLS = ("look", "get_weather", "búsqueda")
_SCALARS: tuple[Any, ...] = (
    0,
    None,
    True,
    False,
    1,
    -1,
    9007199254740991,
    -9007199254740991,
    0.5,
    -0.0,
    1e-7,
    1e21,
    5e-324,
    1.7976931348623157e308,
    *TEXTS,
)
_KEYS = ("a", "b", "", "é", "\ue000", "🚀", "toJSON", "__proto__", "1")


def text(source: Source) -> str:
    """Return a text."""
    return one_of(source, TEXTS)


def json_value(source: Source, depth: int = 2) -> Any:
    """Return a JSON value that has a canonical form, at most so deep."""
    kind = source.number(0, 5) if depth else 0
    if kind <= 3:
        return one_of(source, _SCALARS)
    if kind == 4:
        return [json_value(source, depth - 1) for _ in many(source, 0, 3)]
    return object_value(source, depth - 1)


def object_value(source: Source, depth: int = 1) -> dict[str, Any]:
    """Return a JSON object that has a canonical form."""
    return {one_of(source, _KEYS): json_value(source, depth) for _ in many(source, 0, 3)}
