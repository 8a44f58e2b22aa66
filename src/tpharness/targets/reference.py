"""The embedded reference: recorder and writer of a wire as a server, its reader as a client.

The reference fills in the side that a target does not provide, and is what a scenario is played on by default.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pkgutil import resolve_name
from typing import Any

from tpharness.dialects import DIALECTS
from tpharness.facts import provider_names
from tpharness.findings import Finding
from tpharness.journal import Entry, Interrupted, Journal, OpenResponse, UserTurn, needs_partial
from tpharness.judging_time import heed_judging_time, judging
from tpharness.protocol.content import find_mismatch
from tpharness.protocol.versions import Version
from tpharness.readings import Readings
from tpharness.server_events import Recorder, RunState, event_kind
from tpharness.targets.contract import (
    QUESTIONS,
    Capabilities,
    ClientSession,
    Packet,
    RunScript,
    Script,
    ServerSession,
    Stream,
    StreamEnd,
    TargetOutput,
)
from tpharness.wires.contract import Reader, Writer
from tpharness.wires.registry import WIRES, wire_named

__all__ = [
    "Reference",
    "ReferenceClient",
    "ReferenceServer",
    "is_foreign",
    "receive_threads",
    "receive_turns",
    "serve_run",
    "serve_turns",
]


class _Rendering:
    """Renders one growing journal in several versions."""

    def __init__(self, script: Script) -> None:
        self.partial = needs_partial(script.readings)
        self._renderers: dict[Version, Callable[[Journal], Any]] = {
            version: DIALECTS[version].renderer(script.header, script.readings).render for version in script.versions
        }

    def threads(self, journal: Journal) -> dict[Version, dict[str, Any]]:
        return {version: render(journal) for version, render in self._renderers.items()}


class _Side:
    """What both sides answer alike: of the journal that is written while they play."""

    def __init__(self, script: Script, writing: Recorder | Reader) -> None:
        self._writing = writing
        self._rendering = _Rendering(script)

    @property
    def version(self) -> int:
        """A number that grows whenever a document could show a change."""
        return self._writing.version

    def user(self, turn: UserTurn) -> None:
        """Record a user turn."""
        self._writing.add_user_turn(turn)

    def threads(self, cut: Interrupted | None = None) -> dict[Version, dict[str, Any]]:
        """Return the threads as of now, cut here if `cut` is given and the run or the stream has not ended."""
        return self._rendering.threads(self._writing.journal(cut, partial=self._rendering.partial))

    def journal(self, cut: Interrupted | None = None, *, partial: bool = True) -> Journal:
        """Return the journal as of now, cut here if `cut` is given and the turn goes on; `partial` with open parts."""
        return self._writing.journal(cut, partial=partial)

    @property
    def written(self) -> Sequence[OpenResponse | Entry]:
        """The entries of the last turn as they are written (`JournalWriter.written`)."""
        return self._writing.written

    def findings(self) -> tuple[Finding, ...]:
        """Return what the fold has reported."""
        return tuple(self._writing.findings)


class ReferenceServer(_Side):
    """A server session of the reference."""

    def __init__(self, script: Script) -> None:
        self._recorder = Recorder(providers=provider_names(script.header.agents))
        super().__init__(script, self._recorder)
        self._carriers = script.carriers
        self._wire = wire_named(script.wire)
        self._user_parts: tuple[Mapping[str, Any], ...] = ()
        self._writer: Writer | None = None

    def user(self, turn: UserTurn) -> None:
        """Record a user turn."""
        super().user(turn)
        self._user_parts = turn.parts

    def begin(self, run: RunScript) -> bytes:
        """Start a run; return the bytes that open its stream."""
        self._recorder.begin(run.agent_id, run.started_at)
        self._writer = self._wire.open_writer(
            agent_id=run.agent_id,
            carriers=self._carriers,
            message_id=run.message_id,
            tool_name=self._recorder.tool_name,
            has_return=self._recorder.has_return,
            waiting=self._recorder.waiting_calls,
            waiting_provider_calls=self._recorder.waiting_provider_calls,
        )
        return self._writer.start(run.started_at, self._user_parts)

    def feed(self, event: Mapping[str, Any]) -> bytes:
        """Play one event; return the bytes it puts on the wire."""
        writer = self._writer or self._running()
        judged = event_kind(event)
        self._recorder.feed(event, judged)
        return writer.feed(event, judged, self._recorder.time)

    def interrupt(self, cut: Interrupted, *, abort: bool) -> bytes:
        """Cut the run here; return the bytes that report it to the client."""
        if self._recorder.state is RunState.ENDED:
            return self._running().finish()  # R26: the run had ended before
        sent = self.abort_here(cut) if abort else b""
        self._recorder.interrupt(cut.reason, cut.at)
        return sent

    def abort_here(self, cut: Interrupted) -> bytes:
        """Return the bytes that would report the cut to the client if the run was aborted here; nothing is cut."""
        return self._running().stop(cut.reason, cut.at)

    def close(self) -> bytes:
        """End a run that was not cut; return the bytes that end its stream. Only a result ends a run well (R27)."""
        if self._recorder.state is not RunState.ENDED:
            self._recorder.interrupt("network_failure", self._recorder.time)
        return self._running().finish()

    def _running(self) -> Writer:
        if self._writer is None:
            raise RuntimeError("begin() starts a run")
        return self._writer


class ReferenceClient(_Side):
    """A client session of the reference."""

    def __init__(self, script: Script) -> None:
        first = next(iter(script.header.agents), "assistant")
        providers = provider_names(script.header.agents)
        self._reader = wire_named(script.wire).open_reader(agent_id=first, providers=providers)
        super().__init__(script, self._reader)

    def begin(self, agent_id: str, at: str) -> None:
        """Open a stream."""
        self._reader.begin(at, agent_id=agent_id)

    def feed(self, data: bytes, at: str) -> None:
        """Take in one read."""
        self._reader.feed(data, at)

    def close(self, end: StreamEnd) -> None:
        """End the stream."""
        self._reader.close(end.reason, end.at)

    @property
    def state_name(self) -> str:
        """Where the stream stands, as a word for people."""
        return self._reader.state_name

    @property
    def time(self) -> str:
        """When the latest chunk happened."""
        return self._reader.time


class Reference:
    """The reference as a target for both sides."""

    def __init__(self, *, readings: Readings | None = None) -> None:
        self._capabilities = Capabilities(
            name="reference",
            readings=readings or Readings(),
            integrity=True,
            wires=tuple(WIRES),
            answers=QUESTIONS if find_spec("tpharness.histories") else QUESTIONS[:-1],
        )

    @property
    def capabilities(self) -> Capabilities:
        """All capabilities."""
        return self._capabilities

    def server_session(self, script: Script) -> ReferenceServer:
        """Open a server session for one thread."""
        return ReferenceServer(script)

    def client_session(self, script: Script) -> ReferenceClient:
        """Open a client session for one thread."""
        return ReferenceClient(script)

    async def serve(self, script: Script) -> TargetOutput:
        """Play the script on a server session."""
        with judging():
            session = self.server_session(script)
            streams = serve_turns(session, script.turns)
            return TargetOutput(threads=session.threads(), findings=session.findings(), streams=streams)

    async def receive(self, script: Script, turns: Sequence[UserTurn | Stream]) -> TargetOutput:
        """Receive the streams on a client session."""
        with judging():
            session = self.client_session(script)
            receive_turns(session, turns)
            return TargetOutput(threads=session.threads(), findings=session.findings())

    async def adopt(self, threads: Mapping[Version, dict[str, Any]]) -> Mapping[Version, dict[str, Any]]:
        """After a loss the client holds what it fetched (R32)."""
        return threads

    async def resolve(self, reference: Mapping[str, Any], data: bytes) -> bytes | None:
        """Give out the content if it is the one that the reference names (R56)."""
        digest = hashlib.sha256(data).hexdigest()
        return None if find_mismatch(reference, digest=digest, size=len(data)) else data

    async def answer(self, question: str, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """Say something of a thread."""
        with judging():
            answered: Mapping[str, Any] = resolve_name("tpharness.targets.answering:answer_question")(question, request)
            return answered


def is_foreign(target: object) -> bool:
    """Whether a target is not the embedded reference, so that it is held to the reference's threads (R51)."""
    return type(target) is not Reference


