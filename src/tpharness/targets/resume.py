"""Putting a stream together that broke off and was gone on with (R31). Pure.

In: what came before the break, what came after it, and the whole stream as the server tells it once more. Out: the
stream as a client has it that takes each frame once, and what is wrong with how it was gone on with.
"""

from __future__ import annotations

from dataclasses import dataclass

from tpharness.findings import Finding, Kind, Place, shorten
from tpharness.vsp.frames import iter_frames

__all__ = ["KINDS", "SentFrame", "frames_of", "joined"]


LOST = Kind("resume-lost")
REPEATED = Kind("resume-repeated")
DIFFERS = Kind("resume-differs")
KINDS = (LOST, REPEATED, DIFFERS)


@dataclass(frozen=True, slots=True)
class SentFrame:
    """One event of a stream with the blank line after it; `id` is "" when it has none."""

    id: str
    raw: bytes


def frames_of(data: bytes) -> tuple[list[SentFrame], int]:
    """Return the whole frames that carry data, and how many bytes they and what lies between them take."""
    frames, size = [], 0
    for frame in iter_frames(data):
        size = frame.end
        if frame.field(b"data") is not None:
            frames.append(SentFrame((frame.field(b"id") or b"").decode("utf-8", "replace"), frame.raw))
    return frames, size


def joined(before: bytes, after: bytes, whole: bytes, *, named: str | None) -> tuple[bytes, list[Finding]]:
    """Return the stream of a client that takes each frame once, and what is wrong; `named` is the Last-Event-ID."""
    had, _ = frames_of(before)
    came, _ = frames_of(after)
    owed, _ = frames_of(whole)
    known = {frame.id: frame.raw for frame in had if frame.id}
    known_to_server = [frame.id for frame in had]
    if named is not None and named in known_to_server:
        known_to_server = known_to_server[: known_to_server.index(named) + 1]
    findings: list[Finding] = []
    new: list[SentFrame] = []
    for frame in came:
        old = known.get(frame.id)
        if old is None:
            new.append(frame)
        elif old != frame.raw:
            findings.append(_at(DIFFERS, frame.id, got=frame.raw, expected=old))
        elif named is not None and frame.id in known_to_server:
            findings.append(_at(REPEATED, frame.id, got=frame.raw))
    frames = [*had, *new]
    ids = {frame.id for frame in frames}
    findings += [_at(LOST, frame.id, expected=frame.raw) for frame in owed if frame.id not in ids]
    return b"".join(frame.raw for frame in frames), findings[:3]


def _at(kind: Kind, name: str, *, got: bytes | None = None, expected: bytes | None = None) -> Finding:
    return kind.at(Place(side="server"), f"{kind.title}: {shorten(name, 40)}", got=got, expected=expected)
