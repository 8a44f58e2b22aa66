# mypy: disallow-untyped-calls=False
# A change takes the place of whatever it changes: what it is called with is said there.
"""Which cycles survive an interruption: R20, R21, R23, R24."""

from __future__ import annotations

import dataclasses
from typing import Any

from msgspec.structs import replace
from tests.seeded_defects.seeding import defect, on_chunk, put, together, wrap

from tpharness.dialects import thread
from tpharness.journal import Event, Interrupted, Prompt, Response, Return
from tpharness.protocol.versions import is_normative_name
from tpharness.readings import AnswerRule, EmptyTurnRule, Readings, UnfinishedRule
from tpharness.targets import reference
from tpharness.wires.vsp import records as c
from tpharness.wires.vsp.fold import ChunkFold

__all__ = ["DEFECTS"]


def reading(side: type, **chosen: Any):
    """One side reads a ruling otherwise, and does not say so."""

    def make(was):
        return lambda self, script: was(self, dataclasses.replace(script, readings=Readings(**chosen)))

    return wrap(side, "__init__", make)


def both_read(**chosen: Any):
    """Both sides read a ruling otherwise."""
    return together(reading(reference.ReferenceServer, **chosen), reading(reference.ReferenceClient, **chosen))


def surviving(change):
    """Change the entries of an interrupted turn that stay, on both sides."""
    return wrap(thread, "survivors", lambda was: lambda tail, readings: change(was, tail, readings))


def orphans_kept(was, tail, readings):
    kept = was(tail, readings)
    return tuple(e for e in tail.entries if e in kept or isinstance(e, Return))


def events_lost(was, tail, readings):
    responses = [e for e in was(tail, readings) if not isinstance(e, Event)]
    if any(isinstance(e, Response) and not e.finished for e in tail.entries):
        return tuple(responses)
    return was(tail, readings)


def bound_events_kept(was, tail, readings):
    loose = [replace(e, bound=False) if isinstance(e, Event) else e for e in tail.entries]
    return was(replace(tail, entries=tuple(loose)), readings)


def only_with_calls(was, tail, readings):
    with_calls = {index for index, _ in tail.calls.values()}
    bare = {id(e) for i, e in enumerate(tail.entries) if isinstance(e, Response) and i not in with_calls}
    return tuple(e for e in was(tail, readings) if id(e) not in bare)


def only_successes(was, tail, readings):
    failed = {
        e.call_key for e in tail.entries if isinstance(e, Return) and e.fields.get("status", "success") != "success"
    }
    entries = tuple(e for e in tail.entries if not (isinstance(e, Return) and e.call_key in failed))
    return was(replace(tail, entries=entries), readings)


def retries_do_not_count(was, tail, readings):
    entries = tuple(e for e in tail.entries if not (isinstance(e, Return) and e.kind == "retry-prompt"))
    return was(replace(tail, entries=entries), readings)


def prompts_lost(was, tail, readings):
    return tuple(e for e in was(tail, readings) if not isinstance(e, Prompt))


def last_cycle_lost(was, tail, readings):
    kept = was(tail, readings)
    return kept if not any(isinstance(e, Return) for e in kept) else ()


def whole_tail(was, tail, readings):
    """Every response that is there, finished or not, with whatever parts and returns it has."""
    del was, readings
    return tail.entries


def old_rule(was):
    """As 0.0.3 had it: a turn that was cut is not there."""

    def turn(self, one):
        return None if isinstance(getattr(one, "end", None), Interrupted) else was(self, one)

    return turn


def text_closed(fold):
    """Close every text that is open, as if its end had come, and call the response finished."""
    for handle in list(fold._context.open_parts.texts.values()):
        fold._context.writer.close_part(handle)
    if fold._context.writer.response_open:
        fold._context.writer.finish_response()


def closing_first(was):
    def close(self, reason, at):
        if self._context.writer.running:
            text_closed(self)
        was(self, reason, at)

    return close


def aborting_first(was):
    def abort(self, chunk):
        if self._writer.running:
            text_closed(self)
        was(self, chunk)

    return abort


def half_call_answered(fold, at):
    """Store a call with the arguments that had come, and a return that says it was cancelled."""
    for call_id, handle in list(fold._context.open_parts.tool_inputs.items()):
        fold._context.writer.close_part(handle, args="".join(handle.pieces))
        fold._context.writer.finish_response()
        fields = {
            "tool_name": handle.fields["tool_name"],
            "tool_call_id": call_id,
            "status": "error",
            "content": "cancelled",
        }
        fold._context.writer.add_return(call_id, "tool-return", fields, at)


def half_calls(was):
    def close(self, reason, at):
        if self._context.writer.running:
            half_call_answered(self, at)
        was(self, reason, at)

    return close


def half_calls_at_abort(was):
    def abort(self, chunk):
        if self._writer.running:
            half_call_answered(self, self._context.time)
        was(self, chunk)

    return abort