def serve_turns(session: ServerSession, turns: Sequence[UserTurn | RunScript]) -> tuple[tuple[Packet, ...], ...]:
    """Play turns on a server's session; return the packets of each run."""
    streams: list[tuple[Packet, ...]] = []
    for turn in turns:
        if isinstance(turn, UserTurn):
            session.user(turn)
        else:
            streams.append(tuple(serve_run(session, turn)))
    return tuple(streams)


def serve_run(session: ServerSession, run: RunScript) -> Iterator[Packet]:
    """Play a run with its interruption, if it has one; yield each packet when what it reports has just happened.

    The first packet opens the stream, the last one ends it; the others have the index of their event.
    """
    at = run.started_at
    yield Packet(data=session.begin(run), at=at)
    for index, event in enumerate(run.events):
        at = str(event.get("at", at))
        yield Packet(data=session.feed(event), at=at, event=index)
    cut = run.interruption
    last = session.close() if cut is None else session.interrupt(cut, abort=run.abort)
    yield Packet(data=last, at=at if cut is None else cut.at)


def receive_turns(session: ClientSession, turns: Sequence[UserTurn | Stream]) -> None:
    """Feed a client's session with the turns, each stream packet by packet."""
    for turn in turns:
        if isinstance(turn, UserTurn):
            session.user(turn)
            continue
        session.begin(turn.agent_id, turn.begun_at)
        for number, packet in enumerate(turn.packets):
            if not number % 16:  # in reads of one byte nothing else costs as much
                heed_judging_time()
            session.feed(packet.data, packet.at)
        session.close(turn.end)


def receive_threads(
    script: Script, turns: Sequence[UserTurn | Stream], *versions: Version
) -> dict[Version, dict[str, Any]]:
    """Return the threads that the reference's client holds of the turns, in some versions."""
    client = ReferenceClient(replace(script, versions=versions))
    receive_turns(client, turns)
    return client.threads()
