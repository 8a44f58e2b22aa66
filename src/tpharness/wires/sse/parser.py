"""Bytes to frames: a sans-IO parser of the WHATWG event-stream format.

In: the bytes of a response body, in reads of any size. Out: one `Frame` for each event that the standard dispatches,
and findings about the bytes themselves. It does no I/O, has no clock, and does not look into the data of a frame.

How the bytes are split into reads changes nothing: not the frames, not their offsets, not the findings. Two paths
lead to the same result. A read that holds nothing but whole `data: …` events with LF line ends, which is what servers
of this protocol send, is split in one go; everything else (CR, comments, other fields, a line that began in an
earlier read, invalid UTF-8, a byte order mark) goes line by line. An unfinished line is kept as a list of pieces and
joined once, because appending to one buffer is quadratic in the length of the line.
"""

from __future__ import annotations

import re
from copy import copy
from typing import TYPE_CHECKING, Any

import msgspec

from tpharness.errors import UsageError
from tpharness.finding_log import FindingLog
from tpharness.findings import Kind, Place

if TYPE_CHECKING:
    from typing import Self

    from tpharness.findings import Finding

__all__ = [
    "MAX_LINE",
    "SSE_INVALID_UTF8",
    "SSE_PARTIAL_EVENT",
    "SSE_TOO_LONG",
    "SSE_UNKNOWN_FIELD",
    "Frame",
    "Leftover",
    "SseParser",
]

MAX_LINE = 64 * 1024 * 1024
"""Default limit, in bytes, of one line and of the data of one event."""

SSE_INVALID_UTF8 = Kind("sse-invalid-utf8")
SSE_TOO_LONG = Kind("sse-too-long")
SSE_PARTIAL_EVENT = Kind("sse-partial-event")
SSE_UNKNOWN_FIELD = Kind("sse-unknown-field")

_BOM = b"\xef\xbb\xbf"
_LINE_END = re.compile(rb"[\r\n]")
_LF, _CR = 10, 13
_MAX_RETRY_DIGITS = 18


class Frame(msgspec.Struct, frozen=True, gc=False):
    """One dispatched event.

    `data` is the data lines joined by LF, always valid UTF-8; `end` the offset in the stream just after the byte that
    completed the event (its CR, if the line ends are CRLF); `event` the event type, None for the default `message`;
    `id` the last event id in force, None while the stream has sent none.
    """

    data: bytes
    end: int
    event: str | None = None
    id: str | None = None


class Leftover(msgspec.Struct, frozen=True, kw_only=True):
    """What was left of an event at the end of the stream.

    `start` is the offset of its first byte, `size` its length in bytes, `line` the bytes
    of its unfinished last line, `has_data` whether a complete data line was lost with it.
    """

    start: int
    size: int
    line: bytes
    has_data: bool


