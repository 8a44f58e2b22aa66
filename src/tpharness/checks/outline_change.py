"""Two outlines of a thread, as held and as it should be → the one change that makes the one of the other. Pure.

In: the lines of both outlines (`scenario.outline`). Out: the first line that differs, and a sentence with the rule that
decides, "" where no one change is known. Loaded where a thread is wrong, and nowhere else.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import zip_longest
from typing import NamedTuple

from tpharness.ordinals import nth
from tpharness.protocol.change import FIELD_REASONS
from tpharness.protocol.versions import NORMATIVE_PREFIX, neutral_event_name

__all__ = ["KEPT", "LEFT_OUT", "LineMismatch", "find_line_mismatches", "order_reason", "regrouping"]

_STARTS = re.compile(r" (?=(?:response|request|event|\?)\()")
_ORDER = {
    "request": "a request of returns stands at the last of them (R25)",
    "response": "a response stands at its start (R25)",
    "event": "an event stands where it happened, and what has one time in the order in which it came (R25)",
}
KEPT = {
    "user": "what the user said is a turn of its own, once",
    "agent": "a run is a turn, once something in it has finished",
    "response": "a response is kept if it finished streaming and each of its calls has a return",
    "request": "the returns of a response are kept with it",
    "event": "an event that happened in a turn stays, whatever became of the response around it",
    "part": "a part is kept if its end was seen before its response ended",
}
"""Why something is there: the rule, since a scenario that is wrong may expect it, too."""
_CARRIER = "a carrier (`data-sys-tp`) says facts about messages, and is not a message of the thread (R37)"
_SPECIAL = {
    "response()": "a response without a complete part is not a message",
    "event(sys-tp)": _CARRIER,
    "event(app-tp)": _CARRIER,  # who stores one moves it out of the tier that the application may not use
}
LEFT_OUT = KEPT | {
    "agent": "a run in which nothing finished before it was cut is not stored",
    "response": "a response is left out if it did not finish streaming, or a call of it has no return",
    "request": "no return stands without the response that called, and what the user's turn says is not repeated",
    "event": "an event is stored once, and only in the turn in which it happened",
}
_ALONE = {
    "response": "each call of the model is a response; after an output or a prompt another begins (R40, R44)",
    "request": "the returns of a response are one request, and each thing that the user says is one (R44, R61)",
}
_STEERING = (
    "what the user says in a run is a request of its own, but for the words of the turn before the run (R44, R9)"
)
_ANOTHER_AGENT = "where another agent is named, by an id that is compared whole, another turn begins (R45)"
_RETURNS = ("tool-return", "retry-prompt")


class LineMismatch(NamedTuple):
    """A line of an outline that differs: its turn, both lines ("(missing)" where there is none), and the change."""

    turn: int
    got: str
    expected: str
    change: str


def find_line_mismatches(got: Sequence[str], wanted: Sequence[str], *, interrupted: bool = True) -> list[LineMismatch]:
    """Return the first line in which two outlines differ, none if they are equal: later ones often follow from it.

    `interrupted` says whether the version has interrupted turns.
    """
    for index, (one, other) in enumerate(zip_longest(got, wanted, fillvalue="(missing)")):
        if one != other:
            change = _change_of_lines(got[index:], wanted[index:], interrupted=interrupted)
            return [LineMismatch(index, one, other, change)]
    return []


def regrouping(got: Sequence[str], wanted: Sequence[str]) -> str:
    """Return what to do where the same items stand in other turns or messages; "" if that is not what differs."""
    for index, (one, other) in enumerate(zip(got, wanted, strict=False)):
        if one != other:
            change = _regroup_turns(got[index:], wanted[index:])
            if not change and _items(one) and _items(other):
                change = _regroup_messages(_items(one), _items(other))
            return change and f"in {nth(index, 'turn')} {change}"
    return ""


def _change_of_lines(got: Sequence[str], wanted: Sequence[str], *, interrupted: bool) -> str:
    """Return the change of the first of two lists of turns that differ: one missing, too much, or another."""
    more = len(got) - len(wanted)
    if more > 0 and list(wanted) == list(got[more:]):
        return f"leave this turn out: {_why_left_out(got[0], interrupted=interrupted)}"
    if more < 0 and list(got) == list(wanted[-more:]):
        return f"keep this turn: {_why_kept(wanted[0])}"
    change = _regroup_turns(got, wanted)
    if change or not got or not wanted:
        return change
    word, right_word = _word(got[0]), _word(wanted[0])
    if word != right_word:
        words, right_words = (Counter(map(_word, lines)) for lines in (got, wanted))
        if words[right_word] < right_words[right_word]:
            return f"keep this turn: {_why_kept(wanted[0])}"
        if words[word] > right_words[word]:
            return f"leave this turn out: {_why_left_out(got[0], interrupted=interrupted)}"
    return _change_of_turn(got[0], wanted[0])


def _word(item: str) -> str:
    """Return what a line, a message or a part of an outline is: user, agent, response, request, event or part."""
    word = re.split(r"[ :(]", item, maxsplit=1)[0]
    return word if word in KEPT else "part"


def _items(line: str) -> list[str]:
    """Return the messages of a line of an agent."""
    head, _, rest = line.partition(": ")
    return _STARTS.split(rest) if rest and _word(head) == "agent" else []


def _why_kept(line: str) -> str:
    """Return why a turn is there, by what it holds."""
    items = _items(line)
    if line.startswith("agent complete"):
        return "its run came to its end, so that it is a turn, and complete"
    if not items:
        return KEPT[_word(line)]
    if all(item.startswith("event(") for item in items):
        return "a run is a turn, also if an event of the protocol is all that was finished in it (R24)"
    if any(item.startswith("request(") for item in items):
        return (
            f"a run is a turn, once something in it has finished: {' '.join(items)} had, since each call has a return, "
            "whatever its status or its content (R22)"
        )
    return f"a run is a turn, once something in it has finished: {' '.join(items)} had, which finished streaming (R20)"


def _why_left_out(line: str, *, interrupted: bool) -> str:
    """Return why a turn must not be there, by what it holds."""
    items = _items(line)
    if line.startswith("agent complete"):
        if not interrupted:
            return "its run was cut, and this version has no interrupted turns (R18)"
        return "its run was cut or failed, so that it is not complete, and nothing in it had finished"
    if items and all(item.startswith("event(") for item in items):
        return "a run in which nothing finished is not stored, and an event of the application does not keep it (R24)"
    parts = [part for item in items for part in _split(item)[1]]
    if any(part.startswith("tool-call") for part in parts) and not any(part.startswith(_RETURNS) for part in parts):
        return f"{LEFT_OUT['agent']}, and a response with calls has finished once each of them has a return (R21)"
    if any(part.startswith(_RETURNS) for part in parts):
        return (
            f"{LEFT_OUT['agent']}; progress of a tool, its end by the cut and a return that nobody gave "
            "are no returns (R14, R41)"
        )
    return LEFT_OUT[_word(line)]


def _change_of_turn(got: str, wanted: str) -> str:
    (head, _, _), (right_head, _, _) = got.partition(": "), wanted.partition(": ")
    if _word(head) != "agent" or _word(right_head) != "agent":
        return ""
    if head != right_head:
        words, right = head.split(" "), right_head.split(" ")
        field = "completion_status" if words[1:2] != right[1:2] else "reason"
        return f"{FIELD_REASONS[field]}: {' '.join(right[1:])}, not {' '.join(words[1:])}"
    change = _change_of_items(_items(got), _items(wanted), "message")
    if wanted.startswith("agent interrupted error"):
        return change.replace(LEFT_OUT["event"], f"{LEFT_OUT['event']}, and not after the error that ended that (R27)")
    if wanted.startswith("agent complete"):
        return change.replace(
            KEPT["response"], "a turn that completed has each response that finished, with its open calls (R30)"
        )
    return change


def _change_of_items(held: list[str], right: list[str], noun: str) -> str:
    """Return the change of a list of messages or of parts: one that is moved, missing, too much, or another."""
    at = next(i for i, (one, other) in enumerate(zip_longest(held, right)) if one != other)
    if sorted(held) == sorted(right):
        return _move(held, right, at, noun)
    if len(held) < len(right) and held[at:] == right[at + len(right) - len(held) :]:
        missing = right[at : at + len(right) - len(held)]
        return f"keep {' '.join(missing)} as {noun} {at}: {_STEERING if _says(missing[0]) else KEPT[_word(missing[0])]}"
    if len(held) > len(right) and right[at:] == held[at + len(held) - len(right) :]:
        more = held[at : at + len(held) - len(right)]
        output = "an output of the provider stands with its call, and goes with it (R42)"
        why = output if more[0].startswith("builtin-tool-return") else LEFT_OUT[_word(more[0])]
        why = _SPECIAL.get(more[0], why)
        return f"leave {noun} {at}, {' '.join(more)}, out: {why}"
    if noun == "message" and (change := _regroup_messages(held, right)):
        return change
    if at >= min(len(held), len(right)) or (len(held) != len(right) and noun == "message"):
        return ""
    (kind, parts), (right_kind, right_parts) = _split(held[at]), _split(right[at])
    if noun == "part":
        return _rename_part(held[at], right[at], at)
    if kind != right_kind:
        return ""
    if kind == "event":
        return _rename_event(" ".join(parts), " ".join(right_parts), at)
    inner = _change_of_items(parts, right_parts, "part")
    return inner and f"in message {at} ({kind}) {inner}"


def _says(item: str) -> bool:
    """Whether a message is what the user said while a run went on."""
    return item.startswith("request(user-prompt")


def _rename_event(name: str, right: str, at: int) -> str:
    if any(neutral_event_name(one).startswith(NORMATIVE_PREFIX) for one in (name, right)):
        why = "the protocol's own events have the names of this version, and no other event has one of them (R34, R58)"
    else:
        why = "the name of an event is kept as it came, with its `data-` and in its own letters (R34)"
    return f"name message {at} `{right}`, not `{name}`: {why}"


def _rename_part(part: str, right: str, at: int) -> str:
    """Return how a part is to be called, if it is one part under another name or without its call; "" else."""
    (kind, _, call), (right_kind, _, right_call) = part.partition(":"), right.partition(":")
    if right == f"custom:{part}":
        return f"write the part_kind of part {at} with its namespace: {right}, not {part} (R7)"
    if kind == right_kind and right_call:
        return f"write the tool_call_id of part {at} ({kind}): {right_call}, not {call or '(absent)'}"
    return ""


def order_reason(item: str) -> str:
    """Return why an item of an outline stands where it does."""
    if item.startswith(_RETURNS):
        return "returns stand in the order of their calls (R11)"
    return _ORDER.get(_word(item), "parts stand in the order of their starts (R11)")


def _move(held: list[str], right: list[str], at: int, noun: str) -> str:
    """Return which item is to be moved where; of several the first that has to stand in another's place."""
    for index in range(at, len(held)):
        rest = held[:index] + held[index + 1 :]
        for to in range(at, len(held)):
            if [*rest[:to], held[index], *rest[to:]] == right:
                return f"move {held[index]} from {noun} {index} to {noun} {to}: {order_reason(held[index])}"
    return f"put {right[at]} in the place of {held[at]}, {noun} {at}, and so on: {order_reason(right[at])}"


