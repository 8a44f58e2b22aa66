# mypy: disallow-untyped-calls=False
# A change takes the place of whatever it changes: what it is called with is said there.
"""Messages, and the parts of them that are not text: R7, R10, R16, R25, R40."""

from __future__ import annotations

from unittest import mock

from msgspec.structs import replace
from tests.seeded_defects.parts import nothing
from tests.seeded_defects.seeding import client_writer, defect, on_chunk, on_event, put, together, wrap

from tpharness.dialects import messages, thread
from tpharness.facts import parse_tool_args
from tpharness.journal import JournalWriter, OpenPart, Response, Return
from tpharness.server_events import recorder
from tpharness.server_events.events import EventKind
from tpharness.wires.vsp import content, lifecycle, violations
from tpharness.wires.vsp import records as c
from tpharness.wires.vsp.carrier import CarriedFacts

__all__ = ["DEFECTS"]


class Merged(JournalWriter):
    """The next model call goes on in the message of the one before."""

    def begin_response(self, at, facts=None):
        if self._response is not None and not self._open_keys:
            self._response.finished, self._response.frozen = False, None
            return
        super().begin_response(at, facts)


def ended_at_part_end(was):
    def part_end(self, event):
        handle = self._parts.get(event["index"])
        if handle is not None and handle.kind == "tool-call" and not handle.complete:
            self._calls.complete(handle, None)
            return
        was(self, event)

    return part_end


def args_from_deltas(was):
    def available(self, chunk):
        handle = self._inputs.get(chunk.tool_call_id)
        if handle is not None and handle.pieces:
            chunk = mock.Mock(wraps=chunk, spec=chunk)
            held = "".join(handle.pieces)
            chunk.tool_call_id, chunk.tool_name = call_id(handle), handle.fields["tool_name"]
            chunk.provider_executed, chunk.provider_metadata = None, None
            chunk.input = parse_tool_args(held)
        return was(self, chunk)

    return available


def call_id(handle: OpenPart):
    return handle.fields["tool_call_id"]


def input_without_start(was):
    def available(self, chunk):
        if chunk.tool_call_id not in self._inputs and self._writer.call_key(chunk.tool_call_id) is None:
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
    def written(entries, calls, event_name, **options):
        entries = tuple(entries)
        found = was(entries, calls, event_name, **options)
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


def out_of_order(was):
    del was
    return lambda self, chunk: self._context.report(violations.OUT_OF_ORDER, c.type_of(chunk))


def file_as_link(was):
    def fields(chunk):
        return {"content": {**was(chunk)["content"], "kind": "image-url", "url": chunk.url}}

    return fields


def at_the_first_return(was):
    def written(entries, calls, event_name, **options):
        first: dict[int, str] = {}
        told = []
        for entry in entries:
            if isinstance(entry, Return):
                group = calls.get(entry.call_key, (-1, 0))[0]
                entry = replace(entry, at=first.setdefault(group, entry.at))  # noqa: PLW2901  # as it is written
            told.append(entry)
        return was(told, calls, event_name, **options)

    return written


def always_equal(was):
    del was
    return lambda _: ""


DEFECTS = (
    defect(
        "two-responses-in-one-message",
        "client",
        "Two model calls in a row become one message.",
        "message.one-response-per-call R40",
        client_writer(Merged),
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
        wrap(content, "file_fields", file_as_link),
    ),
    defect(
        "custom-part-loses-its-namespace",
        "client",
        "A custom part is stored without the namespace that says so.",
        "part.custom-kind thread.unknown-preserved R7",
        wrap(content, "custom_part", bare_kind),
    ),
    defect(
        "custom-parts-refused",
        "client",
        "A part of a kind that the client does not know is a violation.",
        "part.custom-kind thread.extensions-accepted R7",
        on_chunk(out_of_order, c.CustomChunk),
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
        together(
            put(recorder, "normalize_finish_reason", lambda word: word),
            put(lifecycle, "normalize_finish_reason", lambda word: word),
        ),
    ),
    defect(
        "unknown-finish-reason-is-stop",
        "both",
        "A finish reason that the protocol has no word for becomes stop.",
        "message.finish-reason R16",
        together(
            *(
                wrap(
                    m,
                    "normalize_finish_reason",
                    lambda was: lambda w: "stop" if was(w) == "error" and w != "error" else was(w),
                )
                for m in (recorder, lifecycle)
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
    defect(
        "request-stands-at-its-first-return",
        "both",
        "A request of returns has the time of the first of them, and its place.",
        "message.return-time event.order R25",
        wrap(thread, "messages", at_the_first_return),
    ),
    defect(
        "messages-in-order-of-arrival",
        "both",
        "Messages and events stand in the order in which they were heard of, whatever their times.",
        "event.order R25",
        wrap(messages, "time_key", always_equal),
    ),
)
