"""What RFC 8785 writes otherwise than orjson: numbers, keys beyond the BMP, and what is nested deeper than it goes.

In: a value that has a canonical form. Out: text. It is loaded where there is such a value.
"""

from __future__ import annotations

import json
from typing import Any

__all__ = ["es_number", "write_by_rfc"]


def es_number(number: float) -> str:
    """Write a finite double as ECMAScript's `Number::toString` does, which RFC 8785 asks for."""
    if number == 0:
        return "0"  # also for -0
    sign = "-" if number < 0 else ""
    mantissa, _, exponent = repr(abs(number)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    fraction = "" if fraction == "0" else fraction
    digits = (whole + fraction).lstrip("0")
    # The value is 0.digits × 10^point.
    leading = len(whole + fraction) - len((whole + fraction).lstrip("0"))
    point = len(whole) - leading + int(exponent or 0)
    digits = digits.rstrip("0")
    count = len(digits)
    if count <= point <= 21:
        text = digits + "0" * (point - count)
    elif 0 < point <= 21:
        text = f"{digits[:point]}.{digits[point:]}"
    elif -6 < point <= 0:
        text = "0." + "0" * -point + digits
    else:
        power = point - 1
        head = digits if count == 1 else f"{digits[0]}.{digits[1:]}"
        text = f"{head}e{'+' if power > 0 else '-'}{abs(power)}"
    return sign + text


def write_by_rfc(value: Any) -> str:
    """Write a value by the RFC without recursion: slow, but orjson stops at 254 levels."""
    out: list[str] = []
    waiting: list[tuple[bool, Any]] = [(False, value)]
    while waiting:
        literal, item = waiting.pop()
        if literal:
            out.append(item)
            continue
        match item:
            case dict():
                keys = sorted(item, key=lambda key: key.encode("utf-16-be", "surrogatepass"))
                waiting.append((True, "}"))
                for index in range(len(keys) - 1, -1, -1):
                    comma = "," if index else ""
                    waiting += [(False, item[keys[index]]), (True, f"{comma}{_write_scalar(keys[index])}:")]
                waiting.append((True, "{"))
            case list() | tuple():
                waiting.append((True, "]"))
                for index in range(len(item) - 1, -1, -1):
                    waiting += [(False, item[index]), (True, "," if index else "")]
                waiting.append((True, "["))
            case _:
                out.append(_write_scalar(item))
    return "".join(out)


def _write_scalar(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return json.dumps(value, ensure_ascii=False)
        case int():
            return str(value)
        case float():
            return es_number(value)
        case _:
            raise TypeError(type(value).__name__)
