"""The value of JSON text that has not all come, as the AI SDK shows the input of a call while it streams.

In: text. Out: its value as far as it can be read: a string ends where the text does, a number has its digits so far,
a word is completed, and a field without a value is left out. Held to the package's `parsePartialJson`, which differs
for a minus without digits and for an exponent with a plus sign.
"""

from __future__ import annotations

import json
import re
from typing import Any

__all__ = ["NOTHING", "parse_partial_json"]

NOTHING = object()
"""The value of a text that says nothing yet, or that is not JSON."""

_SPACES = tuple(" \t\n\r")
_STRING = re.compile(r'"((?:[^"\\]|\\(?:u[0-9a-fA-F]{4}|[^u]))*)("?)')
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
_WORDS = {"true": True, "false": False, "null": None}


def parse_partial_json(text: str) -> Any:
    """Return the value of a text or of the beginning of one; NOTHING if there is none."""
    try:
        return json.loads(text)
    except ValueError:
        return _Reader(text).value()
    except RecursionError:
        return NOTHING


class _Reader:
    """Reads a text from its beginning; past its end every value is NOTHING."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def value(self) -> Any:
        match self._next():
            case "{":
                return self._object()
            case "[":
                return self._array()
            case '"':
                return self._string()[0]
            case "":
                return NOTHING
            case char if char in "-0123456789":
                return self._number()
        return self._word()

    def _next(self) -> str:
        """Return the next character that is not white space, which is not taken yet; "" at the end."""
        while self._text[self._at : self._at + 1] in _SPACES:
            self._at += 1
        return self._text[self._at : self._at + 1]

    def _object(self) -> dict[str, Any]:
        self._at += 1
        fields: dict[str, Any] = {}
        while self._next() not in ("}", ""):
            name, ended = self._string()
            if not ended or self._next() == "":
                return fields
            self._take(":")
            value = self.value()
            if value is not NOTHING:
                fields[name] = value
            if self._next() not in ("}", ""):
                self._take(",")
        self._at += 1
        return fields

    def _array(self) -> list[Any]:
        self._at += 1
        items: list[Any] = []
        while self._next() not in ("]", ""):
            item = self.value()
            if item is not NOTHING:
                items.append(item)
            if self._next() not in ("]", ""):
                self._take(",")
        self._at += 1
        return items

    def _take(self, char: str) -> None:
        """Take a character; where there is another one, the text ends for the reader."""
        self._at = self._at + 1 if self._next() == char else len(self._text)

    def _string(self) -> tuple[str, bool]:
        """Return a string, and whether its end has come; half an escape at the end is left out."""
        found = _STRING.match(self._text, self._at)
        if found is None:
            self._at = len(self._text)
            return "", False
        self._at = found.end() if found[2] else len(self._text)
        return json.loads(f'"{found[1]}"'), bool(found[2])

    def _number(self) -> Any:
        found = _NUMBER.match(self._text, self._at)
        if found is None:
            self._at = len(self._text)
            return NOTHING
        self._at = found.end()
        if not self._text[self._at :].strip("+-.eE"):
            self._at = len(self._text)
        return json.loads(found[0])

    def _word(self) -> Any:
        rest = self._text[self._at :]
        for word, value in _WORDS.items():
            if rest.startswith(word) or word.startswith(rest):
                self._at += len(word)
                return value
        self._at = len(self._text)
        return NOTHING
