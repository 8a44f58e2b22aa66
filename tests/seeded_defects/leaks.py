# mypy: disallow-untyped-calls=False
# A change takes the place of whatever it changes: what it is called with is said there.
"""Facts of one turn, response or event that another one takes, loses or rounds: R5, R16, R17, R25, R27, R37, R45."""

from __future__ import annotations

import re
from typing import Any

from msgspec.structs import replace
from tests.seeded_defects.interrupts import on_turns
from tests.seeded_defects.repeats import on_document
from tests.seeded_defects.seeding import both_writers, defect, put, together, wrap
from tests.seeded_defects.values import on_event, on_part, on_response

from tpharness.dialects import messages
from tpharness.journal import JournalWriter
from tpharness.server_events import recorder
from tpharness.wires.vsp.lifecycle import Lifecycle

__all__ = ["DEFECTS"]

_TIMES = ("timestamp", "started_at", "completed_at", "submitted_at", "interrupted_at")
_DATA = ("parts", "event_data", "client_metadata")
_LARGEST_32 = 2**31 - 1


class ErrorRemembered(JournalWriter):
    """An error that was reported in an earlier turn still counts."""

    def hold_interruption(self, reason, at):
        super().hold_interruption(reason, at)
        self._ever = True

    @property
    def interruption_held(self):
        return self.__dict__.get("_ever", False)


class FactsStay(JournalWriter):
    """A response has the finish reason and the id of the one before until it has its own."""

    def begin_response(self, at, facts=None):
        last: Any = self.__dict__.get("_response")
        before = last.facts if last is not None else {}
        stay = {name: before[name] for name in ("finish_reason", "provider_response_id") if name in before}
        super().begin_response(at, {**stay, **(facts or {})})


class FirstAgent(JournalWriter):
    """Messages belong to the agent with which the thread began."""

    def begin_turn(self, agent_id, at):
        super().begin_turn(agent_id, at)
        self._first = getattr(self, "_first", agent_id)

    def begin_response(self, at, facts=None):
        super().begin_response(at, facts)
        self._need_response().agent_id = self._first

    def add_return(self, call_id, kind, fields, at):
        super().add_return(call_id, kind, fields, at)
        self._entries[-1] = replace(self._entries[-1], agent_id=self._first)


def last_finish_stays(was):
    def begin(self, *given):
        held = getattr(self, "_last_finish", None)
        was(self, *given)
        self._last_finish = held

    return begin


def reason_of_the_parts(message):
    if message.get("finish_reason") not in ("stop", "tool_call"):
        return message
    calls = any(part["part_kind"] == "tool-call" for part in message["parts"])
    return {**message, "finish_reason": "tool_call" if calls else "stop"}


def counted_in_32_bits(message):
    if "usage" not in message:
        return message
    return {**message, "usage": {name: min(count, _LARGEST_32) for name, count in message["usage"].items()}}


def total_of_32_bits(turn, _):
    if "total_usage" not in turn:
        return turn
    return {**turn, "total_usage": {name: min(count, _LARGEST_32) for name, count in turn["total_usage"].items()}}


def times(change):
    """Change each time of a turn, and none in what somebody said."""

    def within(value):
        if isinstance(value, dict):
            return {
                name: change(item) if name in _TIMES else item if name in _DATA else within(item)
                for name, item in value.items()
            }
        return [within(item) for item in value] if isinstance(value, list) else value

    return on_document(lambda turns: [within(turn) for turn in turns])


def metadata(change):
    """Change the metadata of each user turn that has some."""
    return on_document(
        lambda turns: [
            {**turn, "client_metadata": change(turn["client_metadata"])} if "client_metadata" in turn else turn
            for turn in turns
        ]
    )


def first_metadata_stays(turns):
    first = next((turn["client_metadata"] for turn in turns if "client_metadata" in turn), None)
    return [
        {"client_metadata": first, **turn} if first is not None and turn["turn_type"] == "user" else turn
        for turn in turns
    ]


def user_content(change):
    """Change the content of what users submit that is a list."""

    def part(one):
        return {**one, "content": change(one["content"])} if isinstance(one.get("content"), list) else one

    return on_document(
        lambda turns: [
            {**turn, "parts": [part(one) for one in turn["parts"]]} if turn["turn_type"] == "user" else turn
            for turn in turns
        ]
    )


def only_text(content):
    return content[0] if len(content) == 1 and isinstance(content[0], str) else content


def items_once(content):
    return [item for i, item in enumerate(content) if item not in content[:i]]


def in_field(field, name, change):
    """Change one value inside a field of each part that has it."""

    def part(one):
        held = one.get(field)
        if not isinstance(held, dict) or name not in held:
            return one
        return {**one, field: {**held, name: change(held[name])}}

    return on_part(part)


def own_fields_lost(part):
    if "content_ref" not in part:
        return part
    known = ("uri", "size_bytes", "hash", "media_type")
    return {**part, "content_ref": {name: value for name, value in part["content_ref"].items() if name in known}}


def size_of_nothing_lost(part):
    if "content_ref" not in part:
        return part
    return {**part, "content_ref": {name: value for name, value in part["content_ref"].items() if value != 0}}


