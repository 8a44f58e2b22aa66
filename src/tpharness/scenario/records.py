"""The records of a loaded scenario, in the long form.

`load` checks every value: a loaded `Scenario` has no short form left, all its labels are resolved and its cuts lie
inside their streams, so code that uses these records need not check again. Server events, chunks and library messages
are plain JSON values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, TypeAlias

from tpharness.protocol.versions import Version
from tpharness.readings import Readings

__all__ = [
    "AgentRun",
    "ClientCut",
    "Clock",
    "Compare",
    "CutAt",
    "CutPlan",
    "CutSide",
    "CutUnit",
    "Expectation",
    "GivenStream",
    "Interrupt",
    "Recorded",
    "Scenario",
    "Turn",
    "UserInput",
    "WireEnd",
]


class Compare(Enum):
    """R39: how the threads of the two sides are compared."""

    EXACT = "exact"
    CONTENT = "content"


class WireEnd(Enum):
    """How the server's stream ends for the client when the run is interrupted (R27)."""

    ABORT = "abort"
    """An `abort` chunk that names the reason."""
    ERROR = "error"
    """An `error` chunk, then `finish` with reason `error`, or the end."""
    CUT = "cut"
    """The connection closes without `finish` or `abort`."""
    FINISH = "finish"
    """A `finish` chunk with the reason `content-filter`."""
    STALL = "stall"
    """The connection stays open and the server sends nothing more."""

    @classmethod
    def default_for(cls, reason: str) -> WireEnd:
        """Return how an interruption for this reason ends the stream, unless the scenario says otherwise."""
        return _DEFAULT_ENDS.get(reason, cls.ABORT)


_DEFAULT_ENDS = {
    "error": WireEnd.ERROR,
    "network_failure": WireEnd.CUT,
    "safety_halt": WireEnd.FINISH,
    "timeout": WireEnd.STALL,
    "user_cancelled": WireEnd.ABORT,
}


class CutUnit(Enum):
    """What a `ClientCut` counts: server events, chunks of the stream, or bytes of it."""

    EVENT = "event"
    CHUNK = "chunk"
    BYTE = "byte"


class CutAt(Enum):
    """Where a sweep cuts: after each server event, or after each byte of the stream."""

    EVERY_EVENT = "every-event"
    EVERY_BYTE = "every-byte"


class CutSide(Enum):
    """Which sides a sweep cuts: both at the same place, or only the client's stream (R32)."""

    BOTH = "both"
    CLIENT = "client"


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """Virtual time: `start` is an ISO time with `Z`, `tick` is the duration of each server event in seconds."""

    start: str = "2025-01-20T10:00:00Z"
    tick: float = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class UserInput:
    """What the user sends: parts as the document format has them (`user-prompt`), submitted at an ISO time."""

    parts: tuple[Mapping[str, Any], ...]
    submitted_at: str
    client_metadata: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenStream:
    """A client's stream that the scenario gives itself: chunks, or the bytes of the body. Exactly one is not None."""

    chunks: tuple[Mapping[str, Any], ...] | None = None
    data: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientCut:
    """How much the client saw: `count` units from the start of the run's stream."""

    unit: CutUnit
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Interrupt:
    """The interruption of one run.

    `server_after` is the number of server events before it; None if the server noticed nothing and went on to its end,
    or if there is no server side. `client_after` is how much the client saw (R32); None if it saw everything that the
    server sent, including the signal of the interruption. `client_reason` is the reason that the client observes, if it
    differs from `reason`.
    """

    reason: str
    at: str
    wire: WireEnd
    server_after: int | None
    client_after: ClientCut | None = None
    client_reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRun:
    """One run of an agent, which is one stream.

    `events` are all server events of the run, each with `at`, including those after an interruption; None if the
    scenario has no server side. `wire` is None if the client's stream is derived from the events. `library_messages`
    are the model messages that a real implementation kept. `labels` maps each label, `start` and `end` included, to the
    number of events before its place.
    """

    agent_id: str
    started_at: str
    message_id: str | None = None
    events: tuple[Mapping[str, Any], ...] | None = None
    wire: GivenStream | None = None
    library_messages: tuple[Any, ...] | None = None
    interrupt: Interrupt | None = None
    labels: Mapping[str, int] = field(default_factory=dict)

    @property
    def events_before_cut(self) -> tuple[Mapping[str, Any], ...]:
        """The server events before the interruption, or all if there is none; empty if there is no server side."""
        events = self.events or ()
        cut = None if self.interrupt is None else self.interrupt.server_after
        return events if cut is None else events[:cut]


Turn: TypeAlias = UserInput | AgentRun


@dataclass(frozen=True, slots=True, kw_only=True)
class CutPlan:
    """A sweep: the scenario gives one case for each place, reason and run.

    `turn` is the index in `Scenario.turns` of the only run to cut; None means each run.
    """

    at: CutAt
    reasons: tuple[str, ...] = ("network_failure",)
    turn: int | None = None
    side: CutSide = CutSide.BOTH


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """What the scenario expects. `findings` None allows none at MUST; a version missing in a map expects nothing."""

    findings: tuple[str, ...] | None = None
    outline: Mapping[Version, tuple[str, ...]] = field(default_factory=dict)
    thread: Mapping[Version, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """The origin of a recording.

    `threads` are the threads that the recorded server held afterwards, by version. On the embedded reference they take
    the place of the server's threads, so that the recording gets the verdict of the live run.
    """

    implementation: str
    version: str
    note: str = ""
    threads: Mapping[Version, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One scenario. `id` is `theme/kebab-name`, with `@event-12` or `@byte-340` appended for a case of a sweep.

    `path` is the file that it was read from; comparisons ignore it. Times are ISO strings in UTC with `Z`.
    `created_at` is when the thread begins. The keys of `agents` are agent ids; the first is the default agent.
    """

    id: str
    path: Path | None = field(default=None, compare=False)
    description: str
    clauses: tuple[str, ...]
    rulings: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    versions: tuple[Version, ...]
    compare: Compare = Compare.EXACT
    carriers: bool = True
    clock: Clock = field(default_factory=Clock)
    thread_id: str
    created_at: str
    agents: Mapping[str, Mapping[str, Any]]
    readings: Readings = field(default_factory=Readings)
    turns: tuple[Turn, ...]
    cut: CutPlan | None = None
    expect: Expectation = field(default_factory=Expectation)
    recorded: Recorded | None = None

    @property
    def runs(self) -> tuple[tuple[int, AgentRun], ...]:
        """The agent runs, each with its index in `turns`."""
        return tuple((i, turn) for i, turn in enumerate(self.turns) if isinstance(turn, AgentRun))

    @property
    def scripted(self) -> bool:
        """Whether a server has something to play: each run has its events, and not only a stream."""
        return all(run.events is not None for _, run in self.runs)
