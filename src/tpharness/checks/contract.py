"""What a check is: a pure function from the evidence of one case to findings.

Evidence is gathered by whoever played the case; a check does not know targets, files or clocks. A check has the
same name whether it passes or fails, and decides itself whether the evidence has something to judge.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, Any

import orjson

from tpharness.findings import Finding
from tpharness.protocol.versions import Version
from tpharness.readings import Readings
from tpharness.scenario.records import Compare, Expectation
from tpharness.verdict.result import NotApplicable

if TYPE_CHECKING:
    from tpharness.checks.plain import Plain, Unsaid
    from tpharness.checks.thread_answers import ThreadAnswer

__all__ = [
    "ONE_SIDE",
    "Check",
    "Delivery",
    "Evidence",
    "NotApplicable",
    "OpenCall",
    "Resolution",
    "SentRun",
    "Side",
    "Split",
    "StreamChange",
    "Thread",
    "Variant",
    "equal_json",
    "search_sides",
    "without_threads",
]

Thread = Mapping[str, Any]
StreamChange = Callable[["Thread", Version, Compare, str], str]
"""The server's thread, its version, how threads are compared, why → what to send, "" if nothing is known (R51)."""


class Delivery(Enum):
    """How much of the server's stream reached the client."""

    WHOLE = "whole"  # all of it up to the place where both stopped: the threads must be identical
    PART = "part"  # bytes were lost: the client must hold a prefix (R32)
    UNRELATED = "unrelated"  # there is one side only


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """The result of one side: its thread, and what its fold reported.

    `truth` is what the reference makes of the same input (R51): of the script for a server, of the streams that it was
    given for a client. It is None where the side is the reference itself, or where nothing says what it was given.
    """

    name: str
    thread: Thread
    findings: tuple[Finding, ...] = ()
    truth: Thread | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """A place at which a stream, or a run's events, are split; `said` describes it, with what stands there.

    `byte` counts those of the stream of its run, `event` the events of the run.
    """

    said: str
    byte: int | None = None
    event: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """The thread of the same case with another delivery, such as `reads of 1 byte`, or with repeated input.

    `split` is the first place at which it matters that the delivery is another one, None where that was not looked for.
    """

    name: str
    side: str
    thread: Thread
    split: Split | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """What a client gave out for a reference and bytes that its store answers with; `given` is None if it refused.

    `stored` says what was played, such as `the last byte is missing`; `right` what may be given out, None for nothing.
    """

    stored: str
    right: bytes | None
    given: bytes | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenCall:
    """A call whose arguments had not ended when its run was cut (R60).

    `given` is the chunk by which the server's stream gives its input as whole, None if there is none.
    """

    call_id: str
    given: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SentRun:
    """What a server's stream of one run says beside the thread.

    `asked` is the id of its message that the run was given, `named` the one that its stream begins with; None where
    nothing can be compared. `closed` are the ends of texts and thoughts that were open when the run was stopped (R60).
    `ended` is how the run ended, `said_end` how its stream says so, None where nothing can be compared (R27). `waits`
    are the calls that wait for an approval beyond the run, `asks` those that its stream asks for (R64).
    """

    asked: str | None = None
    named: str | None = None
    closed: tuple[Mapping[str, Any], ...] = ()
    ended: str | None = None
    said_end: str | None = None
    waits: tuple[str, ...] = ()
    asks: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """Everything that one case produced, for one version of the protocol.

    `library` is the implementation's own history as a thread; `adopted` what the client holds after it fetched the
    server's thread; `trail` the client's threads over growing prefixes of its stream, each different from the one
    before, and `skipped_states` how many were left out between them; `rechunked` the same bytes or texts split
    differently; `repeated` the same thing done twice; `over_wires` the same case over other
    wires than `wire`, each by the name of its own; `resolutions` what the client gave out for references (R56), and
    `unresolved` why there are none; `answers` what the targets said of threads when they were asked, and `unasked` why
    they were not; `open_calls` the calls inside whose arguments runs were cut, and what the server's
    streams say of them; `sent` what its streams say beside the thread, run by run; where the server is not the
    reference, `stream_change` says what it has to send so that a client holds its thread, `plain` what a client without
    carriers makes of its streams, and `unsaid` has what these lack that no thread shows; `misreading` says of a thread
    of a client how its streams have to be read to hold another, "" where it is not known.
    """

    case: str
    version: Version
    mode: Compare
    delivery: Delivery
    server: Side | None = None
    client: Side | None = None
    library: Side | None = None
    adopted: Thread | None = None
    trail: tuple[Thread, ...] = ()
    skipped_states: int = 0
    rechunked: tuple[Variant, ...] = ()
    repeated: tuple[Variant, ...] = ()
    wire: str = "vsp"
    over_wires: tuple[Variant, ...] = ()
    resolutions: tuple[Resolution, ...] = ()
    unresolved: str = "contents are asked for once in a scenario, without a cut and without a fault"
    answers: tuple[ThreadAnswer, ...] = ()
    unasked: str = "the scenario is about nothing that a target is asked, or no target declares that it answers it"
    open_calls: tuple[OpenCall, ...] = ()
    sent: tuple[SentRun, ...] = ()
    stream_change: StreamChange | None = field(default=None, compare=False)
    misreading: Callable[[Thread], str] | None = field(default=None, compare=False)
    plain: Plain | None = field(default=None, compare=False)
    unsaid: tuple[Unsaid, ...] | None = None
    expectation: Expectation | None = None
    readings: Readings = field(default_factory=Readings)

    def sides(self) -> tuple[Side, ...]:
        """Return the sides that have a result."""
        return tuple(side for side in (self.server, self.client, self.library) if side is not None)

    def without_truths(self) -> Evidence:
        """Return the same evidence without the threads that the sides should have, where these are not known."""
        server, client = (None if side is None else replace(side, truth=None) for side in (self.server, self.client))
        return replace(self, server=server, client=client)

    @cached_property
    def sides_equal(self) -> bool:
        """Whether server and client hold equal threads, so that what holds for one holds for both; False in doubt."""
        server, client = self.server, self.client
        return server is not None and client is not None and equal_json(server.thread, client.thread)


