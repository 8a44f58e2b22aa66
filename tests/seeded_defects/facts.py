# mypy: disallow-untyped-calls=False
# A change takes the place of whatever it changes: what it is called with is said there.
"""What a server tells beside the stream, counts of tokens, and the root of a thread: R1, R17, R37, R39."""

from __future__ import annotations

from tests.seeded_defects.seeding import (
    both_writers,
    defect,
    on_chunk,
    put,
    server_writer,
    wrap,
)

from tpharness.dialects.thread import ThreadRenderer
from tpharness.journal import Event, JournalWriter
from tpharness.server_events.recorder import Recorder
from tpharness.wires.vsp import lifecycle
from tpharness.wires.vsp import records as c
from tpharness.wires.vsp.carrier import CarriedFacts
from tpharness.wires.vsp.context import StreamContext
from tpharness.wires.vsp.fold import ChunkFold
from tpharness.wires.vsp.lifecycle import Lifecycle

__all__ = ["DEFECTS"]


def named_anew(was):
    """A response has the model that its own events name, or none."""

    def note_model(self, event):
        self._model = {}
        was(self, event)

    return note_model


def carriers_recorded(was):
    def data(self, chunk):
        was(self, chunk)
        if chunk.name == "data-sys-tp":
            self._lifecycle.ensure_turn()
            self._writer.add_event(Event(name="data-app-tp", data=chunk.data, at=self._context.time))

    return data


def facts_forgotten(was):
    """A fact applies to the next chunk alone."""

    def feed(self, chunk, at):
        was(self, chunk, at)
        if not (isinstance(chunk, c.DataChunk) and chunk.name == "data-sys-tp"):
            for name in ("model_name", "provider_name", "timestamp"):
                self._context.facts.take(name)

    return feed


def last_usage_only(was):
    def add(self, usage):
        self._usage = {}
        was(self, usage)

    return add


def usage_of_kept(was):
    def turn(self, one):
        document = was(self, one)
        if document is None or document["turn_type"] == "user":
            return document
        total: dict[str, int] = {}
        for message in document["messages"]:
            for name, count in message.get("usage", {}).items():
                total[name] = total.get(name, 0) + count
        document.pop("total_usage", None)
        return {**document, "total_usage": total} if total else document

    return turn


class UsageAsItComes(JournalWriter):
    """The usage that the result tells is added to what the responses told."""

    def take_total_usage(self, usage):
        self.add_usage(usage)


class UsageOfCompleteRunsAlone(JournalWriter):
    """What the result of an interrupted run tells of its usage is lost."""

    def __init__(self):
        super().__init__()
        self._total = {}

    def take_total_usage(self, usage):
        self._total = usage

    def complete_turn(self, at):
        super().take_total_usage(self._total)
        return super().complete_turn(at)


def new_root(change):
    return wrap(ThreadRenderer, "render", lambda was: lambda self, journal: change(was(self, journal)))


def basic_format(document):
    turns = [
        {
            k: v.replace("-", "").replace(":", "") if k in ("submitted_at", "started_at", "completed_at") else v
            for k, v in t.items()
        }
        for t in document["turns"]
    ]
    return {**document, "turns": turns}


def newest_first(document):
    """The newest turn comes first."""
    return {**document, "turns": document["turns"][::-1]}


DEFECTS = (
    defect(
        "turns-newest-first",
        "both",
        "The newest turn stands first.",
        "thread.natural-order turn.no-overlap",
        new_root(newest_first),
    ),
    defect(
        "carrier-recorded",
        "client",
        "What a server tells beside the stream is stored as an event of the application.",
        "carrier.not-recorded R37",
        on_chunk(carriers_recorded, c.DataChunk),
    ),
    defect(
        "carried-facts-used-once",
        "client",
        "A fact that a server tells applies to the next chunk alone.",
        "carrier.scope R39",
        wrap(ChunkFold, "feed", facts_forgotten),
    ),
    defect(
        "model-outlives-its-agent",
        "client",
        "The agent that takes over is said to have asked the model of the one before it.",
        "carrier.scope R39 R45",
        put(CarriedFacts, "leave_agent", lambda _: None),
    ),
    defect(
        "arrival-time-as-timestamp",
        "client",
        "The client stamps messages with its own clock although the server said when they happened.",
        "carrier.timestamps canon.exact R39",
        put(StreamContext, "time", property(lambda self: self.at.replace("Z", "1Z") if "." in self.at else self.at)),
    ),
    defect(
        "carriers-ignored",
        "client",
        "The client takes no notice of what the server tells beside the stream.",
        "carrier.scope carrier.timestamps canon.exact turn.agent-change message.provider-facts R39",
        put(Lifecycle, "apply_carrier", lambda *_: None),
    ),
    defect(
        "usage-of-the-last-response-alone",
        "both",
        "The usage of a turn is that of its last response.",
        "usage.sums R17",
        wrap(JournalWriter, "add_usage", last_usage_only),
    ),
    defect(
        "usage-of-dropped-responses-lost",
        "both",
        "What a response that was dropped had cost is not counted.",
        "usage.dropped-counted R17",
        wrap(ThreadRenderer, "_turn", usage_of_kept),
    ),
    defect(
        "usage-counted-twice",
        "both",
        "The total that a result tells is added to what its responses told.",
        "usage.sums R17",
        both_writers(UsageAsItComes),
    ),
    defect(
        "usage-of-an-interrupted-result-lost",
        "server",
        "The usage that the result tells is lost where the run was interrupted.",
        "usage.dropped-counted R17",
        server_writer(UsageOfCompleteRunsAlone),
    ),
    defect(
        "usage-of-the-client-lost",
        "client",
        "The client counts no tokens.",
        "usage.sums canon.exact R17",
        put(lifecycle, "normalize_usage", lambda _: {}),
    ),
    defect(
        "thread-without-updated-at",
        "both",
        "A thread does not say when it was changed.",
        "thread.root-fields",
        new_root(lambda document: {k: v for k, v in document.items() if k != "updated_at"}),
    ),
    defect(
        "every-thread-says-0-0-4",
        "both",
        "Threads say that they are of 0.0.4 and are written as before.",
        "thread.one-version R1",
        new_root(lambda document: {**document, "version": "0.0.4"}),
    ),
    defect(
        "times-in-the-basic-format",
        "both",
        "Times are in the basic format of ISO 8601, which R47 refuses.",
        "thread.timestamps-iso",
        new_root(basic_format),
    ),
    defect(
        "registry-under-names",
        "both",
        "The registry of agents has their names as keys.",
        "thread.registry",
        new_root(
            lambda document: {
                **document,
                "agents": {f"{agent.get('agent_name', key)}!": agent for key, agent in document["agents"].items()},
            }
        ),
    ),
    defect(
        "server-forgets-the-model-between-responses",
        "server",
        "The server stores a model only for the responses whose own events name it.",
        "carrier.scope R39",
        wrap(Recorder, "_note_model", named_anew),
    ),
)
