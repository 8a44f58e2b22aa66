# mypy: disallow-untyped-calls=False
# A change takes the place of whatever it changes: what it is called with is said there.
"""Texts, thinking and their order: R11, R13, R15, R28, R38, R39."""

from __future__ import annotations

import unicodedata

from msgspec.structs import replace
from tests.seeded_defects.seeding import client_writer, defect, on_chunk, put, together, wrap

from tpharness.dialects import messages
from tpharness.journal import JournalWriter, Part
from tpharness.server_events import calls, recorder
from tpharness.wires.vsp import records as c
from tpharness.wires.vsp.content import ContentParts
from tpharness.wires.vsp.states import StreamState

__all__ = ["DEFECTS"]


def on_parts(change):
    """Change the parts of every response as both sides write it down; a part that becomes None is left out."""

    def make(was):
        def response(entry):
            parts = [p for p in map(change, entry.parts) if p is not None]
            return was(replace(entry, parts=tuple(parts)))

        return response

    return wrap(messages, "_response", make)


def without(name, *kinds):
    return lambda part: (
        replace(part, fields={k: v for k, v in part.fields.items() if k != name}) if part.kind in kinds else part
    )


def on_text(change):
    """Change the text of a finished text part on both sides."""
    return on_parts(
        lambda part: (
            replace(part, fields={**part.fields, "content": change(part.fields["content"])})
            if part.kind == "text"
            else part
        )
    )


def merged(was):
    def response(entry):
        parts: list[Part] = []
        for part in entry.parts:
            if parts and part.kind == parts[-1].kind == "text":
                joined = parts[-1].fields["content"] + part.fields["content"]
                parts[-1] = replace(part, fields={**part.fields, "content": joined})
            else:
                parts.append(part)
        return was(replace(entry, parts=tuple(parts)))

    return response


class EndOrder(JournalWriter):
    """Parts are added to their message when they end."""

    def close_part(self, part, **fields):
        super().close_part(part, **fields)
        parts = self._need_response().parts
        parts.remove(part)
        parts.append(part)


class OpenOnesClosed(JournalWriter):
    """What is open when a response finishes counts as whole."""

    def finish_response(self):
        for part in self._need_response().parts if self.response_open else ():
            if not part.complete:
                text = "".join(part.pieces)
                self.close_part(part, **({part.text_field: text} if part.text_field else {}))
        return super().finish_response()


def open_part_interrupts(was):
    """A turn that finishes with a part open counts as interrupted."""

    def finish(self, chunk):
        if len(self._context.open_parts):
            self._writer.interrupt_turn("network_failure", self._context.time)
            self._context.open_parts.clear()
            self.state = StreamState.FINISHED
            return
        was(self, chunk)

    return finish


class LastDelta(JournalWriter):
    """Each delta is taken as the text so far, as in a stream of snapshots."""

    def close_part(self, part, **fields):
        if part.text_field == "content":
            part.pieces[:] = part.pieces[-1:]
        super().close_part(part, **fields)


class Lines(JournalWriter):
    """Each delta is taken as a line."""

    def close_part(self, part, **fields):
        if part.text_field == "content":
            part.pieces[:] = ["\n".join(part.pieces)]
        super().close_part(part, **fields)


class Composed(JournalWriter):
    """Text is brought to Unicode's composed form."""

    def close_part(self, part, **fields):
        part.pieces[:] = [unicodedata.normalize("NFC", "".join(part.pieces))]
        super().close_part(part, **fields)


class OneBlock(JournalWriter):
    """There is one block at a time: a delta goes to the one that started last."""

    def open_part(self, kind, fields, text_field):
        part = super().open_part(kind, fields, text_field)
        open_ones = [
            p for p in self._need_response().parts if not p.complete and p is not part and p.text_field == text_field
        ]
        for other in open_ones:
            other.append = part.pieces.append
        return part


def block_ids(was):
    def text_end(self, chunk):
        if chunk.id in self._texts:
            self._texts[chunk.id].fields["id"] = chunk.id
        was(self, chunk)

    return text_end


def nothing(was):
    del was
    return lambda *_: None


def reasoning_fact_lost(name):
    def make(was):
        def facts(self, handle, metadata):
            was(self, handle, metadata)
            handle.fields.pop(name, None)

        return facts

    return wrap(ContentParts, "_add_reasoning_facts", make)


