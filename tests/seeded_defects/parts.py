# mypy: disallow-untyped-calls=False
# A change takes the place of whatever it changes: what it is called with is said there.
"""What a message and its parts become: R10 to R16, R25, R39."""

from __future__ import annotations

import unicodedata
from unittest import mock

from msgspec.structs import replace
from tests.seeded_defects.seeding import client_writer, defect, on_chunk, on_event, put, together, wrap

from tpharness.dialects import messages, thread
from tpharness.facts import tool_args
from tpharness.journal import JournalWriter, OpenPart, Part, Response
from tpharness.server_events import recorder
from tpharness.server_events.events import EventKind
from tpharness.vsp import chunks as c
from tpharness.vsp import fold, stream
from tpharness.vsp.carrier import CarriedFacts
from tpharness.vsp.fold import ChunkFold
from tpharness.vsp.states import StreamState

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
        if self.open_parts:
            self._writer.interrupt_turn("network_failure", self._time())
            self._forget_open()
            self._enter(StreamState.FINISHED)
            return
        was(self, chunk)

    return finish


class Merged(JournalWriter):
    """The next model call goes on in the message of the one before."""

    def begin_response(self, at, facts=None):
        if self._response is not None and not self._open_keys:
            self._response.finished, self._response.frozen = False, None
            return
        super().begin_response(at, facts)


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
            other.more = part.pieces.append
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

    return wrap(ChunkFold, "_reasoning_facts", make)


def ended_at_part_end(was):
    def part_end(self, event):
        handle = self._parts.get(event["index"])
        if handle is not None and handle.kind == "tool-call" and not handle.complete:
            text = "".join(handle.pieces)
            self._writer.close_part(handle, args=handle.fields.get("args", tool_args(text) if text else {}))
            self._calls[handle.fields["tool_call_id"]] = handle
            return
        was(self, event)

    return part_end


def args_from_deltas(was):
    def available(self, chunk):
        handle = self._tools.get(chunk.tool_call_id)
        if handle is not None and handle.pieces:
            chunk = mock.Mock(wraps=chunk, spec=chunk)
            held = "".join(handle.pieces)
            chunk.tool_call_id, chunk.tool_name = call_id(handle), handle.fields["tool_name"]
            chunk.provider_executed, chunk.provider_metadata = None, None
            chunk.input = tool_args(held)
        return was(self, chunk)

    return available


def call_id(handle: OpenPart):
    return handle.fields["tool_call_id"]


def input_without_start(was):
    def available(self, chunk):
        if chunk.tool_call_id not in self._tools and self._writer.call_key(chunk.tool_call_id) is None:
            return False
        return was(self, chunk)

    return available


def at_its_end(was):
    def finish(self, *given):
        response = self._writer._response
        opened = self._writer.response_open
        was(self, *given)
        if opened:
            response.at, response.frozen = self._at, None

    return finish


def empty_messages(was):
    def written(entries, calls, event_name):
        entries = tuple(entries)
        found = was(entries, calls, event_name)
        return found + [messages._response(e) for e in entries if isinstance(e, Response) and not e.parts]

    return written


def flat(was):
    def turn(self, one):
        document = was(self, one)
        for part in document["parts"]:
            content = part.get("content")
            if isinstance(content, list):
                part["content"] = " ".join(item for item in content if isinstance(item, str))
        return document

    return turn


def bare_kind(was):
    def custom(chunk):
        kind, fields = was(chunk)
        return kind.removeprefix("custom:"), fields

    return custom


def file_as_link(was):
    def fields(chunk):
        return {"content": {**was(chunk)["content"], "kind": "image-url", "url": chunk.url}}

    return fields


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
        "two-responses-in-one-message",
        "client",
        "Two model calls in a row become one message.",
        "message.one-response-per-call R40",
        client_writer(Merged),
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
                recorder,
                "tool_args",
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
        put(ChunkFold, "_provider", lambda _: "unknown"),
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
            wrap(ChunkFold, "_provider", lambda _: lambda self: str(self._facts.get("provider_name") or "unknown")),
            wrap(
                recorder.Recorder,
                "_provider",
                lambda _: lambda self: str(self._request_facts.get("provider_name") or "unknown"),
            ),
        ),
    ),
    defect(
        "file-dropped",
        "client",
        "An image that the model made is shown and not stored.",
        "part.file",
        on_chunk(nothing, c.FileChunk),
    ),
    defect(
        "file-stored-as-link",
        "client",
        "A file of the model is stored as a link to its data URL.",
        "part.file",
        wrap(fold, "file_fields", file_as_link),
    ),
    defect(
        "custom-part-loses-its-namespace",
        "client",
        "A custom part is stored without the namespace that says so.",
        "part.custom-kind thread.unknown-preserved R7",
        wrap(fold, "custom_part", bare_kind),
    ),
    defect(
        "custom-parts-refused",
        "client",
        "A part of a kind that the client does not know is a violation.",
        "part.custom-kind thread.extensions-accepted R7",
        on_chunk(lambda _: ChunkFold._refuse, c.CustomChunk),
    ),
    defect(
        "user-content-flattened-to-text",
        "both",
        "Images and documents that the user sent are gone; only the text of the message is stored.",
        "part.multimodal",
        wrap(thread.ThreadRenderer, "_user_turn", flat),
    ),
    defect(
        "arguments-from-deltas-alone",
        "client",
        "The client keeps the arguments as they streamed and not those that the server then gave.",
        "part.call-complete-client R10",
        on_chunk(args_from_deltas, c.ToolInputAvailableChunk),
    ),
    defect(
        "call-without-a-start-dropped",
        "client",
        "A call whose input comes whole, without a start before it, is not seen.",
        "stream.tool-input part.call-complete-client R10",
        on_chunk(input_without_start, c.ToolInputAvailableChunk, c.ToolInputErrorChunk),
    ),
    defect(
        "call-complete-at-part-end",
        "server",
        "The server takes a call as complete when its part ends, though its arguments go on.",
        "part.call-complete-server R10",
        on_event(ended_at_part_end, EventKind.PART_END),
    ),
    defect(
        "response-stamped-with-its-end",
        "server",
        "A response carries the time at which it was saved.",
        "message.response-start-time R25",
        wrap(recorder.Recorder, "_finish_response", at_its_end),
    ),
    defect(
        "request-stamped-with-its-first-return",
        "both",
        "A request of several returns carries the time of the first one.",
        "message.return-time R25",
        put(messages, "max", min),
    ),
    defect(
        "empty-response-stored",
        "both",
        "A response without a single complete part is stored as an empty message.",
        "message.empty-left-out R24",
        wrap(thread, "messages", empty_messages),
    ),
    defect(
        "finish-reason-in-the-providers-words",
        "both",
        "The finish reason is stored as the provider spells it.",
        "message.finish-reason R16",
        together(put(recorder, "finish_reason", lambda word: word), put(stream, "finish_reason", lambda word: word)),
    ),
    defect(
        "unknown-finish-reason-is-stop",
        "both",
        "A finish reason that the protocol has no word for becomes stop.",
        "message.finish-reason R16",
        together(
            *(
                wrap(m, "finish_reason", lambda was: lambda w: "stop" if was(w) == "error" and w != "error" else was(w))
                for m in (recorder, stream)
            )
        ),
    ),
    defect(
        "names-of-models-not-kept",
        "client",
        "The client stores responses without model, provider and response id.",
        "message.provider-facts canon.exact carrier.facts",
        put(CarriedFacts, "at_response_start", lambda _: {}),
    ),
)
