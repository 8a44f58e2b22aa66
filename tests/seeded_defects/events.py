# mypy: disallow-untyped-calls=False
# A change takes the place of whatever it changes: what it is called with is said there.
"""Events, their names and their order: R1, R7, R25, R27, R34, R37."""

from __future__ import annotations

from msgspec.structs import replace
from tests.seeded_defects.seeding import (
    both_writers,
    client_writer,
    defect,
    each_chunk,
    on_chunk,
    put,
    server_writer,
    wrap,
)

from tpharness.dialects import messages, thread
from tpharness.dialects.thread import ThreadRenderer
from tpharness.journal import Event, JournalWriter
from tpharness.protocol import versions
from tpharness.protocol.versions import Version
from tpharness.server_events import recorder
from tpharness.wires.vsp import records as c

__all__ = ["DEFECTS"]


def nothing(was):
    del was
    return lambda *_: None


def named(change):
    """Both sides name events otherwise."""
    return wrap(thread, "event_name", lambda was: lambda name, version: change(was, name, version))


def only_new_names(was, name, version):
    del was, version
    return name


def old_names_in_0_0_4(was, name, version):
    return was(name, Version.V0_0_3) if version is Version.V0_0_4 else was(name, version)


def always_stripped(was, name, version):
    return was(name, version).removeprefix("data-") if not versions.is_normative_name(name) else was(name, version)


def never_stripped(was, name, version):
    return was(name, version) if versions.is_normative_name(name) else name


def by_their_last_word(was, name, version):
    word = "data-tp-" + name.removeprefix("data-app-")
    return was(word if versions.is_normative_name(word) else name, version)


def by_name(keep):
    """Both sides record only events whose names are right."""

    def make(was):
        def add(self, event):
            if keep(event.name):
                was(self, event)

        return add

    return wrap(JournalWriter, "add_event", make)


def client_by_name(keep):
    def make(was):
        def data(self, chunk):
            if keep(chunk.name):
                was(self, chunk)

        return data

    return on_chunk(make, c.DataChunk)


def at_the_end(was):
    """Events stand behind the messages of their turn."""

    def render(self, journal):
        document = was(self, journal)
        turns = [
            {**t, "messages": sorted(t["messages"], key=lambda m: m["message_type"] == "system")}
            if "messages" in t
            else t
            for t in document["turns"]
        ]
        return {**document, "turns": turns}

    return render


def with_data_id(was):
    def event(entry, namer):
        data = entry.data if isinstance(entry.data, dict) else {"value": entry.data}
        return was(replace(entry, data=data), namer)

    return event


class OneEventForAName(JournalWriter):
    """An event of a name that was recorded before takes the place of the earlier one, as a UI's data parts do."""

    def add_event(self, event):
        self._entries = [e for e in self._entries if not (isinstance(e, Event) and e.name == event.name)]
        super().add_event(event)


class EventsLate(JournalWriter):
    """An event is written down when no response is streaming any more."""

    def add_event(self, event):
        if self.response_open:
            self._late = [*getattr(self, "_late", []), event]
        else:
            super().add_event(event)

    def finish_response(self):
        if not self.response_open:
            return 0
        opened = super().finish_response()
        late, self._late = getattr(self, "_late", []), []
        for event in late:
            super().add_event(event)
        return opened


def transient_recorded(was):
    def data(self, chunk):
        was(self, replace(chunk, transient=None) if chunk.name != "data-sys-tp" else chunk)

    return data


def transient_facts_lost(was):
    def data(self, chunk):
        if not chunk.transient or chunk.name == "data-sys-tp":
            was(self, chunk)

    return data


def metadata_recorded(was):
    def metadata(self, chunk):
        was(self, chunk)
        self._writer.add_event(
            Event(name="data-app-metadata", data=chunk.message_metadata, at=self._context.time, bound=False)
        )

    return metadata


def framed_by_name(chunk):
    if not chunk["type"].startswith("data-"):
        return [chunk]
    rest = {key: value for key, value in chunk.items() if key not in ("type", "data")}
    return [{"type": "data", "name": chunk["type"], "value": chunk["data"], **rest}]


