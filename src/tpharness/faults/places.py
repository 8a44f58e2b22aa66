"""Where a response can be cut: offsets in the raw bytes of one that was recorded. Pure.

In: a whole HTTP/1.1 response with an event stream as its body. Out: an offset for each kind of place, None if the
response does not have such a place. A cut at offset N lets N bytes through.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tpharness.wires.registry import recognize
from tpharness.wires.sse.frames import iter_frames

if TYPE_CHECKING:
    from tpharness.wires.contract import Wire

__all__ = ["PLACES", "RecordedResponse"]

_SIZE_LINE = re.compile(rb"([0-9a-fA-F]+)(?:;[^\r\n]*)?\r\n")
_LENGTH = re.compile(rb"^content-length:[ \t]*([0-9]+)", re.IGNORECASE | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class RecordedResponse:
    """A recorded response: its raw bytes, and where each byte of its body lies in them."""

    raw: bytes
    body: bytes
    offsets: tuple[int, ...]
    size_lines: tuple[int, ...]

    @classmethod
    def parse(cls, raw: bytes) -> RecordedResponse:
        """Read a response; a response without the end of its head does not have a body."""
        head_end = raw.find(b"\r\n\r\n") + 4
        if head_end < 4:
            return cls(raw, b"", (), ())
        if b"transfer-encoding: chunked" not in raw[:head_end].lower():
            return cls(raw, raw[head_end:], tuple(range(head_end, len(raw))), ())
        body, at = bytearray(), head_end
        offsets: list[int] = []
        lines: list[int] = []
        while (found := _SIZE_LINE.match(raw, at)) is not None:
            lines.append(at)
            length = int(found[1], 16)
            if not length:
                break
            start = found.end()
            body += raw[start : start + length]
            offsets += range(start, min(start + length, len(raw)))
            at = start + length + 2
        return cls(raw, bytes(body), tuple(offsets), tuple(lines))

    @property
    def wire(self) -> Wire:
        """What the body is a stream of."""
        return recognize(self.body)

    @property
    def whole(self) -> bool:
        """Whether the body is complete according to its framing."""
        if self.size_lines:
            return self.raw.endswith(b"0\r\n\r\n")
        head, blank, body = self.raw.partition(b"\r\n\r\n")
        length = _LENGTH.search(head)
        return bool(blank) and (length is None or len(body) >= int(length[1]))

    def at(self, index: int) -> int | None:
        """Return the offset in the raw bytes after `index` bytes of the body, for a cut that lets some through."""
        return self.offsets[index] if 0 < index < len(self.offsets) else None

    def body_before(self, offset: int) -> int:
        """Return how many bytes of the body come before an offset in the raw bytes."""
        return bisect_left(self.offsets, offset)

    def before_the_first_byte(self) -> int | None:
        """Before the first byte: nothing arrives."""
        return 0 if self.raw else None

    def in_the_head(self) -> int | None:
        """Within the head of the response."""
        end = self.raw.find(b"\r\n\r\n")
        return end // 2 if end > 1 else None

    def after_the_head(self) -> int | None:
        """After the whole head, before the body."""
        end = self.raw.find(b"\r\n\r\n")
        return end + 4 if end >= 0 and self.body else None

    def in_the_middle(self) -> int | None:
        """Half of the body."""
        return self.at(len(self.body) // 2)

    def in_a_character(self) -> int | None:
        """After the first byte of a character that has several."""
        return next((self.at(i + 1) for i, byte in enumerate(self.body) if byte >= 0xC2), None)

    def in_a_string(self) -> int | None:
        """Within a text or the arguments of a call: the longest there is."""
        ends = [found.end() for found in self.wire.begins_text.finditer(self.body)]
        longest = max(ends, key=lambda end: self.body.find(b"\n", end) - end, default=None)
        return None if longest is None else self.at(longest + 1)

    def between_the_newlines(self) -> int | None:
        """Between the two line ends that end an event, in the middle of the stream."""
        frames = list(iter_frames(self.body))
        return self.at(frames[len(frames) // 2].blank) if frames else None

    def in_a_chunk_size(self) -> int | None:
        """Within the line that gives the size of a chunk of the transfer coding."""
        inner = self.size_lines[:-1]
        return inner[len(inner) // 2] + 1 if inner else None

    def outputs(self) -> tuple[int, tuple[int, ...]] | None:
        """Return where the outputs of two parallel calls begin, and the order of raw bytes that swaps them.

        The carriers before an output go with it. The framing of the transfer coding stays where it is.
        """
        found = self._neighbours()
        if found is None:
            return None
        first, middle, last = found
        base = self.offsets[first]
        order = list(range(self.offsets[last - 1] + 1 - base))
        for place, taken in zip(range(first, last), (*range(middle, last), *range(first, middle)), strict=True):
            order[self.offsets[place] - base] = self.offsets[taken] - base
        return base, tuple(order)

    def _neighbours(self) -> tuple[int, int, int] | None:
        """Return where two outputs that follow each other begin, and where the second ends, in the body."""
        wire = self.wire
        begun: int | None = None
        before: tuple[int, int, bytes] | None = None
        for frame in iter_frames(self.body):
            if wire.frame_carries(frame.raw):
                begun = frame.start if begun is None else begun
                continue
            output = wire.output_of(frame.raw)
            begins, begun = frame.start if begun is None else begun, None
            if output is None:
                before = None
            elif before is not None and before[1] == begins and before[2] != output:
                return before[0], begins, frame.end
            else:
                before = begins, frame.end, output
        return None

    def before_the_outputs(self) -> int | None:
        """Before the outputs of two parallel calls."""
        found = self.outputs()
        return None if found is None else found[0]

    def before_the_last_chunk(self) -> int | None:
        """After the whole body, before the last chunk of the transfer coding."""
        return self.size_lines[-1] if len(self.size_lines) > 1 else None


PLACES = {
    "before the first byte": RecordedResponse.before_the_first_byte,
    "in the head of the response": RecordedResponse.in_the_head,
    "after the head": RecordedResponse.after_the_head,
    "in the middle": RecordedResponse.in_the_middle,
    "inside a UTF-8 character": RecordedResponse.in_a_character,
    "inside a JSON string": RecordedResponse.in_a_string,
    "between the two newlines of an event": RecordedResponse.between_the_newlines,
    "inside the size line of a chunk": RecordedResponse.in_a_chunk_size,
    "before the outputs of two parallel calls": RecordedResponse.before_the_outputs,
    "before the last chunk": RecordedResponse.before_the_last_chunk,
}
"""Every kind of place, by the words that a report says."""
