"""The evidence of one place of a sweep, without what was judged at the place before. Pure.

In: the threads of the same run at two places. Out: evidence. Messages of the last turn that stood there before,
unchanged, are left out of it, so that judging a place costs what is new there.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any

from tpharness.checks import Delivery, Evidence, OpenCall, Side
from tpharness.findings import Finding
from tpharness.protocol.canonical import order_of_time
from tpharness.protocol.versions import Version
from tpharness.readings import Readings
from tpharness.scenario.records import Compare

__all__ = ["Thread", "ThreadsByVersion", "is_unchanged", "only_the_cut_moved", "place_evidence"]

Thread = dict[str, Any]
ThreadsByVersion = Mapping[Version, Sequence[Thread]]


def place_evidence(
    case: str,
    now: ThreadsByVersion,
    before: ThreadsByVersion,
    *,
    mode: Compare,
    delivery: Delivery,
    readings: Readings,
    whole: bool = False,
    findings: Sequence[tuple[Finding, ...]] = ((), ()),
    open_calls: tuple[OpenCall, ...] = (),
) -> list[Evidence]:
    """Return the evidence of a place: for each version the threads of the server, if it plays, and of the client.

    The threads that the two should have may follow in the same order (R51).
    `before` is empty at the first place. `whole` leaves nothing out, which guards the leaving out. `findings` are what
    the folds reported, `open_calls` the calls inside whose arguments the server is.
    """
    return [
        _evidence(
            case, version, threads, before.get(version), mode, delivery, readings, findings, open_calls, whole=whole
        )
        for version, threads in now.items()
    ]


def _evidence(
    case: str,
    version: Version,
    now: Sequence[Thread],
    before: Sequence[Thread] | None,
    mode: Compare,
    delivery: Delivery,
    readings: Readings,
    findings: Sequence[tuple[Finding, ...]],
    open_calls: tuple[OpenCall, ...],
    *,
    whole: bool,
) -> Evidence:
    at = min(len(now) - 1, 1)  # where the client's thread stands
    trail = () if before is None else (before[at], now[at])
    start = 0 if before is None or whole else _first_new(before, now)
    if start and before is not None:
        now = [_without_messages(thread, start) for thread in now]
        trail = (_without_messages(before[at], start), now[at])
    server_truth, client_truth = now[2:] or (None, None)
    return Evidence(
        case=case,
        version=version,
        mode=mode,
        delivery=delivery,
        server=Side(name="server", thread=now[0], findings=findings[0], truth=server_truth) if at else None,
        client=Side(name="client", thread=now[at], findings=findings[-1], truth=client_truth),
        trail=trail,
        open_calls=open_calls,
        readings=readings,
    )


def is_unchanged(before: Sequence[Thread], now: Sequence[Thread]) -> bool:
    """Whether all sides show the very objects of the place before, so that judging them again says the same.

    That holds for sides that do not modify a thread which they have shown, as the reference's.
    """
    return len(before) == len(now) and all(map(operator.is_, before, now))


def only_the_cut_moved(before: Sequence[Thread], now: Sequence[Thread], at: str) -> bool:
    """Whether each side shows what it showed before, but that the run was cut later, at `at`.

    Then a check says of the documents what it said before.
    """
    return len(before) == len(now) and all(_shows_the_same(one, two, at) for one, two in zip(before, now, strict=True))


def _shows_the_same(before: Thread, now: Thread, at: str) -> bool:
    if before is now:
        return True
    was, cut = _interruption(before), _interruption(now)
    if was and cut:
        time = cut.get("interrupted_at")
        shown = order_of_time(str(time))
        if shown != order_of_time(at) or shown < order_of_time(str(was.get("interrupted_at"))):
            return False
        *earlier, last = before["turns"]
        moved = {**last, "interruption": {**was, "interrupted_at": time}}
        before = {**before, "turns": [*earlier, moved]}
        if now.get("updated_at") == time:
            before["updated_at"] = time
    return before == now


def _last_messages(thread: Thread) -> list[Any] | None:
    turns = thread["turns"]
    if not turns or turns[-1]["turn_type"] != "agent":
        return None
    messages: list[Any] = turns[-1]["messages"]
    return messages


def _interruption(thread: Thread) -> Any:
    return thread["turns"][-1].get("interruption") if thread["turns"] else None


def _first_new(before: Sequence[Thread], now: Sequence[Thread]) -> int:
    """Return how many messages of the last turn can be left out of all threads, 0 for none."""
    shared = min(map(_shared, before, now))
    return min(_window(thread, shared) for thread in now) if shared else 0


def _shared(before: Thread, now: Thread) -> int:
    """Return how many messages of the last turn are the same as before, from the front; 0 when turns were added."""
    one, two = _last_messages(before), _last_messages(now)
    if one is None or two is None or len(before["turns"]) != len(now["turns"]):
        return 0
    count = min(len(one), len(two))
    while count and one[:count] != two[:count]:  # the same objects compare at once; only the newest few can differ
        count -= 1
    return count


def _window(thread: Thread, shared: int) -> int:
    """Return where a window over the last turn may begin, at most at message `shared`; 0 when nothing can be left out.

    It begins with the last whole cycle that was there before, so that it is a turn that could stand by itself.
    """
    messages = thread["turns"][-1]["messages"]
    start = shared - 1
    while start > 0 and messages[start]["message_type"] != "response":
        start -= 1
    if start <= 0:
        return 0
    parts = [part for message in messages[start:] for part in message.get("parts") or ()]
    calls = {part["tool_call_id"] for part in parts if part["part_kind"] == "tool-call"}
    answers = (part for part in parts if part["part_kind"] in ("tool-return", "retry-prompt"))
    return start if all(part.get("tool_call_id") in calls for part in answers) else 0


def _without_messages(thread: Thread, count: int) -> Thread:
    """Return the thread with its last turn only, without the first `count` messages, and the user turn before it.

    The turn then starts when the last message left out was written, so that the order in time is still judged.
    """
    turn = thread["turns"][-1]
    messages = turn["messages"]
    shorter = {**turn, "started_at": messages[count - 1]["timestamp"], "messages": messages[count:]}
    before = [t for t in thread["turns"][-2:-1] if t["turn_type"] == "user"]
    return {**thread, "turns": [*before, shorter]}
