"""Marks: which bytes of a stream belong to which server event.

In: the bytes of a response body with the comments `: tp N`, each with the empty line after it. Out: the stream proper,
without them, cut into packets where they stood. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from tpharness.targets.contract import Packet, RunScript

__all__ = [
    "STOP",
    "MarkedStream",
    "cut_at_marks",
    "cut_at_reads",
    "event_times",
    "find_stop",
    "has_heartbeat",
    "has_late_delta",
    "has_mark",
]

STOP = b": tp stop\n\n"
"""The comment by which a test's stream says that the user presses stop."""

_MARK = re.compile(rb": tp (0|[1-9][0-9]{0,8})\r?\n(\r?\n)?")
_LEAD = b": tp "
_HEARTBEAT = re.compile(rb"(?<=[\r\n])(?::(?! tp )|event: ?ping[\r\n])")
_DELTA = re.compile(rb'"type": ?"(?:text|reasoning|tool-input)-delta"')
_STOP_LINE = re.compile(rb"(?<=[\r\n]): ?tp stop[\r\n]")


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkedStream:
    """A stream cut at its marks. `wrong` says in one line what is wrong with the marks; it is empty if nothing is."""

    packets: tuple[Packet, ...]
    wrong: str = ""


def event_times(run: RunScript) -> list[str]:
    """Return when each event of a run happens: its own time, or that of the event before it."""
    times: list[str] = []
    at = run.started_at
    for event in run.events:
        at = str(event.get("at", at))
        times.append(at)
    return times


def find_stop(data: bytes) -> int | None:
    """Return the offset of the comment `: tp stop` after a line end, None when it is not there."""
    found = _STOP_LINE.search(data)
    return None if found is None else found.start()


def has_mark(data: bytes | bytearray, count: int, start: int = 0) -> bool:
    """Whether the data has the mark of the first `count` events at or after `start`, or just before it."""
    lead = b": tp %d" % count
    at = data.find(lead, max(0, start - len(lead) - 2))
    while at >= 0:
        after = data[at + len(lead) : at + len(lead) + 1]
        if after in (b"\n", b"\r") and (at == 0 or data[at - 1 : at] == b"\n"):
            return True
        at = data.find(lead, at + 1)
    return False


def has_heartbeat(data: bytes, count: int) -> bool:
    """Whether a comment that is not a mark, or a ping, comes after the mark of the first `count` events."""
    silent = data.rpartition(_LEAD + b"%d" % count)[2]
    return _HEARTBEAT.search(silent) is not None


def has_late_delta(data: bytes, count: int) -> bool:
    """Whether a delta comes after the mark of the first `count` events, and before any heartbeat."""
    _, mark, late = data.rpartition(_LEAD + b"%d" % count)
    beat = _HEARTBEAT.search(late)
    return bool(mark) and _DELTA.search(late, 0, beat.start() if beat else len(late)) is not None


def cut_at_marks(data: bytes, run: RunScript, ended_at: str, *, whole: bool) -> MarkedStream:
    """Cut a stream at its marks: what opens it, one packet for each event, what is left.

    `whole`: the stream was received to its end, so that all marks are expected. Where marks are missing, the bytes
    belong to the event of the next mark that is there.
    """
    times = event_times(run)
    packets: list[Packet] = []
    wrong = ""
    piece: list[bytes] = []
    start = search = due = 0
    while (at := data.find(_LEAD, search)) >= 0:
        mark = _MARK.match(data, at) if at == 0 or data[at - 1 : at] == b"\n" else None
        if mark is None:
            search = at + 1
            continue
        piece.append(data[start:at])
        start = search = mark.end()
        number = int(mark[1])
        if number != due or number > len(times):
            wrong = wrong or f"`: tp {number}` comes where `: tp {due}` is expected, of {len(times)} events"
        if due <= number <= len(times):
            body = b"".join(piece)
            piece = []
            if not wrong and body and not body.endswith((b"\n\n", b"\r\n\r\n", b"\r\r")):
                wrong = f"`: tp {number}` stands inside an event of the stream, before its empty line"
            packets += _packets(body, due, number, times, run.started_at)
            due = number + 1
    piece.append(data[start:])
    if whole and not wrong and due <= len(times):
        wrong = f"`: tp {due}` is missing, of {len(times)} events" if due else "there are no marks at all"
    rest = b"".join(piece)
    packets.append(Packet(data=rest, at=ended_at))
    return MarkedStream(packets=tuple(packets), wrong=wrong)


def cut_at_reads(data: bytes, reads: Sequence[int], at: str) -> tuple[Packet, ...]:
    """Cut a stream without marks into its reads, whose lengths are given: nothing is known of its events."""
    ends = accumulate(reads)
    return tuple(Packet(data=data[end - length : end], at=at) for end, length in zip(ends, reads, strict=True))


def _packets(body: bytes, due: int, number: int, times: Sequence[str], opened: str) -> list[Packet]:
    """Return the packets of the events up to mark `number`, the bytes with the last of them."""
    numbers = range(due, number + 1)
    return [
        Packet(
            data=body if n == number else b"",
            at=times[n - 1] if n else opened,
            event=n - 1 if n else None,
        )
        for n in numbers
    ]
