"""A diff of threads in words: turn, message, part, first differing character, and the rulings that decide there."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pkgutil import resolve_name
from typing import Any

from tpharness.errors import UsageError
from tpharness.findings import shorten, shorten_both, tell_apart
from tpharness.judging_time import heed_judging_time
from tpharness.protocol.align import Pair, align
from tpharness.protocol.canonical import canonical_thread
from tpharness.protocol.compare import Mode, content_and_ids, refuse_unknown_mode
from tpharness.protocol.held_ids import HeldIds
from tpharness.protocol.jcs import CanonicalError, escape, jcs

__all__ = ["ThreadDifference", "diff", "held_words"]

_ABSENT = object()
_MOST_HELD = 3
"""Messages of a turn, and parts of a message, that are shown of what only one side has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadDifference:
    """One difference: JSON pointer into the canonical forms, words for a person, the rulings that decide there.

    `symptom` says the same without indices, ids and values: which sort of thing differs, in which way. `values` has
    what differs by the name of its side, uncut; a side that has nothing there is missing.
    """

    pointer: str
    text: str
    cites: str = ""
    symptom: str = ""
    values: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @property
    def rulings(self) -> tuple[str, ...]:
        """The rulings that `cites` names."""
        return tuple(re.findall(r"\bR\d+\b", self.cites))


def diff(
    one: Mapping[str, Any],
    other: Mapping[str, Any],
    *,
    names: tuple[str, str] = ("a", "b"),
    mode: Mode = "exact",
) -> list[ThreadDifference]:
    """Return the differences of two threads, in order; `mode` is `exact` or `content` (R39). UsageError for another.

    By content, ids are compared by the order of their use, and named as the threads have them. An id that both sides
    have, and that is used in another order only because one side has more before it, is not a difference of its own.
    """
    refuse_unknown_mode(mode)
    for name, thread in zip(names, (one, other), strict=True):
        _require_object(name, thread)
    if mode == "exact":
        return list(_Diff(names, canonical_thread(one)).threads(canonical_thread(other)))
    (mine, my_ids), (theirs, their_ids) = content_and_ids(one), content_and_ids(other)
    own = {names[1]: HeldIds(their_ids), names[0]: HeldIds(my_ids)}
    found = list(_Diff(names, mine, own=own).threads(theirs))
    return [one for one in found if not _is_one_id(one)] or found


def _is_one_id(difference: ThreadDifference) -> bool:
    """Whether both sides have the same id, which the comparison by the order of use has under two names."""
    values = list(difference.values.values())
    return len(values) == 2 and isinstance(values[0], str) and values[0] == values[1]


def _require_object(name: str, thread: object) -> None:
    if not isinstance(thread, Mapping):
        hint = "give what `json.loads` makes of the thread, or `.thread` of what `fold` returns"
        raise UsageError(f"{name} is not a thread: it is of the type {type(thread).__name__}", hint=hint)


