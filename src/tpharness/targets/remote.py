"""Targets outside this process: what they have in common, and what can be wrong with how they keep the contract.

In: nothing. Out: `Remote`, which the runner opens before the first case and closes after the last; how long the harness
waits and how much it takes in; the two errors that tell it more than that a case failed; the kinds of findings about
promises. No I/O.

What a remote target does not do: it reports no findings of its own fold, and it reads the rulings as it declares, not
as a script says.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

from tpharness.errors import TargetError
from tpharness.findings import Finding, Kind, Level
from tpharness.targets import resume

__all__ = [
    "BROKEN",
    "CAPABILITY_KINDS",
    "ENDLESS",
    "KINDS",
    "LEFT",
    "LINE_TOO_LONG",
    "NOT_DELETED",
    "NOT_FETCHED",
    "NOT_TOLD",
    "NOT_UTF8",
    "STALLED",
    "BrokenContractError",
    "CannotPlayError",
    "Limits",
    "Patience",
    "Remote",
    "UnreachableError",
]


@runtime_checkable
class Remote(Protocol):
    """A target that has to be opened: it is reached over a network or in another process."""

    @property
    def at_once(self) -> int:
        """How many cases it may be given at the same time; at least 1."""
        ...

    async def open(self) -> None:
        """Reach the target and read its capabilities, once. TargetError says why it cannot be played at all."""
        ...

    async def close(self) -> None:
        """Let go of connections and processes. Never raises; closing twice is nothing."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long the harness waits, in seconds.

    `connect` for a connection, `answer` for the first byte of an answer, `silence` for the next read, `total` for one
    answer altogether, `settle` for a thread to appear or to show what was done to its run. `limit` is the time limit
    that runs are given when a timeout is played live.
    """

    connect: float = 5.0
    answer: float = 10.0
    silence: float = 10.0
    total: float = 120.0
    settle: float = 2.0
    limit: float = 0.2

    def scaled(self, factor: float) -> Patience:
        """Return the same times `factor`; the limit that runs are given stays."""
        return replace(
            self,
            connect=self.connect * factor,
            answer=self.answer * factor,
            silence=self.silence * factor,
            total=self.total * factor,
            settle=self.settle * factor,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much the harness takes in, in bytes: one line of a stream, one stream, one JSON answer."""

    line: int = 16 << 20
    stream: int = 64 << 20
    body: int = 64 << 20


class CannotPlayError(TargetError):
    """The case asks for what this target cannot make happen: it does not apply. The message says what that is."""


class UnreachableError(TargetError):
    """The target did not answer at all. After several in a row the runner asks no more."""


