# mypy: disallow-untyped-calls=False
# A change takes the place of whatever it changes: what it is called with is said there.
"""Chunks as a client reads them: R31, R33, R35, R36, R43, R44."""

from __future__ import annotations

from typing import Any
from unittest import mock

from tests.seeded_defects.seeding import client_writer, defect, on_chunk, put, together, wrap

from tpharness.journal import JournalWriter, writer
from tpharness.wires.vsp import chunks, states
from tpharness.wires.vsp import records as c
from tpharness.wires.vsp.context import StreamContext
from tpharness.wires.vsp.fold import ChunkFold
from tpharness.wires.vsp.states import StreamState

__all__ = ["DEFECTS"]


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
    return wrap(chunks, "chunk_from_object", make)


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
            self._context.index += 1
            return
        was(self, chunk, at)

    return feed


def delta_starts(was):
    def delta(self, chunk):
        if chunk.id not in self._texts:
            self._text_start(c.TextStartChunk(id=chunk.id))
        self._texts[chunk.id].append(chunk.delta)

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

    return wrap(StreamContext, "report", make)


def late_chunks_count(*late):
    def seed():
        now: Any = states.ORDER
        return mock.patch.dict(now, dict.fromkeys(late, now[StreamState.IDLE]))

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
        texts = self._context.open_parts.texts
        open_ones = dict(texts)
        was(self, chunk)
        texts.update(open_ones)

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
        "done-taken-as-json",
        "client",
        "The end marker is reported as broken JSON.",
        "stream.after-finish R35",
        wrap(chunks, "decode_untyped", done_is_json),
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
        "What is not a chunk is skipped without a word.",
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
