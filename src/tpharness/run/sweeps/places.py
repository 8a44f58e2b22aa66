"""The places at which a sweep cuts a scenario, and a case of its own for each of them. Pure.

In: a scenario, which side is cut, for which reasons, and after events or bytes. Out: how many places there are, the
n-th of them, and the scenario that is cut there, which `run` plays and `save` writes. Places are counted, not listed:
those of two sides cut differently grow with the square of the run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import accumulate

from tpharness.run.plan import cut_time, place_name
from tpharness.scenario import (
    AgentRun,
    ClientCut,
    CutAt,
    CutPlan,
    CutSide,
    CutUnit,
    Expectation,
    Interrupt,
    Scenario,
    WireEnd,
)
from tpharness.server_events import shift

__all__ = [
    "CutPlace",
    "Places",
    "SideCut",
    "cut_scenario",
    "existing_id",
    "given_stream_cut_time",
    "with_cut_plan",
    "without_pins",
]

_LONG = 86_400


class SideCut(Enum):
    """Whom a sweep cuts."""

    BOTH = "both"
    """Both at the same place: the connection is lost. They owe each other the same thread."""
    SERVER = "server"
    """The server is stopped and says so on the wire, in the way that is usual for the reason."""
    CLIENT = "client"
    """The client's bytes stop, the server continues to its end (R32)."""
    APART = "apart"
    """Both at different places, the server further than the client (R32)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CutPlace:
    """One place: run `turn` stops after `server` events (None: it continues), the client after `client` (None: all)."""

    turn: int
    reason: str
    wire: WireEnd
    server: int | None
    client: ClientCut | None

    @property
    def name(self) -> str:
        """What stands after the `@` of an id of this place."""
        server = "" if self.server is None else f"-server-{self.server}"
        client = "" if self.client is None else f"-client-{self.client.unit.value}-{self.client.count}"
        return f"turn-{self.turn}{server}{client}:{self.reason}"


def without_pins(scenario: Scenario) -> Scenario:
    """Return the scenario as a sweep of both sides sees it: nothing pinned, every stream as its events give it.

    The history that a recorded implementation kept is about that implementation, and about the run as it was.
    """
    turns = tuple(
        replace(turn, wire=None, library_messages=None) if isinstance(turn, AgentRun) else turn
        for turn in scenario.turns
    )
    expect = Expectation(findings=scenario.expect.findings)
    return replace(scenario, turns=turns, cut=None, expect=expect)


def with_cut_plan(scenario: Scenario, at: CutAt, reasons: Sequence[str], side: CutSide, turn: int | None) -> Scenario:
    """Return the scenario with this sweep in place of its own."""
    return replace(scenario, cut=CutPlan(at=at, reasons=tuple(reasons), turn=turn, side=side))


def cut_scenario(scenario: Scenario, place: CutPlace) -> Scenario:
    """Return the scenario that is cut at the place and ends there."""
    run = scenario.turns[place.turn]
    if not isinstance(run, AgentRun):
        raise TypeError(f"turn {place.turn} of {scenario.id} is not a run")
    seen = place.server
    if seen is None:
        at_event = place.client is not None and place.client.unit is CutUnit.EVENT
        seen = place.client.count if place.client is not None and at_event else len(run.events or ())
    signalled = place.client is None and place.server is not None and place.wire is not WireEnd.CUT
    interrupt = Interrupt(
        reason=place.reason,
        at=given_stream_cut_time(run) if run.events is None or run.wire is not None else cut_time(run, seen),
        wire=place.wire,
        server_after=place.server,
        client_after=place.client,
        client_reason=None if signalled else place.reason,
    )
    name = f"{scenario.id}@{place.name}"
    turns = (*scenario.turns[: place.turn], replace(run, interrupt=interrupt))
    return replace(scenario, id=name, turns=turns, cut=None, expect=Expectation())


def existing_id(scenario: Scenario, place: CutPlace) -> str | None:
    """Return the id by which `run` and `replay` know the place, or None if its own sweep does not have it."""
    plan = scenario.cut
    if plan is None or place.reason not in plan.reasons or plan.turn not in (None, place.turn):
        return None
    at = plan.at is CutAt.EVERY_EVENT
    if plan.side is CutSide.BOTH and at and place.client is None and place.server is not None:
        return place_name(scenario, place.turn, place.reason, place.server) if place.wire is WireEnd.CUT else None
    if place.client is None or place.server is None:
        return None
    if at and plan.side is CutSide.CLIENT and place.client == ClientCut(unit=CutUnit.EVENT, count=place.server):
        return place_name(scenario, place.turn, place.reason, place.client.count)
    if not at and place.client.unit is CutUnit.BYTE:
        return place_name(scenario, place.turn, place.reason, place.client.count)
    return None


def given_stream_cut_time(run: AgentRun) -> str:
    """Return when a stream that the scenario gives itself is cut: later than any time in its carriers."""
    return shift(run.started_at, _LONG)


class Places:
    """The places of one scenario for one side, by number.

    `sizes` are, for each run, the sizes in bytes of what each event puts on the wire, the opening of the stream first.
    """

    def __init__(
        self, scenario: Scenario, side: SideCut, at: CutAt, reasons: Sequence[str], sizes: Sequence[Sequence[int]]
    ) -> None:
        self._side = side
        self._at = at
        self._runs = [(index, tuple(one)) for (index, _), one in zip(scenario.runs, sizes, strict=True)]
        self._reasons = tuple(reasons)
        self._blocks = [(index, reason, one, self._count(one)) for index, one in self._runs for reason in self._reasons]
        self._ends = list(accumulate(count for *_, count in self._blocks))

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def __iter__(self) -> Iterator[CutPlace]:
        return (self[number] for number in range(len(self)))

    def __getitem__(self, number: int) -> CutPlace:
        if not 0 <= number < len(self):
            raise IndexError(number)
        for (index, reason, sizes, count), end in zip(self._blocks, self._ends, strict=True):
            if number < end:
                return self._place(index, reason, sizes, number - (end - count))
        raise IndexError(number)

    def _count(self, sizes: tuple[int, ...]) -> int:
        events = len(sizes) - 1
        if self._side is SideCut.APART:
            return events * (events + 1) // 2
        return sum(sizes) + 1 if self._at is CutAt.EVERY_BYTE and self._side is not SideCut.SERVER else events + 1

    def _place(self, turn: int, reason: str, sizes: tuple[int, ...], number: int) -> CutPlace:
        wire = WireEnd.default_for(reason) if self._side is SideCut.SERVER else WireEnd.CUT
        server: int | None = None
        client: ClientCut | None = None
        match self._side:
            case SideCut.SERVER:
                server = number
            case SideCut.APART:
                server = 1
                while number >= server:  # server N has N clients behind it
                    number -= server
                    server += 1
                client = ClientCut(unit=CutUnit.EVENT, count=number)
            case SideCut.BOTH if self._at is CutAt.EVERY_EVENT:
                server = number
            case SideCut.BOTH:
                server = _event_of(sizes, number)
                client = ClientCut(unit=CutUnit.BYTE, count=number)
            case SideCut.CLIENT:
                unit = CutUnit.EVENT if self._at is CutAt.EVERY_EVENT else CutUnit.BYTE
                client = ClientCut(unit=unit, count=number)
        return CutPlace(turn=turn, reason=reason, wire=wire, server=server, client=client)


def _event_of(sizes: tuple[int, ...], byte: int) -> int:
    """Return how many events the server has played when so many bytes of its stream have arrived."""
    for event, size in enumerate(sizes):
        if byte < size:
            return event
        byte -= size
    return len(sizes) - 1