DEFECTS = (
    defect(
        "parts-in-order-of-their-ends",
        "client",
        "A thinking block that ends after the text stands behind it in the browser.",
        "part.order-of-starts stream.interleaved R11",
        client_writer(EndOrder),
    ),
    defect(
        "open-part-closed-at-the-end-of-its-response",
        "client",
        "A text whose end never came is stored when the step finishes.",
        "part.start-without-end part.open-at-finish R28",
        client_writer(OpenOnesClosed),
    ),
    defect(
        "open-part-at-finish-interrupts",
        "client",
        "A finish with a part still open makes the turn interrupted.",
        "part.open-at-finish R28",
        on_chunk(open_part_interrupts, c.FinishChunk),
    ),
    defect(
        "last-delta-taken-as-whole-text",
        "client",
        "The answer is its last few words.",
        "stream.text stream.reasoning sync.chunking",
        client_writer(LastDelta),
    ),
    defect(
        "deltas-joined-by-line-feeds",
        "client",
        "Each piece of the answer stands on a line of its own.",
        "stream.text sync.chunking part.text-as-is",
        client_writer(Lines),
    ),
    defect(
        "text-normalised-to-composed-form",
        "client",
        "The client stores text in Unicode's composed form.",
        "canon.no-normalisation R38",
        together(
            client_writer(Composed),
            wrap(
                calls,
                "parse_tool_args",
                lambda was: lambda held: was(unicodedata.normalize("NFC", held) if isinstance(held, str) else held),
            ),
        ),
    ),
    defect(
        "one-block-at-a-time",
        "client",
        "When two blocks stream at once, all text lands in the one that started last.",
        "stream.interleaved part.order-of-starts",
        client_writer(OneBlock),
    ),
    defect(
        "block-id-stored-as-id-of-the-part",
        "client",
        "Text parts carry the id of their block on the wire.",
        "part.id-is-providers R39",
        on_chunk(block_ids, c.TextEndChunk),
    ),
    defect(
        "text-trimmed",
        "both",
        "Blanks and line ends around a text are taken off.",
        "part.text-as-is R13",
        on_text(str.strip),
    ),
    defect(
        "texts-merged",
        "both",
        "Texts that follow each other become one part.",
        "part.text-as-is R13",
        wrap(messages, "_response", merged),
    ),
    defect(
        "line-ends-in-text-made-uniform",
        "both",
        "Carriage returns in a text become line feeds.",
        "part.text-as-is R13",
        on_text(lambda text: text.replace("\r\n", "\n").replace("\r", "\n")),
    ),
    defect(
        "empty-text-dropped",
        "both",
        "A text that starts and ends with nothing between is left out.",
        "part.empty-text R13",
        on_parts(lambda part: None if part.kind == "text" and not part.fields.get("content") else part),
    ),
    defect(
        "reasoning-signature-lost",
        "client",
        "The signature of a thinking block is not kept, so the provider rejects the history.",
        "part.thinking-signature",
        reasoning_fact_lost("signature"),
    ),
    defect(
        "reasoning-signature-lost-everywhere",
        "both",
        "Neither side keeps the signature of a thinking block.",
        "part.thinking-signature",
        on_parts(without("signature", "thinking")),
    ),
    defect(
        "reasoning-not-kept",
        "client",
        "The client shows reasoning and stores none.",
        "stream.reasoning part.order-of-starts",
        on_chunk(nothing, c.ReasoningStartChunk, c.ReasoningDeltaChunk, c.ReasoningEndChunk),
    ),
    defect(
        "thinking-provider-always-unknown",
        "client",
        "Thinking parts name no provider unless the block itself says one.",
        "part.thinking-provider R15",
        put(ContentParts, "_provider_name", lambda _: "unknown"),
    ),
    defect(
        "thinking-provider-left-out",
        "both",
        "Thinking parts name no provider.",
        "part.thinking-provider R15",
        on_parts(without("provider_name", "thinking")),
    ),
    defect(
        "registry-not-asked-for-the-provider",
        "both",
        "A thinking part of an agent whose provider the registry knows says unknown.",
        "part.thinking-provider thread.registry R15",
        together(
            wrap(
                ContentParts,
                "_provider_name",
                lambda _: lambda self: str(self._context.facts.get("provider_name") or "unknown"),
            ),
            wrap(
                recorder.Recorder,
                "_provider",
                lambda _: lambda self: str(self._model.get("provider_name") or "unknown"),
            ),
        ),
    ),
)
