"""`-k EXPR`: which ids an expression selects, in the syntax of pytest's option of the same name. Pure.

In: `interruptions and not (byte or recorded)`. Out: whether an id fits. A word fits if it occurs in the id, in small
or capital letters; `and`, `or`, `not` and parentheses join words.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from tpharness.errors import UsageError

__all__ = ["Keyword"]

_TOKEN = re.compile(r"\s*(?:([()])|([^\s()]+))")
_JOINS = ("and", "or", "not")
_DEEPEST = 50
_Test = Callable[[str], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Keyword:
    """An expression over ids. It is compiled when it is made: `Keyword.parse` raises UsageError for a wrong one."""

    text: str

    @classmethod
    def parse(cls, text: str) -> Keyword:
        """Return the expression. UsageError with the column where it stops making sense."""
        _Parser(text).whole()
        return cls(text=text)

    def fits(self, name: str) -> bool:
        """Whether an id fits the expression."""
        return _Parser(self.text).whole()(name.lower())


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = [(found[1] or found[2], found.start(1 if found[1] else 2)) for found in _TOKEN.finditer(text)]
        self._at = 0

    def whole(self) -> _Test:
        test = self._either(0)
        if self._peek():
            raise self._wrong("and, or, or the end")
        return test

    def _peek(self) -> str:
        return self._tokens[self._at][0] if self._at < len(self._tokens) else ""

    def _take(self, *words: str) -> bool:
        found = self._peek() in words
        self._at += found
        return found

    def _either(self, depth: int) -> _Test:
        tests = [self._both(depth)]
        while self._take("or"):
            tests.append(self._both(depth))
        return lambda name: any(test(name) for test in tests)

    def _both(self, depth: int) -> _Test:
        tests = [self._one(depth)]
        while self._take("and"):
            tests.append(self._one(depth))
        return lambda name: all(test(name) for test in tests)

    def _one(self, depth: int) -> _Test:
        if depth > _DEEPEST:
            raise UsageError(f"-k {self._text!r} is nested more than {_DEEPEST} deep", hint="name the ids instead")
        if self._take("not"):
            inner = self._one(depth + 1)
            return lambda name: not inner(name)
        if self._take("("):
            inner = self._either(depth + 1)
            if not self._take(")"):
                raise self._wrong("a closing parenthesis")
            return inner
        word = self._peek()
        if not word or word in (*_JOINS, ")"):
            raise self._wrong("a word of an id, not or an opening parenthesis")
        self._at += 1
        part = word.lower()
        return lambda name: part in name

    def _wrong(self, expected: str) -> UsageError:
        token, column = self._tokens[self._at] if self._at < len(self._tokens) else ("the end", len(self._text))
        return UsageError(
            f"-k {self._text!r} is not an expression: at column {column + 1} {expected} was expected, not {token}",
            hint="write for example -k 'interruptions and not (byte or recorded)'",
        )
