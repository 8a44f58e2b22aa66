# mypy: disallow-untyped-calls=False
# A change takes the place of whatever it changes: what it is called with is said there.
"""Bytes and frames as a client reads them: the event-stream format, R27, R35."""

from __future__ import annotations

from tests.seeded_defects.seeding import defect, put, wrap

from tpharness.wires.sse.parser import SseParser
from tpharness.wires.vsp import assembler

__all__ = ["DEFECTS"]


def parser(kind):
    """Let the client read its bytes so."""
    return put(assembler, "SseParser", kind)


class CrAndLfApart(SseParser):
    """A line feed at the beginning of a read is a line end of its own, also after a carriage return."""

    def feed_data(self, data):
        self._skip_lf = False
        return super().feed_data(data)


class EachRead(SseParser):
    """Takes a part of a line as any other read."""

    def feed_part(self, _data):
        return False


class NoLoneCr(EachRead):
    """A carriage return alone ends no line."""

    def feed_data(self, data):
        held = getattr(self, "_end", b"") + data
        self._end = b"\r" if held.endswith(b"\r") else b""
        held = held[: len(held) - len(self._end)]
        return super().feed_data(held.replace(b"\r\n", b"\n").replace(b"\r", b"\\r"))

    __slots__ = ("_end",)


class SplitByReads(SseParser):
    """Each read is taken as whole events."""

    def feed_data(self, data):
        found = super().feed_data(data)
        if self._pending and self._pieces and not data.endswith(b"\n"):
            found += super().feed_data(b"\n\n")
        return found


class DecodedByReads(EachRead):
    """Each read is decoded by itself, so that a character on its edge is lost."""

    def feed_data(self, data):
        return super().feed_data(data.decode("utf-8", "replace").encode())


class BomKept(SseParser):
    """A byte order mark at the beginning is part of the first line."""

    def _feed_start(self, data, frames, *, bare):
        self._started = self._idle = True
        self._feed(data, frames, bare=bare)


class CommentsDispatched(SseParser):
    """A comment is an event of its own."""

    def _take(self, line, start):
        if line.startswith(b":"):
            line = b"data: " + line[1:].strip()
        super()._take(line, start)


class AnyFieldIsData(SseParser):
    """Fields other than data are taken for data."""

    def _take(self, line, start):
        name, colon, value = line.partition(b":")
        if colon and name in (b"event", b"id", b"retry"):
            line = b"data:" + value
        super()._take(line, start)


class BlankKept(SseParser):
    """A field is data only when a blank follows its colon."""

    def _take(self, line, start):
        if line.startswith(b"data:") and not line.startswith(b"data: "):
            return
        super()._take(line, start)


class JoinedWithoutLineFeeds(SseParser):
    """The data lines of an event are put together with nothing between."""

    def _dispatch(self, end, frames, *, bare):
        if len(self._data) > 1:
            self._data[:] = [b"".join(self._data)]
        super()._dispatch(end, frames, bare=bare)


class LastLineAlone(SseParser):
    """Of several data lines of an event the last one counts."""

    def _dispatch(self, end, frames, *, bare):
        del self._data[:-1]
        super()._dispatch(end, frames, bare=bare)


class OnlyUnnamedEvents(SseParser):
    """An event with a name of its own is for somebody else."""

    def _dispatch(self, end, frames, *, bare):
        if self._event not in (None, "", "message"):
            self._data.clear()
        super()._dispatch(end, frames, bare=bare)


class CommentsBeginAnew(SseParser):
    """A comment inside an event drops what had come of it."""

    def _take(self, line, start):
        if line.startswith(b":"):
            self._data.clear()
        super()._take(line, start)


class LinesTrimmed(SseParser):
    """Blanks before the name of a field are skipped."""

    def _take(self, line, start):
        super()._take(line.lstrip(b" "), start)


def last_event_counts(was):
    def close(self, reason, at):
        if self._sse is not None:
            for ends in (b"\n", b"\n"):
                self.feed(ends, at)
        was(self, reason, at)

    return close


DEFECTS = (
    defect(
        "cr-and-lf-split-counted-twice",
        "client",
        "A line end that is split between two reads counts as two.",
        "sse.line-ends sync.chunking",
        parser(CrAndLfApart),
    ),
    defect(
        "lone-cr-ends-no-line", "client", "A carriage return alone ends no line.", "sse.line-ends", parser(NoLoneCr)
    ),
    defect(
        "read-taken-as-whole-events",
        "client",
        "Each read of the body is parsed as if events never stood on its edge.",
        "sync.chunking",
        parser(SplitByReads),
    ),
    defect(
        "characters-split-across-reads-mangled",
        "client",
        "An emoji on the edge of two reads becomes question marks.",
        "sse.utf8-split sync.chunking",
        parser(DecodedByReads),
    ),
    defect(
        "bom-not-stripped",
        "client",
        "A byte order mark at the beginning makes the first event unreadable.",
        "sse.bom",
        parser(BomKept),
    ),
    defect(
        "comment-dispatched-as-event",
        "client",
        "A keep-alive comment is taken as an event.",
        "stream.pings R35",
        parser(CommentsDispatched),
    ),
    defect(
        "other-fields-taken-for-data",
        "client",
        "The name and the id of an event are taken as parts of its data.",
        "sse.fields",
        parser(AnyFieldIsData),
    ),
    defect(
        "data-needs-a-blank",
        "client",
        "A data line without a blank behind its colon is not seen.",
        "sse.fields",
        parser(BlankKept),
    ),
    defect(
        "data-lines-joined-without-line-feeds",
        "client",
        "An event of several lines loses its line feeds.",
        "sse.multi-line",
        parser(JoinedWithoutLineFeeds),
    ),
    defect(
        "last-data-line-wins",
        "client",
        "Of an event of several lines the last one is read.",
        "sse.multi-line",
        parser(LastLineAlone),
    ),
    defect(
        "unfinished-event-dispatched",
        "client",
        "An event that was cut off is read when the connection closes.",
        "sse.incomplete-event R27",
        wrap(assembler.Assembler, "close", last_event_counts),
    ),
    defect(
        "events-with-names-skipped",
        "client",
        "An event that has a name is not read.",
        "sse.fields",
        parser(OnlyUnnamedEvents),
    ),
    defect(
        "comment-inside-an-event-drops-it",
        "client",
        "What had come of an event before a comment inside it is lost.",
        "stream.pings sse.multi-line",
        parser(CommentsBeginAnew),
    ),
    defect(
        "blanks-before-a-field-skipped",
        "client",
        "A field with a blank before its name is read as the field of that name.",
        "sse.fields",
        parser(LinesTrimmed),
    ),
)
