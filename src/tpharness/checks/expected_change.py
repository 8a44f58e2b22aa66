"""What a thread holds and what its scenario expects → the one change that makes the one of the other, in words. Pure.

In: the thread, a JSON pointer and both values there; or the lines of both outlines. Out: a sentence with the values of
this case, "" where no one change is known. Loaded by a run that has such a finding, and by no other.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tpharness.checks.contract import Evidence
from tpharness.checks.expectations import ABSENT, DATA_FIELDS, RESULT_KINDS, THREAD_DIFFERS
from tpharness.checks.list_change import (
    NOUNS,
    at_path,
    change_of_lists,
    item_words,
    sort_of,
    why_left_out,
    words_of_owner,
)
from tpharness.checks.outline_change import KEPT
from tpharness.findings import Finding, load_kinds, shorten, tell_apart
from tpharness.protocol.canonical import is_left_out
from tpharness.protocol.change import FIELD_REASONS, NAME_REASONS, TIME_REASONS
from tpharness.protocol.versions import Version
from tpharness.server_events.returns import DENIAL

__all__ = [
    "change_of_findings",
    "change_of_value",
    "first_wanted",
    "is_in_data",
    "make_visible",
    "with_causes",
    "without_telemetry",
    "words_of_codes",
]

_OF_A_DENIAL = "; a denial has the reason of the answer to its request, in whichever stream that was asked for (R22)"
_OF_A_BLOCK = "a delta belongs to the part whose id it has, and ids are compared whole"
_NOT_SENT = "; if the stream does not say so, correct what the server sends: its own thread is right"
_MARK = b"\xef\xbb\xbf"
_MARK_KEPT = (
    "skip the byte order mark (EF BB BF) at the beginning of the stream: with it the first line is not `data`, and its"
    " event is lost (sse.bom)"
)
_EQUAL_ITEMS = "; items that are equal are all kept"
_SHOWN = 24  # characters of a text from its first difference on
_WHOLE = 80  # characters of a text that is shown whole


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
    if change := change_of_lists(thread, wanted, steps):
        return change
    root = _find_data(thread, steps)
    if root is not None:
        return _change_of_data(thread, wanted, steps, root, got, right)
    if got == ABSENT:
        return _change_of_missing(thread, wanted, steps)
    field = next((step for step in reversed(steps) if not step.isdecimal()), "")
    if field == "timestamp":
        why = TIME_REASONS.get(str(_object(thread, steps[:-1]).get("message_type")), "")
    else:
        why = FIELD_REASONS.get(field) or NAME_REASONS.get(field, "")
    if right == ABSENT or right is None:
        noun = NOUNS.get(field, "") if steps[-1].isdecimal() else ""  # one item, not the whole list
        why = why_left_out(got, noun) if noun else why
        because = f": {why}" if why else ""
        return f"leave {item_words(noun, int(steps[-1])) if noun else f'`{field}` {shorten(got, 60)}'} out{because}"
    if isinstance(got, str) and isinstance(right, str) and (field == "content" or len(right) > _WHOLE):
        return _change_of_blocks(thread, wanted, steps, got, right) or _change_of_text(f"`{field}`", got, right)
    wanted_text, got_text = tell_apart(_value(right), _value(got))
    if field in NAME_REASONS:
        return f"write `{field}`: {wanted_text}, not {got_text}: {why}"
    if why.startswith("it is "):
        return f"write `{field}`: {wanted_text}, not {got_text}: {why}"
    return f"{why or f'write `{field}`'}: {wanted_text}, not {got_text}"


def _change_of_blocks(thread: Any, wanted: Any, steps: list[str], got: str, right: str) -> str:
    """Return what to do where the text of a part stands in another one of its message; "" elsewhere."""
    if len(steps) < 3 or steps[-3] != "parts":
        return ""
    own = int(steps[-2])
    texts = [
        [at_path(part, ["content"]) for part in at_path(document, steps[:-2]) or ()] for document in (wanted, thread)
    ]
    for n, text in enumerate(texts[0]):
        if n != own and isinstance(text, str) and text and got in (text + right, right + text):
            return f"put the deltas of part {n}, {_value(text)}, there and not into part {own}: {_OF_A_BLOCK}"
    for n, text in enumerate(texts[1]):
        if n != own and not got and isinstance(text, str) and right and right in text:
            return f"put the deltas of part {own}, {_value(right)}, there and not into part {n}: {_OF_A_BLOCK}"
    return ""


def _change_of_missing(thread: Any, wanted: Any, steps: list[str]) -> str:
    """Return what to add: the first step of the path that leads nowhere in the thread."""
    known = next(n for n in range(len(steps)) if at_path(thread, steps[: n + 1]) is None)
    step, owner, item = steps[known], steps[:known], at_path(wanted, steps[: known + 1])
    if step.isdecimal():
        noun = NOUNS.get(owner[-1], "")
        if noun:
            named = f"{item_words(noun, int(step))}{words_of_owner(owner[:-1])}"
            return f"keep {named}: {KEPT.get(sort_of(item, noun)) or _value(item)}"
        again = _EQUAL_ITEMS if item in (at_path(wanted, owner) or ())[: int(step)] else ""
        return f"keep item {step} of `{owner[-1]}`{words_of_owner(owner[:-1])}: {_value(item)}{again}"
    if step == "messages" and _object(thread, owner).get("turn_type") == "user":
        there = item_words("turn", int(owner[-1]))
        return f"{there} is the agent's, and the user's stands there: a turn before it is missing"
    named = f"`{step}`" if step else "the empty key"
    return f"write {named}{words_of_owner(owner)}: {_value(item)}"


def change_of_findings(reported: Sequence[Finding], more: Collection[str], fewer: Collection[str]) -> str:
    """Return what to do about what a reader has not noticed, or else about the first finding that is not expected.

    What was not noticed is first: what is not expected then follows from reading on.
    """
    for finding in () if fewer else reported:
        if finding.code in more:
            where = str(replace(finding.place, case=None))
            return f"{where + ', ' if where else ''}{finding.message}: {finding.remedy}"
    code = min(fewer)
    if code not in load_kinds():
        return f"correct expect.findings of the scenario: there is no finding with the code {code}"
    seen = sum(finding.code == code for finding in reported)
    noticed = f"only {seen} of these were seen" if seen else "nothing of it was seen"
    instead = next((finding for finding in reported if finding.code in more), None)
    place = "" if instead is None else f"{replace(instead.place, case=None)} ".lstrip()
    then = "" if instead is None else f"; {place}has `{instead.code}` in its place"
    return f"report `{code}`: {load_kinds()[code].title}; the scenario plays that, and {noticed} in the streams{then}"


def with_causes(evidence: Evidence, found: list[Finding]) -> list[Finding]:
    """Return what was found in the threads, with what else may be wrong of the client's.

    A client that reports a line with the byte order mark at the beginning of a stream did not skip it. Where only the
    client's thread is wrong and nothing says what the stream should have said, the stream may be wrong, too.
    """
    client = evidence.client
    if client is not None and any(_begins_with_mark(one) for one in client.findings):
        return [replace(one, advice=_MARK_KEPT) if one.place.side == client.name else one for one in found]
    both = evidence.server is not None and client is not None and client.truth is None
    differing = [one for one in found if one.kind is THREAD_DIFFERS]
    if len(differing) != 1 or differing[0].place.side != "client" or not both:
        return found
    return [replace(one, advice=f"{one.advice}{_NOT_SENT}") if one is differing[0] else one for one in found]


def _begins_with_mark(finding: Finding) -> bool:
    """Whether a line that is not a field is the first one of a stream, and its byte order mark was read with it."""
    first = finding.code == "sse-unknown-field" and finding.place.byte == 0
    return first and isinstance(finding.got, bytes) and finding.got.startswith(_MARK)


def words_of_codes(codes: Mapping[str, int]) -> str:
    """Return codes by the alphabet, each once, with how often it comes."""
    return ", ".join(f"{code} ({n} times)" if n > 1 else code for code, n in sorted(codes.items())) or "none"


def _steps(pointer: str) -> list[str]:
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]


def _object(document: Any, steps: Sequence[str]) -> Mapping[str, Any]:
    """Return the object that a path leads to; an empty one where there is none."""
    value = at_path(document, steps)
    return value if isinstance(value, Mapping) else {}


def _find_data(thread: Any, steps: Sequence[str]) -> int | None:
    """Return the index of the step at which data begins, whose keys are not fields of the protocol."""
    for index, step in enumerate(steps):
        result = step == "content" and str(_object(thread, steps[:index]).get("part_kind")) in RESULT_KINDS
        if step in DATA_FIELDS or result:
            return index
    return None


def _change_of_data(thread: Any, wanted: Any, steps: list[str], root: int, got: Any, right: Any) -> str:
    inner = "/".join(steps[root + 1 :])
    place = f"`{inner}` in `{steps[root]}`" if inner else f"`{steps[root]}`"
    held, expected = (at_path(document, steps[:-1]) for document in (thread, wanted))
    if isinstance(held, list) and isinstance(expected, list | tuple) and len(held) != len(expected):
        kept = f"keep the items of {place.replace(f'/{steps[-1]}`', '`', 1)} as they came"
        again = _EQUAL_ITEMS if len(held) < len(expected) and all(item in held for item in expected) else ""
        return f"{kept}: {len(expected)}, not {len(held)}, and the one at {steps[-1]} is {_value(right)}{again}"
    part_kind = str(_object(thread, steps[:-1]).get("part_kind", ""))
    if got == ABSENT and steps[-1] == "args" and steps[2:3] == ["messages"] and "call" not in part_kind:
        turn = item_words("turn", int(steps[1]))
        return (
            f"keep every message of {turn}: message {steps[3]} begins with {part_kind} where its call is expected, so "
            "that one before it is missing"
        )
    if got == ABSENT:
        return f"keep {place}, {_value(right)}: data is stored as it came, with every key and every null"
    if right == ABSENT:
        return f"leave {place}, {_value(got)}, out: nothing is added to data"
    if isinstance(got, str) and isinstance(right, str):
        denied = steps[-1] == "content" and (_object(thread, steps[:-1]).get("status") == "denied" or right == DENIAL)
        return _change_of_text(place, got, right) + (_OF_A_DENIAL if denied else "")
    keys = expected.items() if isinstance(expected, Mapping) and inner else ()
    other = next((key for key, value in keys if value == got and _alike(key, steps[-1])), "")
    of_another = other and f", which is that of `{other}`: keys are kept whole, in their own letters"
    if _is_number(got) and _is_number(right):
        changed = _how_a_number_changed(got, right)
        return f"keep the number at {place} as it came: {right}, not {got}{of_another or changed}"
    return f"keep {place} as it came: {_value(right)}, not {_value(got)}{of_another}"


def _alike(key: str, name: str) -> bool:
    """Whether a key is another one than this, and the same to somebody who trims keys or makes their letters small."""
    return key != name and key.strip().casefold() == name.strip().casefold()


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
    if not wanted:
        return f'keep the text at {place} empty, as it came: "", not {_value(got)}'
    if got.startswith(wanted):
        return f"the text at {place} ends after {len(wanted):,} characters, and {len(got):,} are there"
    for changed, words in _SPELLINGS:
        if changed(wanted) == got:
            return f"keep the text at {place} as it came: {words}"
    if _join_halves(got) == wanted:
        return f"join the halves of a character in the text at {place}: two deltas may have one each (R43)"
    if _is_replaced(got, wanted):
        return (
            f"keep each character of the text at {place}: join the bytes and the halves of a character before decoding"
        )
    if len(wanted) <= _WHOLE and len(got) <= _WHOLE and not any(letter > "\uffff" for letter in wanted):
        return f"keep the text at {place} as it came: {_value(wanted)}, not {_value(got)}"
    at = next((i for i, (one, other) in enumerate(zip(got, wanted, strict=False)) if one != other), 0)
    far = " (a character beyond U+FFFF)" if wanted[at] > "\uffff" else ""
    there, right = (shorten(text[at : at + _SHOWN], 2 * _SHOWN) for text in (got, wanted))
    return f'the text at {place} differs from character {at:,} on{far}: "{right}", not "{there}"'


def _is_replaced(got: str, wanted: str) -> bool:
    """Whether a text differs only in that question marks stand for characters beyond ASCII."""
    pattern = "".join(re.escape(c) if c.isascii() else r"[?\ufffd]*" for c in wanted)
    return not wanted.isascii() and len(wanted) < 10_000 and re.fullmatch(pattern, got, re.DOTALL) is not None


def _join_halves(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


_SPELLINGS = (
    (html.escape, "markup in it is text, and is not escaped"),
    (lambda text: html.escape(text, quote=False), "markup in it is text, and is not escaped"),
    (str.strip, "the blanks at its ends belong to it"),
    (lambda text: text.replace("\r\n", "\n"), "its line ends are those that were sent"),
    (lambda text: unicodedata.normalize("NFC", text), "it is not normalised"),
    (lambda text: unicodedata.normalize("NFKC", text), "it is not normalised"),
    (lambda text: unicodedata.normalize("NFD", text), "it is not normalised"),
    (str.lower, "upper and lower case differ"),
    (lambda text: " ".join(text.split()), "blanks and line ends within it belong to it"),
    (lambda text: text.replace("\x00", ""), "the character U+0000 belongs to it"),
)
