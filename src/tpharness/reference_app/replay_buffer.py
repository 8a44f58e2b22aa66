"""What a run has sent: packets of frames with ids and marks, and where a reader resumes after a frame.

In: the bytes of one event at a time, whole SSE events without ids. Out: the bytes for the wire, for any number of
readers and from any frame. Everything follows from the bytes and their order, so a buffer that is filled again after
a restart has the same ids. A frame's id is `RUN.NUMBER`; frames that end a run from outside are `RUN.end.NUMBER`,
because after a crash the readers may have seen frames that were not stored: they are given the end.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Mapping
from itertools import islice

from tpharness.wires.sse.frames import iter_frames, split_frames

__all__ = ["ReplayBuffer", "UnknownFrameError"]

_ID = re.compile(r"(\d{1,9})\.(end\.)?(\d{1,9})", re.ASCII)
_READ = 256 * 1024


class UnknownFrameError(ValueError):
    """A Last-Event-ID that does not belong to a frame of this thread."""


class ReplayBuffer:
    """The stream of one run, number `run` of its thread."""

    def __init__(self, run: int, *, marks: bool, headers: Mapping[str, str] | None = None) -> None:
        self.run = run
        self.headers = headers or {}
        """What the head of an answer has for this wire."""
        self.closed = False
        self.restored = False
        """Whether its server was restarted: clients may have seen frames that are not here."""
        self.readers: dict[Callable[[], None], None] = {}
        """Called whenever there is something new, in this order."""
        self._marks = marks
        self._packets: list[bytes] = []
        self._firsts: list[int] = []
        self._frames = 0
        self._end: int | None = None

    def write(self, data: bytes, mark: int | None = None) -> None:
        """Append the frames of one event, and the mark after it if this run has marks."""
        named = [b"id: %d.%d\n%b" % (self.run, self._frames + n, f) for n, f in enumerate(split_frames(data))]
        first = self._frames
        self._frames += len(named)
        if mark is not None and self._marks:
            named.append(b": tp %d\n\n" % mark)
        self._append(b"".join(named), first)

    def finish(self, data: bytes, *, outside: bool) -> None:
        """Append the last frames; `outside`: the run was ended from outside, not by its own events."""
        if outside:
            self._end = len(self._packets)
            named = [b"id: %d.end.%d\n%b" % (self.run, n, f) for n, f in enumerate(split_frames(data))]
            self._append(b"".join(named), self._frames)
        else:
            self.write(data)
        self.closed = True
        self._notify_readers()

    def end_as(self, other: ReplayBuffer) -> None:
        """End as another buffer of this run has ended, with the packets that only that one has.

        What the other has not, its readers have seen all the same, as after a crash: they are given the end.
        """
        end = len(other._packets) if other._end is None else other._end
        for packet, first in list(zip(other._packets, other._firsts, strict=True))[len(self._packets) : end]:
            self._append(packet, first)
        self._frames = max(self._frames, other._frames)
        if other._end is not None:
            self._end = len(self._packets)
            for packet in other._packets[other._end :]:
                self._append(packet, self._frames)
        self.closed = True
        self._notify_readers()

    def read(self, place: tuple[int, int]) -> tuple[bytes, tuple[int, int]]:
        """Return bytes from a place on, about 256 KiB at most, and the place after them."""
        packet, offset = place
        pieces: list[bytes] = []
        size = 0
        while packet < len(self._packets) and size < _READ:
            piece = self._packets[packet][offset:] if offset else self._packets[packet]
            pieces.append(piece)
            size += len(piece)
            packet, offset = packet + 1, 0
        return b"".join(pieces), (packet, offset)

    def at_end(self, place: tuple[int, int]) -> bool:
        """Whether nothing is left after a place, and nothing will come."""
        return self.closed and not any(self._packets[place[0] :])

    def after(self, last_event_id: str) -> tuple[int, int]:
        """Return the place after the frame with this id; the beginning for one of an earlier run, or for "".

        UnknownFrameError for an id that was never used.
        """
        if not last_event_id:
            return 0, 0
        match = _ID.fullmatch(last_event_id)
        if match is None or int(match[1]) > self.run:
            raise UnknownFrameError(last_event_id)
        if int(match[1]) < self.run:
            return 0, 0
        number = int(match[3])
        if match[2]:
            if self._end is None:
                raise UnknownFrameError(last_event_id)
            return self._place_after(self._end, number, last_event_id)
        if number >= self._frames:
            if self.restored and self._end is not None:
                return self._end, 0
            raise UnknownFrameError(last_event_id)
        packet = bisect_right(self._firsts, number) - 1  # the last, since events without frames begin there too
        return self._place_after(packet, number - self._firsts[packet], last_event_id)

    def _place_after(self, packet: int, frame: int, last_event_id: str) -> tuple[int, int]:
        data = self._packets[packet]
        found = next(islice(iter_frames(data), frame, None), None)
        if found is None:
            raise UnknownFrameError(last_event_id)
        offset = found.end
        return (packet + 1, 0) if offset == len(data) else (packet, offset)

    def _append(self, data: bytes, first: int) -> None:
        self._packets.append(data)
        self._firsts.append(first)
        self._notify_readers()

    def _notify_readers(self) -> None:
        for reader in tuple(self.readers):
            reader()
