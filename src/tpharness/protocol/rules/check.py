"""A thread against its schema and every rule, which are asked where one pass over it leaves a doubt.

In: any JSON value. Out: findings.
"""

from __future__ import annotations

from typing import Any

from tpharness.findings import Finding
from tpharness.protocol import rules
from tpharness.protocol.plain import plain_size

__all__ = ["check_thread"]

ONE_IN = 1000
"""Of how many plain threads one, known by its size, is judged by every rule all the same; the tests set it to 1."""


def check_thread(thread: Any, *, observations: bool = False, fits: bool = False, safe: bool = False) -> list[Finding]:
    """Return what is wrong with a thread, with JSON pointers; with `observations` also findings at MAY.

    Of each kind the first `MOST_OF_A_KIND` are returned and the others are counted. Accepts any JSON value and does not
    raise for any. `fits` says that the thread is known to fit its schema, `safe` that all values in it have canonical
    forms (R38).
    """
    events: list[str] = []
    size = plain_size(thread, observations=observations, events=None if observations else events)
    known = rules.every.find_broken_events(thread) if size is not None and events else []
    if size is not None and size % ONE_IN:
        return known
    found = rules.every.find_broken(thread, observations=observations, fits=fits, safe=safe)
    if size is not None and found != known:
        other = next(one for one in (*found, *known) if one not in found or one not in known)
        raise RuntimeError(f"a thread of {size} bytes was seen as one that keeps every rule, and has {other}")
    return found