DEFECTS = (
    defect(
        "error-of-an-earlier-turn-remembered",
        "both",
        "A turn that finishes with an error that nobody reported is interrupted, since a turn before it had one.",
        "interrupt.error interrupt.error-then-finish R27",
        both_writers(ErrorRemembered),
    ),
    defect(
        "last-finish-reason-stays-over-runs",
        "both",
        "A run that tells no finish reason ends for that of the run before.",
        "interrupt.safety-halt turn.complete-no-interruption R27",
        together(
            wrap(recorder.Recorder, "begin", last_finish_stays),
            wrap(Lifecycle, "begin", last_finish_stays),
            wrap(Lifecycle, "_begin_turn", last_finish_stays),
        ),
    ),
    defect(
        "facts-of-a-response-stay",
        "both",
        "A response that tells no finish reason and no id has those of the response before.",
        "message.finish-reason message.provider-facts R16",
        both_writers(FactsStay),
    ),
    defect(
        "finish-reason-read-off-the-parts",
        "both",
        "A response with calls finished for a tool call and one without for stop, whatever the model says.",
        "message.finish-reason R16",
        on_response(reason_of_the_parts),
    ),
    defect(
        "messages-of-the-first-agent",
        "both",
        "Messages belong to the agent with which the thread began.",
        "message.agent-id",
        both_writers(FirstAgent),
    ),
    defect(
        "tokens-counted-in-32-bits",
        "both",
        "Token counts are stored in 32 bits.",
        "usage.sums R17",
        together(on_response(counted_in_32_bits), on_turns(total_of_32_bits)),
    ),
    defect(
        "times-in-milliseconds",
        "both",
        "Times are stored to the millisecond.",
        "canon.timestamps carrier.timestamps R37",
        times(lambda at: re.sub(r"(\.\d{3})\d+", r"\1", at)),
    ),
    defect(
        "order-by-the-time-of-day",
        "both",
        "Messages are sorted by the time of day, so that midnight turns them round.",
        "turn.messages-chronological event.order R25",
        wrap(messages, "time_key", lambda was: lambda at: was(at).partition("T")[2]),
    ),
    defect(
        "order-by-the-clock-on-the-wall",
        "both",
        "Messages are sorted by their times without regard to the offset from UTC.",
        "turn.messages-chronological event.order R25",
        put(messages, "time_key", lambda at: re.sub(r"(Z|[+-]\d\d:\d\d)$", "", at)),
    ),
    *(
        defect(f"names-of-events-{name}", "both", sentence, "event.app-tier event.unrecognised-tier", on_event(change))
        for name, sentence, change in (
            (
                "in-small-letters",
                "Names of events are stored in small letters.",
                lambda event: replace(event, name=event.name.lower()),
            ),
            (
                "in-snake-case",
                "Dashes in the application's part of a name become underscores.",
                lambda event: replace(event, name=f"{event.name[:9]}{event.name[9:].replace('-', '_')}"),
            ),
            (
                "made-safe",
                "Other letters than those of ASCII become underscores in the names of events.",
                lambda event: replace(event, name=re.sub(r"[^\x21-\x7e]", "_", event.name)),
            ),
        )
    ),
    *(
        defect(f"client-metadata-{name}", "both", sentence, "turn.client-metadata thread.unknown-preserved", seed)
        for name, sentence, seed in (
            (
                "without-empty-values",
                "Metadata of the client that is empty, nought or false is left out.",
                metadata(lambda found: {key: value for key, value in found.items() if value}),
            ),
            (
                "as-texts",
                "Values of the client's metadata are stored as texts.",
                metadata(lambda found: {key: str(value) for key, value in found.items()}),
            ),
            (
                "in-small-letters",
                "Keys of the client's metadata are stored in small letters.",
                metadata(lambda found: {key.lower(): value for key, value in found.items()}),
            ),
            (
                "stays",
                "A user turn without metadata of the client has that of the first one.",
                on_document(first_metadata_stays),
            ),
        )
    ),
    defect(
        "list-of-one-text-stored-as-text",
        "both",
        "What the user submits as a list of one text is stored as that text.",
        "part.multimodal",
        user_content(only_text),
    ),
    defect(
        "items-of-the-user-once",
        "both",
        "What comes twice in a list of the user is stored once.",
        "part.multimodal",
        user_content(items_once),
    ),
    defect(
        "parameters-of-media-types-lost",
        "both",
        "A media type is stored without its parameters.",
        "part.file",
        in_field("content", "media_type", lambda kind: kind.partition(";")[0]),
    ),
    defect(
        "media-types-in-small-letters",
        "both",
        "A media type is stored in small letters.",
        "part.file",
        in_field("content", "media_type", str.lower),
    ),
    defect(
        "queries-of-files-lost",
        "both",
        "The address of a file is stored without its query.",
        "part.file-url",
        in_field("content", "url", lambda url: url.partition("?")[0]),
    ),
    defect(
        "queries-of-references-lost",
        "both",
        "The address of a content is stored without its query.",
        "ref.fields",
        in_field("content_ref", "uri", lambda uri: uri.partition("?")[0]),
    ),
    defect(
        "own-fields-of-references-lost",
        "both",
        "What a reference has beside the four fields of the guide is left out.",
        "thread.unknown-preserved R7",
        on_part(own_fields_lost),
    ),
    defect(
        "size-of-nothing-lost",
        "both",
        "A reference to an empty content has no size.",
        "ref.fields",
        on_part(size_of_nothing_lost),
    ),
    defect(
        "long-signatures-cut",
        "both",
        "A signature is stored in a column of 255 characters.",
        "part.thinking-signature",
        on_part(lambda part: {**part, "signature": part["signature"][:255]} if part.get("signature") else part),
    ),
    defect(
        "thinking-trimmed",
        "both",
        "Blanks at both ends of a thought are cut off.",
        "stream.reasoning",
        on_part(lambda part: {**part, "content": part["content"].strip()} if part["part_kind"] == "thinking" else part),
    ),
)
