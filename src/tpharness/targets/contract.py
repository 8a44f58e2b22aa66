"""What a target is: a server, a client or both, which plays a script and then returns the thread.

A target gives no verdicts. One whole case is a `Script`; a target that can be stepped offers sessions as well, which
sweeps use to cut one run at every place with one fold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import msgspec

from tpharness.dialects import ThreadHeader
from tpharness.findings import Finding
from tpharness.journal import Interrupted, UserTurn
from tpharness.protocol.versions import Version, newest_version
from tpharness.readings import Readings
from tpharness.wires.registry import DEFAULT_WIRE

__all__ = [
    "DEFAULT_WIRES",
    "QUESTIONS",
    "AnsweringTarget",
    "Capabilities",
    "ClientSession",
    "ClientTarget",
    "Packet",
    "ResolvingClient",
    "ResumingClient",
    "RunScript",
    "Script",
    "SeededServer",
    "ServerSession",
    "ServerTarget",
    "SteppableClient",
    "SteppableServer",
    "Stream",
    "StreamEnd",
    "TargetOutput",
]


DEFAULT_WIRES = (DEFAULT_WIRE,)
"""What the streams of a target are that does not say it."""

QUESTIONS = ("hash", "migrate", "history", "import")
"""What a target can be asked of a thread; each is a capability of its own (contract 1.2)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What a target declares, as `capabilities` of control.schema.json has it; the harness checks what it declares.

    The fields from `marks` on are about networks: a target in this process does not need them.
    """

    name: str
    implementation_version: str = ""
    versions: tuple[Version, ...] = tuple(Version)
    carriers: bool = True
    readings: Readings = field(default_factory=Readings)
    marks: bool = False
    cancel: bool = False
    disconnect: tuple[str, ...] = ()
    limits: bool = False
    resume: bool = False
    seed: bool = False
    durable: bool = False
    integrity: bool = False
    detects: tuple[str, ...] = ()
    wires: tuple[str, ...] = DEFAULT_WIRES
    answers: tuple[str, ...] = ()
    histories: tuple[str, ...] = ()

    @property
    def shows_interrupted(self) -> Version | None:
        """The newest version that the target writes and that shows interrupted turns; None if there is none."""
        showing = [version for version in self.versions if version.features.interrupted_turns]
        return newest_version(showing) if showing else None


class Packet(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Bytes of a response body and when they arrive; `event` is the index of the server event they end, if known.

    There is one for each byte of a stream where it comes in reads of one, so it is a kind of record that is made fast.
    """

    data: bytes
    at: str
    event: int | None = None

    def with_data(self, data: bytes) -> Packet:
        """Return a packet of other bytes that arrives when this one does."""
        return Packet(data=data, at=self.at, event=self.event)


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamEnd:
    """What was observed of a stream's end: a reason (None for a plain end of the body) and when."""

    reason: str | None
    at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunScript:
    """One agent run as the server plays it: its events, and the interruption that stops them.

    `abort`: the server sends `abort` on the wire; without it the stream only stops.
    """

    agent_id: str
    started_at: str
    events: tuple[Mapping[str, Any], ...]
    interruption: Interrupted | None = None
    abort: bool = False
    message_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """A whole case for a server: user turns and runs in order, the thread's header, the versions asked for.

    `wire` is the name of what the streams of its runs are.
    """

    header: ThreadHeader
    turns: tuple[UserTurn | RunScript, ...]
    versions: tuple[Version, ...]
    carriers: bool = True
    readings: Readings = field(default_factory=Readings)
    wire: str = "vsp"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """One response body as the client gets it, and what it observes of its end."""

    agent_id: str
    begun_at: str
    packets: tuple[Packet, ...]
    end: StreamEnd


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetOutput:
    """The result of a target: a thread for each version, findings of its fold, a server's streams.

    `ends` has for each stream what was really observed of its end, for a target that is reached over a network; it is
    empty for other targets, whose streams end as the scenario says.
    """

    threads: Mapping[Version, dict[str, Any]]
    findings: tuple[Finding, ...] = ()
    streams: tuple[tuple[Packet, ...], ...] = ()
    ends: tuple[StreamEnd, ...] = ()


