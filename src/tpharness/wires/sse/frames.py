"""The bytes of an event stream, cut after each of its frames and not changed.

In: bytes of a stream. Out: its frames as they stand there, comments and blank lines included, with their offsets. `sse`
decodes events; this module is for everybody who moves, cuts or compares the bytes themselves. Lines end in LF, CRLF or
CR; a frame ends with an empty line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

__all__ = ["RawFrame", "iter_frames", "iter_pieces", "split_frames"]

_LINE_END = re.compile(rb"\r\n?+|\n")
_FRAME_END = re.compile(rb"(?:\r\n?+|\n)(?=(\r\n?+|\n))")


class RawFrame(msgspec.Struct, frozen=True, gc=False):
    """One frame: its bytes with the empty line that ends it, and where they stand.

    `start` is the offset of its first byte, `blank` that of the empty line: the place between the two line ends.
    """

    raw: bytes
    start: int
    blank: int

    @property
    def end(self) -> int:
        """The offset after its last byte."""
        return self.start + len(self.raw)

    def field(self, name: bytes) -> bytes | None:
        """Return the value of the last field of this name, None if the frame does not have one."""
        found = None
        for line in _LINE_END.split(self.raw):
            key, _, value = line.partition(b":")
            if key == name:
                found = value.removeprefix(b" ")
        return found


def iter_frames(data: bytes) -> Iterator[RawFrame]:
    """Yield the whole frames; what follows the last of them is left out."""
    start = 0
    found = _FRAME_END.search(data)
    while found is not None:
        blank, end = found.end(), found.end(1)
        yield RawFrame(data[start:end], start, blank)
        start = end
        found = _FRAME_END.search(data, end)


def split_frames(data: bytes) -> list[bytes]:
    """Return the same bytes in pieces, one for each frame, and one for what follows the last frame if there is more."""
    return list(iter_pieces(data))


def iter_pieces(data: bytes) -> Iterator[bytes]:
    """Yield what `split_frames` returns, for a stream of which the pieces would take several times its memory."""
    end = 0
    for frame in iter_frames(data):
        yield frame.raw
        end = frame.end
    if end < len(data):
        yield data[end:]
