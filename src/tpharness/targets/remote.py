"""Targets outside this process: what they have in common, and the findings about breaches of the contract.

In: nothing. Out: `Remote`, which the runner opens before the first case and closes after the last; what can be reached
through a relay, which makes the faults; how long the harness waits and how much it reads; the errors that mean more
than a failed case; the kinds of findings about promises. No I/O.

A remote target does not report findings of its own fold, and it uses the readings of rulings that it declares, not
those of a script.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from tpharness.errors import TargetError
from tpharness.findings import Finding, Kind
from tpharness.targets.contract import ClientTarget, ServerTarget

if TYPE_CHECKING:
    from tpharness.faults.catalogue import ResumeFrom

__all__ = [
    "BROKEN",
    "CANCELLED_LATE",
    "CAPABILITIES_HINT",
    "CAPABILITY_KINDS",
    "CUT_ALIVE",
    "ENDLESS",
    "KINDS",
    "LEFT",
    "LINE_TOO_LONG",
    "NOT_DELETED",
    "NOT_FETCHED",
    "NOT_FORGOTTEN",
    "NOT_TOLD",
    "NOT_UTF8",
    "NO_HEARTBEAT",
    "RESUME_DIFFERS",
    "RESUME_LOST",
    "RESUME_REPEATED",
    "SECOND_RUN",
    "STALLED",
    "UNKNOWN_TAKEN",
    "BrokenContractError",
    "CannotPlayError",
    "GoneError",
    "KillableServer",
    "LostConnectionError",
    "Patience",
    "RefusedError",
    "RelayedClient",
    "RelayedServer",
    "Remote",
    "StreamLimits",
    "UnreachableError",
]


@runtime_checkable
class Remote(Protocol):
    """A target that has to be opened: it is reached over a network or in another process."""

    @property
    def at_once(self) -> int:
        """How many cases it can play at the same time; at least 1."""
        ...

    async def open(self) -> None:
        """Connect to the target and read its capabilities, once. TargetError if it cannot be used at all."""
        ...

    async def close(self) -> None:
        """Close connections and processes. Never raises; closing twice is allowed."""
        ...


@runtime_checkable
class RelayedServer(ServerTarget, Protocol):
    """A server whose streams can come through a relay."""

    @property
    def address(self) -> tuple[str, int] | None:
        """Its host and port, for a relay; None if a relay cannot read what it sends."""
        ...

    def via_relay(
        self,
        port: int,
        *,
        resume_from: ResumeFrom | None = None,
        stop: asyncio.Event | None = None,
        silence: float | None = None,
        recovered: Callable[[], Awaitable[None]] | None = None,
    ) -> ServerTarget:
        """Return the same server with its runs started through a relay on a port of loopback."""
        ...


@runtime_checkable
class KillableServer(RelayedServer, Protocol):
    """A server that tpharness has started, so that it can be killed."""

    async def crash(self) -> None:
        """End the process with SIGKILL, and start it again on what it has stored."""
        ...


@runtime_checkable
class RelayedClient(ClientTarget, Protocol):
    """A client that can fetch its streams from a relay."""

    @property
    def address(self) -> tuple[str, int] | None:
        """Host and port where its streams are served, for a relay; None before `open`."""
        ...

    def via_relay(self, port: int, *, ends: str | None = None, resume_from: ResumeFrom | None = None) -> ClientTarget:
        """Return the same client, which fetches its streams from a relay on a port of loopback."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long the harness waits, in seconds.

    `connect` for a connection, `answer` for the first byte of an answer, `silence` for the next read, `total` for one
    answer altogether, `settle` for a thread to appear or to show what was done to its run. `limit` is the time limit
    of runs when a timeout is played live.
    """

    connect: float = 5.0
    answer: float = 10.0
    silence: float = 10.0
    total: float = 120.0
    settle: float = 2.0
    limit: float = 0.2

    def scaled(self, factor: float) -> Patience:
        """Return the same seconds times `factor`; `limit` does not change."""
        return replace(self, **{name: getattr(self, name) * factor for name in self.__slots__ if name != "limit"})

    def waiting(self, seconds: float | None) -> Patience:
        """Return the same with so many seconds until an answer begins, and of silence in it; None changes nothing."""
        if seconds is None:
            return self
        return replace(self, answer=seconds, silence=seconds, total=max(self.total, seconds))


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamLimits:
    """How much the harness reads, in bytes: one line of a stream, one stream, one JSON answer."""

    line: int = 16 << 20
    stream: int = 64 << 20
    body: int = 64 << 20


class CannotPlayError(TargetError):
    """The case needs something that this target cannot do, so it does not apply. The message says what."""


class UnreachableError(TargetError):
    """The target did not respond at all. After several in a row the runner stops."""


class LostConnectionError(TargetError):
    """A connection that may have been kept was closed without an answer, as HTTP allows after an answer.

    Whether the target has read the request is unknown.
    """


class GoneError(UnreachableError):
    """Nothing listens at the `address` of the target. `asked`: it went while it was asked, perhaps for that reason."""

    def __init__(self, message: str, *, hint: str, address: str, asked: bool) -> None:
        super().__init__(message, hint=hint)
        self.address = address
        self.asked = asked


class RefusedError(TargetError):
    """The target refused a request. `status` is that of its answer."""

    def __init__(self, message: str, *, hint: str, status: int) -> None:
        super().__init__(message, hint=hint)
        self.status = status


class BrokenContractError(TargetError):
    """The target broke the contract: the case fails with a finding and cannot continue."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(f"{finding.code}: {finding.message}", hint=finding.remedy)
        self.finding = finding