class ServerTarget(Protocol):
    """Plays the server's side of a script."""

    @property
    def capabilities(self) -> Capabilities:
        """What the target declares."""
        ...

    async def serve(self, script: Script) -> TargetOutput:
        """Play the script; return the threads and, for each run, the packets sent. TargetError if it cannot."""
        ...


class ClientTarget(Protocol):
    """Receives streams."""

    @property
    def capabilities(self) -> Capabilities:
        """What the target declares."""
        ...

    async def receive(self, script: Script, turns: Sequence[UserTurn | Stream]) -> TargetOutput:
        """Receive the streams of a case, user turns between them; return the threads. TargetError if it cannot."""
        ...

    async def adopt(self, threads: Mapping[Version, dict[str, Any]]) -> Mapping[Version, dict[str, Any]]:
        """Fetch the server's threads after a loss; return what the client then holds (R32)."""
        ...


@runtime_checkable
class SeededServer(ServerTarget, Protocol):
    """A server that can continue a thread that it has never seen."""

    async def serve_seeded(self, script: Script) -> TargetOutput | None:
        """Play the script, its last run on a thread that it is given (seed); None if nothing comes before that run."""
        ...


@runtime_checkable
class ResumingClient(ClientTarget, Protocol):
    """A client whose streams can break off and be resumed."""

    async def receive_resumed(self, script: Script, turns: Sequence[UserTurn | Stream]) -> TargetOutput:
        """Receive the same as with `receive`, each stream broken off in the middle and then resumed (R31)."""
        ...


@runtime_checkable
class ResolvingClient(ClientTarget, Protocol):
    """A client that resolves references to stored contents."""

    async def resolve(self, reference: Mapping[str, Any], data: bytes) -> bytes | None:
        """Resolve a `content_ref`, whose store answers with `data`; return what is given out, None if refused (R56)."""
        ...


@runtime_checkable
class AnsweringTarget(Protocol):
    """A target that says something of a thread which it is given, and that it need not have written."""

    async def answer(self, question: str, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """Answer one of `QUESTIONS`, or `keep`, as control.schema.json has both. TargetError if it does not."""
        ...


class ServerSession(Protocol):
    """A server's side, one event at a time."""

    @property
    def version(self) -> int:
        """A number that grows whenever a document could show a change."""
        ...

    def user(self, turn: UserTurn) -> None:
        """Record a user turn."""
        ...

    def begin(self, run: RunScript) -> bytes:
        """Start a run; return the bytes that open its stream."""
        ...

    def feed(self, event: Mapping[str, Any]) -> bytes:
        """Play one event; return the bytes it puts on the wire."""
        ...

    def interrupt(self, cut: Interrupted, *, abort: bool) -> bytes:
        """Cut the run here; return the bytes that report it to the client."""
        ...

    def close(self) -> bytes:
        """End a run that was not cut; return the bytes that end its stream."""
        ...

    def threads(self, cut: Interrupted | None = None) -> Mapping[Version, dict[str, Any]]:
        """Return the threads as of now, cut here if `cut` is given and the run has not ended."""
        ...

    def findings(self) -> tuple[Finding, ...]:
        """Return what the fold has reported."""
        ...


class ClientSession(Protocol):
    """A client's side, one read at a time."""

    @property
    def version(self) -> int:
        """A number that grows whenever a document could show a change."""
        ...

    def user(self, turn: UserTurn) -> None:
        """Record a user turn."""
        ...

    def begin(self, agent_id: str, at: str) -> None:
        """Open a stream."""
        ...

    def feed(self, data: bytes, at: str) -> None:
        """Take in one read."""
        ...

    def close(self, end: StreamEnd) -> None:
        """End the stream."""
        ...

    def threads(self, cut: Interrupted | None = None) -> Mapping[Version, dict[str, Any]]:
        """Return the threads as of now, cut here if `cut` is given and the turn has not ended."""
        ...

    def findings(self) -> tuple[Finding, ...]:
        """Return what the fold has reported."""
        ...


@runtime_checkable
class SteppableServer(Protocol):
    """A server that can be stepped."""

    def server_session(self, script: Script) -> ServerSession:
        """Open a session for one thread."""
        ...


@runtime_checkable
class SteppableClient(Protocol):
    """A client that can be stepped."""

    def client_session(self, script: Script) -> ClientSession:
        """Open a session for one thread."""
        ...
