"""The value of a JSON text that is still streaming, as the AI SDK's client shows the arguments of an unfinished call.

In: the text so far. Out: the value of the text with what is open closed, and what is unusable dropped.
"""

from __future__ import annotations

import json
import re
from typing import Any

__all__ = ["NOTHING", "parse_partial_json"]

NOTHING = object()
"""What `parse_partial_json` returns for a text without any value yet, where JavaScript says `undefined`."""

_STRING = re.compile(r'"(?:[^"\\]|\\u[0-9a-fA-F]{4}|\\[^u])*')
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
_NUMBER_SIGNS = re.compile(r"[-+.eE\d]+")
_WORD = re.compile(r"[a-z]+")
_WORDS = ("true", "false", "null")
_SPACE = re.compile(r"[ \t\n\r]*")


def parse_partial_json(text: str) -> Any:
    """Return the value of a JSON text that may stop anywhere; `NOTHING` where there is none or the text is not JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    try:
        return json.loads(_close(text))
    except (ValueError, RecursionError):
        return NOTHING


def _close(text: str) -> str:
    """Return the longest usable beginning of the text, with its strings, literals and containers closed."""
    open_: list[str] = []  # the closing signs that are owed, outermost first
    kept, tail = 0, ""  # the end of the usable beginning, and what closes it
    place, key = 0, False  # `key`: a string that begins here is the name of a field

    def keep(end: int, literal: str = "") -> None:
        nonlocal kept, tail
        kept, tail = end, literal + "".join(reversed(open_))

    while place < len(text):
        place = _end_of(_SPACE, text, place)
        sign = text[place : place + 1]
        if sign == '"':
            end = _end_of(_STRING, text, place)
            closed = text[end : end + 1] == '"'
            if not key:
                keep(end + closed, "" if closed else '"')
            if not closed:
                break
            place = end + 1
        elif sign in ("{", "["):
            open_.append("}" if sign == "{" else "]")
            place, key = place + 1, sign == "{"
            keep(place)
        elif sign in ("}", "]"):
            if not open_ or open_.pop() != sign:
                break
            place, key = place + 1, False
            keep(place)
        elif sign in (":", ","):
            key = sign == "," and bool(open_) and open_[-1] == "}"
            place += 1
        elif number := _NUMBER.match(text, place):
            keep(number.end())
            place = _end_of(_NUMBER_SIGNS, text, place)
        elif word := _WORD.match(text, place):
            whole = next((each for each in _WORDS if each.startswith(word[0])), "")
            if not whole:
                break
            keep(word.end(), whole[len(word[0]) :])
            place = word.end()
        else:
            break
    return text[:kept] + tail


def _end_of(pattern: re.Pattern[str], text: str, place: int) -> int:
    found = pattern.match(text, place)
    return found.end() if found else place
