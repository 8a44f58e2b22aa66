"""Join a stream that broke off and was resumed (R31). Pure.

In: the bytes before the break, the bytes after it, and the whole stream when it is requested once more. Out: the stream
of a client that takes each frame once, and findings about how the server resumed it.
"""

from __future__ import annotations

from dataclasses import dataclass

from tpharness.findings import Finding, Kind, Place, shorten
from tpharness.vsp.frames import iter_frames

__all__ = ["KINDS", "SentFrame", "data_frames", "join_resumed"]


LOST = Kind("resume-lost")
REPEATED = Kind("resume-repeated")
DIFFERS = Kind("resume-differs")
KINDS = (LOST, REPEATED, DIFFERS)


@dataclass(frozen=True, slots=True)
class SentFrame:
    """One frame with data, with the blank line after it; `id` is "" if it does not have one."""

    id: str
    raw: bytes


def data_frames(data: bytes) -> tuple[list[SentFrame], int]:
    """Return the whole frames that have data, and the number of bytes up to the end of the last whole frame."""
    frames, size = [], 0
    for frame in iter_frames(data):
        size = frame.end
        if frame.field(b"data") is not None:
            frames.append(SentFrame((frame.field(b"id") or b"").decode("utf-8", "replace"), frame.raw))
    return frames, size


def join_resumed(before: bytes, after: bytes, whole: bytes, *, named: str | None) -> tuple[bytes, list[Finding]]:
    """Return the stream of a client that takes each frame once, and findings; `named` is the Last-Event-ID it sent."""
    received, _ = data_frames(before)
    resumed, _ = data_frames(after)
    expected, _ = data_frames(whole)
    known = {frame.id: frame.raw for frame in received if frame.id}
    known_to_server = [frame.id for frame in received]
    if named is not None and named in known_to_server:
        known_to_server = known_to_server[: known_to_server.index(named) + 1]
    findings: list[Finding] = []
    new: list[SentFrame] = []
    for frame in resumed:
        old = known.get(frame.id)
        if old is None:
            new.append(frame)
        elif old != frame.raw:
            findings.append(_at(DIFFERS, frame.id, got=frame.raw, expected=old))
        elif named is not None and frame.id in known_to_server:
            findings.append(_at(REPEATED, frame.id, got=frame.raw))
    frames = [*received, *new]
    ids = {frame.id for frame in frames}
    findings += [_at(LOST, frame.id, expected=frame.raw) for frame in expected if frame.id not in ids]
    return b"".join(frame.raw for frame in frames), findings[:3]


def _at(kind: Kind, name: str, *, got: bytes | None = None, expected: bytes | None = None) -> Finding:
    return kind.at(Place(side="server"), f"{kind.title}: {shorten(name, 40)}", got=got, expected=expected)
