"""The value of JSON text that is still streaming, as the AI SDK's client shows the arguments of an unfinished call.

In: the text so far. Out: the value of its longest usable beginning, with what is open closed. The reader goes through
the text with a stack of states, as the package's `fixJson` does, so that it also finds the same in text that is not
JSON.
"""

from __future__ import annotations

import json
import re
from enum import Enum, auto
from typing import Any

__all__ = ["NOTHING", "parse_partial_json"]

NOTHING = object()
"""What `parse_partial_json` returns for a text without any value yet, where JavaScript says `undefined`."""


class _State(Enum):
    """What the next character belongs to."""

    ROOT = auto()
    FINISHED = auto()
    STRING = auto()
    ESCAPE = auto()
    HEX_DIGITS = auto()
    NUMBER = auto()
    WORD = auto()
    OBJECT_START = auto()
    NAME = auto()
    AFTER_NAME = auto()
    BEFORE_VALUE = auto()
    AFTER_FIELD = auto()
    AFTER_FIELD_COMMA = auto()
    ARRAY_START = auto()
    AFTER_ITEM = auto()
    AFTER_ITEM_COMMA = auto()


_S = _State
_NEXT = {
    (_S.OBJECT_START, '"'): _S.NAME,
    (_S.NAME, '"'): _S.AFTER_NAME,
    (_S.AFTER_NAME, ":"): _S.BEFORE_VALUE,
    (_S.AFTER_FIELD, ","): _S.AFTER_FIELD_COMMA,
    (_S.AFTER_FIELD_COMMA, '"'): _S.NAME,
    (_S.AFTER_ITEM, ","): _S.AFTER_ITEM_COMMA,
}
_ENDS = {(_S.OBJECT_START, "}"), (_S.AFTER_FIELD, "}"), (_S.ARRAY_START, "]"), (_S.AFTER_ITEM, "]"), (_S.STRING, '"')}
_AFTER_VALUE = {
    _S.ROOT: _S.FINISHED,
    _S.BEFORE_VALUE: _S.AFTER_FIELD,
    _S.ARRAY_START: _S.AFTER_ITEM,
    _S.AFTER_ITEM_COMMA: _S.AFTER_ITEM,
}
_VALUES = {
    '"': _S.STRING,
    "{": _S.OBJECT_START,
    "[": _S.ARRAY_START,
    **dict.fromkeys("tfn", _S.WORD),
    **dict.fromkeys("-0123456789", _S.NUMBER),
}
_WORDS = ("true", "false", "null")
_CLOSING = {
    _S.STRING: '"',
    **dict.fromkeys(
        (_S.OBJECT_START, _S.NAME, _S.AFTER_NAME, _S.BEFORE_VALUE, _S.AFTER_FIELD, _S.AFTER_FIELD_COMMA), "}"
    ),
    **dict.fromkeys((_S.ARRAY_START, _S.AFTER_ITEM, _S.AFTER_ITEM_COMMA), "]"),
}
_PLAIN = re.compile(r'[^"\\]+')


def parse_partial_json(text: str) -> Any:
    """Return the value of a JSON text that may stop anywhere; `NOTHING` where there is none or the text is not JSON."""
    for whole in (text, None):
        try:
            return json.loads(_close(text) if whole is None else whole, parse_constant=_refuse)
        except (ValueError, RecursionError):
            pass
    return NOTHING


def _refuse(word: str) -> None:
    raise ValueError(f"{word} is not JSON")


def _close(text: str) -> str:
    """Return the longest usable beginning of the text, with its strings, words and containers closed."""
    reader = _Reader(text)
    place = 0
    while place < len(text):
        plain = _PLAIN.match(text, place) if reader.stack[-1] in (_S.STRING, _S.NAME) else None
        if plain is None:
            reader.take(text[place], place)
            place += 1
        else:
            place = plain.end()
            if reader.stack[-1] is _S.STRING:
                reader.kept = place
    return text[: reader.kept] + reader.closing()


class _Reader:
    """Reads a text character by character: `kept` is the end of its usable beginning, `stack` what is open there."""

    def __init__(self, text: str) -> None:
        self.stack = [_S.ROOT]
        self.kept = 0
        self._text = text
        self._word = 0
        self._digits = 0

    def take(self, char: str, place: int) -> None:
        match self.stack[-1]:
            case _S.ESCAPE:
                self.stack.pop()
                if char == "u":
                    self.stack.append(_S.HEX_DIGITS)
                    self._digits = 0
                else:
                    self.kept = place + 1
            case _S.HEX_DIGITS:
                self._digits += char in "0123456789abcdefABCDEF"
                if self._digits == 4:
                    self.stack.pop()
                    self.kept = place + 1
            case _S.STRING if char == "\\":
                self.stack.append(_S.ESCAPE)
            case _S.NUMBER if char in "0123456789":
                self.kept = place + 1
            case _S.NUMBER if char in "eE-.":
                pass
            case _S.WORD if self._begins_word(place + 1):
                self.kept = place + 1
            case _S.NUMBER | _S.WORD:
                self.stack.pop()
                self._step(char, place)
            case state if self._step(char, place):
                pass
            case state if state in _AFTER_VALUE:
                self._begin_value(state, char, place)
            case _S.AFTER_ITEM:
                self.kept = place + 1

    def closing(self) -> str:
        """Return what closes everything that is open."""
        word = self._text[self._word :]
        rest = next((each[len(word) :] for each in _WORDS if each.startswith(word)), "")
        return "".join(rest if state is _S.WORD else _CLOSING.get(state, "") for state in reversed(self.stack))

    def _step(self, char: str, place: int) -> bool:
        """Go on from the innermost state; return whether the character belongs there."""
        state = self.stack[-1]
        if (state, char) in _ENDS:
            self.stack.pop()
            self.kept = place + 1
        elif (state, char) in _NEXT:
            self.stack[-1] = _NEXT[state, char]
        else:
            return False
        return True

    def _begin_value(self, state: _State, char: str, place: int) -> None:
        if char in _VALUES:
            self.stack[-1:] = [_AFTER_VALUE[state], _VALUES[char]]
            self._word = place
            if char != "-":
                self.kept = place + 1

    def _begins_word(self, end: int) -> bool:
        return any(each.startswith(self._text[self._word : end]) for each in _WORDS)
