"""What the model has truly said in a conversation, to be compared with what it is sent as its own words."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tpharness.apps.evidence import Asked
from tpharness.facts import join_surrogates
from tpharness.model_apis.messages import HistoryCall
from tpharness.model_apis.plan import Call

__all__ = [
    "args_of",
    "calls_made",
    "is_part_of",
    "letters",
    "normal",
    "same_output",
    "same_result",
    "sent_twice",
    "unsaid",
]

_SPACE = re.compile(r"\s+")


def normal(text: str) -> str:
    """Return a text without differences of space, which frameworks add and take away between parts.

    A character that the model has sent in two halves is one (R43).
    """
    return _SPACE.sub(" ", join_surrogates(text)).strip()


def letters(*texts: str) -> str:
    """Return texts without any space: parts are joined with and without."""
    return "".join(join_surrogates("".join(texts)).split())


def unsaid(sent: str, said: Sequence[str]) -> str:
    """Return what of a text that is sent the model has not said, empty where it has said all of it.

    `said` are its answers in order. What is sent may be one of them or several joined, each cut at its end.
    """
    answers = _answers(said)
    _, rest = _split(sent, answers)
    return "" if not rest or _beginnings(rest, answers) else _after_begun(rest, answers)


def sent_twice(sent: Iterable[str], said: Iterable[str]) -> str:
    """Return an answer, or the beginning of one, that is sent more often than the model has said it, "" if none is.

    Each answer of `said` stands for one of `sent`, which are texts that the model has said (`unsaid`).
    """
    left = _answers(said)
    split = [_split(text, left) for text in sent]
    pieces = [piece for whole, rest in split for piece in (*whole, *(_beginnings(rest, left) or [rest])) if piece]
    for piece in sorted(pieces, key=len, reverse=True):  # what few answers begin with first, so that none is taken away
        answer = next((answer for answer in left if answer.startswith(piece)), None)
        if answer is None:
            return piece
        left.remove(answer)
    return ""


def _answers(said: Iterable[str]) -> list[str]:
    return [text for text in map(normal, said) if text]


def _split(sent: str, answers: Sequence[str]) -> tuple[list[str], str]:
    """Return the whole answers that a text begins with, the longest each time, and what follows them."""
    whole, rest = [], normal(sent)
    while rest and (longest := max((answer for answer in answers if rest.startswith(answer)), key=len, default="")):
        whole.append(longest)
        rest = rest[len(longest) :].strip()
    return whole, rest


def _beginnings(text: str, answers: Sequence[str]) -> list[str]:
    """Return the fewest beginnings of answers that make a text, one behind the other; nothing if none do."""
    before = {0: 0}  # places that beginnings lead to, each with the place where the last of them begins
    reached = [0]
    while reached and len(text) not in before:
        places, reached = reached, []
        for place in places:
            start = place + (text[place] == " ")
            for end in range(start + 1, start + _common(text[start:], answers) + 1):
                if end not in before:
                    before[end] = place
                    reached.append(end)
    found, end = [], len(text) if len(text) in before else 0
    while end:
        found.append(text[before[end] : end].strip())
        end = before[end]
    return found[::-1]


def _after_begun(rest: str, answers: Sequence[str]) -> str:
    """Return what is left of a text once the longest beginning of an answer is taken away from it."""
    return rest[_common(rest, answers) :]


def _common(text: str, answers: Sequence[str]) -> int:
    """Return how many characters a text begins with that are the beginning of an answer."""
    most = 0
    for answer in answers:
        count = next(
            (place for place, (one, other) in enumerate(zip(answer, text, strict=False)) if one != other), None
        )
        most = max(most, min(len(answer), len(text)) if count is None else count)
    return most


def is_part_of(text: str, whole: str) -> bool:
    """Whether a text is contained in another, apart from white space."""
    return normal(text) in normal(whole)


def same_result(sent: Any, shown: Any) -> bool:
    """Whether a result that is sent is the output that a user saw: the same text, or JSON with the same value.

    Either may be the JSON text of it; what is sent may be in a field of an object, since some APIs take no other
    results than objects.
    """
    value = _value(sent)
    inner = value.values() if isinstance(value, dict) else ()
    return any(_alike(one, other) for one in (sent, value, *inner) for other in (shown, _value(shown)))


def same_output(one: Any, other: Any) -> bool:
    """Whether two outputs on a screen are the same value, either of which may be the JSON text of it."""
    return same_result(one, other) or same_result(other, one)


def _value(text: Any) -> Any:
    """Return what a text is as JSON, else itself."""
    try:
        return json.loads(text) if isinstance(text, str) else text
    except (ValueError, RecursionError):
        return text


def _alike(sent: Any, shown: Any) -> bool:
    if isinstance(sent, str) and isinstance(shown, str):
        return normal(sent) == normal(shown)
    return bool(sent == shown)


def calls_made(sent: Sequence[HistoryCall], requests: Iterable[Asked]) -> list[Call | None]:
    """Return for each call that is sent the model's own call, None for one that is sent again or was never made.

    It is found by its id; where the model gave no such id, by the name of its tool, and best by its arguments too.
    Each call of the model stands for one.
    """
    left = [call for asked in requests for call in asked.called]
    ids = {call.call_id for call in left}
    found: list[Call | None] = [None] * len(sent)

    def take(index: int, wanted: Callable[[Call], bool]) -> None:
        made = None if found[index] is not None else next(filter(wanted, left), None)
        if made is not None:
            found[index] = made
            left.remove(made)

    for index, one in enumerate(sent):
        take(index, lambda call, one=one: call.call_id == one.call_id)  # type: ignore[misc]
    own = [(index, one) for index, one in enumerate(sent) if one.call_id not in ids]
    for index, one in own:
        take(index, lambda call, one=one: (call.name, args_of(call)) == (one.name, one.args))  # type: ignore[misc]
    for index, one in own:
        take(index, lambda call, one=one: call.name == one.name)  # type: ignore[misc]
    return found


def args_of(call: Call) -> Any:
    """Return the arguments of a call as JSON, None where the model did not say them to their end."""
    try:
        return json.loads("".join(call.pieces))
    except ValueError:
        return None