DEFECTS = (
    defect(
        "any-return-counted-as-all",
        "both",
        "A response with three calls stays as soon as one of them has come back.",
        "cycle.all-returns cycle.only-complete R21",
        both_read(R21=AnswerRule.ANY_RETURN),
    ),
    defect(
        "client-counts-any-return",
        "client",
        "After a cancel the browser shows a call whose tool never answered; the server has dropped it.",
        "cycle.all-returns R21",
        reading(reference.ReferenceClient, R21=AnswerRule.ANY_RETURN),
    ),
    defect(
        "complete-parts-of-an-unfinished-response-kept",
        "both",
        "A text that had ended stays although its response was cut while the next part streamed.",
        "cycle.unfinished-response-dropped R20",
        both_read(R20=UnfinishedRule.COMPLETE_PARTS),
    ),
    defect(
        "client-keeps-complete-parts",
        "client",
        "The client keeps a finished paragraph that goes away again when a tool call follows it.",
        "cycle.unfinished-response-dropped sync.monotonic sync.prefix R20 R32",
        reading(reference.ReferenceClient, R20=UnfinishedRule.COMPLETE_PARTS),
    ),
    defect(
        "partial-text-kept",
        "both",
        "Half a sentence stays in the thread after the user pressed stop.",
        "cycle.partial-text-dropped cycle.unfinished-response-dropped R20",
        both_read(R20=UnfinishedRule.AS_STREAMED),
    ),
    defect(
        "server-keeps-partial-text",
        "server",
        "The server saves what it had streamed when the user pressed stop; the client drops it.",
        "cycle.partial-text-dropped R20",
        reading(reference.ReferenceServer, R20=UnfinishedRule.AS_STREAMED),
    ),
    defect(
        "client-closes-text-at-the-cut",
        "client",
        "When the connection breaks the client closes the open text block and stores it as an answer.",
        "part.complete-at-end cycle.partial-text-dropped cycle.nothing-after-cut sync.prefix R10 R32",
        together(wrap(ChunkFold, "close", closing_first), on_chunk(aborting_first, c.AbortChunk)),
    ),
    defect(
        "half-arguments-kept-as-whole",
        "client",
        "A call that was cut in its arguments is stored with the text so far and a return that says cancelled.",
        "cycle.partial-call-dropped part.complete-at-end R20",
        together(wrap(ChunkFold, "close", half_calls), on_chunk(half_calls_at_abort, c.AbortChunk)),
    ),
    defect(
        "orphan-return-kept",
        "both",
        "The response is dropped, but the one return that had come stays without its call.",
        "tool.no-orphan-return cycle.returns-go-with-response tool.ids-match R23",
        surviving(orphans_kept),
    ),
    defect(
        "events-of-dropped-responses-lost",
        "both",
        "An order that the application recorded while the answer streamed is gone after a cancel.",
        "event.facts-survive R25",
        surviving(events_lost),
    ),
    defect(
        "sources-of-dropped-responses-kept",
        "both",
        "The citations of an answer that was dropped stay in the thread.",
        "event.source",
        surviving(bound_events_kept),
    ),
    defect(
        "text-only-response-dropped",
        "both",
        "A finished answer without calls is lost when the connection breaks before finish.",
        "cycle.text-only-complete cycle.kept",
        surviving(only_with_calls),
    ),
    defect(
        "only-successful-returns-count",
        "both",
        "A tool that failed counts as one that never answered, so its cycle goes.",
        "cycle.error-return-counts tool.status-error R22",
        surviving(only_successes),
    ),
    defect(
        "retry-prompt-not-counted-as-return",
        "both",
        "A call that was sent back with a retry prompt counts as open.",
        "tool.retry-prompt cycle.error-return-counts R22",
        surviving(retries_do_not_count),
    ),
    defect(
        "last-cycle-lost",
        "both",
        "The cycle just before the cut is lost though its tools had answered.",
        "cycle.kept",
        surviving(last_cycle_lost),
    ),
    defect(
        "steering-lost-at-the-cut",
        "both",
        "What the user said in the middle of the run is gone when the run is cut.",
        "message.steering",
        surviving(prompts_lost),
    ),
    defect(
        "everything-kept-at-the-cut",
        "both",
        "Whatever had been stored when the run was cut stays: open calls, half responses.",
        "cycle.only-complete cycle.unfinished-response-dropped cycle.all-returns history.no-unanswered R20 R21",
        surviving(whole_tail),
    ),
    defect(
        "interrupted-turn-dropped-in-0-0-4",
        "both",
        "An interrupted turn does not appear, as it was before 0.0.4.",
        "cycle.kept turn.interrupted-shape history.interrupted-included R19",
        wrap(thread.ThreadRenderer, "_turn", old_rule),
    ),
    defect(
        "client-drops-interrupted-turns",
        "client",
        "The browser forgets a turn that the user stopped; the server keeps its cycles.",
        "cycle.kept R19",
        wrap(
            reference.ReferenceClient,
            "threads",
            lambda was: (
                lambda self, cut=None: {
                    version: {
                        **found,
                        "turns": [t for t in found["turns"] if t.get("completion_status") != "interrupted"],
                    }
                    for version, found in was(self, cut).items()
                }
            ),
        ),
    ),
    defect(
        "empty-turn-kept",
        "both",
        "A turn that was cut before anything was finished leaves an empty turn behind.",
        "cycle.empty-turn-left-out R24",
        both_read(R24=EmptyTurnRule.KEEP_EMPTY),
    ),
    defect(
        "application-event-keeps-a-turn",
        "both",
        "Any event keeps an interrupted turn, an application's own too.",
        "cycle.empty-turn-left-out R24",
        put(thread, "_carries_turn", bool),
    ),
    defect(
        "event-alone-keeps-no-turn",
        "both",
        "An interrupted turn with nothing but a recorded error is left out.",
        "cycle.event-keeps-turn R24",
        put(thread, "_carries_turn", lambda message: message["message_type"] != "system"),
    ),
    defect(
        "reserved-event-keeps-no-turn",
        "both",
        "An event whose name is reserved, and that no version has, does not keep its turn.",
        "cycle.event-keeps-turn R24",
        put(
            thread,
            "_carries_turn",
            lambda message: message["message_type"] != "system" or is_normative_name(message["event_type"]),
        ),
    ),
)
