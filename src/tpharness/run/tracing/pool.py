"""Many threads of one case as few lines: messages, turns and threads that are equal are written once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tpharness.trace.format import encode_line

__all__ = ["ThreadPool"]


class ThreadPool:
    """Gives threads their numbers, and each new piece to `write`, which says whether it was taken."""

    def __init__(self, write: Callable[[Mapping[str, Any]], bool]) -> None:
        self._write = write
        self._numbers: dict[tuple[Any, ...], int | None] = {}
        self._objects: dict[int, tuple[Any, int | None]] = {}  # the object is kept, so that its id stays its own
        self._counts = {"message": 0, "turn": 0, "thread": 0}

    def add(self, thread: Mapping[str, Any]) -> int | None:
        """Return the number of a thread; None if there is no room for it."""
        turns = thread.get("turns")
        numbers = [self._turn(turn) for turn in turns] if isinstance(turns, list | tuple) else []
        if None in numbers:
            return None
        bare = {key: value for key, value in thread.items() if key != "turns"}
        return self._number("thread", encode_line(bare), tuple(numbers), thread=bare, turns=numbers)

    def _turn(self, turn: Any) -> int | None:
        known = self._objects.get(id(turn))
        if known is None:
            known = self._objects[id(turn)] = turn, self._new_turn(turn)
        return known[1]

    def _new_turn(self, turn: Any) -> int | None:
        messages = turn.get("messages") if isinstance(turn, Mapping) else None
        if not isinstance(messages, list | tuple):
            return self._number("turn", encode_line(turn), (), turn=turn)
        numbers = [self._message(message) for message in messages]
        if None in numbers:
            return None
        bare = {key: value for key, value in turn.items() if key != "messages"}
        return self._number("turn", encode_line(bare), tuple(numbers), turn=bare, messages=numbers)

    def _message(self, message: Any) -> int | None:
        known = self._objects.get(id(message))
        if known is None:
            number = self._number("message", encode_line(message), (), message=message)
            known = self._objects[id(message)] = message, number
        return known[1]

    def _number(self, kind: str, text: bytes, parts: tuple[int | None, ...], **line: Any) -> int | None:
        key = (kind, text, parts)
        if key not in self._numbers:
            number = self._counts[kind]
            taken = self._write({"kind": kind, "n": number, **line})
            self._numbers[key] = number if taken else None
            self._counts[kind] += taken
        return self._numbers[key]
