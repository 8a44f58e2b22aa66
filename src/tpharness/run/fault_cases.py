"""Play a case again with faults on the wire, made by a relay that follows a plan.

In: a case, the players, faults. Out: a result for each fault, with the id `theme/name@fault-NAME`. The case is first
played unharmed through the same relay: the recording says at which byte each fault strikes, so that a place is one in
the stream and not in time. A fault strikes the last run of a case.

If the server is reached over HTTP, the fault is on the wire between server and harness, otherwise on that between
harness and client.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from tpharness.checks import Evidence, Variant
from tpharness.errors import TargetError
from tpharness.faults import RecordedResponse
from tpharness.faults.catalogue import CANCEL, FAULTS, Fault, Guarantee
from tpharness.faults.plan import RelayPlan
from tpharness.printable import counted
from tpharness.run.plan import Case
from tpharness.run.play import Players, play
from tpharness.scenario.records import AgentRun, Compare, Expectation
from tpharness.targets.relay import FaultRelay
from tpharness.targets.remote import KillableServer, RelayedClient, RelayedServer, UnreachableError
from tpharness.verdict.baseline import fault_name
from tpharness.verdict.result import Outcome, Result
from tpharness.wires.registry import wire_named

__all__ = ["FaultCase", "find_obstacle", "for_each_fault", "plan_faults", "play_fault", "unplayed_result"]


_SILENCE = 0.5  # seconds without a byte after which a connection is taken to be silent


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultCase:
    """One fault on one case: the relay's plan, made from the recording, or the reason why there is none."""

    id: str
    fault: Fault
    plan: RelayPlan | None
    struck: int
    reason: str = ""
    where: str = ""
    unharmed: Sequence[Evidence] = ()


def find_obstacle(case: Case, players: Players) -> str:
    """Return why no fault can be played on a case with these players; "" if one can."""
    wire = _target_on_wire(players)
    if wire is None or wire.address is None:
        return (
            "faults are made on the wire, and neither target is reached over plain HTTP,"
            " as --server peer:serve or --server http://… would be"
        )
    runs = [turn for turn in case.scenario.turns if isinstance(turn, AgentRun)]
    if not runs:
        return "no run to strike"
    if isinstance(wire, RelayedServer) and any(run.events is None for run in runs):
        return "the scenario gives the stream itself"
    if any(run.interrupt is not None for run in runs[-1:]):
        return "its last run is interrupted already"
    if any(run.interrupt is not None and run.interrupt.client_after is not None for run in runs):
        return "it loses bytes itself"
    return ""


async def plan_faults(case: Case, players: Players, faults: Sequence[str]) -> list[FaultCase]:
    """Play a case unharmed through a relay, and return the plan of each fault."""
    address = _wire_address(players)
    async with FaultRelay(*address) as relay:
        unharmed = await play(case, _connect_through(players, relay.port), thorough=False)
        _check_reached(relay)
        responses = [RecordedResponse.parse(bytes(raw)) for raw in relay.recorded]
    runs = len(case.scenario.runs)
    if len(responses) != runs or not responses[-1].whole:
        raise TargetError(
            f"without any fault there were {counted(len(responses), 'stream')} for {counted(runs, 'run')}, "
            "or the last one is not whole: no fault can be made on it",
            hint="play the scenario without --fault first; is the target overloaded?",
        )
    struck, response = len(responses) - 1, responses[-1]
    found = []
    for name in faults:
        fault = FAULTS[name]
        plan, reason = fault.plan(response), ""
        if plan is None:
            reason = f"its last stream has no place {fault.place}"
        elif (lacks := _find_missing_capability(fault, players, case)) != "":
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
                unharmed=_select_expected(fault, players, unharmed),
            )
        )
    return found


async def play_fault(case: Case, players: Players, struck: FaultCase) -> list[Evidence]:
    """Play a case with a fault on the last of its streams; return the evidence of both sides."""
    fault, plan = struck.fault, struck.plan
    if plan is None:
        raise ValueError(f"{struck.id} has no plan")
    stop = asyncio.Event()
    crashes: list[asyncio.Task[None]] = []

    def crash_or_cancel(name: str) -> None:
        if name == CANCEL:
            stop.set()
        elif isinstance(players.server, KillableServer):
            crashes.append(asyncio.ensure_future(players.server.crash()))

    async def recovered() -> None:
        await asyncio.gather(*crashes)

    case = replace(case, id=struck.id)
    if fault.guarantee is Guarantee.CONTENT:
        players = replace(players, compare=Compare.CONTENT)
    unharmed = fault.guarantee in (Guarantee.IDENTITY, Guarantee.CONTENT)
    if not unharmed:  # what the scenario pins is the thread of an unharmed run
        case = replace(case, scenario=replace(case.scenario, expect=Expectation()))
    async with FaultRelay(*_wire_address(players), on_notify=crash_or_cancel) as relay:
        relay.plan(*[RelayPlan()] * struck.struck, plan)
        via_relay = _connect_through(players, relay.port, fault=fault, stop=stop, recovered=recovered)
        pieces = await play(case, via_relay, thorough=False, lost=fault.guarantee is Guarantee.PREFIX)
        _check_reached(relay)
    # The reference was given what the fault took away, so its threads are right for an unharmed run only.
    pieces = pieces if unharmed else [piece.without_truths() for piece in pieces]
    return [_compare_with_unharmed(piece, struck.unharmed) for piece in pieces]


