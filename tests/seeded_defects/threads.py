# mypy: disallow-untyped-calls=False
# A change takes the place of whatever it changes: what it is called with is said there.
"""What both sides owe each other, the canonical form, and the history for the next call: R20, R32, R37, R39, R46."""

from __future__ import annotations

import dataclasses

from msgspec.structs import replace
from tests.seeded_defects.seeding import defect, each_chunk, on_chunk, on_wire, put, wrap

from tpharness.dialects.thread import ThreadRenderer
from tpharness.journal import Event
from tpharness.protocol import canonical, compare, history
from tpharness.server_events.events import EventKind
from tpharness.targets.reference import Reference, ReferenceClient
from tpharness.wires.vsp import records as c
from tpharness.wires.vsp import server as encoder
from tpharness.wires.vsp.fold import ChunkFold

__all__ = ["DEFECTS"]


def own_note(was):
    """The client writes down that it lost the connection, where the server knows of nothing."""

    def close(self, reason, at):
        if self._context.writer.running:
            self._context.writer.add_event(Event(name="data-app-connection_lost", data={}, at=at))
        was(self, reason, at)

    return close


def merging(was):
    """After a loss the client adds its own last turn to what it fetched."""

    async def adopt(self, threads):
        fetched = await was(self, threads)
        return {
            version: {**thread, "turns": [*thread["turns"], *thread["turns"][-1:]]}
            for version, thread in fetched.items()
        }

    return adopt


def only_interrupted(was):
    """After a loss the client fetches complete turns and nothing else."""

    async def adopt(self, threads):
        fetched = await was(self, threads)
        return {
            version: {**thread, "turns": [t for t in thread["turns"] if t.get("completion_status") != "complete"]}
            for version, thread in fetched.items()
        }

    return adopt


def finished_at_the_loss(was):
    """A call whose input is complete gets an empty return when the connection breaks."""

    def close(self, reason, at):
        writer = self._context.writer
        if writer.running:
            for call_id, key in list(writer._calls.items()):
                if key in writer._open_keys:
                    writer.finish_response()
                    fields = {
                        "tool_name": writer.tool_name(call_id),
                        "tool_call_id": call_id,
                        "status": "error",
                        "content": "connection lost",
                    }
                    writer.add_return(call_id, "tool-return", fields, at)
        was(self, reason, at)

    return close


def events_sent(was):
    def message(self, one, pointer):
        if one.get("message_type") == "system":
            said = [{"part_kind": "user-prompt", "content": str(one["event_type"])}]
            self._request({"parts": said}, one["timestamp"], pointer)
            return
        was(self, one, pointer)

    return message


def calls_as_they_are(was):
    """Calls are sent whether or not anything answers them."""

    def flush(self):
        if self._waiting is not None:
            self.messages.append(self._waiting.response)
            self._waiting = None
            return
        was(self)

    return flush


def latest_first(was):
    """The history is cut to the newest turn, and what came before becomes a summary of its length."""

    def rebuilt(thread, **options):
        found = was(thread, **options)
        summary = {
            "kind": "request",
            "parts": [{"part_kind": "user-prompt", "content": f"[{len(found.messages)} messages]"}],
        }
        return dataclasses.replace(found, messages=[summary, *found.messages])

    return rebuilt


def in_seven_digits(was):
    return lambda self, chunk: was(self, replace(chunk, input=rounded(chunk.input)))


def rounded(value):
    if isinstance(value, float):
        return float(f"{value:.7g}")
    if isinstance(value, dict):
        return {k: rounded(v) for k, v in value.items()}
    return [rounded(v) for v in value] if isinstance(value, list) else value


def first_user_turn_lost(was):
    def turn(self, one, pointer):
        if one.get("turn_type") != "user":
            was(self, one, pointer)

    return turn


def interrupted_turn_lost(was):
    def turn(self, one, pointer):
        if one.get("completion_status") != "interrupted":
            was(self, one, pointer)

    return turn


def never_updated(was):
    def render(self, journal):
        document = was(self, journal)
        return document if document["turns"] else {**document, "updated_at": "0001-01-01T00:00:00Z"}

    return render


