"""What a thread holds and what its scenario expects → the one change that makes the one of the other, in words. Pure.

In: the thread, a JSON pointer and both values there; or the lines of both outlines. Out: a sentence with the values of
this case, "" where no one change is known. Loaded by a run that has such a finding, and by no other.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Any, NamedTuple

from tpharness.checks.expectations import ABSENT, DATA_FIELDS, RESULT_KINDS
from tpharness.findings import Finding, load_kinds, shorten, tell_apart
from tpharness.protocol.canonical import is_left_out
from tpharness.protocol.change import FIELD_REASONS, TIME_REASONS
from tpharness.protocol.versions import Version

__all__ = [
    "LineMismatch",
    "change_of_findings",
    "change_of_value",
    "find_line_mismatches",
    "first_wanted",
    "is_in_data",
    "make_visible",
    "without_telemetry",
]

_STARTS = re.compile(r" (?=(?:response|request|event|\?)\()")
_ORDER = {
    "request": "a request of returns stands at the last of them (R25)",
    "response": "a response stands at its start (R25)",
    "event": "an event stands where it happened",
}
_KEPT = {
    "user": "what the user said is a turn of its own, once",
    "agent": "a run is a turn, once something in it has finished",
    "response": "a response is kept if it finished streaming and each of its calls has a return",
    "request": "the returns of a response are kept with it",
    "event": "an event that happened in a turn stays, whatever became of the response around it",
    "part": "a part is kept if its end was seen before its response ended",
}
"""Why something is there: the rule, since a scenario that is wrong may expect it, too."""
_LEFT_OUT = _KEPT | {
    "agent": "a run in which nothing finished before it was cut is not stored",
    "response": "a response is left out if it did not finish streaming, or a call of it has no return",
    "request": "no return stands without the response that called, and what the user's turn says is not repeated",
    "event": "an event is stored once, and only in the turn in which it happened",
}
_RETURNS = ("tool-return", "retry-prompt")
_NOUNS = {"turns": "turn", "messages": "message", "parts": "part"}
_OF_AN_AGENT = {
    "messages",
    "agent_id",
    "completion_status",
    "interruption",
    "total_usage",
    "started_at",
    "completed_at",
}
_OF_AN_EVENT = {"event_type", "event_data", "source_agent", "target_agents"}
_SHOWN = 24  # characters of a text from its first difference on
_WHOLE = 80  # characters of a text that is shown whole


class LineMismatch(NamedTuple):
    """A line of an outline that differs: its turn, both lines ("(missing)" where there is none), and the change."""

    turn: int
    got: str
    expected: str
    change: str


def find_line_mismatches(got: Sequence[str], wanted: Sequence[str]) -> list[LineMismatch]:
    """Return the first line in which two outlines differ, none if they are equal: later ones often follow from it."""
    for index, (one, other) in enumerate(zip_longest(got, wanted, fillvalue="(missing)")):
        if one != other:
            if len(got) > len(wanted) and list(wanted[index:]) == list(got[index + len(got) - len(wanted) :]):
                change = f"leave this turn out: {_LEFT_OUT[_word(one)]}"
            elif len(got) < len(wanted) and list(got[index:]) == list(wanted[index + len(wanted) - len(got) :]):
                change = f"keep this turn: {_KEPT[_word(other)]}"
            else:
                change = _change_of_turn(one, other)
            return [LineMismatch(index, one, other, change)]
    return []


def _word(item: str) -> str:
    """Return what a line, a message or a part of an outline is: user, agent, response, request, event or part."""
    word = re.split(r"[ :(]", item, maxsplit=1)[0]
    return word if word in _KEPT else "part"


def _change_of_turn(got: str, wanted: str) -> str:
    (head, _, rest), (right_head, _, right_rest) = got.partition(": "), wanted.partition(": ")
    if _word(head) != "agent" or _word(right_head) != "agent":
        return ""
    if head != right_head:
        words, right = head.split(" "), right_head.split(" ")
        field = "completion_status" if words[1:2] != right[1:2] else "reason"
        return f"{FIELD_REASONS[field]}: {' '.join(right[1:])}, not {' '.join(words[1:])}"
    held, right_held = (_STARTS.split(text) if text else [] for text in (rest, right_rest))
    return _change_of_items(held, right_held, "message")


def _change_of_items(held: list[str], right: list[str], noun: str) -> str:
    """Return the change of a list of messages or of parts: one that is moved, missing, too much, or another."""
    at = next(i for i, (one, other) in enumerate(zip_longest(held, right)) if one != other)
    if sorted(held) == sorted(right):
        return _move(held, right, at, noun)
    if len(held) < len(right) and held[at:] == right[at + len(right) - len(held) :]:
        missing = right[at : at + len(right) - len(held)]
        return f"keep {' '.join(missing)} as {noun} {at}: {_KEPT[_word(missing[0])]}"
    if len(held) > len(right) and right[at:] == held[at + len(held) - len(right) :]:
        more = held[at : at + len(held) - len(right)]
        return f"leave {noun} {at}, {' '.join(more)}, out: {_LEFT_OUT[_word(more[0])]}"
    if noun == "message" and len(held) == len(right) and held[at + 1 :] == right[at + 1 :]:
        (kind, parts), (right_kind, right_parts) = _split(held[at]), _split(right[at])
        if kind == right_kind and kind != "event" and parts != right_parts:
            inner = _change_of_items(parts, right_parts, "part")
            return inner and f"in message {at} ({kind}) {inner}"
    return ""


def _move(held: list[str], right: list[str], at: int, noun: str) -> str:
    """Return which item is to be moved where; "" if moving one is not enough."""
    for index in range(at, len(held)):
        rest = held[:index] + held[index + 1 :]
        for to in range(at, len(held)):
            if [*rest[:to], held[index], *rest[to:]] == right:
                returned = held[index].startswith(_RETURNS)
                parts = (
                    "returns stand in the order of their calls"
                    if returned
                    else "parts stand in the order of their starts"
                )
                why = _ORDER.get(_word(held[index]), f"{parts} (R11)")
                return f"move {held[index]} from {noun} {index} to {noun} {to}: {why}"
    return ""


def _split(message: str) -> tuple[str, list[str]]:
    kind, _, rest = message.partition("(")
    inner = rest.removesuffix(")")
    return kind, inner.split(" ") if inner else []


def first_wanted(wanted: Any, pointer: str) -> tuple[str, Any, Any]:
    """Return the first value that is wanted in an item that is not there: its place, and what is there and wanted."""
    while wanted and isinstance(wanted, Mapping | list | tuple):
        step, wanted = next(iter(wanted.items() if isinstance(wanted, Mapping) else enumerate(wanted)))
        pointer = f"{pointer}/{step}"
    return pointer, ABSENT, "(anything)" if isinstance(wanted, Mapping) else wanted


def without_telemetry(wanted: Mapping[str, Any], version: Version) -> Mapping[str, Any]:
    """Return a part of a thread without the events that may be left out of what is stored (R37)."""
    if not wanted.get("turns"):
        return wanted
    turns = []
    for turn in wanted["turns"]:
        messages = turn.get("messages") or ()
        kept = [m for m in messages if not is_left_out(str(m.get("event_type", "")), version)]
        turns.append({**turn, "messages": kept} if len(kept) < len(messages) else turn)
    return {**wanted, "turns": turns}


def is_in_data(thread: Any, pointer: str) -> bool:
    """Whether a place is within data of the application, of a tool or of a call, where null is a value."""
    return _find_data(thread, _steps(pointer)) is not None


def make_visible(value: Any, *, in_data: bool) -> Any:
    """Return a value as a finding shows it: null is a value in data, and means absent elsewhere (R37)."""
    return value if value is not None else "null" if in_data else ABSENT


def change_of_value(thread: Any, wanted: Any, pointer: str, got: Any, right: Any) -> str:
    """Return the change that puts `right` at `pointer`, where `thread` holds `got`: either may be "(absent)".

    `wanted` is the part of a thread that the scenario expects.
    """
    steps = _steps(pointer)
    root = _find_data(thread, steps)
    if root is not None:
        return _change_of_data(thread, wanted, steps, root, got, right)
    if got == ABSENT:
        return _change_of_missing(thread, wanted, steps)
    field = next((step for step in reversed(steps) if not step.isdecimal()), "")
    if field == "timestamp":
        why = TIME_REASONS.get(str(_object(thread, steps[:-1]).get("message_type")), "")
    else:
        why = FIELD_REASONS.get(field, "")
    because = f": {why}" if why else ""
    if right == ABSENT or right is None:
        noun = _NOUNS.get(field, "")
        return f"leave {f'{noun} {steps[-1]}' if noun else f'`{field}` {shorten(got, 60)}'} out{because}"
    if isinstance(got, str) and isinstance(right, str) and len(right) > _WHOLE:
        return _change_of_text(f"`{field}`", got, right)
    wanted_text, got_text = tell_apart(_value(right), _value(got))
    return f"{why or f'write `{field}`'}: {wanted_text}, not {got_text}"


def _change_of_missing(thread: Any, wanted: Any, steps: list[str]) -> str:
    """Return what to add: the first step of the path that leads nowhere in the thread."""
    known = next(n for n in range(len(steps)) if _at(thread, steps[: n + 1]) is None)
    step, owner, item = steps[known], steps[:known], _at(wanted, steps[: known + 1])
    if step.isdecimal():
        noun = _NOUNS.get(owner[-1], f"item of `{owner[-1]}`")
        return f"keep {noun} {step}{_owner(owner[:-1])}: {_KEPT.get(_sort_of(item, noun)) or _value(item)}"
    if step == "messages" and _object(thread, owner).get("turn_type") == "user":
        return f"turn {owner[-1]} is the agent's, and the user's stands there: a turn before it is missing"
    return f"write `{step}`{_owner(owner)}: {_value(item)}"


def _sort_of(item: Any, noun: str) -> str:
    """Return what a scenario wants there, of which it may have named a few fields: a word of `_KEPT`, or ""."""
    if not isinstance(item, Mapping):
        return ""
    said = str(item.get("turn_type") or item.get("message_type") or "")
    if said:
        return "event" if said == "system" else said
    if noun == "turn":
        return "agent" if item.keys() & _OF_AN_AGENT else "user"
    if noun == "message":
        answers = any(str(_object(part, []).get("part_kind")) in _RETURNS for part in item.get("parts") or ())
        return "event" if item.keys() & _OF_AN_EVENT else "request" if answers else "response"
    return "request" if item.get("part_kind") in _RETURNS else noun


def change_of_findings(reported: Sequence[Finding], more: Collection[str], fewer: Collection[str]) -> str:
    """Return what to do about the first finding that is not expected, or else about the one that is missing."""
    for finding in reported:
        if finding.code in more:
            where = str(replace(finding.place, case=None))
            return f"{where + ', ' if where else ''}{finding.message}: {finding.remedy}"
    code = min(fewer)
    if code not in load_kinds():
        return f"correct expect.findings of the scenario: there is no finding with the code {code}"
    return f"{load_kinds()[code].title}: that is what the scenario plays, and nothing of it was seen in the streams"


def _owner(steps: list[str]) -> str:
    """Return whose something is, in words: " of part 2 of message 0 of turn 1"."""
    pairs = zip(steps[-2::-2], steps[::-2], strict=False)
    return "".join(f" of {_NOUNS.get(name, name)} {index}" for name, index in pairs) if len(steps) % 2 == 0 else ""


def _steps(pointer: str) -> list[str]:
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]


def _at(document: Any, steps: Sequence[str]) -> Any:
    """Return the value that a path leads to, None where there is none."""
    value = document
    for step in steps:
        try:
            value = value[int(step)] if isinstance(value, list | tuple) else value[step]
        except (KeyError, IndexError, ValueError, TypeError):
            return None
    return value


def _object(document: Any, steps: Sequence[str]) -> Mapping[str, Any]:
    """Return the object that a path leads to; an empty one where there is none."""
    value = _at(document, steps)
    return value if isinstance(value, Mapping) else {}


def _find_data(thread: Any, steps: Sequence[str]) -> int | None:
    """Return the index of the step at which data begins, whose keys are not fields of the protocol."""
    for index, step in enumerate(steps):
        result = step == "content" and _object(thread, steps[:index]).get("part_kind") in RESULT_KINDS
        if step in DATA_FIELDS or result:
            return index
    return None


def _change_of_data(thread: Any, wanted: Any, steps: list[str], root: int, got: Any, right: Any) -> str:
    inner = "/".join(steps[root + 1 :])
    place = f"`{inner}` in `{steps[root]}`" if inner else f"`{steps[root]}`"
    held, expected = (_at(document, steps[:-1]) for document in (thread, wanted))
    if isinstance(held, list) and isinstance(expected, list | tuple) and len(held) != len(expected):
        kept = f"keep the items of {place.replace(f'/{steps[-1]}`', '`', 1)} as they came"
        return f"{kept}: {len(expected)}, not {len(held)}, and the one at {steps[-1]} is {_value(right)}"
    if got == ABSENT:
        return f"keep {place}, {_value(right)}: data is stored as it came, with every key and every null"
    if right == ABSENT:
        return f"leave {place}, {_value(got)}, out: nothing is added to data"
    if isinstance(got, str) and isinstance(right, str):
        return _change_of_text(place, got, right)
    if _is_number(got) and _is_number(right):
        return f"keep the number at {place} as it came: {right}, not {got}{_how_a_number_changed(got, right)}"
    return f"keep {place} as it came: {_value(right)}, not {_value(got)}"


def _value(value: Any) -> str:
    return f'"{shorten(value, _WHOLE)}"' if isinstance(value, str) and value != ABSENT else shorten(value, _WHOLE)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _how_a_number_changed(got: Any, wanted: Any) -> str:
    if isinstance(wanted, int):
        if got == (wanted + 2**31) % 2**32 - 2**31:
            return ", which is what 32 bits hold of it"
        if isinstance(got, float) or abs(wanted) >= 10**15:
            return ", which lost digits of a whole number"
    return ""


def _change_of_text(place: str, got: str, wanted: str) -> str:
    """Return how a text is to be kept: where it ends too early, or what was done to it, or where it first differs."""
    if got and wanted.startswith(got):
        return f"keep the text at {place} whole: {len(got):,} of its {len(wanted):,} characters are there"
    if got.startswith(wanted):
        return f"the text at {place} ends after {len(wanted):,} characters, and {len(got):,} are there"
    for changed, words in _SPELLINGS:
        if changed(wanted) == got:
            return f"keep the text at {place} as it came: {words}"
    if len(wanted) <= _WHOLE and len(got) <= _WHOLE and not any(letter > "\uffff" for letter in wanted):
        return f"keep the text at {place} as it came: {_value(wanted)}, not {_value(got)}"
    at = next((i for i, (one, other) in enumerate(zip(got, wanted, strict=False)) if one != other), 0)
    far = " (a character beyond U+FFFF)" if wanted[at] > "\uffff" else ""
    there, right = (shorten(text[at : at + _SHOWN], 2 * _SHOWN) for text in (got, wanted))
    return f'the text at {place} differs from character {at:,} on{far}: "{right}", not "{there}"'


_SPELLINGS = (
    (str.strip, "the blanks at its ends belong to it"),
    (lambda text: text.replace("\r\n", "\n"), "its line ends are those that were sent"),
    (lambda text: unicodedata.normalize("NFC", text), "it is not normalised"),
    (lambda text: unicodedata.normalize("NFKC", text), "it is not normalised"),
    (lambda text: unicodedata.normalize("NFD", text), "it is not normalised"),
    (str.lower, "upper and lower case differ"),
    (lambda text: " ".join(text.split()), "blanks and line ends within it belong to it"),
    (lambda text: text.replace("\x00", ""), "the character U+0000 belongs to it"),
)