def unplayed_result(struck: FaultCase, case: Case) -> Result:
    """Return the not-applicable result of a fault that was not played."""
    clauses = case.scenario.clauses
    return Result(id=struck.id, outcome=Outcome.NOT_APPLICABLE, reason=struck.reason, clauses=clauses)


def for_each_fault(result: Result, faults: Sequence[str]) -> list[Result]:
    """Return the result of a scenario that came to no fault as that of each of these; as it is if there are none."""
    return [replace(result, id=fault_name(result.id, name)) for name in faults] or [result]


def _check_reached(relay: FaultRelay) -> None:
    if relay.refused:
        raise UnreachableError(
            f"the target refused {counted(relay.refused, 'connection')}",
            hint="is it overloaded? its own log may say more",
        )


def _select_expected(fault: Fault, players: Players, unharmed: Sequence[Evidence]) -> list[Evidence]:
    """Return the unharmed threads that a fault must reproduce: both, the server's if it goes on, or none."""
    if fault.guarantee is Guarantee.IDENTITY:
        return list(unharmed)
    goes_on = isinstance(players.server, RelayedServer) and "continue" in players.server.capabilities.disconnect
    if fault.guarantee is Guarantee.PREFIX and goes_on and not fault.kills:
        return [replace(piece, client=None) for piece in unharmed]
    return []


def _compare_with_unharmed(piece: Evidence, unharmed: Sequence[Evidence]) -> Evidence:
    """Add the unharmed threads of the same version to the threads that the played ones must equal."""
    expected = [
        Variant(name="the same without the fault", side=side.name, thread=side.thread)
        for other in unharmed
        if other.version is piece.version
        for side in (other.server, other.client)
        if side is not None
    ]
    return replace(piece, repeated=(*piece.repeated, *expected))


def _target_on_wire(players: Players) -> RelayedServer | RelayedClient | None:
    if isinstance(players.server, RelayedServer):
        return players.server
    return players.client if isinstance(players.client, RelayedClient) else None


def _wire_address(players: Players) -> tuple[str, int]:
    wire = _target_on_wire(players)
    if wire is None or wire.address is None:
        raise ValueError("no wire to make faults on")
    return wire.address


def _connect_through(
    players: Players,
    port: int,
    *,
    fault: Fault | None = None,
    stop: asyncio.Event | None = None,
    recovered: Callable[[], Awaitable[None]] | None = None,
) -> Players:
    if isinstance(players.server, RelayedServer):
        resume_from = None if fault is None else fault.resume_from
        silence = _SILENCE if fault is not None and _observed_end(fault) == "timeout" else None
        recovered = recovered if fault is not None and fault.kills else None
        server = players.server.via_relay(
            port, resume_from=resume_from, stop=stop, silence=silence, recovered=recovered
        )
        return replace(players, server=server)
    if isinstance(players.client, RelayedClient):
        resume_from, ends = (None, None) if fault is None else (fault.resume_from, _observed_end(fault))
        return replace(players, client=players.client.via_relay(port, ends=ends, resume_from=resume_from))
    return players


def _observed_end(fault: Fault) -> str | None:
    """Return the reason that a client observes when a fault ends its stream; None if the fault does not end it."""
    if fault.guarantee is not Guarantee.PREFIX:
        return None
    return "timeout" if fault.falls_silent else "network_failure"


def _find_missing_capability(fault: Fault, players: Players, case: Case) -> str:
    """Return which capability a fault needs and the target on the wire lacks, or why it does not apply; else ""."""
    given = any(run.events is None or run.wire is not None for _, run in case.scenario.runs)
    if given and (
        isinstance(players.server, RelayedServer)
        or fault.guarantee not in (Guarantee.IDENTITY, Guarantee.CONTENT)
        or fault.resume_from
    ):
        return "the scenario gives the stream itself"
    if fault.resume_from is not None and not wire_named(case.wire).resumable:
        return f"a stream of {case.wire} cannot be continued after one of its frames"
    if fault.kills and not (isinstance(players.server, KillableServer) and players.server.capabilities.durable):
        return "the server is not one that tpharness has started (peer:NAME), or does not declare durable"
    if isinstance(players.server, RelayedServer):
        declared = players.server.capabilities
        if fault.resume_from is not None and not (declared.resume and "continue" in declared.disconnect):
            return "the server does not declare resume, or not that a run goes on without its client"
        if fault.guarantee is Guarantee.AGREEMENT and not declared.cancel:
            return "the server does not declare cancel"
        return ""
    if fault.resume_from is not None and not players.client.capabilities.resume:
        return "the client does not declare resume"
    if _observed_end(fault) == "timeout" and "timeout" not in players.client.capabilities.detects:
        return "the client does not declare that it notices a timeout"
    if fault.guarantee is Guarantee.AGREEMENT:
        return "a client cannot be cancelled from outside"
    return ""
