"""Decide what survives an interruption: the only code of R20, R21, R23, R25, and of R42 where calls are dropped.

`surviving_response` decides about one response, and the other entries follow their responses (`survivors`). The writer
closes a segment when all of it survives, so that no interruption can take it back; a dialect asks what survives of the
tail of a turn that was cut. Must not contain: how an entry is rendered.
"""

from __future__ import annotations

from collections.abc import Collection, Container

from msgspec.structs import replace

from tpharness.journal.records import Entry, Event, Part, Prompt, Response, Return, Segment
from tpharness.readings import AnswerRule, Readings, UnfinishedRule

__all__ = ["is_settled", "needs_partial", "survivors"]

_STRICTEST = Readings()
"""The default readings keep the least: what they keep unchanged, every other reading keeps unchanged."""


def needs_partial(readings: Readings) -> bool:
    """Whether the readings need the text of parts that are still open."""
    return readings.R20 is UnfinishedRule.AS_STREAMED


def surviving_response(
    response: Response, calls: Collection[int], answered: Container[int], readings: Readings
) -> Response | None:
    """Return what is kept of one response when its turn is cut; None if it is dropped.

    It is kept if it had finished and each of its complete `calls` is `answered` (R20, R21); both are numbers of calls.
    """
    if response.finished:
        parts = response.parts
    elif readings.R20 is UnfinishedRule.DROP:
        return None
    elif readings.R20 is UnfinishedRule.COMPLETE_PARTS:
        if any(p.kind == "tool-call" for p in response.parts):
            return None
        parts = tuple(p for p in response.parts if p.complete)
    else:
        parts = tuple(p for p in response.parts if p.complete or _has_text(p))
    if not parts and not response.finished:
        return None
    enough = all if readings.R21 is AnswerRule.ALL_RETURNS else any
    if calls and not enough(key in answered for key in calls):
        return None
    return replace(response, parts=parts) if len(parts) != len(response.parts) else response


def is_settled(response: Response, calls: Collection[int], answered: Container[int]) -> bool:
    """Whether no interruption can take back any of a response, under any readings."""
    return surviving_response(response, calls, answered, _STRICTEST) is response


def survivors(tail: Segment, readings: Readings) -> tuple[Entry, ...]:
    """Return the entries that are kept of the tail of an interrupted turn.

    The returns and bound events of a response are kept or dropped with it (R23). Other events, prompts and returns to
    calls of earlier turns are kept (R25).
    """
    answered, keys = _answers(tail)
    kept: dict[int, Response] = {}
    unmade: set[str] = set()  # the provider's calls that went with their response
    for index, entry in enumerate(tail.entries):
        if isinstance(entry, Response):
            stays = surviving_response(entry, keys.get(index, ()), answered, readings)
            if stays is not None:
                kept[index] = _without_outputs(stays, unmade)
            unmade |= _provider_calls(entry)
            unmade -= _provider_calls(stays)
    result: list[Entry] = []
    latest: int | None = None  # None: the response before has settled, or there is none
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
                if not entry.bound or latest is None or latest in kept:
                    result.append(entry)
            case Prompt():
                result.append(entry)
    return tuple(result)


def _answers(tail: Segment) -> tuple[set[int], dict[int, list[int]]]:
    """Return the numbers of the calls that have a return, and of the calls of each response, by its place."""
    answered = {entry.call_key for entry in tail.entries if isinstance(entry, Return)}
    keys: dict[int, list[int]] = {}
    for key, (index, _) in tail.calls.items():
        keys.setdefault(index, []).append(key)
    return answered, keys


def _provider_calls(response: Response | None) -> set[str]:
    """Return the ids of the complete calls of a response that the provider executes; none if there is no response."""
    parts = response.parts if response is not None else ()
    return {p.fields["tool_call_id"] for p in parts if p.kind == "builtin-tool-call" and p.complete}


def _without_outputs(response: Response, unmade: set[str]) -> Response:
    """Return a response without the outputs of calls that were dropped (R23, R42)."""
    gone = unmade - _provider_calls(response)
    parts = tuple(p for p in response.parts if p.kind != "builtin-tool-return" or p.fields["tool_call_id"] not in gone)
    return replace(response, parts=parts) if len(parts) != len(response.parts) else response


def _has_text(part: Part) -> bool:
    return part.kind in ("text", "thinking") and bool(part.fields.get("content"))