def _regroup_turns(got: Sequence[str], wanted: Sequence[str]) -> str:
    """Return what to do where one turn holds what two should, or two what one should; "" elsewhere."""
    one, other = _items(got[0]) if got else [], _items(wanted[0]) if wanted else []
    if not one or not other or one == other:
        return ""
    following, right_following = _items(got[1]) if len(got) > 1 else [], _items(wanted[1]) if len(wanted) > 1 else []
    if right_following and one == other + right_following:
        return f"begin another turn at message {len(other)}, {one[len(other)]}: {_ANOTHER_AGENT}"
    if following and one + following == other:
        return (
            f"go on in this turn with {' '.join(following)}: a run is one turn as long as its agent is the same (R45)"
        )
    return ""


def _regroup_messages(held: list[str], right: list[str]) -> str:
    """Return what to do where the same parts are in other messages, such as a response that should be two."""
    if _all_parts(held) != _all_parts(right):
        return ""
    for item in (item for item in right if item not in held):
        kind, parts = _split(item)
        pieces = [inner for one, inner in map(_split, held) if one == kind and set(inner) < set(parts)]
        if len(pieces) > 1:
            return f"put {' '.join(parts)} into one {kind}: {_ALONE[kind]}"
    for at, item in enumerate(held):
        kind, parts = _split(item)
        for one, inner in map(_split, right):
            if item not in right and one == kind and inner and inner == parts[: len(inner)] != parts:
                more = " ".join(parts[len(inner) :])
                return f"put {more} into a {kind} of its own, not into message {at}: {_ALONE[kind]}"
    return ""


def _all_parts(items: Sequence[str]) -> Counter[tuple[str, str]]:
    """Return the parts of messages with the kind of their message."""
    return Counter((kind, part) for kind, parts in map(_split, items) for part in parts)


def _split(message: str) -> tuple[str, list[str]]:
    kind, _, rest = message.partition("(")
    inner = rest.removesuffix(")")
    return kind, inner.split(" ") if inner else []
