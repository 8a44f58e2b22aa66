# mypy: disallow-untyped-calls=False
# A change takes the place of whatever it changes: what it is called with is said there.
"""Why and when a turn is interrupted, and what it says of that: R18, R19, R26, R27, R29, R44."""

from __future__ import annotations

from msgspec.structs import replace
from tests.seeded_defects.seeding import (
    both_writers,
    client_writer,
    defect,
    on_chunk,
    put,
    server_writer,
    together,
    wrap,
)

from tpharness.dialects.thread import ThreadRenderer
from tpharness.journal import AgentTurn, Completed, Interrupted, JournalWriter, Log, UserTurn, writer
from tpharness.server_events import recorder
from tpharness.targets.reference import ReferenceServer
from tpharness.wires.vsp import lifecycle
from tpharness.wires.vsp import records as c
from tpharness.wires.vsp.fold import ChunkFold
from tpharness.wires.vsp.states import StreamState

__all__ = ["DEFECTS"]


def on_turns(change):
    """Change each agent turn in the documents of both sides."""

    def make(was):
        def render(self, journal):
            document = was(self, journal)
            turns = [turn if turn["turn_type"] == "user" else change(turn, self) for turn in document["turns"]]
            return {**document, "turns": turns}

        return render

    return wrap(ThreadRenderer, "render", make)


def end_on_every_turn(document, _):
    if "interruption" in document:
        return {**document, "completed_at": document["interruption"]["interrupted_at"]}
    return document


def interruption_on_every_turn(document, _):
    return {"interruption": {"reason": "none", "interrupted_at": document.get("completed_at")}, **document}


def flat_interruption(document, _):
    if "interruption" not in document:
        return document
    told = document["interruption"]
    return {**document, "interruption": told["reason"], "interrupted_at": told["interrupted_at"]}


def known_reasons_alone(document, _):
    known = ("user_cancelled", "network_failure", "timeout", "safety_halt", "error")
    if "interruption" not in document or document["interruption"]["reason"] in known:
        return document
    return {**document, "interruption": {**document["interruption"], "reason": "error"}}


def notice_added(document, _):
    if "interruption" not in document:
        return document
    notice = {
        "message_type": "request",
        "timestamp": document["interruption"]["interrupted_at"],
        "agent_id": document["agent_id"],
        "parts": [{"part_kind": "user-prompt", "content": "[Request interrupted by user]"}],
    }
    return {**document, "messages": [*document["messages"], notice]}


def shown_in_old_versions(was):
    def turn(self, one):
        if isinstance(getattr(one, "end", None), Interrupted) and not self._features.interrupted_turns:
            one = replace(one, end=Completed(at=one.end.at))
        return was(self, one)

    return turn


def reasons(words):
    """Both sides have other words for why a turn was cut."""

    def make(was):
        return lambda self, reason, at: was(self, words.get(reason, reason), at)

    return wrap(JournalWriter, "interrupt_turn", make)


class LastInterruptionStands(JournalWriter):
    """Of two interruptions the later one counts."""

    def hold_interruption(self, reason, at):
        self._held = None
        super().hold_interruption(reason, at)

    def _close(self, end):
        if self._held is not None and isinstance(end, Interrupted):
            self._held = replace(self._held, end=end)
        super()._close(end)

    def journal(self, cut=None, *, partial=False):
        found = super().journal(cut, partial=partial)
        if cut is not None and self.interruption_held and found.last is not None:
            return replace(found, last=replace(found.last, end=cut))
        return found


class OneReasonForAll(JournalWriter):
    """An interruption is written on every turn since the user spoke, not on the one that was cut."""

    def interrupt_turn(self, reason, at):
        super().interrupt_turn(reason, at)
        turns: list[UserTurn | AgentTurn] = list(self._turns)
        for index in range(len(turns) - 2, -1, -1):
            turn = turns[index]
            if isinstance(turn, UserTurn) or turn.end is None:
                break
            turns[index] = replace(turn, end=Interrupted(reason=reason, at=turn.end.at))
        self._turns = Log(turns)


def after_the_end(was):
    def interrupt(self, cut, *, abort):
        writer = self._recorder._writer
        told = was(self, cut, abort=abort)
        last = writer._turns[-1] if len(writer._turns) else None
        if last is not None and isinstance(getattr(last, "end", None), Completed):
            end = Interrupted(reason=cut.reason, at=cut.at)
            writer._turns = Log([*list(writer._turns)[:-1], replace(last, end=end)])
        return told

    return interrupt


def eof_completes(was):
    def close(self, reason, at):
        if self._context.writer.running and reason in (None, "network_failure"):
            self._lifecycle.end_response()
            self._context.writer.complete_turn(at)
        was(self, reason, at)

    return close


def eof_is(word):
    return lambda was: lambda self, reason, at: was(self, word if reason in (None, "network_failure") else reason, at)


def timeout_is(word):
    return lambda was: lambda self, reason, at: was(self, word if reason == "timeout" else reason, at)


def ends(words):
    """Both sides draw another conclusion from the word of a finish."""

    def make(was):
        def end(word, *, error_seen, last=None):
            return words[word] if word in words else was(word, error_seen=error_seen, last=last)

        return end

    return together(*(wrap(module, "interruption_reason", make) for module in (recorder, lifecycle)))


def error_ends(was):
    def end(word, *, error_seen, last=None):
        return "error" if error_seen else was(word, error_seen=error_seen, last=last)

    return end


def error_forgotten(was):
    def error(self, given):
        was(self, given)
        self._writer._held = None

    return error


