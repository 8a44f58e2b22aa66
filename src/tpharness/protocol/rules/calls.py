"""Rules of calls and their returns: who answers whom, in which order, and what may stand between the two."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tpharness.findings import Finding, Place
from tpharness.protocol import problems as p
from tpharness.protocol.rules.index import Index, part_pointer

__all__ = ["find_bad_pairs"]

_PAIRED = frozenset(("tool-call", "tool-return", "retry-prompt"))


@dataclass(slots=True)
class _Call:
    """A call. `passed` says that its turn went on, with a response or a prompt, before it had a return."""

    tool: str
    order: int
    place: tuple[int, int, int]
    may_stay_open: bool
    answered: bool = False
    passed: bool = False


@dataclass(slots=True)
class _Walk:
    """The calls of a thread so far. `open` are those of the current turn that have no return and were not passed."""

    calls: dict[str, _Call] = field(default_factory=dict)
    made: list[_Call] = field(default_factory=list)
    open: dict[str, _Call] = field(default_factory=dict)
    spoken: bool = False
    """Whether the current turn has a response."""
    of_turn: int = 0
    """How many of `made` are of earlier turns."""

    def begin_turn(self) -> None:
        self.open, self.spoken, self.of_turn = {}, False, len(self.made)

    def go_on(self) -> None:
        """Note that the conversation goes on: open calls can no longer have a return that follows them."""
        for call in self.open.values():
            call.passed = True
        self.open = {}

    def add(self, part: Mapping[str, Any], place: tuple[int, int, int], *, may_stay_open: bool) -> bool:
        """Add a call; return whether there is one with its id that has no return."""
        name = part["tool_call_id"]
        other = self.calls.get(name)
        call = _Call(tool=part["tool_name"], order=len(self.made), place=place, may_stay_open=may_stay_open)
        self.calls[name] = self.open[name] = call
        self.made.append(call)
        return other is not None and not other.answered

    def answer(self, part: Mapping[str, Any], place: tuple[int, int, int], last: int) -> Iterator[Finding]:
        """Judge a return; `last` is the order of the call that the return before it in its message answers."""
        name = part["tool_call_id"]
        call = self.calls.get(name)
        if call is None:
            yield p.ORPHAN.at(_place(place), got=name)
            return
        if call.answered:
            yield p.TWICE.at(_place(place), got=name)
        elif call.passed or (self.spoken and call.order < self.of_turn):
            yield p.LATE_RETURN.at(_place(place), got=name)
        tool = part.get("tool_name")
        if tool is not None and tool != call.tool:
            yield p.OTHER_TOOL.at(_place(place), got=tool, expected=call.tool)
        if call.order < last:
            yield p.CALL_ORDER.at(_place(place), got=name)
        call.answered = True
        self.open.pop(name, None)


def find_bad_pairs(index: Index) -> Iterator[Finding]:
    """R11, R14, R21, R23, R30: find calls and returns that do not belong together or are not where they belong."""
    walk = _Walk()
    for t, turn in enumerate(index.thread["turns"]):
        walk.begin_turn()
        if turn["turn_type"] == "user":
            if _has_pairs(turn["parts"]):
                yield from _parts(walk, turn["parts"], t, -1, may_stay_open=True)
            continue
        cut = index.version.features.interrupted_turns and turn["completion_status"] == "interrupted"
        for m, message in enumerate(turn["messages"]):
            kind = message["message_type"]
            if kind == "system":
                continue
            parts = message["parts"]
            if kind == "response":
                walk.go_on()
            if _has_pairs(parts):
                yield from _parts(walk, parts, t, m, may_stay_open=not cut)
            if kind == "response":
                walk.spoken = True
            elif walk.open and any(part["part_kind"] == "user-prompt" for part in parts):
                walk.go_on()
        if cut:
            yield from (p.INCOMPLETE.at(_place(c.place)) for c in walk.made[walk.of_turn :] if not c.answered)
    for call in walk.made:
        if call.passed and not call.answered and call.may_stay_open:
            yield p.LEFT_BEHIND.at(_place(call.place))


def _has_pairs(parts: list[Mapping[str, Any]]) -> bool:
    """Whether there is a call or a return among the parts: most messages have none, and are seen at a glance."""
    return not _PAIRED.isdisjoint([part["part_kind"] for part in parts])


def _parts(walk: _Walk, parts: list[Mapping[str, Any]], t: int, m: int, *, may_stay_open: bool) -> Iterator[Finding]:
    last = -1
    for k, part in enumerate(parts):
        kind = part["part_kind"]
        if kind == "tool-call":
            if walk.add(part, (t, m, k), may_stay_open=may_stay_open):
                yield p.OPEN_TWICE.at(_place((t, m, k)), got=part["tool_call_id"])
        elif kind in _PAIRED and part.get("tool_call_id") is not None:
            yield from walk.answer(part, (t, m, k), last)
            call = walk.calls.get(part["tool_call_id"])
            last = last if call is None else max(last, call.order)


def _place(indexes: tuple[int, int, int]) -> Place:
    return Place(pointer=part_pointer(*indexes))
