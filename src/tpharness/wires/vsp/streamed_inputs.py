"""Whether the input of a call is what its deltas said, as a value and not as its JSON text (R12).

In: the input of a `tool-input-available`, and the text of the deltas before it. Out: what is wrong with it, or nothing.
Equal is what JSON calls equal: keys in any order, 1 and 1.0, and numbers as JavaScript reads them, which rounds long
ones. Deltas that are not a JSON object are not judged: what a server makes of such a text is its own affair.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import orjson

from tpharness.facts import join_text, parse_tool_args
from tpharness.wires.vsp import violations as v

__all__ = ["judge_input"]


def judge_input(call_id: str, value: Any, deltas: list[str], report: Callable[..., None]) -> None:
    """Report an input that is the text of its value, or another value than that of its deltas."""
    text = join_text(deltas)
    with suppress(TypeError, ValueError):  # what native code does not write
        if orjson.dumps(value) == text.encode():  # as on most streams, so that nothing has to be read
            return
    streamed = parse_tool_args(text)
    if isinstance(value, str) and isinstance(parse_tool_args(value), dict):
        if value != streamed:  # a model that wrote a JSON string with an object in it has its string
            report(v.INPUT_IN_TEXT, f"the input of {call_id!r} is a text that holds a JSON object", got=value)
    elif isinstance(streamed, dict):
        try:
            difference = None if repr(streamed) == repr(value) else _first_difference(streamed, value, "")
        except RecursionError:  # deeper than anything that is stored
            return
        if difference is not None:
            place, said, given = difference
            where = f" at {place}" if place else ""
            message = f"the input of {call_id!r} differs{where} from its deltas"
            report(v.INPUT_DIFFERS, message, got=given, expected=said)


def _first_difference(said: Any, given: Any, place: str) -> tuple[str, Any, Any] | None:
    """Return the first place where two JSON values differ, with what stands there in each."""
    if isinstance(said, dict) and isinstance(given, dict):
        for key in said | given:
            if key not in given or key not in said:
                return f"{place}/{key}", said.get(key, "(absent)"), given.get(key, "(absent)")
            if (inside := _first_difference(said[key], given[key], f"{place}/{key}")) is not None:
                return inside
        return None
    if isinstance(said, list) and isinstance(given, list) and len(said) == len(given):
        pairs = enumerate(zip(said, given, strict=True))
        found = (_first_difference(one, other, f"{place}/{index}") for index, (one, other) in pairs)
        return next((difference for difference in found if difference is not None), None)
    return None if _same_atom(said, given) else (place, said, given)


def _same_atom(said: Any, given: Any) -> bool:
    if not {type(said), type(given)} <= {int, float}:
        return type(said) is type(given) and bool(said == given)
    try:
        return float(said) == float(given)
    except OverflowError:  # an integer that JavaScript has no number for
        return bool(said == given)
