# mypy: disallow-untyped-calls=False
# A change takes the place of whatever it changes: what it is called with is said there.
"""When a response has finished, and what a complete turn keeps: R30, R40, R46."""

from __future__ import annotations

from tests.seeded_defects.seeding import client_writer, defect, on_chunk, on_event, together, wrap

from tpharness.dialects import thread
from tpharness.facts import normalize_usage
from tpharness.journal import JournalWriter, Return
from tpharness.server_events.events import EventKind
from tpharness.wires.vsp import records as c
from tpharness.wires.vsp.fold import ChunkFold
from tpharness.wires.vsp.lifecycle import KNOWN_REASONS

__all__ = ["DEFECTS"]


def late_end_only_counts(was):
    """Of a response that one of its tools has ended, the end tells tokens and nothing else."""

    def response_end(self, event):
        if self._writer.response_open:
            was(self, event)
        else:
            self._writer.add_usage(normalize_usage(event.get("usage")))

    return response_end


def abort_waits(was):
    """The client waits for the end of the connection."""
    del was
    return lambda self, _: self.ensure_turn()


def abort_then_on(was):
    """The stream goes on after abort, and what follows still finishes things."""
    del was

    def abort(self, chunk):
        self.ensure_turn()
        self.seen_abort = chunk.reason if chunk.reason in KNOWN_REASONS else "user_cancelled"

    return abort


def told_at_the_end(was):
    def close(self, reason, at):
        was(self, getattr(self._lifecycle, "seen_abort", None) or reason, at)

    return close


def steps_unseen(was):
    del was
    return lambda *_: None


class OneMessage(JournalWriter):
    """A part that comes after an output is added to the response that the output answered."""

    def begin_response(self, at, facts=None):
        last = self._response
        if last is not None and last.finished and any(isinstance(e, Return) for e in self._entries):
            last.finished, last.frozen = False, None
            return
        super().begin_response(at, facts)


def never_before_finish(was):
    def feed(self, chunk, at):
        if isinstance(chunk, c.FinishStepChunk) and self._context.writer.running:
            step = self._lifecycle._step
            step.announced, step.answered = False, False
            self._context.index += 1
            return
        was(self, chunk, at)

    return feed


def started_tools_end_nothing(was):
    def tool_call(self, event):
        if self._writer.response_open and self._writer.call_key(event["part"]["tool_call_id"]) is None:
            return
        was(self, event)

    return tool_call


def unanswered_go(was):
    return lambda self, turn, *, cut: was(self, turn, cut=True if turn.tail.calls else cut)


DEFECTS = (
    defect(
        "abort-then-finish-step-completes",
        "client",
        "The server says abort and then finish-step, and the client takes the half answer as finished.",
        "cycle.nothing-after-cut R40",
        together(on_chunk(abort_then_on, c.AbortChunk), wrap(ChunkFold, "close", told_at_the_end)),
    ),
    defect(
        "abort-ignored",
        "client",
        "The client waits for the end of the connection and takes no notice of abort.",
        "interrupt.user-cancelled interrupt.abort-reason R27",
        on_chunk(abort_waits, c.AbortChunk),
    ),
    defect(
        "steps-not-seen",
        "client",
        "The client takes no notice of start-step and finish-step: several model calls become one message.",
        "message.one-response-per-call cycle.response-finished-client stream.steps cycle.text-only-complete R40",
        on_chunk(steps_unseen, c.StartStepChunk, c.FinishStepChunk),
    ),
    defect(
        "finish-step-finishes-nothing",
        "client",
        "For the client a response goes on until the next one begins.",
        "cycle.response-finished-client cycle.text-only-complete R40",
        wrap(ChunkFold, "feed", never_before_finish),
    ),
    defect(
        "early-output-does-not-split",
        "client",
        "A part that comes after an output is added to the message that made the call.",
        "cycle.early-output-splits R40",
        client_writer(OneMessage),
    ),
    defect(
        "start-of-a-tool-ends-no-response",
        "server",
        "The server takes a call as made only when the model's response has ended, not when its tool starts.",
        "cycle.response-finished-server part.call-complete-server R40",
        on_event(started_tools_end_nothing, EventKind.FUNCTION_TOOL_CALL, EventKind.OUTPUT_TOOL_CALL),
    ),
    defect(
        "unanswered-calls-of-a-complete-turn-dropped",
        "both",
        "A call that waits for approval is gone from the finished turn.",
        "tool.pending-kept tool.pending-implicit tool.unexecuted-stays tool.later-turn-answers R30 R46",
        wrap(thread.ThreadRenderer, "_messages", unanswered_go),
    ),
    defect(
        "end-of-a-response-whose-tools-run-ignored",
        "server",
        "The server forgets the finish reason of a response whose tools have started before its end.",
        "cycle.response-finished-server R40",
        on_event(late_end_only_counts, EventKind.MODEL_RESPONSE_END),
    ),
)
