"""Threads that share what they have in common, as tables of JSON values.

In: many threads of one case, each a little longer than the one before. Out: numbers for them, and tables from which a
page builds them again. A list is stored as a chain, so that a list that grew by one item costs one entry:

    values   any JSON value: a message, a part, the fields of a turn without its messages
    chains   [previous chain, value]; chain 0 is the empty list
    turns    [fields (a value), messages (a chain), or -1 for a turn that has none]
    lists    [previous list, turn]; list 0 is the empty list of turns
    threads  [other fields (a value), updated_at, turns (a list)]
    texts    what open parts said; a text that grew replaces the one before, so that a reader takes a prefix of it
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

import orjson

from tpharness.facts import join_text
from tpharness.journal import OpenPart, Part

__all__ = ["Tables", "compact_json", "element_json", "json_bytes"]


class _Table:
    """Entries without repetitions, numbered from 0."""

    def __init__(self, *first: Any) -> None:
        self.entries: list[Any] = list(first)
        self._numbers: dict[Hashable, int] = {}

    def add(self, key: Hashable, entry: Any) -> int:
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self.entries)
            self.entries.append(entry)
        return number


@dataclass(slots=True)
class _OpenText:
    """The text of a part that is open: its number, and its length in UTF-16 units as far as it has been measured."""

    part: OpenPart
    number: int
    units: int = 0
    pieces: int = 0
    joined: int = 0

    def measure(self) -> int:
        """Return its length; all of it is measured again when the writer has joined pieces, which is seldom."""
        if self.joined != self.part.joined:
            self.units, self.pieces, self.joined = 0, 0, self.part.joined
        self.units += sum(map(_units, self.part.pieces[self.pieces :]))
        self.pieces = len(self.part.pieces)
        return self.units


@dataclass(slots=True)
class _Grown:
    """The parts of a response: their entries, and how many at its beginning are complete, so that they stay."""

    numbers: list[int] = field(default_factory=list)
    done: int = 0
    last: Part | OpenPart | None = None

    def begins(self, parts: Sequence[Part | OpenPart]) -> bool:
        """Whether the response begins with the parts that are complete: it may be another one in its place."""
        return not self.done or (len(parts) >= self.done and parts[self.done - 1] is self.last)

    def count(self, parts: Sequence[Part | OpenPart]) -> None:
        while self.done < len(parts) and parts[self.done].complete:
            self.done += 1
        self.last = parts[self.done - 1] if self.done else None


class Tables:
    """The tables of one timeline."""

    def __init__(self) -> None:
        self._values, self._chains, self._turns = _Table(), _Table(None), _Table()
        self._lists, self._threads = _Table(None), _Table()
        self._texts: list[str] = []
        self._known: dict[int, tuple[Any, int]] = {}  # by identity; the value is kept, so that its id stays its own
        self._last: dict[str, tuple[Sequence[Any], list[int]]] = {}
        self._text_numbers: dict[Hashable, int] = {}
        self._said: dict[Hashable, tuple[str, list[int]]] = {}
        self._open: dict[Hashable, _OpenText] = {}
        self._grown: dict[Hashable, _Grown] = {}

    def value(self, value: Any) -> int:
        """Return the number of a value. A value must not be changed afterwards."""
        known = self._known.get(id(value))
        if known is not None and known[0] is value:
            return known[1]
        number = self._values.add(compact_json(value, sort_keys=True), value)
        if isinstance(value, dict):
            self._known[id(value)] = (value, number)
        return number

    def thread(self, thread: Mapping[str, Any], side: str, *, folded: bool = False) -> int:
        """Return the number of a thread; the threads of one side are given in the order in which it grew.

        `folded` threads are of one fold: where a message is the same object as before, so are those that precede it.
        """
        other = {name: value for name, value in thread.items() if name not in ("turns", "updated_at")}
        turns = 0
        for index, turn in enumerate(thread.get("turns") or ()):
            entry = self._turn(turn, f"{side} {index}", folded)
            turns = self._lists.add((turns, entry), [turns, entry])
        number, updated = self.value(other), thread.get("updated_at")  # any value, where a file says so
        return self._threads.add((number, compact_json(updated, sort_keys=True), turns), [number, updated, turns])

    def build(self, number: int) -> dict[str, Any]:
        """Return the thread of a number, as a page builds it: the threads themselves are too many to be kept."""
        other, updated, turns = self._threads.entries[number]
        built = [self._build_turn(*self._turns.entries[turn]) for turn in _unroll(self._lists, turns)]
        return {**self._values.entries[other], "updated_at": updated, "turns": built}

    def grown(self, key: Hashable, parts: Sequence[Part | OpenPart], describe: Callable[[int], Any]) -> int:
        """Return the chain of the parts of a response that grows; `describe` gives the value of the one at an index.

        Of the same response a place before only what was open, and what has come since, is described again.
        """
        known = self._grown.get(key)
        if known is None or not known.begins(parts):
            known = self._grown[key] = _Grown()
        del known.numbers[known.done :]
        for index in range(known.done, len(parts)):
            entry = [known.numbers[-1] if known.numbers else 0, self.value(describe(index))]
            known.numbers.append(self._chains.add(tuple(entry), entry))
        known.count(parts)
        return known.numbers[-1] if known.numbers else 0

    def text(self, key: Hashable, text: str) -> list[int]:
        """Return the number of a growing text and its length in UTF-16 units; `key` says which text it is."""
        known = self._said.get(key)
        if known is not None and known[0] is text:
            return known[1]
        self._end_open_text(key)
        number = self._text_numbers.get(key)
        if number is None or not text.startswith(self._texts[number]):
            if number is not None and self._texts[number].startswith(text):
                return [number, _units(text)]
            number = self._add_text(key)
        self._texts[number] = text
        self._said[key] = (text, [number, _units(text)])
        return self._said[key][1]

    def open_text(self, key: Hashable, part: OpenPart) -> list[int]:
        """Return the same of the text of a part that is open; only the pieces that are new are looked at."""
        known = self._open.get(key)
        if known is None or known.part is not part:
            self._end_open_text(key)
            known = self._open[key] = _OpenText(part, self._add_text(key))
        return [known.number, known.measure()]

    def _add_text(self, key: Hashable) -> int:
        number = self._text_numbers[key] = len(self._texts)
        self._texts.append("")
        return number

    def _end_open_text(self, key: Hashable) -> None:
        known = self._open.pop(key, None)
        if known is not None:
            self._texts[known.number] = join_text(known.part.pieces)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Tables:
        """Return the tables that `as_json` has returned, for `build`."""
        tables = cls()
        for name in ("values", "chains", "turns", "lists", "threads"):
            getattr(tables, f"_{name}").entries = list(value[name])
        return tables

    def as_json(self) -> dict[str, Any]:
        """Return the tables."""
        for key in list(self._open):
            self._end_open_text(key)
        return {
            "values": self._values.entries,
            "chains": self._chains.entries,
            "turns": self._turns.entries,
            "lists": self._lists.entries,
            "threads": self._threads.entries,
            "texts": self._texts,
        }

    def _turn(self, turn: Any, place: str, folded: bool) -> int:
        if not isinstance(turn, Mapping):
            return self._turns.add(key := (self.value(turn), -1), list(key))
        messages = turn.get("messages")
        if not isinstance(messages, list):
            return self._turns.add(key := (self.value(dict(turn)), -1), list(key))
        fields = {name: value for name, value in turn.items() if name != "messages"}
        key = (self.value(fields), self._chain(messages, place, folded))
        return self._turns.add(key, list(key))

    def _build_turn(self, fields: int, chain: int) -> Any:
        values = self._values.entries
        if chain < 0:
            return values[fields]
        return {**values[fields], "messages": [values[message] for message in _unroll(self._chains, chain)]}

    def _chain(self, messages: Sequence[Any], place: str, folded: bool) -> int:
        """Return the chain of a turn's messages, beginning with what it shares with the same turn a place before."""
        before, numbers = self._last.get(place, ((), []))
        shared = _count_shared(messages, before, folded)
        del numbers[shared:]
        for message in messages[shared:]:
            entry = [numbers[-1] if numbers else 0, self.value(message)]
            numbers.append(self._chains.add(tuple(entry), entry))
        self._last[place] = (messages, numbers)
        return numbers[-1] if numbers else 0


