"""What is wrong with a thread log, by what the program that reads it does with it.

In: a JSON value. Out: findings, each at its line. `MUST` is what chimera refuses, or sends so that every model API
refuses it; `SHOULD` is what it loses; `MAY` is what it does with something that a reader may not expect.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from tpharness.finding_log import keep_first
from tpharness.findings import Finding, Kind, Place
from tpharness.histories.thread_log.lines import BLUEPRINT, KINDS, VERSION, Line, agents_of, is_line, lines_of, misfits

__all__ = ["check_log"]

NOT_A_LINE = Kind("thread-log-not-a-line")
NO_BLUEPRINT = Kind("thread-log-without-blueprint")
BLUEPRINT_TWICE = Kind("thread-log-blueprint-doubled")
OTHER_VERSION = Kind("thread-log-version")
AGENT_TWICE = Kind("thread-log-agent-doubled")
MISFIT = Kind("thread-log-line-malformed")
UNKNOWN = Kind("thread-log-kind-unknown")
CALL_TWICE = Kind("thread-log-call-doubled")
OUTSIDE = Kind("thread-log-call-outside-turn")
LOCKED = Kind("thread-log-call-locked")
OPEN = Kind("thread-log-call-open")
ORPHAN = Kind("thread-log-output-without-call")
ANSWER_TWICE = Kind("thread-log-output-doubled")
MESSAGE_LOST = Kind("thread-log-message-lost")
FINISH_ALONE = Kind("thread-log-finish-without-start")

_ANSWERS = ("tool-output-available", "tool-error")


def check_log(value: Any) -> list[Finding]:
    """Return what is wrong with a log: places are JSON pointers, whose first step is the line, from 0."""
    lines = lines_of(value)
    if lines is None:
        return [NOT_A_LINE.at(Place(pointer=""), "the log is not a list of lines")]
    return list(keep_first(_find(lines)))


def _find(lines: list[Any]) -> Iterator[Finding]:
    if not lines or not is_line(lines[0]) or lines[0]["type"] != BLUEPRINT:
        yield NO_BLUEPRINT.at(Place(pointer="/0" if lines else ""))
    walk = _Walk()
    for index, line in enumerate(lines):
        place = f"/{index}"
        if not is_line(line):
            yield NOT_A_LINE.at(Place(pointer=place), got=line)
            continue
        found = [MISFIT.at(Place(pointer=f"{place}{at}"), expected=what) for at, what in misfits(line)]
        yield from found
        if line["type"] == BLUEPRINT:
            yield from _blueprint(line, index)
        elif line["type"] not in KINDS:
            yield UNKNOWN.at(Place(pointer=f"{place}/type"), got=line["type"])
        elif not found:
            yield from walk.take(line, place)
    yield from walk.end()


def _blueprint(line: Line, index: int) -> Iterator[Finding]:
    if index:
        yield BLUEPRINT_TWICE.at(Place(pointer=f"/{index}"))
    version = line.get("threadProtocolVersion")
    if version != VERSION:
        place = Place(pointer=f"/{index}/threadProtocolVersion")
        yield OTHER_VERSION.at(place, got=version, expected=VERSION)
    times = Counter(agent["id"] for agent in agents_of(line))
    for ident, count in times.items():
        if count > 1:
            yield AGENT_TWICE.at(Place(pointer=f"/{index}/blueprint/space/agents"), got=ident)


class _Walk:
    """Goes along the lines as the program does that makes messages of them."""

    def __init__(self) -> None:
        self._in_turn = False
        self._asked = ""
        """The place of a user's message that no line has sent yet."""
        self._calls: dict[str, str] = {}
        """The place of every call, by its id."""
        self._outside: set[str] = set()
        self._waiting: dict[str, str] = {}
        """The calls without an output, in the order in which they came."""
        self._locked: set[str] = set()

    def take(self, line: Line, place: str) -> Iterator[Finding]:
        """Yield what is wrong with the next line."""
        kind = line["type"]
        if kind == "data-user-turn-start":
            yield from self._lost()
        elif kind == "data-user-message":
            self._asked = self._asked or place
        elif kind == "data-user-turn-end":
            self._asked = ""
        elif kind == "data-agent-start":
            yield from self._begin()
        elif kind == "data-agent-finish":
            if not self._in_turn:
                yield FINISH_ALONE.at(Place(pointer=place))
            self._in_turn = False
        elif kind == "tool-input-available":
            yield from self._call(line["toolCallId"], place)
        elif kind in _ANSWERS:
            yield from self._answer(line["toolCallId"], place)

    def _begin(self) -> Iterator[Finding]:
        """A turn begins: what the turn before had said and not finished is thrown away, its calls with it."""
        for call, place in self._waiting.items():
            if call not in self._outside and call not in self._locked:
                self._locked.add(call)
                yield LOCKED.at(Place(pointer=place), got=call)
        self._in_turn = True

    def _call(self, call: str, place: str) -> Iterator[Finding]:
        if call in self._calls:
            yield CALL_TWICE.at(Place(pointer=f"{place}/toolCallId"), got=call)
            return
        self._calls[call] = self._waiting[call] = place
        if not self._in_turn:
            self._outside.add(call)
            yield OUTSIDE.at(Place(pointer=place), got=call)

    def _answer(self, call: str, place: str) -> Iterator[Finding]:
        if call not in self._calls:
            yield ORPHAN.at(Place(pointer=f"{place}/toolCallId"), got=call)
        elif call not in self._waiting:
            yield ANSWER_TWICE.at(Place(pointer=f"{place}/toolCallId"), got=call)
        self._waiting.pop(call, None)

    def _lost(self) -> Iterator[Finding]:
        if self._asked:
            yield MESSAGE_LOST.at(Place(pointer=self._asked))
        self._asked = ""

    def end(self) -> Iterator[Finding]:
        """Yield what is wrong at the end of the log."""
        yield from self._lost()
        for call, place in self._waiting.items():
            if call not in self._locked and call not in self._outside:
                yield OPEN.at(Place(pointer=place), got=call)