class SseParser:
    """Parser of one event stream: `feed` reads, then `close` once.

    `max_line` limits, in bytes, a line and the data of an event: a longer event is dropped and reported as
    `sse-too-long`, a longer comment is skipped. `findings` grows while reading. `heartbeats` is about `feed_data`:
    whether an event without data and one named `ping` are events as any other, which they are to a client of AG-UI.
    """

    __slots__ = (
        "_closed",
        "_data",
        "_event",
        "_head",
        "_id",
        "_idle",
        "_in_event",
        "_line_start",
        "_log",
        "_pending",
        "_pieces",
        "_poisoned",
        "_size",
        "_skip_lf",
        "_skip_line",
        "_start",
        "_started",
        "heartbeats",
        "last_event_id",
        "max_line",
        "offset",
        "retry",
    )

    def __init__(self, *, max_line: int = MAX_LINE, heartbeats: bool = False) -> None:
        self.max_line = max_line
        self.heartbeats = heartbeats
        self._log = FindingLog()
        self.offset = 0
        """Bytes read so far."""
        self.last_event_id: str | None = None
        """The id to reconnect with: that of the last completed event, None while there was none."""
        self.retry: int | None = None
        """The last reconnection time that the server asked for, in milliseconds."""
        self._started = False  # whether the byte order mark was looked for
        self._head = b""  # the first bytes, while they may still become one
        self._idle = False  # nothing is pending: the next read may be split in one go
        self._closed = False
        # the current event
        self._in_event = False  # a field was seen since the last empty line
        self._start = 0  # offset of its first field
        self._data: list[bytes] = []
        self._size = 0  # of the data so far, line ends included
        self._event: str | None = None
        self._id: str | None = None  # becomes last_event_id at the empty line
        self._poisoned = False  # too long: not dispatched
        # the current line
        self._line_start = 0  # offset of its first byte, once it is kept
        self._pieces: list[bytes] = []
        self._pending = 0  # bytes in the pieces
        self._skip_line = False  # the rest of this line is too long
        self._skip_lf = False  # the read before ended in CR: a LF belongs to it

    @property
    def in_event(self) -> bool:
        """Whether an event or a line has begun and is not complete: it would be lost if the stream ended here."""
        return self._in_event or self._pending > 0 or self._skip_line or self._head != b""

    def feed(self, data: bytes) -> list[Frame]:
        """Take the next bytes of the stream, as many as there are, and return the events that they complete."""
        event = self.feed_event(data)
        if event is not None:
            return [Frame(event, self.offset, None, self.last_event_id)]
        frames: list[Frame] = []
        self._feed(data, frames, bare=False)
        return frames

    def feed_event(self, data: bytes) -> bytes | None:
        """Take a read that is one event and no more, as in a live stream, and return its data.

        None, and nothing done, if it is anything else: then `feed` or `feed_data` takes it.
        """
        if not self._idle:
            return None
        event = data.removeprefix(b"data: ").removesuffix(b"\n\n")
        if (
            len(event) + 8 == len(data)
            and _LF not in event
            and _CR not in event
            and event.isascii()
            and len(data) <= self.max_line
        ):
            self.offset += len(data)
            return event
        return None

    def _feed(self, data: bytes, frames: list[Any], *, bare: bool) -> None:  # noqa: C901  # the hot loop: no call a line
        """Append the events that `data` completes: as frames, or as their data alone when `bare`."""
        size = len(data)
        if self._closed:
            raise UsageError("this event-stream parser was closed; a new stream needs a new parser")
        if not self._started:
            self._feed_start(data, frames, bare=bare)
            return
        if not size:
            return
        base = self.offset
        self.offset = base + size
        position = 0
        if self._skip_lf:
            self._skip_lf = False
            if data[0] == _LF:
                position = 1
        has_cr = b"\r" in data
        may_run = not has_cr
        while position < size:
            if may_run and not self._in_event and not self._pending and not self._skip_line:
                may_run = False  # tried once in a read, or a read of comments would be tried for every line
                cut = data.rfind(b"\n\n", position) + 2
                if cut > position + 1 and self._run(data[position:cut], base + position, frames, bare=bare):
                    position = cut
                    continue
            if has_cr:
                match = _LINE_END.search(data, position)
                end = match.start() if match else -1
            else:
                end = data.find(b"\n", position)
            if end < 0:
                if not (self._pending or self._skip_line):
                    self._line_start = base + position
                self._keep(data[position:] if position else data)
                break
            if self._pending or self._skip_line:
                self._keep(data[position:end])
                line = b"".join(self._pieces)
                self._pieces.clear()
                self._pending = 0
            else:
                line = data[position:end]
            position = end + 1
            if self._skip_line:
                self._skip_line = False
            elif not line:
                self._dispatch(base + position, frames, bare=bare)
            else:
                self._take(line, base + end - len(line))
            if has_cr and data[end] == _CR:
                if position == size:
                    self._skip_lf = True
                elif data[position] == _LF:
                    position += 1
        self._idle = not (self._in_event or self._pending or self._skip_line or self._skip_lf)

    def feed_part(self, data: bytes) -> bool:
        """Take a read that is a part of a line that has begun. False, and nothing done, if it is anything else."""
        size = len(data)
        if not self._pending or b"\n" in data or b"\r" in data or self._closed or self._pending + size > self.max_line:
            return False
        self.offset += size
        self._pending += size
        self._pieces.append(data)
        return True

    def feed_data(self, data: bytes) -> list[bytes]:
        """Do the same as `feed`, but return only the data of the events, without heartbeats unless asked for (R35)."""
        found: list[bytes] = []
        self._feed(data, found, bare=True)
        return found

    def close(self) -> Leftover | None:
        """End the stream; return what was left of an unfinished event, which the standard discards, or None."""
        self._closed = True
        self._idle = False
        if not self.in_event:
            return None
        start = self._start if self._in_event else self._line_start
        leftover = Leftover(
            start=start,
            size=self.offset - start,
            line=self._head or b"".join(self._pieces),
            has_data=bool(self._data),
        )
        self._note(SSE_PARTIAL_EVENT, start, got=b"\n".join([*self._data, leftover.line])[:200])
        return leftover

    @property
    def findings(self) -> list[Finding]:
        """What is wrong with the bytes so far; of each kind the first, and how many more (`FindingLog`)."""
        return self._log.findings()

    def fork(self) -> Self:
        """Return an independent parser in the same state, to read on from here in another way."""
        twin = copy(self)
        twin._log = self._log.copy()  # noqa: SLF001  # of its own class
        twin._data = list(self._data)  # noqa: SLF001  # of its own class
        twin._pieces = list(self._pieces)  # noqa: SLF001  # of its own class
        return twin

    def _feed_start(self, data: bytes, frames: list[Any], *, bare: bool) -> None:
        # One leading byte order mark is dropped; it may come in up to three reads.
        head = self._head + data
        if len(head) < len(_BOM) and _BOM.startswith(head):
            self._head = head
            self.offset = len(head)
            return
        self._started = self._idle = True
        self._head = b""
        self.offset = 0
        if head.startswith(_BOM):
            self.offset = len(_BOM)
            head = head[len(_BOM) :]
        self._feed(head, frames, bare=bare)

    def _run(self, body: bytes, base: int, frames: list[Any], *, bare: bool) -> bool:
        """Split a run of whole `data: …` events with LF ends; False, and nothing done, if it holds anything else."""
        parts = body[6:-2].split(b"\n\ndata: ")
        # A line end in a part is another field or another line of data. Joining and looking is quicker than counting.
        if not body.startswith(b"data: ") or len(body) > self.max_line or b"\n" in b"".join(parts):
            return False
        if not body.isascii():
            try:
                body.decode()
            except UnicodeDecodeError:
                return False
        if bare:
            frames += parts
            return True
        last_id = self.last_event_id
        frames.extend([Frame(part, base := base + len(part) + 8, None, last_id) for part in parts])
        return True

    def _keep(self, piece: bytes) -> None:
        if self._skip_line or not piece:
            return
        self._pieces.append(piece)
        self._pending += len(piece)
        if self._pending > self.max_line:
            self._too_long(self._pieces[0], self._line_start)
            self._skip_line = True
            self._pieces.clear()
            self._pending = 0

    def _too_long(self, head: bytes, start: int) -> None:
        if not head.startswith(b":"):  # a comment has no data to lose
            self._begin(start)
            self._poison()

    def _begin(self, start: int) -> None:
        if not self._in_event:
            self._in_event = True
            self._start = start

    def _poison(self) -> None:
        if not self._poisoned:
            self._note(SSE_TOO_LONG, self._start, expected=f"at most {self.max_line} bytes")
        self._poisoned = True
        self._data.clear()

    def _take(self, line: bytes, start: int) -> None:
        if len(line) > self.max_line:
            self._too_long(line, start)
            return
        if line.startswith(b":"):
            return
        self._begin(start)
        name, _, value = line.partition(b":")
        if value.startswith(b" "):
            value = value[1:]
        if name == b"data":
            self._size += len(value) + 1
            if self._size > self.max_line + 1:
                self._poison()
            elif not self._poisoned:
                self._data.append(value)
        elif name == b"event":
            self._event = value.decode("utf-8", "replace")
        elif name == b"id":
            if b"\0" not in value:
                self._id = value.decode("utf-8", "replace")
        elif name == b"retry":
            if value.isdigit():  # ASCII digits only, for bytes
                digits = value.lstrip(b"0")
                self.retry = int(digits or b"0") if len(digits) <= _MAX_RETRY_DIGITS else 10**_MAX_RETRY_DIGITS
        else:
            self._note(SSE_UNKNOWN_FIELD, start, got=line[:200])

    def _dispatch(self, end: int, frames: list[Any], *, bare: bool) -> None:
        # The id is taken over even by an event without data, which is not dispatched. One empty data line is data.
        if self._id is not None:
            self.last_event_id = self._id
        if self._data and not self._poisoned:
            data = b"\n".join(self._data)
            if not data.isascii():
                try:
                    data.decode()
                except UnicodeDecodeError:
                    self._note(SSE_INVALID_UTF8, self._start, got=data[:200])
                    data = data.decode("utf-8", "replace").encode()
            if not bare:
                frames.append(Frame(data, end, self._event or None, self.last_event_id))
            elif self.heartbeats or (data and self._event != "ping"):  # heartbeats are ignored (R35)
                frames.append(data)
        self._data.clear()
        self._size = 0
        self._event = None
        self._in_event = self._poisoned = False

    def _note(self, kind: Kind, byte: int, *, got: bytes | None = None, expected: str | None = None) -> None:
        self._log.add(kind.at(Place(byte=byte), got=got, expected=expected))