def _count_shared(messages: Sequence[Any], before: Sequence[Any], folded: bool) -> int:
    """Return how many messages two lists begin with alike; those of a fold are looked at from their end."""
    most = min(len(messages), len(before))
    if folded:
        return next((n for n in range(most, 0, -1) if messages[n - 1] is before[n - 1]), 0)
    return next((n for n in range(most) if messages[n] is not before[n]), most)


def _unroll(links: _Table, number: int) -> list[int]:
    """Return what a chain holds, the oldest first."""
    found = []
    while number:
        number, item = links.entries[number]
        found.append(item)
    return found[::-1]


def compact_json(value: Any, *, sort_keys: bool = False) -> str:
    """Return a JSON value as text. Lone surrogates and large integers, which orjson cannot write, are kept.

    A number that is not finite, which a finding reports (R38), becomes null: no page could read it.
    """
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS if sort_keys else 0).decode()
    except TypeError:
        readable = _replace_not_finite(value)
        return json.dumps(readable, ensure_ascii=False, separators=(",", ":"), sort_keys=sort_keys, allow_nan=False)


def element_json(value: Any) -> str:
    """Return a JSON value as the text of an element of HTML: no `<` is left in it, so that nothing in it can end it."""
    return compact_json(value).replace("<", r"\u003c")


def json_bytes(value: Any) -> int:
    """Return how many bytes of a page a JSON value takes."""
    return len(element_json(value).encode("utf-8", "surrogatepass"))


def _replace_not_finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _replace_not_finite(item) for key, item in value.items()}
    return [_replace_not_finite(item) for item in value] if isinstance(value, list | tuple) else value


def _units(text: str) -> int:
    """Return the length of a text as JavaScript counts it."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2
