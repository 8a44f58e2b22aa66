"""Which promises of a server the bytes of one stream break, whatever the run is.

In: the bytes of a response body, marks included, and what they owe. Out: findings. Pure.
"""

from __future__ import annotations

from tpharness.findings import Finding, Place
from tpharness.targets.http_thread import promise_finding
from tpharness.targets.marks import has_heartbeat, has_late_delta
from tpharness.targets.remote import NO_HEARTBEAT, NOT_UTF8
from tpharness.wires.registry import recognize

__all__ = ["BEATS", "find_broken_promises", "judge_hold", "judge_silence"]

BEATS = 4
"""How many heartbeats a server under test has time for before its limit is over."""


def find_broken_promises(data: bytes, *, ids: bool, carriers: bool) -> list[Finding]:
    """Return what is wrong with a stream; `ids` and `carriers` say whether it has to have some."""
    findings: list[Finding] = []
    if (wrong := _not_utf8(data)) is not None:
        findings.append(NOT_UTF8.at(Place(side="server", byte=wrong), got=data[wrong : wrong + 4]))
    if ids and not _has_id(data):
        findings.append(promise_finding("resume", "no frame of a stream has an id"))
    if carriers and not recognize(data).frame_carries(data):
        findings.append(promise_finding("carriers", "a stream that should carry them has none"))
    return findings


def judge_hold(data: bytes, count: int) -> list[Finding]:
    """Return what is wrong with a stream that has been read to the mark of the last event, of `count`, of a held run.

    Where that has bytes behind it already, the mark came too early: the model is silent, and nobody has ended the run.
    """
    if not has_late_delta(data, count):
        return []
    return [promise_finding("marks", f"a delta comes after `: tp {count}`, the mark of the last event of a held run")]


def judge_silence(data: bytes, count: int, limit: float) -> list[Finding]:
    """Return what is wrong with the stream of a run that is silent after its `count` events, to a limit in seconds."""
    if has_heartbeat(data, count):
        return judge_hold(data, count)
    words = f"not one comment in {limit:g} s of silence, one every {limit / BEATS:g} s was asked for"
    return [NO_HEARTBEAT.at(Place(side="server"), f"{NO_HEARTBEAT.title}: {words}")]


def _not_utf8(data: bytes) -> int | None:
    """Return where a stream is not UTF-8; a character that the end of the stream cuts does not count."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        return None if error.end == len(data) and error.reason == "unexpected end of data" else error.start
    return None


def _has_id(data: bytes) -> bool:
    """Whether a stream has an `id:` line, or nothing that could have one."""
    return b"\nid:" in data or data.startswith(b"id:") or b"data:" not in data
