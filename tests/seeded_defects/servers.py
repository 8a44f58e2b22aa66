# mypy: disallow-untyped-calls=False
# A change takes the place of whatever it changes: what it is called with is said there.
"""What a server makes wrongly of events that are rare: R9, R10, R11, R17, R22, R24, R27, R30, R36, R40, R44."""

from __future__ import annotations

from collections.abc import Mapping

from tests.seeded_defects.seeding import defect, on_event, on_wire, put, server_writer, together, wrap

from tpharness import facts
from tpharness.journal import Event, JournalWriter, OpenResponse
from tpharness.server_events import recorder, returns
from tpharness.server_events.events import EventKind
from tpharness.server_events.states import RunState
from tpharness.wires.vsp import server as encoder

__all__ = ["DEFECTS"]

_WORDS = (*facts._FINISH_REASONS, "tool-calls", "tool_calls", "content-filter", "interrupted", None)


class LastErrorStands(JournalWriter):
    """Of several errors the last one stands, with what came before it."""

    def hold_interruption(self, reason, at):
        self._held = None
        super().hold_interruption(reason, at)


class CallsOfTheLastTurn(JournalWriter):
    """A turn answers calls of the turn before it, and of no earlier one."""

    _first_key = 0

    def begin_turn(self, agent_id, at):
        super().begin_turn(agent_id, at)
        self._calls = {call_id: key for call_id, key in self._calls.items() if key >= self._first_key}
        self._first_key = self._next_call


class PartsAsTheyEnd(JournalWriter):
    """The parts of a response stand in the order of their ends."""

    def close_part(self, part, **fields):
        super().close_part(part, **fields)
        parts = self._need_response().parts
        parts.append(parts.pop(next(place for place, one in enumerate(parts) if one is part)))


class OneRepetition(JournalWriter):
    """Of the prompts that repeat what the user said the first is a repetition, and no other."""

    def add_prompt(self, parts, at):
        before = self.version
        super().add_prompt(parts, at)
        if self.version == before:
            self._user_parts = ()


class SourcesStay(JournalWriter):
    """A source stays when its response is taken back."""

    def reset_response(self):
        bound = [entry for entry in self._entries if isinstance(entry, Event) and entry.bound]
        super().reset_response()
        self._entries.extend(bound)


def metadata_stay(was):
    def wrong(part, tool_name):
        written = was(part, tool_name)
        if written is not None and part.get("metadata") is not None:
            written[1]["metadata"] = part["metadata"]
        return written

    return wrong


def calls_of_a_halt_stay(was):
    def wrong(self, event):
        if facts.interruption_reason(event.get("finish_reason") or self._last_finish, error_seen=False):
            for entry in self._writer._entries:
                if isinstance(entry, OpenResponse):
                    entry.calls, entry.frozen = {}, None
        was(self, event)

    return wrong


def another_word_is_an_error(was):
    return lambda word, **seen: was(word if word in _WORDS else "error", **seen)


def last_object_counts(was):
    def wrong(part, delta):
        if isinstance(delta.get("args_delta"), Mapping):
            part.fields.pop("args", None)
        was(part, delta)

    return wrong


def response_is_lost(was):
    def wrong(self, event):
        if self._writer.response_open:
            self._writer.reset_response()
        was(self, event)

    return wrong


def first_message_only(was):
    return lambda self, event: was(self, {**event, "messages": (event.get("messages") or [])[:1]})


def end_behind_a_return_is_lost(was):
    def wrong(self, event):
        writer = self._writer
        if writer.response_open or self.state is not RunState.EXECUTING or not writer.response_settled:
            was(self, event)

    return wrong


def named_by_the_result(was):
    return lambda part, tool_name: was(part, part.get("tool_name") or tool_name)


def without_the_name_of_its_call(was):
    def wrong(self, event):
        named = self._tool_name
        self._tool_name = lambda call_id: None if named(call_id) is None else ""
        try:
            return was(self, event)
        finally:
            self._tool_name = named

    return wrong


