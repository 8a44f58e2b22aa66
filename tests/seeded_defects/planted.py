# mypy: disallow-untyped-calls=False
# A change takes the place of whatever it changes: what it is called with is said there.
"""Kinds of mistakes that passed the suite until somebody planted them: R7, R9, R10, R22, R30, R34, R39, R54."""

from __future__ import annotations

from collections.abc import Mapping

from tests.seeded_defects.seeding import (
    both_writers,
    defect,
    each_chunk,
    on_chunk,
    on_event,
    server_writer,
    wrap,
)

from tpharness.dialects import thread as dialect
from tpharness.dialects.thread import ThreadRenderer
from tpharness.journal import JournalWriter
from tpharness.journal.records import UserTurn
from tpharness.server_events import recorder
from tpharness.server_events.events import EventKind
from tpharness.wires.vsp.records import ToolOutputDeniedChunk

__all__ = ["DEFECTS"]

_USER_FIELDS = ("part_kind", "content")
_CARRIED_TIMES = ("timestamp", "started_at", "interrupted_at")


class FirstPrompts(JournalWriter):
    """A request repeats what the user said first, and nothing that was said later."""

    def add_user_turn(self, turn):
        first = self._user_parts
        super().add_user_turn(turn)
        self._user_parts = first or self._user_parts


class CallsOfOneAgent(JournalWriter):
    """A call belongs to the turn of its agent: another one that takes over knows nothing of it."""

    def begin_turn(self, agent_id, at):
        if getattr(self, "_agent_id", agent_id) != agent_id:
            self._calls = {}
        super().begin_turn(agent_id, at)


class KnownUserFields(JournalWriter):
    """A part of the user has the fields that the protocol names."""

    def add_user_turn(self, turn):
        parts = tuple({k: v for k, v in part.items() if k in _USER_FIELDS} for part in turn.parts)
        super().add_user_turn(UserTurn(at=turn.at, parts=parts, client_metadata=turn.client_metadata))


class RequestsAsTheyCome(JournalWriter):
    """What comes between two returns to an earlier run ends the request of the first."""

    def _late_returns_may_grow(self):
        return False


def arguments_of_the_end(was):
    def wrong(self, event):
        was(self, event)
        part, handle = event["part"], self._parts.get(event["index"])
        if handle is not None and handle.kind == "tool-call" and part.get("args") is not None:
            handle.pieces.clear()
            handle.fields["args"] = part["args"]

    return wrong


def ids_of_the_start_alone(was):
    def wrong(self, event):
        part = {name: value for name, value in event["part"].items() if name not in ("id", "signature")}
        was(self, {**event, "part": part})

    return wrong


def known_fields_of_custom_parts(was):
    def wrong(kind, part):
        fields = was(kind, part)
        return {"content": fields["content"]} if kind.startswith("custom:") and "content" in fields else fields

    return wrong


def prefix_alone_cut(was):
    def wrong(name, version):
        return was(name, version) if version.features.namespaces else was(name, version).removeprefix("data-")

    return wrong


def made_with_its_first_turn(was):
    def wrong(self, turns):
        made = was(self, turns)
        first = next((turn.get("submitted_at") or turn.get("started_at") for turn in turns), None)
        return {**made, "created_at": first or made["created_at"]}

    return wrong


def counts_of_one_kind(chunk):
    usage = chunk.get("data", {}).get("usage") if chunk["type"] == "data-sys-tp" else None
    if not isinstance(usage, Mapping):
        return [chunk]
    counts = {name: count + (name == "input_tokens") for name, count in usage.items()}
    return [{**chunk, "data": {**chunk["data"], "usage": counts}}]


def times_in_whole_seconds(chunk):
    if chunk["type"] != "data-sys-tp":
        return [chunk]
    data = {k: f"{v[:19]}Z" if k in _CARRIED_TIMES and v.endswith("Z") else v for k, v in chunk["data"].items()}
    return [{**chunk, "data": data}]


def reason_of_any_denial(was):
    def wrong(self, chunk):
        before = self._denials.get(chunk.tool_call_id)
        if before is None and self._denials:
            self._denials[chunk.tool_call_id] = next(reversed(self._denials.values()))
        was(self, chunk)

    return wrong


DEFECTS = (
    defect(
        "prompts-compared-with-the-first-turn",
        "server",
        "A request that repeats the prompt of a later turn keeps the repetition.",
        "turn.user-input-once R9",
        server_writer(FirstPrompts),
    ),
    defect(
        "open-calls-end-with-their-agent",
        "both",
        "The return of a call that was open when another agent took over is not kept.",
        "turn.agent-change tool.later-turn-answers R30 R45",
        both_writers(CallsOfOneAgent),
    ),
    defect(
        "late-returns-split-by-a-prompt",
        "both",
        "A prompt between two returns to an earlier run makes two requests of them.",
        "tool.later-returns-grow R61",
        both_writers(RequestsAsTheyCome),
    ),
    defect(
        "arguments-of-the-end-of-a-part-stored",
        "server",
        "The arguments at the end of a part beat those that were streamed.",
        "part.call-complete-server R10",
        on_event(arguments_of_the_end, EventKind.PART_END),
    ),
    defect(
        "id-that-comes-with-the-end-lost",
        "server",
        "The id or the signature that a provider gives at the end of a part is not stored.",
        "part.id-is-providers R39",
        on_event(ids_of_the_start_alone, EventKind.PART_END),
    ),
    defect(
        "unknown-fields-of-user-parts-lost",
        "both",
        "A part of the user loses the fields that the protocol does not name.",
        "thread.unknown-preserved R7",
        both_writers(KnownUserFields),
    ),
    defect(
        "unknown-fields-of-custom-parts-lost",
        "server",
        "A custom part keeps its content and loses its other fields.",
        "part.custom-kind R7",
        wrap(recorder, "part_fields", known_fields_of_custom_parts),
    ),
    defect(
        "name-of-the-prefix-alone-is-empty",
        "both",
        "An event whose name is the old prefix and nothing else has an empty name in 2.0.0.",
        "event.prefix-stripped R34",
        wrap(dialect, "event_name", prefix_alone_cut),
    ),
    defect(
        "created-with-its-first-turn",
        "server",
        "A thread was created when its first turn began, whatever its header says.",
        "thread.header R54",
        wrap(ThreadRenderer, "_thread", made_with_its_first_turn),
    ),
    defect(
        "count-in-a-carrier-is-another",
        "server",
        "The count of tokens in a carrier is not the one that the response had.",
        "carrier.facts R39",
        each_chunk(counts_of_one_kind),
    ),
    defect(
        "times-in-carriers-without-their-fraction",
        "server",
        "The times in carriers are in whole seconds.",
        "carrier.timestamps R39",
        each_chunk(times_in_whole_seconds),
    ),
    defect(
        "denial-with-the-reason-of-another",
        "client",
        "A denial without words of its own has those of the last one that had any.",
        "tool.denied R22",
        on_chunk(reason_of_any_denial, ToolOutputDeniedChunk),
    ),
)