class _Diff:
    """`own` has, by side, the ids of its thread for those that are compared, where they are others."""

    def __init__(
        self, names: tuple[str, str], one: dict[str, Any], *, own: Mapping[str, HeldIds] | None = None
    ) -> None:
        self.a, self.b = names
        self._one = one
        self._own = own or {}

    def _as_held(self, side: str, item: Any) -> Any:
        """Return a turn, message, part or id with the ids of its thread."""
        own = self._own.get(side)
        return own.held(item) if own else item

    def _describe(self, item: Any, index: int, side: str = "") -> str:
        return _describe(self._as_held(side or self.a, item), index)

    def threads(self, other: dict[str, Any]) -> Iterator[ThreadDifference]:
        one = self._one
        if one["version"] != other["version"]:
            yield from self._value("/version", "the version", one["version"], other["version"], "R1")
        yield from self._sequence(one["turns"], other["turns"], "/turns", "", self._turn, _turn_key, "")

    def _sequence(
        self,
        one: Sequence[Any],
        other: Sequence[Any],
        pointer: str,
        prefix: str,
        compare: Any,
        key: Any,
        cites: str,
        cut: bool = True,
    ) -> Iterator[ThreadDifference]:
        """Compare two lists, aligned so that one missing item is reported once, and one at another place once.

        `cut` says that a turn that they stand in, or may be, was interrupted.
        """
        pairs = list(align(one, other, (_fingerprint, _timeless, key)))
        moved = _find_moved(one, other, pairs)
        there_too = frozenset(moved.values())
        for i, j in pairs:
            heed_judging_time()
            if i is not None and j is not None:
                yield from compare(one[i], other[j], f"{pointer}/{i}", prefix, i)
            elif i is not None and i in moved:
                there = f"{i} on the {self.a} side, {moved[i]} on the {self.b} side"
                named = f"{prefix}{self._describe(one[i], i)} stands at another place: {there}"
                symptom = f"{_sort(one[i])} stands at another place"
                yield ThreadDifference(pointer=f"{pointer}/{i}", text=named, cites=cites, symptom=symptom)
            elif i is not None:
                yield self._alone(one[i], i, self.a, f"{pointer}/{i}", prefix, _why(one[i], cut=cut) or cites)
            elif j is not None and j not in there_too:
                yield self._alone(other[j], j, self.b, f"{pointer}/{j}", prefix, _why(other[j], cut=cut) or cites)

    def _alone(self, item: Any, index: int, side: str, pointer: str, prefix: str, cites: str) -> ThreadDifference:
        text = f"is only on the {side} side"
        item = self._as_held(side, item)
        named = f"{prefix}{_describe(item, index)} {text}"
        return ThreadDifference(
            pointer=pointer, text=named, cites=cites, symptom=f"{_sort(item)} {text}", values={side: item}
        )

    def _at(self, pointer: str, text: str, cites: str, how: str, one: Any, other: Any) -> ThreadDifference:
        symptom = f"{_sort_at(self._one, pointer)} {how}"
        values = {side: value for side, value in ((self.a, one), (self.b, other)) if value is not _ABSENT}
        return ThreadDifference(pointer=pointer, text=text, cites=cites, symptom=symptom, values=values)

    def _turn(self, one: Any, other: Any, pointer: str, prefix: str, index: int) -> Iterator[ThreadDifference]:
        where = f"{prefix}{self._describe(one, index)}"
        if not isinstance(one, Mapping) or not isinstance(other, Mapping):
            yield from self._value(pointer, where, one, other, "")
            return
        yield from self._fields(one, other, pointer, where, skip=("messages", "parts"))
        cut = "interrupted" in (one.get("completion_status"), other.get("completion_status"))
        for name, key in (("messages", _message_key), ("parts", _part_key)):
            if name in one or name in other:
                compare = self._message if name == "messages" else self._part
                lists = one.get(name) or [], other.get(name) or []
                yield from self._sequence(*lists, f"{pointer}/{name}", f"{where}, ", compare, key, "R25", cut=cut)

    def _message(self, one: Any, other: Any, pointer: str, prefix: str, index: int) -> Iterator[ThreadDifference]:
        where = f"{prefix}{self._describe(one, index)}"
        yield from self._fields(one, other, pointer, where, skip=("parts",))
        if "parts" in one or "parts" in other:
            parts = one.get("parts") or [], other.get("parts") or []
            mine, theirs = [_part_key(p) for p in parts[0]], [_part_key(p) for p in parts[1]]
            if mine != theirs and sorted(mine) == sorted(theirs):
                held = [
                    [_part_key(self._as_held(side, p)) for p in some]
                    for side, some in zip((self.a, self.b), parts, strict=True)
                ]
                text = (
                    f"{where}: the parts are in a different order: {self.a} {_list(held[0])}, {self.b} {_list(held[1])}"
                )
                yield self._at(f"{pointer}/parts", text, "R11", "are in a different order", *parts)
                return
            yield from self._sequence(*parts, f"{pointer}/parts", f"{where}, ", self._part, _part_key, "R10")

    def _part(self, one: Any, other: Any, pointer: str, prefix: str, index: int) -> Iterator[ThreadDifference]:
        yield from self._value(pointer, f"{prefix}{self._describe(one, index)}", one, other, "")

    def _fields(
        self, one: Mapping[str, Any], other: Mapping[str, Any], pointer: str, where: str, skip: tuple[str, ...]
    ) -> Iterator[ThreadDifference]:
        for name in dict.fromkeys((*one, *other)):
            if name not in skip:
                cites = _FIELD_CITES.get(name, "")
                place = f"{pointer}/{escape(name)}"
                yield from self._value(
                    place, f"{where}: {name}", one.get(name, _ABSENT), other.get(name, _ABSENT), cites
                )

    def _value(self, pointer: str, where: str, one: Any, other: Any, cites: str) -> Iterator[ThreadDifference]:
        if one is other or _equal(one, other):
            return
        if self._own:
            one, other = self._own[self.a].at(pointer, one), self._own[self.b].at(pointer, other)
        if isinstance(one, Mapping) and isinstance(other, Mapping):
            for name in dict.fromkeys((*one, *other)):
                place = f"{pointer}/{escape(name)}"
                inner = cites or _FIELD_CITES.get(name, "")
                yield from self._value(
                    place, f"{where}, {name}", one.get(name, _ABSENT), other.get(name, _ABSENT), inner
                )
            return
        if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
            for index, (a, b) in enumerate(zip(one, other, strict=True)):
                yield from self._value(f"{pointer}/{index}", f"{where}[{index}]", a, b, cites)
            return
        if one is _ABSENT or other is _ABSENT:
            here, value = (self.b, other) if one is _ABSENT else (self.a, one)
            text = f"{where} is only on the {here} side: {shorten(value, 80)}"
            yield self._at(pointer, text, cites, f"is only on the {here} side", one, other)
            return
        if isinstance(one, str) and isinstance(other, str):
            at = next(
                (i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
            )
            mine, theirs = tell_apart(_around(one, at), _around(other, at))
            text = f"{where} differs at character {at}: {self.a} {mine}, {self.b} {theirs}"
            yield self._at(pointer, text, cites, "differs", one, other)
            return
        mine, theirs = shorten_both(one, other, 80)
        text = f"{where} differs: {self.a} {mine}, {self.b} {theirs}"
        yield self._at(pointer, text, cites, "differs", one, other)


_FIELD_CITES = {
    "completion_status": "R19",
    "interruption": "R19, R27",
    "reason": "R27",
    "interrupted_at": "R19",
    "completed_at": "R19",
    "args": "R12",
    "status": "R22",
    "total_usage": "R17",
    "usage": "R17",
    "finish_reason": "R16",
    "provider_name": "R15",
    "event_type": "R34",
    "timestamp": "R25",
    "agent_id": "R45",
    "content_ref": "R6",
}


def _why(item: Any, *, cut: bool = True) -> str:
    """Return the rulings that usually decide whether this item is there; `cut` says that its turn was interrupted."""
    if not isinstance(item, Mapping):
        return ""
    if item.get("message_type") == "system":
        return "R25"
    kinds = [p.get("part_kind") for p in item.get("parts") or () if isinstance(p, Mapping)]
    if item.get("message_type") == "response":
        if not cut:
            return "R40"
        return "R20, R21" if "tool-call" in kinds else "R20"
    if item.get("message_type") == "request":
        if "user-prompt" in kinds:
            return "R9, R44"
        return "R23" if cut else "R22"
    if item.get("turn_type") == "user":
        return "R9"
    if item.get("turn_type") == "agent":
        # What it holds decides; R24 leaves out an interrupted turn that holds nothing.
        cut = item.get("completion_status") == "interrupted"
        held = next((why for message in item.get("messages") or () if (why := _why(message, cut=cut))), "")
        return ", ".join(filter(None, (held, "R24" if cut else "R45")))
    return {"tool-return": "R21, R22", "tool-call": "R10"}.get(
        str(item.get("part_kind")), "R10" if "part_kind" in item else ""
    )


def _find_moved(one: Sequence[Any], other: Sequence[Any], pairs: Sequence[Pair]) -> dict[int, int]:
    """Return which items without a counterpart at their place have it at another one: the index of each there."""
    places: dict[str, deque[int]] = {}
    for i, j in pairs:
        if i is None and j is not None:
            places.setdefault(_timeless(other[j]), deque()).append(j)
    alone = [i for i, j in pairs if j is None and i is not None] if places else []
    return {i: found.popleft() for i in alone if (found := places.get(_timeless(one[i])))}


def held_words(item: Any) -> str:
    """Return what is in a turn, message or part, shortened: `response(thinking "The user wants ")`."""
    if not isinstance(item, Mapping):
        return shorten(item, 80)
    if "turn_type" in item:
        name = "messages" if "messages" in item else "parts"
        return _first(item.get(name), "; ") or f"no {name}"
    if "message_type" in item:
        return f"{item['message_type']}({item.get('event_type') or _first(item.get('parts'), ', ')})"
    said = next((item[name] for name in ("content", "args") if item.get(name) is not None), None)
    text = json.dumps(said, ensure_ascii=False) if isinstance(said, str) else said
    return f"{_part_key(item)}{'' if said is None else f' {shorten(text, 60)}'}"


def _first(items: Any, between: str) -> str:
    some = list(items) if isinstance(items, list) else []
    return between.join([*map(held_words, some[:_MOST_HELD]), *(["…"] if len(some) > _MOST_HELD else [])])


def _fingerprint(item: Any) -> str:
    """Return a text that is equal for equal items: the canonical text, or `repr` if there is none."""
    try:
        return jcs(item).decode()
    except CanonicalError:
        return repr(item)


def _timeless(item: Any) -> str:
    """Return the fingerprint without the facts that differ between two records of the same message."""
    if isinstance(item, Mapping):
        item = {k: v for k, v in item.items() if k not in ("timestamp", "usage", "provider_response_id")}
    return _fingerprint(item)


def _turn_key(turn: Any) -> str:
    return str(turn.get("turn_type")) if isinstance(turn, Mapping) else "?"


def _message_key(message: Any) -> str:
    if not isinstance(message, Mapping):
        return "?"
    calls = [
        str(p.get("tool_call_id")) for p in message.get("parts") or () if isinstance(p, Mapping) and "tool_call_id" in p
    ]
    return " ".join((str(message.get("message_type")), str(message.get("event_type", "")), *sorted(calls)))


def _part_key(part: Any) -> str:
    return f"{part.get('part_kind')} {part.get('tool_call_id', '')}".strip() if isinstance(part, Mapping) else "?"


def _describe(item: Any, index: int) -> str:
    if not isinstance(item, Mapping):
        return f"item {index}"
    if "turn_type" in item:
        agent = f", {item['agent_id']}" if item.get("agent_id") else ""
        return f"{resolve_name('tpharness.ordinals:nth')(index, 'turn')} ({item['turn_type']}{agent})"
    if "message_type" in item:
        what = item.get("event_type") or ", ".join(_part_key(p) for p in item.get("parts") or ())
        return f"message {index} ({item['message_type']}: {shorten(str(what), 80)})"
    return f"part {index} ({_part_key(item)})"


def _sort(item: Any) -> str:
    """Return what an item of a thread is, without what differs from thread to thread."""
    if not isinstance(item, Mapping):
        return "an item"
    if "turn_type" in item:
        return f"a turn ({item['turn_type']})"
    if "message_type" in item:
        return f"a message ({item['message_type']})"
    return f"a part ({item.get('part_kind', '?')})"


def _sort_at(thread: Mapping[str, Any], pointer: str) -> str:
    """Return what is at a pointer: the turn, message or part that it leads to, and the field of it that is meant."""
    item: Any = thread
    sort = "the thread"
    field = ""
    for name in pointer.split("/")[1:]:
        if isinstance(item, list) and name.isdecimal() and int(name) < len(item):
            item, field = item[int(name)], ""
            sort = _sort(item)
        elif name in ("turns", "messages", "parts") and isinstance(item, Mapping) and isinstance(item.get(name), list):
            item, field = item[name], name
        else:
            field = name
            break
    return f"{field} of {sort}" if field else sort


def _around(text: str, at: int) -> str:
    start = max(0, at - 15)
    cut = f"{'…' if start else ''}{text[start:at]}|{text[at : at + 15]}{'…' if at + 15 < len(text) else ''}"
    return shorten(repr(cut), 80)


def _list(keys: list[str]) -> str:
    return "[" + ", ".join(keys) + "]"


def _equal(one: Any, other: Any) -> bool:
    if one is _ABSENT or other is _ABSENT:
        return False
    try:
        return jcs(one) == jcs(other)
    except CanonicalError:
        return bool(one == other)
