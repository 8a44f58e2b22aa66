"""What a target said of a thread → where it is not what is right. Loaded where a target was asked anything."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tpharness.checks.contract import Evidence
from tpharness.checks.expectations import ABSENT, find_mismatch
from tpharness.facts import parse_tool_args
from tpharness.findings import Finding, Kind, Place, shorten_both
from tpharness.protocol.versions import Version

__all__ = ["ThreadAnswer", "judge_answers"]

_KINDS = {
    "hash": Kind("hash-differs"),
    "migrate": Kind("migration-differs"),
    "history": Kind("history-differs"),
    "import": Kind("import-differs"),
}
_RULES = {
    "migrate": (
        "another version changes the version alone, but that 0.0.4 has a status of turns, interrupted turns, which are "
        "dropped before it and named in `dropped`, and other names of the protocol's events (`tpharness convert`)"
    ),
    "history": (
        "a model gets the system prompt of its caller, the user's turns as requests, what other agents said with their "
        "names, and no call without a return (`tpharness history`)"
    ),
    "import": "the thread of messages has each of them, and gives the same messages again (`tpharness import`)",
}
"""Why, and which command prints what is right."""
_IN_TEXT = {"tool-call": "args", "builtin-tool-call": "args", "retry-prompt": "content"}
_WHOLE = ("hash", "migrate")
"""Questions whose answer has nothing beside what is right; the messages of a model may have more fields."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadAnswer:
    """What a side answered when it was asked something of a thread, and what is right.

    `question` is the capability that it declares for it, `asked` says in words what was asked.
    """

    question: str
    side: str
    version: Version
    asked: str
    got: Any
    right: Any


def judge_answers(evidence: Evidence) -> list[Finding]:
    """Return a finding for each wrong answer."""
    found = []
    for one in evidence.answers:
        miss = _mismatch(one)
        if miss is not None:
            pointer, got, expected = miss
            kind = _KINDS[one.question]
            place = Place(case=evidence.case, side=one.side, pointer=pointer)
            said = f"{kind.title}; asked for was {one.asked}"
            found.append(kind.at(place, said, got=got, expected=expected, advice=_change(one, pointer, got, expected)))
    return found


def _change(one: ThreadAnswer, pointer: str, got: Any, expected: Any) -> str:
    """Return what to change in the answer, and why; "" for a hash, which says nothing of what is in it."""
    if one.question not in _RULES or not pointer:
        return ""
    held, wanted = shorten_both(got, expected, 80)
    if got == ABSENT:
        change = f"add {wanted} at {pointer}"
    elif expected == ABSENT:
        change = f"leave {held} at {pointer} out"
    else:
        change = f"write {wanted} at {pointer}, not {held}"
    return f"in the answer to `{one.question}`, {change}: {_RULES[one.question]}"


def _mismatch(one: ThreadAnswer) -> tuple[str, Any, Any] | None:
    got, right = (one.got, one.right) if one.question in _WHOLE else (_parsed(one.got), _parsed(one.right))
    miss = find_mismatch(got, right)
    if miss is None and one.question in _WHOLE and (more := find_mismatch(one.right, one.got)) is not None:
        pointer, expected, got = more
        return pointer, got, expected
    return miss


def _parsed(messages: Any) -> Any:
    """Return messages with the values of arguments and of retry prompts, which may be given as their JSON text."""
    if not isinstance(messages, list):
        return messages
    return [
        {**message, "parts": [_parsed_part(part) for part in message["parts"]]} if "parts" in message else message
        for message in messages
    ]


def _parsed_part(part: dict[str, Any]) -> dict[str, Any]:
    name = _IN_TEXT.get(str(part.get("part_kind")))
    return part if name is None else {**part, name: parse_tool_args(part.get(name))}
