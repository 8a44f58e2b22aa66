"""What survives an interruption: the one home of R20, R21, R23 and R25.

In: the tail of an agent turn and a reading. Out: the entries that stay, in order of arrival. Must not contain: how an
entry is written down. A segment needs no judging: nothing in it can be taken back.
"""

from __future__ import annotations

from msgspec.structs import replace

from tpharness.journal import Entry, Event, Part, Prompt, Response, Return, Segment
from tpharness.readings import AnswerRule, Readings, UnfinishedRule

__all__ = ["needs_partial", "survivors"]


def needs_partial(readings: Readings) -> bool:
    """Whether a reading looks at the text of parts that are still open."""
    return readings.R20 is UnfinishedRule.AS_STREAMED


def survivors(tail: Segment, readings: Readings) -> tuple[Entry, ...]:
    """Return the entries of an interrupted turn's tail that stay in the thread.

    A response stays if it had finished and each of its complete calls has a return (R20, R21). Its returns and the
    events that are its content go with it (R23); other events, prompts and returns to calls of earlier turns are facts
    of their own and stay (R25).
    """
    answered = {e.call_key for e in tail.entries if isinstance(e, Return)}
    keys: dict[int, list[int]] = {}
    for key, (index, _) in tail.calls.items():
        keys.setdefault(index, []).append(key)
    kept: dict[int, Response] = {}
    for index, entry in enumerate(tail.entries):
        if isinstance(entry, Response) and (stays := _judge(entry, keys.get(index, []), answered, readings)):
            kept[index] = stays
    result: list[Entry] = []
    latest = -1
    for index, entry in enumerate(tail.entries):
        match entry:
            case Response():
                latest = index
                if index in kept:
                    result.append(kept[index])
            case Return():
                place = tail.calls.get(entry.call_key)
                if place is None or place[0] in kept:
                    result.append(entry)
            case Event():
                if not entry.bound or latest in kept:
                    result.append(entry)
            case Prompt():
                result.append(entry)
    return tuple(result)


def _judge(response: Response, calls: list[int], answered: set[int], readings: Readings) -> Response | None:
    """Return what stays of one response, None when it is dropped whole."""
    if response.finished:
        parts = tuple(p for p in response.parts if p.complete)
    elif readings.R20 is UnfinishedRule.DROP:
        return None
    elif readings.R20 is UnfinishedRule.COMPLETE_PARTS:
        if any(p.kind == "tool-call" for p in response.parts):
            return None
        parts = tuple(p for p in response.parts if p.complete)
    else:
        parts = tuple(p for p in response.parts if p.complete or _has_text(p))
    if not parts:
        return None
    enough = all if readings.R21 is AnswerRule.ALL_RETURNS else any
    if calls and not enough(key in answered for key in calls):
        return None
    return replace(response, parts=parts) if len(parts) != len(response.parts) else response


def _has_text(part: Part) -> bool:
    return part.kind in ("text", "thinking") and bool(part.fields.get("content"))