DEFECTS = (
    defect(
        "client-notes-its-own-loss",
        "client",
        "When the connection breaks the client writes an event of its own into the thread.",
        "sync.nothing-of-its-own sync.prefix R32",
        wrap(ChunkFold, "close", own_note),
    ),
    defect(
        "returns-made-up-at-the-loss",
        "client",
        "When the connection breaks the client answers open calls itself.",
        "sync.nothing-of-its-own sync.prefix tool.interrupted-no-return cycle.all-returns R32 R41",
        wrap(ChunkFold, "close", finished_at_the_loss),
    ),
    defect(
        "fetched-thread-merged",
        "client",
        "After a loss the client adds what it had to what it fetched.",
        "sync.convergence R32",
        wrap(Reference, "adopt", merging),
    ),
    defect(
        "fetched-thread-taken-in-part",
        "client",
        "After a loss the client takes over the interrupted turns of what it fetched.",
        "sync.convergence R32",
        wrap(Reference, "adopt", only_interrupted),
    ),
    defect(
        "client-knows-no-older-version",
        "client",
        "The client holds no turns in threads of 0.0.3 and before.",
        "sync.identity turn.atomic",
        wrap(
            ReferenceClient,
            "threads",
            lambda was: (
                lambda self, cut=None: {
                    version: {**found, "turns": found["turns"] if found["version"] == "0.0.4" else found["turns"][:1]}
                    for version, found in was(self, cut).items()
                }
            ),
        ),
    ),
    defect(
        "data-sys-hashed",
        "both",
        "Telemetry is part of the hash.",
        "canon.metadata-left-out event.sys-tier R37",
        put(canonical, "_LEFT_OUT", ("meta:",)),
    ),
    defect(
        "metadata-hashed",
        "both",
        "Metadata is part of the hash.",
        "canon.metadata-left-out event.meta R37",
        put(canonical, "_LEFT_OUT", ("data-sys-",)),
    ),
    defect(
        "times-hashed-as-written",
        "both",
        "Two spellings of one moment have two hashes.",
        "canon.timestamps R37",
        put(canonical, "canonical_time", lambda text: text),
    ),
    defect(
        "content-comparison-masks-no-usage",
        "both",
        "Without carriers the token counts of both sides are compared all the same.",
        "canon.content R39",
        put(compare, "_TURN_FIELDS", ("started_at", "completed_at", "submitted_at")),
    ),
    defect(
        "content-comparison-masks-no-times",
        "both",
        "Without carriers the times of both sides are compared all the same.",
        "canon.content R39",
        put(compare, "_MESSAGE_FIELDS", compare._MESSAGE_FIELDS[:-1]),
    ),
    defect(
        "failed-returns-compared-by-their-text",
        "both",
        "Without carriers a failed return of another wording is another return.",
        "canon.content R39",
        put(compare, "FAILED_STATUSES", ()),
    ),
    defect(
        "events-sent-to-the-model",
        "both",
        "System messages are put into the history for the model.",
        "history.system-left-out",
        wrap(history._Builder, "_message", events_sent),
    ),
    defect(
        "unanswered-calls-sent-to-the-model",
        "both",
        "The history for the model holds calls that nothing answers.",
        "history.no-unanswered R46",
        wrap(history._Builder, "flush", calls_as_they_are),
    ),
    defect(
        "history-summarised",
        "both",
        "What was sent to the model before is replaced by a summary that grows.",
        "history.append-only R20",
        wrap(history, "model_history", latest_first),
    ),
    defect(
        "user-turns-not-sent-to-the-model",
        "both",
        "The history for the model begins with an answer, and nobody asked.",
        "history.user-turn-request R9",
        wrap(history._Builder, "turn", first_user_turn_lost),
    ),
    defect(
        "interrupted-turns-not-sent-to-the-model",
        "both",
        "The history for the model leaves out the cycles of a turn that was cut.",
        "history.interrupted-included",
        wrap(history._Builder, "turn", interrupted_turn_lost),
    ),
    defect(
        "outputs-without-inputs-on-the-wire",
        "server",
        "The server sends the outputs of tools and never the inputs of their calls.",
        "sync.identity R36",
        wrap(
            encoder.Encoder,
            "_announce",
            lambda was: lambda *args, **more: [c for c in was(*args, **more) if c["type"] != "tool-input-available"],
        ),
    ),
    defect(
        "no-steps-on-the-wire",
        "server",
        "The server never says where a model call begins and ends.",
        "stream.steps cycle.response-finished-client cycle.text-only-complete",
        each_chunk(lambda chunk: [] if chunk["type"] in ("start-step", "finish-step") else [chunk]),
    ),
    defect(
        "progress-sent-as-final-output",
        "server",
        "The server does not mark progress of a tool as preliminary.",
        "tool.preliminary R14",
        on_wire(
            lambda was: (
                lambda self, event: [
                    {k: v for k, v in chunk.items() if k != "preliminary"} for chunk in was(self, event)
                ]
            ),
            EventKind.TOOL_PROGRESS,
        ),
    ),
    defect(
        "finish-without-its-reason",
        "server",
        "The server's finish does not say why the run ended.",
        "interrupt.error interrupt.finish-interrupted R27",
        on_wire(
            lambda was: (
                lambda self, event: [
                    {k: v for k, v in chunk.items() if k != "finishReason"} for chunk in was(self, event)
                ]
            ),
            EventKind.AGENT_RUN_RESULT,
        ),
    ),
    defect(
        "floats-rounded",
        "client",
        "The client reads numbers to seven digits.",
        "canon.jcs tool.args-parsed",
        on_chunk(in_seven_digits, c.ToolInputAvailableChunk),
    ),
    defect(
        "empty-thread-updated-at-the-zero-of-its-language",
        "both",
        "An empty thread says that it was updated in the year 1.",
        "thread.updated-last R54",
        wrap(ThreadRenderer, "render", never_updated),
    ),
)
