# mypy: disallow-untyped-calls=False
# A change takes the place of whatever it changes: what it is called with is said there.
"""Bytes, frames and chunks as a client reads them: R31, R33, R35, R36, R43, R44 and the event-stream format."""

from __future__ import annotations

from unittest import mock

from tests.seeded_defects.seeding import client_writer, defect, on_chunk, put, together, wrap

from tpharness.journal import JournalWriter, writer
from tpharness.vsp import assembler, fold
from tpharness.vsp import chunks as c
from tpharness.vsp.fold import ChunkFold
from tpharness.vsp.sse import SseParser
from tpharness.vsp.states import StreamState

__all__ = ["DEFECTS"]


def parser(kind):
    """Let the client read its bytes so."""
    return put(assembler, "SseParser", kind)


class CrAndLfApart(SseParser):
    """A line feed at the beginning of a read is a line end of its own, also after a carriage return."""

    def feed_data(self, data):
        self._skip_lf = False
        return super().feed_data(data)


class NoLoneCr(SseParser):
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


class DecodedByReads(SseParser):
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


def last_event_counts(was):
    def close(self, reason, at):
        if self._sse is not None:
            for ends in (b"\n", b"\n"):
                self.feed(ends, at)
        was(self, reason, at)

    return close


def nothing(was):
    del was
    return lambda *_: None


def done_is_json(was):
    def odd(data):
        found = was(data)
        if isinstance(found, c.Done):
            return c.Malformed(kind=c.CHUNK_NOT_JSON, reason="not JSON", raw=data)
        return found

    return odd


def aliases_unknown(was):
    def chunk(value, *, raw=b""):
        kind = value.get("type") if isinstance(value, dict) else None
        if isinstance(kind, str) and kind.startswith("thinking-"):
            return c.UnknownChunk(type=kind, raw=value)
        return was(value, raw=raw)

    return chunk


def one_framing(was):
    def chunk(value, *, raw=b""):
        if isinstance(value, dict) and value.get("type") == "data":
            return c.UnknownChunk(type="data", raw=value)
        return was(value, raw=raw)

    return chunk


def read_chunks(make):
    return wrap(c, "chunk_from_object", make)


def half_parts(was):
    """A chunk with a field of the wrong type is read as far as it goes."""

    def chunk(value, *, raw=b""):
        found = was(value, raw=raw)
        if isinstance(found, c.Malformed) and isinstance(value, dict) and value.get("type") == "text-start":
            return c.TextStartChunk(id=str(value.get("id")))
        if isinstance(found, c.Malformed) and isinstance(value, dict) and value.get("type") == "text-delta":
            return c.TextDeltaChunk(id=str(value.get("id")), delta=str(value.get("delta")))
        return found

    return chunk


def violation_ends(was):
    """The first violation ends the stream for the client."""

    def feed(self, chunk, at):
        if any(f.level.rank == 0 for f in self.findings) and not isinstance(chunk, c.Done):
            self._index += 1
            return
        was(self, chunk, at)

    return feed


def delta_starts(was):
    def delta(self, chunk):
        if chunk.id not in self._texts:
            self._text_start(c.TextStartChunk(id=chunk.id))
        self._texts[chunk.id].more(chunk.delta)

    del was
    return delta


def start_again(was):
    def start(self, chunk):
        handle = self._texts.get(chunk.id)
        if handle is not None:
            handle.pieces.clear()
            return
        was(self, chunk)

    return start


def silently(code):
    """A violation is passed over without a word."""

    def make(was):
        def report(self, kind, message):
            if kind.code != code:
                was(self, kind, message)

        return report

    return wrap(ChunkFold, "_report", make)


def late_chunks_count(*states):
    def seed():
        now = fold.TRANSITIONS
        return mock.patch.dict(now, dict.fromkeys(states, now[StreamState.IDLE]))

    return seed


def reset_all(was):
    def reset(self, chunk):
        if self._writer.running and self._writer.has_response and not self._writer.response_open:
            self._writer.reset_response()
            return
        was(self, chunk)

    return reset


def reset_keeps_open(was):
    def reset(self, chunk):
        open_ones = dict(self._texts)
        was(self, chunk)
        self._texts.update(open_ones)

    return reset


class LoneSurrogatesReplaced(JournalWriter):
    """Each delta is made whole Unicode by itself."""

    def close_part(self, part, **fields):
        part.pieces[:] = [p.encode("utf-8", "replace").decode() for p in part.pieces]
        super().close_part(part, **fields)


def counted_ids(start=0):
    """A number that goes up for the whole process is put into what is stored."""
    count = [start]

    def make(was):
        def text_end(self, chunk):
            count[0] += 1
            if chunk.id in self._texts:
                self._texts[chunk.id].fields["id"] = f"part-{count[0]}"
            was(self, chunk)

        return text_end

    return on_chunk(make, c.TextEndChunk)


