"""Rules of times: they exist, they have an offset, turns do not overlap, messages stand in order within their turn."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any

from tpharness.findings import Finding, Kind, Place
from tpharness.protocol import problems as p
from tpharness.protocol.canonical import canonical_time, order_of_time
from tpharness.protocol.jcs import escape
from tpharness.protocol.rules.index import Index, message_pointer, stop_of

__all__ = ["find_bad_times", "find_times_of_other_forms", "find_times_without_offset"]

_NAIVE = re.compile(r"[Tt ]\d\d:\d\d:\d\d(?:[.,]\d+)?$", re.ASCII)
_USUAL = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)?", re.ASCII)
"""The form of RFC 3339; one without an offset has a finding of its own."""
_OFFSET = re.compile(rf"(?:[Zz]|[+-](?:[01]\d|2[0-3])(?::?[0-5]\d)?|{_NAIVE.pattern})$", re.ASCII)


def find_bad_times(index: Index) -> Iterator[Finding]:
    """R4, R25, R48: find times that do not exist, turns that overlap, messages out of order or outside their turn."""
    for pointer, at in _root_times(index.thread):
        if not _read(at)[1]:
            yield p.BAD_TIME.at(Place(pointer=pointer), got=at)
    created, updated = index.thread["created_at"], index.thread["updated_at"]
    (first, exists), (latest, also_exists) = _read(created), _read(updated)
    if exists and also_exists and latest < first:
        yield p.UPDATED_EARLY.at(Place(pointer="/updated_at"), got=updated, expected=f"{created} or later")
    after_end = p.LATE_EVENT if index.version.features.late_events else p.EVENT_AFTER_END
    end = began = agent = ""
    for t, turn in enumerate(index.thread["turns"]):
        user = turn["turn_type"] == "user"
        start_field = "submitted_at" if user else "started_at"
        start, pointer = turn[start_field], f"/turns/{t}"
        begun, exists = _read(start)
        if not exists:
            yield p.BAD_TIME.at(Place(pointer=f"{pointer}/{start_field}"), got=start)
        inside = (
            not user and agent not in ("", turn["agent_id"]) and began <= begun and _read(stop_of(turn)[1])[0] <= end
        )
        if end and begun < end and not inside:
            yield p.OVERLAP.at(Place(pointer=f"{pointer}/{start_field}"), got=start, expected=f"{end}Z or later")
        if user:
            end, agent = begun, ""
            continue
        stop_field, stop = stop_of(turn)
        limit, exists = _read(stop)
        if not exists:
            yield p.BAD_TIME.at(Place(pointer=f"{pointer}/{stop_field}"), got=stop)
        if limit < begun:
            yield p.OUTSIDE_TURN.at(Place(pointer=pointer), "the turn ends before it starts", got=stop, expected=start)
        yield from _message_times(turn, pointer, begun, limit, after_end)
        if not inside:  # R29: a run that a tool of the turn before has called
            end, began, agent = limit, begun, turn["agent_id"]


def _message_times(turn: Mapping[str, Any], pointer: str, begun: str, limit: str, after_end: Kind) -> Iterator[Finding]:
    """Find messages that are out of order or outside their turn, whose limits are given in the form that orders."""
    last = begun
    advice = ""
    for m, message in enumerate(turn["messages"]):
        written = message["timestamp"]
        at, exists = _read(written)
        if not exists:
            kind, bound = p.BAD_TIME, "a time that exists"
        elif at < last:
            kind, bound = (p.OUTSIDE_TURN if m == 0 else p.OUT_OF_TIME), f"{last}Z or later"
            if m == 0 and begun == limit:
                advice = "begin the turn when its run began: its start is the time of its end"
            elif m > 0 and at == begun:
                advice = "write when it happened: it has the time at which its turn began"
        elif at > limit:
            kind = after_end if message["message_type"] == "system" else p.OUTSIDE_TURN
            bound = f"{limit}Z or earlier"
        else:
            last = at
            continue
        yield kind.at(Place(pointer=f"{pointer}/messages/{m}/timestamp"), got=written, expected=bound, advice=advice)
        advice = ""


def find_times_without_offset(index: Index) -> Iterator[Finding]:
    """R47: find times that do not say how far they are from UTC; one finding, since one writer wrote them all."""
    naive = _times_that(index, lambda at: at[-1] not in "Zz" and _NAIVE.search(at) is not None)
    if naive:
        pointer, first = naive[0]
        words = "" if len(naive) == 1 else f"{len(naive)} timestamps have no offset from UTC; this is the first"
        yield p.NO_OFFSET.at(Place(pointer=pointer), words, got=first, expected=f"{first}Z, or with another offset")


def find_times_of_other_forms(index: Index) -> Iterator[Finding]:
    """R47: find times in a form that few readers of ISO 8601 know; one finding for all of them."""
    odd = _times_that(index, lambda at: _USUAL.fullmatch(at) is None and _read(at)[1])
    if odd:
        pointer, first = odd[0]
        words = "" if len(odd) == 1 else f"{len(odd)} timestamps are in other forms of ISO 8601; this is the first"
        yield p.TIME_FORM.at(Place(pointer=pointer), words, got=first, expected=canonical_time(first))


def _times_that(index: Index, is_odd: Callable[[str], bool]) -> list[tuple[str, str]]:
    """Return the odd times with their pointers, which are made only where there is one."""
    odd = {at for at in index.times if is_odd(at)}
    return [(pointer, at) for pointer, at in _times(index) if at in odd] if odd else []


def _times(index: Index) -> Iterator[tuple[str, str]]:
    yield from _root_times(index.thread)
    for t, turn in enumerate(index.thread["turns"]):
        if turn["turn_type"] == "user":
            yield f"/turns/{t}/submitted_at", turn["submitted_at"]
        else:
            yield f"/turns/{t}/started_at", turn["started_at"]
            stop_field, stop = stop_of(turn)
            yield f"/turns/{t}/{stop_field}", stop
    for t, m, message in index.messages:
        yield f"{message_pointer(t, m)}/timestamp", message["timestamp"]


def _root_times(thread: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name in ("created_at", "updated_at"):
        yield f"/{name}", thread[name]
    for key, agent in thread["agents"].items():
        yield f"/agents/{escape(key)}/created_at", agent["created_at"]


@lru_cache(maxsize=4096)
def _read(at: str) -> tuple[str, bool]:
    """Return what orders a time, and whether it exists."""
    key = order_of_time(at)
    try:
        datetime.fromisoformat(at)
    except ValueError:
        return key, _exists_canonical(at)
    return key, True


def _exists_canonical(at: str) -> bool:
    """Whether a time exists whose fraction or offset Python cannot read."""
    if not _OFFSET.search(at):
        return False
    try:
        datetime.fromisoformat(canonical_time(at)[:19])
    except ValueError:
        return False
    return True