def free_text(was):
    del was

    def abort(self, chunk):
        self.ensure_turn()
        self._writer.interrupt_turn(str(chunk.reason or "user_cancelled"), self._context.time)
        self._context.open_parts.clear()
        self.state = StreamState.ABORTED

    return abort


def always_cancelled(was):
    return lambda self, _: was(self, c.AbortChunk(reason="user_cancelled"))


DEFECTS = (
    defect(
        "interrupted-turn-shown-in-0-0-3",
        "both",
        "Threads before 0.0.4 show the cycles of a turn that was cut, as if it had ended there.",
        "turn.only-complete turn.atomic R18",
        wrap(ThreadRenderer, "_turn", shown_in_old_versions),
    ),
    defect(
        "interrupted-turn-with-completed-at",
        "both",
        "A turn that was cut says when it was completed, too.",
        "turn.interrupted-shape R19",
        on_turns(end_on_every_turn),
    ),
    defect(
        "interruption-as-plain-text",
        "both",
        "The interruption is one word and its time stands beside it.",
        "turn.interrupted-shape R19",
        on_turns(flat_interruption),
    ),
    defect(
        "interruption-on-complete-turns",
        "both",
        "Every turn holds an interruption, a complete one the reason none.",
        "turn.complete-no-interruption R19",
        on_turns(interruption_on_every_turn),
    ),
    defect(
        "interruption-after-the-end-counts",
        "server",
        "A cancel that comes after finish makes the finished turn interrupted.",
        "interrupt.after-end turn.complete-no-interruption R26",
        wrap(ReferenceServer, "interrupt", after_the_end),
    ),
    defect(
        "notice-for-the-user-put-into-messages",
        "both",
        "A message of the user is added that says that the request was interrupted.",
        "interrupt.fact-only",
        on_turns(notice_added),
    ),
    defect(
        "cancelled-by-another-word",
        "both",
        "A turn that the user stopped has the reason cancelled.",
        "interrupt.user-cancelled R27",
        reasons({"user_cancelled": "cancelled"}),
    ),
    defect(
        "timeout-called-network-failure",
        "both",
        "A turn whose stream fell silent has the reason network_failure.",
        "interrupt.timeout R27",
        reasons({"timeout": "network_failure"}),
    ),
    defect(
        "client-calls-a-timeout-cancelled",
        "client",
        "The client gives a silent stream up and says that the user did.",
        "interrupt.timeout R27",
        wrap(ChunkFold, "close", timeout_is("user_cancelled")),
    ),
    defect(
        "end-of-stream-completes",
        "client",
        "When the connection closes without finish, the client takes the turn as complete.",
        "interrupt.network-failure cycle.nothing-after-cut interrupt.incomplete-stream turn.only-complete R27",
        wrap(ChunkFold, "close", eof_completes),
    ),
    defect(
        "end-of-stream-is-an-error",
        "client",
        "When the connection closes without finish, the client records an error.",
        "interrupt.network-failure R27",
        wrap(ChunkFold, "close", eof_is("error")),
    ),
    defect(
        "incomplete-stream-as-a-reason",
        "client",
        "The client records incomplete_stream, a reason that only clients know.",
        "interrupt.incomplete-stream R27",
        together(wrap(ChunkFold, "close", eof_is("incomplete_stream")), put(writer, "recorded_reason", str)),
    ),
    defect(
        "content-filter-completes",
        "both",
        "A turn that the content filter stopped is complete.",
        "interrupt.safety-halt R27",
        ends({"content-filter": None, "content_filter": None}),
    ),
    defect(
        "finish-interrupted-completes",
        "both",
        "A turn that finishes with the reason interrupted is complete.",
        "interrupt.finish-interrupted R44",
        ends({"interrupted": None}),
    ),
    defect(
        "error-always-interrupts",
        "both",
        "A turn in which an error was reported is interrupted, also when it then finished.",
        "interrupt.error-then-finish R27",
        together(*(wrap(module, "interruption_reason", error_ends) for module in (recorder, lifecycle))),
    ),
    defect(
        "error-forgotten-by-the-end",
        "client",
        "A stream that reports an error and ends is a network failure for the client.",
        "interrupt.error R27",
        on_chunk(error_forgotten, c.ErrorChunk),
    ),
    defect(
        "abort-is-always-the-user",
        "client",
        "Whatever reason an abort names, the client says that the user stopped.",
        "interrupt.abort-reason R27",
        on_chunk(always_cancelled, c.AbortChunk),
    ),
    defect(
        "free-text-of-abort-as-reason",
        "client",
        "Whatever an abort says is the reason.",
        "interrupt.abort-reason R27",
        on_chunk(free_text, c.AbortChunk),
    ),
    defect(
        "reasons-that-are-not-known-become-errors",
        "both",
        "A reason of the application's own is stored as error.",
        "interrupt.reason-extensible R7",
        on_turns(known_reasons_alone),
    ),
    defect(
        "second-interruption-overwrites-the-first",
        "client",
        "An error, and then the connection breaks: the client says that the network failed.",
        "interrupt.first-stands R26",
        client_writer(LastInterruptionStands),
    ),
    defect(
        "server-second-interruption-overwrites",
        "server",
        "An error, and then the run is cancelled: the server says that the user stopped it.",
        "interrupt.first-stands R26",
        server_writer(LastInterruptionStands),
    ),
    defect(
        "interruption-on-every-agents-turn",
        "both",
        "When the second agent is cut, the turn of the first one is marked as well.",
        "interrupt.nested R29",
        both_writers(OneReasonForAll),
    ),
    defect(
        "incomplete-stream-kept-as-a-reason",
        "both",
        "A side that is told of an incomplete stream keeps that word as the reason.",
        "interrupt.incomplete-stream R27",
        put(writer, "recorded_reason", str),
    ),
)