def seen_before():
    """Ids of calls that were seen in any thread are taken for repeats."""
    seen: set[str] = set()

    def ending(was):
        def finish(self, chunk):
            was(self, chunk)
            seen.update(self._writer._calls)

        return finish

    def outputs(was):
        def output(self, chunk):
            if chunk.tool_call_id not in seen:
                was(self, chunk)

        return output

    return together(on_chunk(ending, c.FinishChunk), on_chunk(outputs, c.ToolOutputAvailableChunk))()


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
        "done-taken-as-json",
        "client",
        "The end marker is reported as broken JSON.",
        "stream.after-finish R35",
        wrap(c, "decode_odd", done_is_json),
    ),
    defect(
        "thinking-chunks-unknown",
        "client",
        "Chunks named thinking-* are not read.",
        "stream.thinking-alias R33",
        read_chunks(aliases_unknown),
    ),
    defect(
        "second-framing-unread",
        "client",
        "Custom events with name and value are not read as events of that name.",
        "stream.custom-framings R33",
        read_chunks(one_framing),
    ),
    defect(
        "malformed-chunk-read-in-part",
        "client",
        "A chunk with a field of the wrong type is read as far as it goes.",
        "stream.malformed R36",
        read_chunks(half_parts),
    ),
    defect(
        "malformed-chunk-passed-over",
        "client",
        "What is no chunk is skipped without a word.",
        "stream.malformed stream.violation-isolated R36",
        on_chunk(nothing, c.Malformed),
    ),
    defect(
        "violation-ends-the-stream",
        "client",
        "After the first chunk that has no place the client reads nothing more.",
        "stream.violation-isolated R36",
        wrap(ChunkFold, "feed", violation_ends),
    ),
    defect(
        "delta-without-start-starts",
        "client",
        "A delta for a text that has not started starts it.",
        "stream.delta-needs-start R36",
        on_chunk(delta_starts, c.TextDeltaChunk),
    ),
    defect(
        "delta-without-start-passed-over",
        "client",
        "A delta for a text that has not started is dropped without a word.",
        "stream.delta-needs-start R36",
        silently("part-without-start"),
    ),
    defect(
        "second-start-empties-the-text",
        "client",
        "A second start for a text that is open throws away what had come.",
        "stream.duplicate-start stream.violation-isolated R36",
        on_chunk(start_again, c.TextStartChunk),
    ),
    defect(
        "output-without-input-passed-over",
        "client",
        "An output for a call that nobody made is dropped without a word.",
        "stream.output-needs-input R36",
        silently("output-without-input"),
    ),
    defect(
        "second-output-passed-over",
        "client",
        "A second output for a call is dropped without a word.",
        "tool.first-output-stands R14",
        silently("second-output"),
    ),
    defect(
        "chunks-after-finish-read",
        "client",
        "What comes after finish begins another turn.",
        "stream.after-finish R35",
        late_chunks_count(StreamState.FINISHED),
    ),
    defect(
        "chunks-after-done-read",
        "client",
        "What comes after the end marker is read.",
        "stream.after-finish R35",
        late_chunks_count(StreamState.DONE),
    ),
    defect(
        "reset-step-not-seen",
        "client",
        "An answer that the server took back stays.",
        "stream.reset-step R44",
        on_chunk(nothing, c.ResetStepChunk),
    ),
    defect(
        "reset-forgets-no-open-part",
        "client",
        "After a reset the text that was open goes on.",
        "stream.reset-step stream.delta-needs-start R44",
        on_chunk(reset_keeps_open, c.ResetStepChunk),
    ),
    defect(
        "late-reset-drops-a-finished-response",
        "client",
        "A reset that comes when the response has finished drops it.",
        "stream.reset-too-late R44",
        on_chunk(reset_all, c.ResetStepChunk),
    ),
    defect(
        "halves-of-a-character-replaced",
        "client",
        "A character that is split between two deltas becomes two question marks.",
        "stream.surrogates sync.chunking R43",
        client_writer(LoneSurrogatesReplaced),
    ),
    defect(
        "surrogates-never-joined",
        "both",
        "A character that is split between two deltas stays in two halves.",
        "stream.surrogates R43",
        put(writer, "join_text", "".join),
    ),
    defect(
        "part-ids-counted-by-the-process",
        "client",
        "Parts carry a number that goes up with everything the process has read.",
        "sync.deterministic sync.idempotent R31",
        counted_ids(),
    ),
    defect(
        "calls-known-from-other-threads",
        "client",
        "A call id that the process has seen in another thread is taken for a repeat.",
        "sync.deterministic sync.idempotent R31",
        seen_before,
    ),
)