class BrokenContractError(TargetError):
    """The target did something for which the case fails with a finding, and after which the case cannot go on."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(f"{finding.code}: {finding.message}", hint=finding.kind.remedy)
        self.finding = finding


def _claim(name: str, title: str, remedy: str, *rulings: str) -> Kind:
    return Kind(code=f"{name}-not-kept", level=Level.MUST, title=title, remedy=remedy, rulings=rulings)


CAPABILITY_KINDS = {
    "marks": _claim(
        "marks",
        "the server declares marks and does not send them as the contract says",
        "send the comment `: tp N` and an empty line right after the bytes of the first N events, "
        "`: tp 0` after what opens the stream; or do not declare marks",
    ),
    "cancel": _claim(
        "cancel",
        "the server declares that it takes a cancel, and a run that goes on is not stopped by it",
        "POST /threads/{thread_id}/cancel answers 200 with {cancelled: true} once the thread shows it; "
        "or do not declare cancel",
        "R27",
    ),
    "disconnect": _claim(
        "disconnect",
        "the server declares that it stops when the client goes away, and goes on",
        "interrupt the run with network_failure when its client is gone; or do not declare stop under disconnect",
        "R27",
    ),
    "limits": _claim(
        "limits",
        "the server declares that it keeps limits, and a silent run outlives its limit",
        "interrupt the run with timeout after limits.stream_seconds of silence; or do not declare limits",
        "R27",
    ),
    "resume": _claim(
        "resume",
        "the server declares that its streams can be resumed, and its frames have no ids",
        "give each frame an `id:` line; or do not declare resume",
        "R31",
    ),
    "versions": _claim(
        "versions",
        "the target declares a version and does not give the thread in it",
        "answer GET /threads/{thread_id}?version=…, a client /receive, with each version that is declared and asked "
        "for; or declare fewer",
    ),
    "durable": _claim(
        "durable",
        "the server declares that what is canonical survives its death, and has lost it",
        "write what is canonical to the disk before it is told to the client; or do not declare durable",
        "R32",
    ),
    "carriers": _claim(
        "carriers",
        "the server declares carriers and sends none",
        "send data-sys-tp chunks when a run asks for carriers; or do not declare carriers",
        "R39",
    ),
    "detects": _claim(
        "detects",
        "the client declares that it notices how its stream ends, and does not act on it",
        "at the comment `: tp stop` close the connection and record user_cancelled; after limits.stream_seconds "
        "without an event give up and record timeout; where the body breaks off record network_failure; "
        "or do not declare it under detects",
        "R27",
    ),
    "reconnect": _claim(
        "reconnect",
        "the client declares that it resumes, and does not come back for the rest of its stream",
        "when a stream breaks off GET the same URL with Last-Event-ID, the id of the last frame; "
        "or do not declare resume",
        "R31",
    ),
}
"""What is wrong when a capability is claimed and not kept, by the name of the capability."""

NOT_TOLD = Kind(
    code="cancel-not-told",
    level=Level.MUST,
    title="a run was cancelled, and its stream ended without telling the client",
    remedy="end the stream of a cancelled run with an abort chunk that names the reason, then [DONE]",
    rulings=("R27",),
)
STALLED = Kind(
    code="stream-stalled",
    level=Level.MUST,
    title="a stream went silent without ending",
    remedy="close the response when the run is over; a server that still works sends a comment now and then",
    rulings=("R27", "R35"),
)
BROKEN = Kind(
    code="stream-broken",
    level=Level.MUST,
    title="the connection breaks before the body of a stream has ended",
    remedy="end the body as its transfer coding says; look at the server's own log: does it crash?",
)
NOT_UTF8 = Kind(
    code="stream-not-utf8",
    level=Level.MUST,
    title="a stream is not UTF-8",
    remedy="an event stream is always UTF-8; send other bytes as base64",
)
ENDLESS = Kind(
    code="stream-endless",
    level=Level.MUST,
    title="a stream goes on long after everything that its run could say",
    remedy="close the response when the run is over",
)
LINE_TOO_LONG = Kind(
    code="stream-line-too-long",
    level=Level.MUST,
    title="a line of the stream is longer than any chunk of its run could be",
    remedy="end each field of an event with a newline; keep large returns elsewhere and refer to them (content_ref)",
)
NOT_DELETED = Kind(
    code="delete-refused",
    level=Level.MUST,
    title="the server does not forget a thread when it is told to",
    remedy="DELETE /threads/{thread_id} answers 204, also for a thread that is not there",
)
NOT_FETCHED = Kind(
    code="stream-not-fetched",
    level=Level.MUST,
    title="the client hands back threads and has never asked for its stream",
    remedy="GET each url that a stream of the case has, in order, and read it to its end",
)
LEFT = Kind(
    code="stream-left",
    level=Level.MUST,
    title="the client went away before its stream had said its end",
    remedy="read a stream until finish, abort or the end of the body",
)
KINDS = (
    *resume.KINDS,
    NOT_FETCHED,
    LEFT,
    *CAPABILITY_KINDS.values(),
    NOT_TOLD,
    STALLED,
    BROKEN,
    NOT_UTF8,
    ENDLESS,
    LINE_TOO_LONG,
    NOT_DELETED,
)