DEFECTS = (
    defect(
        "server-keeps-data-chunks-as-metadata",
        "server",
        "The data chunks that a tool sends along become events, and stay with the return as its metadata.",
        "event.system-message R7 R25",
        wrap(recorder, "return_part", metadata_stay),
    ),
    defect(
        "server-keeps-unanswered-calls-of-a-halted-run",
        "server",
        "A result that interrupts the turn leaves calls without a return, as one that completes it does.",
        "cycle.all-returns R21",
        on_event(calls_of_a_halt_stay, EventKind.AGENT_RUN_RESULT),
    ),
    defect(
        "server-lets-the-last-error-stand",
        "server",
        "Of two errors the second one interrupts the turn.",
        "interrupt.first-stands R26",
        server_writer(LastErrorStands),
    ),
    defect(
        "server-takes-an-unknown-reason-after-an-error-for-one",
        "server",
        "A result with a reason that nobody knows does not complete the turn of an error.",
        "interrupt.error-then-finish R27",
        wrap(recorder, "interruption_reason", another_word_is_an_error),
    ),
    defect(
        "server-answers-calls-of-the-last-turn-alone",
        "server",
        "The return of a call that waits since an earlier turn than the last one is not taken.",
        "tool.later-turn-answers R30",
        server_writer(CallsOfTheLastTurn),
    ),
    defect(
        "server-takes-the-last-object-for-all-arguments",
        "server",
        "A delta of arguments that is an object takes the place of those before it.",
        "tool.args-parsed R12",
        wrap(recorder, "extend_part", last_object_counts),
    ),
    defect(
        "server-orders-parts-by-their-ends",
        "server",
        "Parts stand in the order in which they ended.",
        "part.order-of-starts R11",
        server_writer(PartsAsTheyEnd),
    ),
    defect(
        "server-loses-the-response-that-a-prompt-ends",
        "server",
        "A response whose end was not told is dropped when a prompt or another agent comes.",
        "cycle.response-finished-server R40",
        on_event(response_is_lost, EventKind.MODEL_REQUEST, EventKind.ENQUEUED_MESSAGES, EventKind.AGENT_START),
    ),
    defect(
        "server-takes-one-of-the-queued-messages",
        "server",
        "Of several messages that were queued the first one is kept.",
        "turn.other-prompt-stays R9",
        on_event(first_message_only, EventKind.ENQUEUED_MESSAGES),
    ),
    defect(
        "server-ignores-one-repetition",
        "server",
        "A second prompt that repeats what the user said is kept.",
        "turn.user-input-once R9",
        server_writer(OneRepetition),
    ),
    defect(
        "server-does-not-read-old-names",
        "both",
        "A normative event by its older name is taken for one of the application.",
        "event.normative-names R58",
        wrap(returns, "neutral_event_name", lambda _: lambda name: name),
    ),
    defect(
        "server-keeps-sources-of-what-it-takes-back",
        "server",
        "A source stays when its response is taken back.",
        "event.source R25",
        server_writer(SourcesStay),
    ),
    defect(
        "server-sends-a-reset-too-late",
        "both",
        "A response that has finished is taken back on the wire.",
        "stream.reset-too-late R44",
        on_wire(lambda _: lambda *_: [{"type": "reset-step"}], EventKind.RESPONSE_RESET),
    ),
    defect(
        "server-loses-the-end-behind-a-return",
        "server",
        "The end of a response that comes behind the return of its tool is ignored, and its usage with it.",
        "usage.sums R17",
        on_event(end_behind_a_return_is_lost, EventKind.MODEL_RESPONSE_END),
    ),
    defect(
        "usage-under-the-words-of-a-library",
        "both",
        "Counts stand under the names that a model's library has for them, requests and tools among them.",
        "usage.sums R17",
        together(put(facts, "_USAGE_WORDS", {}), put(facts, "_USAGE_DROPPED", ())),
    ),
    defect(
        "server-names-the-tool-of-the-result",
        "server",
        "A return has the name of the tool that its result names, and not that of its call.",
        "tool.ids-match",
        wrap(recorder, "return_part", named_by_the_result),
    ),
    defect(
        "server-refuses-without-the-name-of-the-tool",
        "server",
        "The refusal of arguments does not name the tool of a call of an earlier turn.",
        "tool.status-validation-error R22",
        on_wire(without_the_name_of_its_call, EventKind.FUNCTION_TOOL_RESULT),
    ),
    defect(
        "server-starts-a-call-again-before-its-return",
        "both",
        "A call with the id of one that waits for its return is another call.",
        "tool.id-reused R36",
        together(
            put(recorder.Recorder, "_waits", lambda *_: False),
            put(encoder.Encoder, "_waits", lambda *_: False),
        ),
    ),
)
