"""What a scenario says, in the long form that everything above works from.

In: nothing but values that `load` has checked. Out: frozen records. A loaded `Scenario` has no short form left, no
label that does not resolve and no cut outside its stream, so a reader of these records checks nothing again.
Server events, chunks and library messages are plain JSON values: what they mean is their readers' business.
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
    "Interrupt",
    "Recorded",
    "Scenario",
    "Turn",
    "UserInput",
    "Wire",
    "WireEnd",
]


class Compare(Enum):
    """R39: which comparison of the two sides' threads is owed."""

    EXACT = "exact"
    CONTENT = "content"


class WireEnd(Enum):
    """How the server tells the client of the interruption (R27)."""

    ABORT = "abort"
    """An `abort` chunk that names the reason."""
    ERROR = "error"
    """An `error` chunk, then `finish` with reason `error`, or the end."""
    CUT = "cut"
    """The connection goes away: neither `finish` nor `abort`."""
    FINISH = "finish"
    """A `finish` chunk whose reason says it (`content-filter`)."""
    STALL = "stall"
    """The connection stays open and nothing comes any more."""

    @classmethod
    def usual(cls, reason: str) -> WireEnd:
        """Return how an interruption for this reason looks on the wire unless the scenario says otherwise."""
        return _USUAL_END.get(reason, cls.ABORT)


_USUAL_END = {
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
    """Whom a sweep cuts: both sides at the same place, or only what the client gets to see (R32)."""

    BOTH = "both"
    CLIENT = "client"


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """Virtual time: `start` is an ISO time with `Z`, `tick` the seconds that each server event takes."""

    start: str = "2025-01-20T10:00:00Z"
    tick: float = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class UserInput:
    """What the user sends: parts as the document format has them (`user-prompt`), submitted at an ISO time."""

    parts: tuple[Mapping[str, Any], ...]
    submitted_at: str
    client_metadata: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Wire:
    """What the client gets, given by the scenario: chunk objects, or the bytes of the body. Exactly one is not None."""

    chunks: tuple[Mapping[str, Any], ...] | None = None
    data: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientCut:
    """How much the client saw: `count` units from the beginning of the run's stream."""

    unit: CutUnit
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Interrupt:
    """The interruption of one run.

    `server_after` counts the server events that happened before it (0 … all); None when the server noticed nothing and
    went on to its end, or when there is no server side. `client_after` is None when the client sees all that the server
    sent, the word of the interruption included; else it saw only that much (R32). `client_reason` is what the client
    observes, where that differs from `reason`.
    """

    reason: str
    at: str
    wire: WireEnd
    server_after: int | None
    client_after: ClientCut | None = None
    client_reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRun:
    """One run of an agent, that is one stream.

    `events` are all server events of the whole run, each with `at`, also those that an interruption keeps from
    happening; None when the scenario has no server side. `wire` is None when the client's stream is derived from the
    events. `library_messages` are the model messages that a real implementation kept. `labels` maps each label to the
    number of events that have happened at its place, `start` and `end` included.
    """

    agent_id: str
    started_at: str
    message_id: str | None = None
    events: tuple[Mapping[str, Any], ...] | None = None
    wire: Wire | None = None
    library_messages: tuple[Any, ...] | None = None
    interrupt: Interrupt | None = None
    labels: Mapping[str, int] = field(default_factory=dict)

    @property
    def happened(self) -> tuple[Mapping[str, Any], ...]:
        """The server events before the interruption, all without one; empty when there is no server side."""
        events = self.events or ()
        cut = None if self.interrupt is None else self.interrupt.server_after
        return events if cut is None else events[:cut]


Turn: TypeAlias = UserInput | AgentRun


@dataclass(frozen=True, slots=True, kw_only=True)
class CutPlan:
    """A sweep: the scenario stands for one case per place, reason and run.

    `turn` is the index in `Scenario.turns` of the only run to cut; None means each run.
    """

    at: CutAt
    reasons: tuple[str, ...] = ("network_failure",)
    turn: int | None = None
    side: CutSide = CutSide.BOTH


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """What the scenario pins. `findings` None allows none at MUST; a version that is missing in a map pins nothing."""

    findings: tuple[str, ...] | None = None
    outline: Mapping[Version, tuple[str, ...]] = field(default_factory=dict)
    thread: Mapping[Version, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """Where a recording comes from.

    `threads` are what the recorded server held afterwards, by version: on the embedded reference they stand where the
    server's own threads would, so that the recording gets the verdict that the live run got.
    """

    implementation: str
    version: str
    note: str = ""
    threads: Mapping[Version, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One scenario. `id` is `theme/kebab-name`, with `@event-12` or `@byte-340` appended for a case of a sweep.

    `path` is the file it was read from, left out of comparisons. Times are ISO strings in UTC with `Z`.
    `created_at` is when the thread begins. The keys of `agents` are agent ids, the first one is the default agent.
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