def unknown_as_errors(was):
    def unknown(self, chunk):
        was(self, chunk)
        self._writer._entries[-1] = replace(self._writer._entries[-1], name="data-tp-error")

    return unknown


class NoErrors(JournalWriter):
    """That an error was reported is known and not written down."""

    def add_event(self, event):
        if event.name != "data-tp-error":
            super().add_event(event)


def loose_source(was):
    def source(self, chunk):
        was(self, chunk)
        self._writer._entries[-1] = replace(self._writer._entries[-1], bound=False)

    return source


def agents_lost(was):
    return lambda entry, namer: was(replace(entry, source_agent=None, target_agents=None), namer)


def renamed_field(was):
    return lambda entry, namer: {("type" if k == "event_type" else k): v for k, v in was(entry, namer).items()}


class LooseAfterwards(JournalWriter):
    """A source that comes when its response has finished is a fact of its own."""

    def add_event(self, event):
        super().add_event(replace(event, bound=event.bound and self.response_open))


def empty_prompts_count(was):
    def steering(self, chunk):
        if chunk.parts:
            was(self, chunk)
        else:
            self._lifecycle.end_response()
            self._writer.add_prompt([{"part_kind": "user-prompt", "content": []}], self._context.time)

    return steering


DEFECTS = (
    defect(
        "event-names-not-migrated",
        "both",
        "Threads of 2.0.0 and 0.0.3 hold events by their names of 0.0.4.",
        "event.normative-names-old thread.one-version event.prefix-stripped R1",
        named(only_new_names),
    ),
    defect(
        "old-event-names-in-0-0-4",
        "both",
        "Threads of 0.0.4 hold events by their older names.",
        "event.normative-names thread.one-version R1",
        named(old_names_in_0_0_4),
    ),
    defect(
        "data-prefix-always-stripped",
        "both",
        "Custom events lose data- in every version.",
        "event.prefix-kept event.app-tier R34",
        named(always_stripped),
    ),
    defect(
        "data-prefix-kept-in-2-0-0",
        "both",
        "Custom events keep data- in threads of 2.0.0.",
        "event.prefix-stripped R34",
        named(never_stripped),
    ),
    defect(
        "application-events-named-as-normative-ones",
        "both",
        "An application's own error event is stored under the name of the protocol's.",
        "event.names-not-reused event.app-tier R7",
        named(by_their_last_word),
    ),
    defect(
        "application-events-not-recorded",
        "both",
        "Events of the application are shown and not stored.",
        "event.app-tier event.system-message",
        by_name(lambda name: not name.startswith("data-app-")),
    ),
    defect(
        "events-of-no-tier-dropped",
        "both",
        "A data event in no known namespace is dropped.",
        "event.unrecognised-tier R34",
        by_name(lambda name: not name.startswith("data-") or name.startswith(("data-tp-", "data-app-", "data-sys-"))),
    ),
    defect(
        "client-records-normative-events-alone",
        "client",
        "The client stores the five normative events and no other.",
        "event.app-tier event.unrecognised-tier",
        client_by_name(lambda name: name.startswith(("data-tp-", "data-sys-tp"))),
    ),
    defect(
        "normative-events-not-recorded",
        "client",
        "A hand-off between agents is not in the client's thread.",
        "event.normative-names event.system-message",
        client_by_name(lambda name: not name.startswith("data-tp-")),
    ),
    defect(
        "event-type-under-another-name",
        "both",
        "A system message says its type under another name.",
        "event.system-message",
        wrap(messages, "_event", renamed_field),
    ),
    defect(
        "event-data-always-an-object",
        "both",
        "An event whose data is a number or a list holds it in an object.",
        "event.system-message thread.unknown-preserved R7",
        wrap(messages, "_event", with_data_id),
    ),
    defect(
        "later-event-replaces-the-earlier",
        "both",
        "Of two events with one name the later one stands in place of the earlier.",
        "event.order",
        both_writers(OneEventForAName),
    ),
    defect(
        "events-at-the-end-of-their-turn",
        "both",
        "Events stand behind all messages of their turn.",
        "event.order thread.natural-order turn.messages-chronological R25",
        wrap(ThreadRenderer, "render", at_the_end),
    ),
    defect(
        "events-written-when-the-step-is-over",
        "client",
        "The client writes an event down when the step that it came in has finished.",
        "event.facts-survive R25",
        client_writer(EventsLate),
    ),
    defect(
        "transient-events-recorded",
        "client",
        "A notification that was only to be shown is stored.",
        "event.transient R7",
        on_chunk(transient_recorded, c.DataChunk),
    ),
    defect(
        "transient-normative-events-lost",
        "client",
        "A normative event that is sent as transient is not recorded.",
        "event.transient R7",
        on_chunk(transient_facts_lost, c.DataChunk),
    ),
    defect(
        "sources-not-recorded",
        "client",
        "The client shows citations and stores none.",
        "event.source",
        on_chunk(nothing, c.SourceUrlChunk, c.SourceDocumentChunk),
    ),
    defect(
        "sources-not-bound-to-their-response",
        "client",
        "When an answer is dropped, the client keeps its citations.",
        "event.source",
        on_chunk(loose_source, c.SourceUrlChunk, c.SourceDocumentChunk),
    ),
    defect(
        "error-not-recorded",
        "client",
        "The client knows that an error came and has no event that says so.",
        "event.error cycle.event-keeps-turn R27",
        client_writer(NoErrors),
    ),
    defect(
        "server-does-not-record-errors",
        "server",
        "The server tells the client of an error and does not store it.",
        "event.error R27",
        server_writer(NoErrors),
    ),
    defect(
        "agents-of-events-lost",
        "both",
        "An event does not say which agents it concerns.",
        "event.agents",
        wrap(messages, "_event", agents_lost),
    ),
    defect(
        "unknown-chunks-dropped",
        "client",
        "A chunk of a type that the client does not know is dropped.",
        "stream.unknown-chunk thread.unknown-preserved R7",
        on_chunk(nothing, c.UnknownChunk),
    ),
    defect(
        "unknown-chunks-stored-as-errors",
        "client",
        "A chunk of a type that the client does not know is stored as the normative error event.",
        "stream.unknown-chunk R7",
        on_chunk(unknown_as_errors, c.UnknownChunk),
    ),
    defect(
        "metadata-of-messages-recorded",
        "client",
        "The client stores the metadata of a message as an event of its turn.",
        "stream.metadata-ignored",
        on_chunk(metadata_recorded, c.MessageMetadataChunk),
    ),
    defect(
        "custom-events-framed-by-name",
        "server",
        "The server sends custom events as the amendments print them, with name and value.",
        "stream.first-framing-written R33",
        each_chunk(framed_by_name),
    ),
    defect(
        "telemetry-recorded-as-the-applications",
        "client",
        "The client stores telemetry as an event of the application.",
        "event.sys-tier canon.metadata-left-out R37",
        on_chunk(
            lambda was: (
                lambda self, chunk: was(
                    self,
                    replace(chunk, name=chunk.name.replace("data-sys-", "data-app-"))
                    if chunk.name != "data-sys-tp"
                    else chunk,
                )
            ),
            c.DataChunk,
        ),
    ),
    defect(
        "source-after-its-step-stays",
        "both",
        "A citation that comes after its step stays when the response is dropped.",
        "event.source R25",
        both_writers(LooseAfterwards),
    ),
    defect(
        "steering-with-nothing-is-a-request",
        "client",
        "A steering message without parts is stored as a request without content.",
        "message.steering-empty R52",
        on_chunk(empty_prompts_count, c.SteeringMessageChunk),
    ),
    defect(
        "prompt-with-nothing-is-a-request",
        "server",
        "The server stores a prompt whose content is an empty list.",
        "message.steering-empty R52",
        put(recorder, "find_prompts", lambda message: message.get("parts") or []),
    ),
)