CAPABILITIES_HINT = "GET /capabilities returns name, roles and version of the contract: tpharness docs CONTROL"
CAPABILITY_KINDS = {
    "marks": Kind("marks-not-kept"),
    "cancel": Kind("cancel-not-kept"),
    "disconnect": Kind("disconnect-not-kept"),
    "limits": Kind("limits-not-kept"),
    "resume": Kind("resume-not-kept"),
    "versions": Kind("versions-not-kept"),
    "durable": Kind("durable-not-kept"),
    "carriers": Kind("carriers-not-kept"),
    "detects": Kind("detects-not-kept"),
    "reconnect": Kind("reconnect-not-kept"),
}
"""The name of a capability → the finding for one that is declared and not kept."""

NO_HEARTBEAT = Kind("heartbeat-not-kept")
CUT_ALIVE = Kind("heartbeat-ignored")
NOT_TOLD = Kind("cancel-not-told")
CANCELLED_LATE = Kind("cancel-after-end")
SECOND_RUN = Kind("second-run-taken")
STALLED = Kind("stream-stalled")
BROKEN = Kind("stream-broken")
NOT_UTF8 = Kind("stream-not-utf8")
ENDLESS = Kind("stream-endless")
LINE_TOO_LONG = Kind("stream-line-too-long")
NOT_DELETED = Kind("delete-refused")
NOT_FORGOTTEN = Kind("thread-not-forgotten")
UNKNOWN_TAKEN = Kind("unknown-thread-taken")
RESUME_LOST = Kind("resume-lost")
RESUME_REPEATED = Kind("resume-repeated")
RESUME_DIFFERS = Kind("resume-differs")
NOT_FETCHED = Kind("stream-not-fetched")
LEFT = Kind("stream-left")
KINDS = (
    RESUME_LOST,
    RESUME_REPEATED,
    RESUME_DIFFERS,
    NOT_FETCHED,
    LEFT,
    *CAPABILITY_KINDS.values(),
    NO_HEARTBEAT,
    CUT_ALIVE,
    NOT_TOLD,
    CANCELLED_LATE,
    SECOND_RUN,
    STALLED,
    BROKEN,
    NOT_UTF8,
    ENDLESS,
    LINE_TOO_LONG,
    NOT_DELETED,
    NOT_FORGOTTEN,
    UNKNOWN_TAKEN,
)