def equal_json(one: Any, other: Any) -> bool:
    """Whether two values are surely equal in JSON, where 1, 1.0 and true differ as they do not in Python."""
    if one != other:
        return False
    try:
        if orjson.dumps(one) == orjson.dumps(other):  # as they are when one implementation has written both
            return True
        return orjson.dumps(one, option=orjson.OPT_SORT_KEYS) == orjson.dumps(other, option=orjson.OPT_SORT_KEYS)
    except TypeError:  # a lone surrogate, a number beyond 64 bits
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """A named property of a case. `not_applicable` returns why there is nothing to judge, None where there is."""

    name: str
    title: str
    not_applicable: Callable[[Evidence], NotApplicable | None]
    judge: Callable[[Evidence], list[Finding]]


_NO_THREAD = NotApplicable(reason="neither side has a thread of this version")


def without_threads(evidence: Evidence) -> NotApplicable | None:
    """Return why a check of each side's thread does not apply: there is none; None where there is one."""
    return _NO_THREAD if evidence.server is None and evidence.client is None else None


ONE_SIDE = NotApplicable(reason="only one side has a thread of this version")


def search_sides(evidence: Evidence, search: Callable[[Thread], list[Finding]]) -> Iterator[Finding]:
    """Yield what `search` finds in the threads of the server and of the client, with case and side filled in.

    Equal threads are searched once, and what is found is reported for both sides.
    """
    found: list[Finding] | None = None
    for side in (evidence.server, evidence.client):
        if side is not None:
            if found is None or not evidence.sides_equal:
                found = search(side.thread)
            yield from (finding.with_place(case=evidence.case, side=side.name) for finding in found)
