"""One thread's log, folded: its documents, and the stream of its latest run.

In: entries of the log, one at a time; the server makes them while it runs and reads them again after a restart, through
the same `apply`, so the regenerated stream is the one that was sent. Out: documents in any version, and the
`ReplayBuffer`. No I/O.

Entries are JSON objects, by `kind`: `thread` {created_at, agents, extra}, `agents`, `seed` {thread}, `user` {turn},
`begin` {run, carriers, marks, hold, wire?}, `events` {events}, `held` {}, `end` {reason?, at, tell}.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tpharness.dialects import DIALECTS, ThreadHeader
from tpharness.facts import provider_names
from tpharness.journal import UserTurn
from tpharness.protocol.migrate import convert
from tpharness.protocol.versions import Version
from tpharness.readings import Readings
from tpharness.reference_app.content import content_bytes, large_content, reference
from tpharness.reference_app.replay_buffer import ReplayBuffer
from tpharness.reference_app.seed import seed_turns
from tpharness.server_events import Recorder, RunState, event_kind, event_time
from tpharness.targets import forms
from tpharness.wires.contract import Writer
from tpharness.wires.registry import default_wire, wire_named

__all__ = ["Entry", "ThreadFold"]

Entry = Mapping[str, Any]
_OWN_FIELDS = ("version", "thread_id", "created_at", "updated_at", "agents", "turns")


class ThreadFold:
    """One thread. `content_base` is the base URL of references to large returns."""

    def __init__(self, thread_id: str, content_base: str) -> None:
        self.thread_id = thread_id
        self.buffer: ReplayBuffer | None = None
        self.running = False
        self.held = False
        self.hold_at: str | None = None
        self.refers = False
        """Whether the thread has references to contents that this server has stored."""
        self.at = ""
        """When the latest event of the latest run happened."""
        self._base = content_base
        self._header: dict[str, Any] = {"created_at": "", "agents": {}, "extra": {}}
        self._recorder = Recorder()
        self._wire = default_wire()
        self._writer: Writer | None = None
        self._renderers: dict[Version, Any] = {}
        self._seed: Mapping[str, Any] | None = None
        self._seed_lengths: dict[Version, int] = {}
        self._user: tuple[Mapping[str, Any], ...] = ()
        self._runs = self._played = 0

    # ------------------------------------------------------------------ entries

    def apply(self, entry: Entry) -> None:
        """Apply an entry of the log; what it sends goes to the buffer."""
        match entry["kind"]:
            case "thread":
                self._header = {k: entry[k] for k in ("created_at", "agents", "extra")}
                self._recorder = Recorder(providers=provider_names(entry["agents"]))
            case "agents":
                self._header["agents"] = entry["agents"]
                self._renderers.clear()
            case "seed":
                self._take_seed(entry["thread"])
            case "user":
                self._add_user(forms.user_from(entry["turn"]))
            case "begin":
                self._begin(entry)
            case "events":
                for event in entry["events"]:
                    data = self.play(event)
                    self.send(data)
            case "held":
                self.held = True
            case "end":
                self.end(entry["reason"], entry["at"], tell=entry["tell"])

    def play(self, event: Mapping[str, Any]) -> bytes:
        """Play one event; return the bytes to send, which go to `send` once clients may see them."""
        self.at = event_time(event, self._started_at, self.at)
        content = large_content(event)
        if content is not None:
            event = self._store_content(event, content)
        judged = event_kind(event)
        self._recorder.feed(event, judged)
        return self._running().feed(event, judged, self._recorder.time)

    def send(self, data: bytes) -> None:
        """Write the bytes of the next event to the buffer, with its mark."""
        self._played += 1
        if self.buffer is not None:
            self.buffer.write(data, self._played)

    def cut(self, reason: str | None, at: str) -> None:
        """End the run in the thread; `reason` None: its own events ended it (R26: they take precedence)."""
        if reason is not None and not self.ended:
            self._recorder.interrupt(reason, at)
            self._interrupted = True
        self.running = self.held = False

    def finish(self, reason: str | None, at: str, *, tell: bool) -> None:
        """End the stream of a run that was `cut`, with an abort chunk if `tell` is true."""
        if self.buffer is None or self.buffer.closed:
            return
        if not self._interrupted or reason is None:
            self.buffer.finish(self._running().finish(), outside=False)
        else:
            data = self._running().stop(reason, at) if tell else b""
            self.buffer.finish(data, outside=True)

    def end(self, reason: str | None, at: str, *, tell: bool) -> None:
        """End the run, thread and stream."""
        self.cut(reason, at)
        self.finish(reason, at, tell=tell)

    def fail(self, at: str, stored: ThreadFold | None) -> None:
        """End the run as its log has it, `stored`; with an error where nobody can read that.

        Something could not be stored, or could and the answer to it is lost: a client is sent what the thread shows.
        """
        self.cut("error", at)
        if self.buffer is None or self.buffer.closed:
            return
        if stored is not None and stored.buffer is not None and stored.buffer.run == self.buffer.run:
            self.buffer.end_as(stored.buffer)
        else:
            self.buffer.finish(self._running().stop("error", at), outside=True)

    @property
    def failed_at(self) -> str:
        """When a run that goes on ends if its server fails: the end for which it is held, else its latest event."""
        return self.hold_at if self.held and self.hold_at is not None else self.at

    @property
    def ended(self) -> bool:
        """Whether the run's own events have ended it."""
        return self._recorder.state is RunState.ENDED

    @property
    def agents(self) -> Mapping[str, Any]:
        """The registry."""
        agents: Mapping[str, Any] = self._header["agents"]
        return agents

    @property
    def empty(self) -> bool:
        """Whether nothing has happened in this thread yet."""
        return not self._header["created_at"]

    # ---------------------------------------------------------------- documents

    def document(self, version: Version) -> dict[str, Any]:
        """Return the thread as of now, without a run in progress."""
        if version not in self._renderers:
            self._renderers[version] = DIALECTS[version].renderer(self._thread_header(), Readings())
        document: dict[str, Any] = self._renderers[version].render(self._recorder.journal())
        if self._seed is None:
            return document
        seeded = convert(self._seed, version, check=False).thread["turns"]
        turns = [*seeded, *document["turns"][self._seed_lengths[version] :]]
        return {**document, "turns": turns}

    # ------------------------------------------------------------------- inside

    def _thread_header(self) -> ThreadHeader:
        header = self._header
        return ThreadHeader(
            thread_id=self.thread_id, created_at=header["created_at"], agents=header["agents"], extra=header["extra"]
        )

    def _take_seed(self, seed: Mapping[str, Any]) -> None:
        self._seed = seed
        extra = {k: v for k, v in seed.items() if k not in _OWN_FIELDS}
        self._header = {**self._header, "created_at": seed["created_at"], "extra": extra}
        for turn in seed_turns(seed):
            if isinstance(turn, UserTurn):
                self._add_user(turn)
                continue
            self._recorder.begin(turn.agent_id, turn.started_at)
            for event in turn.events:
                self._recorder.feed(event)
            if turn.interruption is not None:
                self._recorder.interrupt(turn.interruption.reason, turn.interruption.at)
        self._seed_lengths = {v: self._rendered_length(v) for v in Version}

    def _rendered_length(self, version: Version) -> int:
        renderer = DIALECTS[version].renderer(self._thread_header(), Readings())
        return len(renderer.render(self._recorder.journal())["turns"])

    def _add_user(self, turn: UserTurn) -> None:
        self._recorder.add_user_turn(turn)
        self._user = turn.parts

    def _begin(self, entry: Entry) -> None:
        run = entry["run"]
        self._runs += 1
        self._played = 0
        self._interrupted = False
        self._started_at = self.at = run["started_at"]
        self.running, self.held, self.hold_at = True, False, entry["hold"]
        self._recorder.begin(run["agent_id"], run["started_at"])
        self._wire = wire_named(entry["wire"]) if "wire" in entry else default_wire()  # a log may be older than wires
        self._writer = self._wire.open_writer(
            agent_id=run["agent_id"],
            carriers=entry["carriers"],
            message_id=run.get("message_id"),
            tool_name=self._recorder.tool_name,
            has_return=self._recorder.has_return,
            waiting=self._recorder.waiting_calls,
            waiting_provider_calls=self._recorder.waiting_provider_calls,
        )
        self.buffer = ReplayBuffer(self._runs, marks=entry["marks"], headers=self._wire.headers)
        self.buffer.write(self._writer.start(run["started_at"], self._user), 0)

    def _store_content(self, event: Mapping[str, Any], content: Any) -> Mapping[str, Any]:
        """R6: the thread has the reference, the wire the content; a carrier sends the reference to the client."""
        stored = content_bytes(content)
        if stored is None:
            return event
        self.refers = True
        return {**event, "part": {**event["part"], "content_ref": reference(*stored, self._base)}}

    def _running(self) -> Writer:
        if self._writer is None:
            raise RuntimeError("a run begins with its entry `begin`")
        return self._writer
