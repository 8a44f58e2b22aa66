"""Scenarios with faults on the wire: the same case again, its bytes carried by a relay that has a plan.

In: a case, the players, faults. Out: a result for each fault, `theme/name@fault-NAME`. The case is played unharmed
first, through the relay as well: what was recorded then says where each fault strikes, so that a place is one in the
stream and not in time. The last run of a case is the one that is struck.

The wire with faults is that between server and harness when the server is reached over HTTP, else that between harness
and client.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from tpharness.checks import Evidence, Variant
from tpharness.errors import TargetError
from tpharness.faults import RecordedResponse
from tpharness.faults.catalogue import CANCEL, FAULTS, Fault, Guarantee
from tpharness.faults.plan import Plan
from tpharness.run.judge import Outcome, Result
from tpharness.run.plan import Case
from tpharness.run.play import Players, play
from tpharness.scenario.records import AgentRun, Compare, Expectation
from tpharness.targets.http_client import HttpClient
from tpharness.targets.http_server import HttpServer
from tpharness.targets.peers import PeerServer
from tpharness.targets.relay import Relay
from tpharness.targets.remote import UnreachableError

__all__ = ["FaultCase", "fault_cases", "fault_name", "not_struck", "play_fault", "why_not"]


_SILENCE = 0.5  # seconds: how long a connection on which nothing passes any more is listened to


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultCase:
    """One fault on one case: its plan, made of what was recorded, or why there is none."""

    id: str
    fault: Fault
    plan: Plan | None
    struck: int
    reason: str = ""
    where: str = ""
    unharmed: Sequence[Evidence] = ()

    @classmethod
    def unplayed(cls, case: Case, name: str, reason: str) -> FaultCase:
        """Return a fault that is not made on a case, and why."""
        return cls(id=fault_name(case.id, name), fault=FAULTS[name], plan=None, struck=0, reason=reason)


def fault_name(scenario: str, fault: str) -> str:
    """Return the id of a scenario played with a fault."""
    return f"{scenario}@fault-{fault}"


def why_not(case: Case, players: Players) -> str:
    """Return why no fault can be made on a case with these players; "" when it can."""
    wire = _wire(players)
    if wire is None or wire.address is None:
        return "faults are made on the wire, and neither target is reached over plain HTTP"
    runs = [turn for turn in case.scenario.turns if isinstance(turn, AgentRun)]
    if not runs:
        return "no run to strike"
    if isinstance(wire, HttpServer) and any(run.events is None for run in runs):
        return "the scenario gives the stream itself"
    if any(run.interrupt is not None for run in runs[-1:]):
        return "its last run is interrupted already"
    if any(run.interrupt is not None and run.interrupt.client_after is not None for run in runs):
        return "it loses bytes itself"
    return ""


async def fault_cases(case: Case, players: Players, faults: Sequence[str]) -> list[FaultCase]:
    """Play a case unharmed through a relay, and return where each fault strikes."""
    address = _address(players)
    async with Relay(*address) as relay:
        unharmed = await play(case, _through(players, relay.port), thorough=False)
        _reached(relay)
        responses = [RecordedResponse.parse(bytes(raw)) for raw in relay.recorded]
    runs = len(case.scenario.runs)
    if len(responses) != runs or not responses[-1].whole:
        raise TargetError(
            f"without any fault there were {len(responses)} streams for {runs} runs, or the last one is not whole: "
            "no fault can be made on it",
            hint="play the scenario without --fault first; is the target overloaded?",
        )
    struck, response = len(responses) - 1, responses[-1]
    found = []
    for name in faults:
        fault = FAULTS[name]
        plan, reason = fault.plan(response), ""
        if plan is None:
            reason = f"its last stream has no place {fault.place}"
        elif (lacks := _lacks(fault, players, case)) != "":
            plan, reason = None, lacks
        where = f"{fault.title} (byte {fault.offset(response)} of {len(response.raw)})"
        case_id = fault_name(case.id, name)
        found.append(
            FaultCase(
                id=case_id,
                fault=fault,
                plan=plan,
                struck=struck,
                reason=reason,
                where=where,
                unharmed=_owed(fault, players, unharmed),
            )
        )
    return found


async def play_fault(case: Case, players: Players, struck: FaultCase) -> list[Evidence]:
    """Play a case with a fault on the last of its streams; return what both sides made of it."""
    fault, plan = struck.fault, struck.plan
    if plan is None:
        raise ValueError(f"{struck.id} has no plan")
    stop = asyncio.Event()
    crashes: list[asyncio.Task[None]] = []

    def called(name: str) -> None:
        if name == CANCEL:
            stop.set()
        elif isinstance(players.server, PeerServer):
            crashes.append(asyncio.ensure_future(players.server.crash()))

    async def recovered() -> None:
        await asyncio.gather(*crashes)

    case = replace(case, id=struck.id)
    if fault.guarantee is Guarantee.CONTENT:
        players = replace(players, compare=Compare.CONTENT)
    if fault.guarantee not in (
        Guarantee.IDENTITY,
        Guarantee.CONTENT,
    ):  # what the scenario pins is the thread of an unharmed run
        case = replace(case, scenario=replace(case.scenario, expect=Expectation()))
    async with Relay(*_address(players), on_notify=called) as relay:
        relay.plan(*[Plan()] * struck.struck, plan)
        via_relay = _through(players, relay.port, fault=fault, stop=stop, recovered=recovered)
        pieces = await play(case, via_relay, thorough=False, lost=fault.guarantee is Guarantee.PREFIX)
        _reached(relay)
    return [_held_against(piece, struck.unharmed) for piece in pieces]


def not_struck(struck: FaultCase, case: Case) -> Result:
    """Return the result for a fault that finds no place."""
    clauses = case.scenario.clauses
    return Result(id=struck.id, outcome=Outcome.NOT_APPLICABLE, reason=struck.reason, clauses=clauses)


def _reached(relay: Relay) -> None:
    if relay.refused:
        raise UnreachableError(
            f"{relay.refused} connections to the target were refused", hint="is it overloaded? its own log may say more"
        )


def _owed(fault: Fault, players: Players, unharmed: Sequence[Evidence]) -> list[Evidence]:
    """Return whose threads are to be those of the unharmed run: both, that of a server that goes on, or none."""
    if fault.guarantee is Guarantee.IDENTITY:
        return list(unharmed)
    goes_on = isinstance(players.server, HttpServer) and "continue" in players.server.capabilities.disconnect
    if fault.guarantee is Guarantee.PREFIX and goes_on and not fault.kills:
        return [replace(piece, client=None) for piece in unharmed]
    return []


def _held_against(piece: Evidence, unharmed: Sequence[Evidence]) -> Evidence:
    """Add the threads of the unharmed run of the same version as what has to come out again."""
    told = [
        Variant(name="the same without the fault", side=side.name, thread=side.thread)
        for other in unharmed
        if other.version is piece.version
        for side in (other.server, other.client)
        if side is not None
    ]
    return replace(piece, repeated=(*piece.repeated, *told))


def _wire(players: Players) -> HttpServer | HttpClient | None:
    if isinstance(players.server, HttpServer):
        return players.server
    return players.client if isinstance(players.client, HttpClient) else None


def _address(players: Players) -> tuple[str, int]:
    wire = _wire(players)
    if wire is None or wire.address is None:
        raise ValueError("no wire to make faults on")
    return wire.address


def _through(
    players: Players,
    port: int,
    *,
    fault: Fault | None = None,
    stop: asyncio.Event | None = None,
    recovered: Callable[[], Awaitable[None]] | None = None,
) -> Players:
    if isinstance(players.server, HttpServer):
        resume_from = None if fault is None else fault.resume_from
        silence = _SILENCE if fault is not None and _ends(fault) == "timeout" else None
        recovered = recovered if fault is not None and fault.kills else None
        server = players.server.via_relay(
            port, resume_from=resume_from, stop=stop, silence=silence, recovered=recovered
        )
        return replace(players, server=server)
    if isinstance(players.client, HttpClient):
        resume_from, ends = (None, None) if fault is None else (fault.resume_from, _ends(fault))
        return replace(players, client=players.client.via_relay(port, ends=ends, resume_from=resume_from))
    return players


def _ends(fault: Fault) -> str | None:
    """Return what a client sees of the end of a stream that a fault has struck, None for nothing at all."""
    if fault.guarantee is not Guarantee.PREFIX:
        return None
    return "timeout" if fault.falls_silent else "network_failure"


def _lacks(fault: Fault, players: Players, case: Case) -> str:
    """Return what the target on the wire does not declare of what a fault needs, or why it says nothing here."""
    given = any(run.events is None or run.wire is not None for _, run in case.scenario.runs)
    if given and (
        isinstance(players.server, HttpServer)
        or fault.guarantee not in (Guarantee.IDENTITY, Guarantee.CONTENT)
        or fault.resume_from
    ):
        return "the scenario gives the stream itself"
    if fault.kills and not (isinstance(players.server, PeerServer) and players.server.capabilities.durable):
        return "the server is not one that tpharness has started (peer:NAME), or does not declare durable"
    if isinstance(players.server, HttpServer):
        declared = players.server.capabilities
        if fault.resume_from is not None and not (declared.resume and "continue" in declared.disconnect):
            return "the server does not declare resume, or not that a run goes on without its client"
        if fault.guarantee is Guarantee.AGREEMENT and not declared.cancel:
            return "the server does not declare cancel"
        return ""
    if fault.resume_from is not None and not players.client.capabilities.resume:
        return "the client does not declare resume"
    if _ends(fault) == "timeout" and "timeout" not in players.client.capabilities.detects:
        return "the client does not declare that it notices a timeout"
    if fault.guarantee is Guarantee.AGREEMENT:
        return "a client cannot be cancelled from outside"
    return ""
