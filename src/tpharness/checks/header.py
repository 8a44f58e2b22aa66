"""The head of a thread: what a side was given with it, which the hash leaves out (R54, R51).

In: a side, and what the reference makes of the same input. Out: findings about the id, the agents and the times of the
thread. Unknown fields of the head are the thread's (R7); a side may have more agents than it was given.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tpharness.checks.contract import Side, Thread
from tpharness.findings import Finding, Kind, Place
from tpharness.protocol.canonical import canonical_time, order_of_time

__all__ = ["compare_header"]

DIFFERS = Kind("header-differs")


def compare_header(case: str, side: Side) -> list[Finding]:
    """Return where the head of the side's thread is not the one that it was given; nothing if that is not known."""
    return [] if side.truth is None else list(_compare(case, side, side.truth))


def _compare(case: str, side: Side, truth: Thread) -> Iterator[Finding]:
    def found(pointer: str, message: str, got: Any, expected: Any) -> Finding:
        place = Place(case=case, side=side.name, pointer=pointer)
        return DIFFERS.at(place, message, got="(absent)" if got is None else got, expected=expected, symptom=pointer)

    held = side.thread
    if held.get("thread_id") != truth["thread_id"]:
        yield found("/thread_id", "the thread has another id", held.get("thread_id"), truth["thread_id"])
    if _time(held.get("created_at")) != _time(truth["created_at"]):
        yield found(
            "/created_at", "the thread was created at another time", held.get("created_at"), truth["created_at"]
        )
    for name, entry in truth["agents"].items():
        got = (held.get("agents") or {}).get(name)
        if not isinstance(got, dict) or any(got.get(k) != v for k, v in entry.items() if v is not None):
            yield found("/agents", f"the registry does not have the agent {name!r} as it was given", got, entry)
    updated, changed = held.get("updated_at"), _last_change(held) or truth["created_at"]
    if not isinstance(updated, str) or order_of_time(updated) < order_of_time(changed):
        yield found("/updated_at", "the thread changed later than it says", updated, f"{changed} or later")


def _last_change(thread: Thread) -> str | None:
    """Return when the last turn ended, None without a turn, or if it does not say so."""
    last: Any = next(reversed(thread["turns"]), {})
    at = last.get("submitted_at") or last.get("completed_at") or (last.get("interruption") or {}).get("interrupted_at")
    return at if isinstance(at, str) else None


def _time(at: Any) -> Any:
    return canonical_time(at) if isinstance(at, str) else at
