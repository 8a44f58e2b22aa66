"""Streams that break off and are resumed (R31): those of a server are joined, those for a client cut. Pure.

In: the bytes before the break, the bytes after it, and the whole stream when it is requested once more. Out: the stream
of a client that takes each frame once, and findings about how the server resumed it. For a client: where its stream
breaks off, and what follows a frame.
"""

from __future__ import annotations

from dataclasses import dataclass

from tpharness.findings import Finding, Kind, Place, shorten
from tpharness.targets.remote import RESUME_DIFFERS, RESUME_LOST, RESUME_REPEATED
from tpharness.wires.registry import recognize
from tpharness.wires.sse.frames import iter_frames, split_frames

__all__ = ["SentFrame", "data_frames", "has_signalled_end", "join_resumed", "rest_after", "resumable"]


@dataclass(frozen=True, slots=True)
class SentFrame:
    """One frame with data, with the blank line after it; `id` is "" if it does not have one."""

    id: str
    raw: bytes


def has_signalled_end(data: bytes) -> bool:
    """Whether a stream, as far as it has come, says how its turn ends."""
    return recognize(data).ends_stream.search(data) is not None


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
            findings.append(_at(RESUME_DIFFERS, frame.id, got=frame.raw, expected=old))
        elif named is not None and frame.id in known_to_server:
            findings.append(_at(RESUME_REPEATED, frame.id, got=frame.raw))
    frames = [*received, *new]
    ids = {frame.id for frame in frames}
    findings += [_at(RESUME_LOST, frame.id, expected=frame.raw) for frame in expected if frame.id not in ids]
    return b"".join(frame.raw for frame in frames), findings[:3]


def resumable(pieces: tuple[bytes, ...]) -> tuple[bytes, int | None]:
    """Return the same frames, each with an `id:` line (R31), and where to break off in the middle of them.

    None for a stream that cannot be resumed, has frames of another form, or has signalled its end by then.
    """
    data = b"".join(pieces)
    frames = list(iter_frames(data))
    named: list[bytes] = []
    ids = first = 0
    for frame in frames:
        if not frame.raw.startswith((b"data:", b":")) or frame.field(b"id") is not None:
            return data, None
        if frame.field(b"data") is not None:  # a stream cannot be resumed after a comment (R35)
            ids += 1
            named.append(b"id: %d\n%b" % (ids, frame.raw))
            first = first or sum(map(len, named))
        else:
            named.append(frame.raw)
    if ids < 2 or b"\r" in data:
        return data, None
    sent = b"".join([*named, data[frames[-1].end :]])
    middle = max(len(sent) // 2, first + 1)
    return sent, None if has_signalled_end(sent[:middle]) else middle


def rest_after(data: bytes, name: bytes, repeats: int) -> bytes | None:
    """Return what follows the frame with that id, and `repeats` frames before; None if there is nothing after it."""
    frames = split_frames(data)
    at = next((i for i, frame in enumerate(frames) if frame.startswith(b"id: %b\n" % name)), None)
    if at is None or not b"".join(frames[at + 1 :]):
        return None
    return b"".join(frames[max(0, at + 1 - repeats) :])


def _at(kind: Kind, name: str, *, got: bytes | None = None, expected: bytes | None = None) -> Finding:
    return kind.at(Place(side="server"), f"{kind.title}: {shorten(name, 40)}", got=got, expected=expected)
