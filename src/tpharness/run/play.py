"""Playing one case against a server and a client: the only part of a run that does I/O.

In: a case and two targets. Out: evidence, one piece for each version. Nothing here judges.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tpharness.checks import Delivery, Evidence, Side, Variant
from tpharness.dialects import DIALECTS
from tpharness.faults import split_deltas, split_event_deltas, split_reads
from tpharness.findings import Finding
from tpharness.journal import Interrupted, Journal, JournalWriter, Log, UserTurn
from tpharness.protocol.versions import Version
from tpharness.run.plan import Case, delivery, script_of, streams_of
from tpharness.scenario.model import Compare
from tpharness.server_events.messages import fold_messages
from tpharness.targets.contract import (
    ClientTarget,
    Outcome,
    Packet,
    RunScript,
    Script,
    ServerTarget,
    SteppableClient,
    Stream,
)

__all__ = ["Players", "play"]

_READ_SIZES = (1, 7)


@dataclass(frozen=True, slots=True, kw_only=True)
class Players:
    """Who plays: a server, a client, and how their threads are compared (None: as the scenario says)."""

    server: ServerTarget
    client: ClientTarget
    compare: Compare | None = None


async def play(case: Case, players: Players, *, thorough: bool = True) -> list[Evidence]:
    """Play a case; `thorough` adds the variants that the checks on chunking, growth and repetition look at."""
    script = script_of(case)
    has_server = delivery(case) is not Delivery.UNRELATED
    served = await players.server.serve(script) if has_server else None
    turns = streams_of(case, served.streams if served is not None else None)
    received = await players.client.receive(script, turns)
    trail = _trail(script, turns, players.client) if thorough else {}
    rechunked, repeated = ([], []) if not thorough else await _variants(script, turns, players, served)
    library = _library(case, script)
    adopted: Mapping[Version, dict[str, Any]] = {}
    if served is not None and delivery(case) is Delivery.PART:
        adopted = await players.client.adopt(served.threads)
    return [
        Evidence(
            case=case.id,
            version=version,
            mode=_mode(case, players),
            delivery=delivery(case),
            server=_side("server", served, version),
            client=_side("client", received, version),
            library=Side(name="library", thread=library[version]) if library else None,
            adopted=adopted.get(version),
            trail=trail.get(version, ()),
            rechunked=tuple(Variant(name=n, side=s, thread=o.threads[version]) for n, s, o in rechunked),
            repeated=tuple(Variant(name=n, side=s, thread=o.threads[version]) for n, s, o in repeated),
            expectation=case.scenario.expect,
            readings=case.scenario.readings,
        )
        for version in case.versions
    ]


def _mode(case: Case, players: Players) -> Compare:
    """R39: the exact comparison is owed only where the stream carries what the wire does not say."""
    wanted = players.compare or case.scenario.compare
    return wanted if case.scenario.carriers else Compare.CONTENT


def _side(name: str, outcome: Outcome | None, version: Version) -> Side | None:
    if outcome is None or version not in outcome.threads:
        return None
    findings: tuple[Finding, ...] = tuple(f.located(side=name) for f in outcome.findings)
    return Side(name=name, thread=outcome.threads[version], findings=findings)


_Told = list[tuple[str, str, Outcome]]


async def _variants(
    script: Script,
    turns: Sequence[UserTurn | Stream],
    players: Players,
    served: Outcome | None,
) -> tuple[_Told, _Told]:
    rechunked: _Told = []
    for size in _READ_SIZES:
        told = await players.client.receive(script, [_in_reads(turn, size) for turn in turns])
        rechunked.append((f"reads of {size} byte{'s' if size > 1 else ''}", "client", told))
    told = await players.client.receive(script, [_in_deltas(turn) for turn in turns])
    rechunked.append(("deltas of one UTF-16 unit", "client", told))
    repeated: _Told = [("a second run", "client", await players.client.receive(script, turns))]
    if served is not None:
        single = replace(script, turns=tuple(_in_event_deltas(turn) for turn in script.turns))
        rechunked.append(("event deltas of one character", "server", await players.server.serve(single)))
        repeated.append(("a second run", "server", await players.server.serve(script)))
    return rechunked, repeated


def _in_reads(turn: UserTurn | Stream, size: int) -> UserTurn | Stream:
    if isinstance(turn, UserTurn):
        return turn
    packets = tuple(Packet(data=piece, at=p.at) for p in turn.packets for piece in split_reads(p.data, size))
    return replace(turn, packets=packets)


def _in_deltas(turn: UserTurn | Stream) -> UserTurn | Stream:
    if isinstance(turn, UserTurn):
        return turn
    return replace(turn, packets=tuple(replace(p, data=split_deltas(p.data)) for p in turn.packets))


def _in_event_deltas(turn: UserTurn | RunScript) -> UserTurn | RunScript:
    if isinstance(turn, UserTurn):
        return turn
    return replace(turn, events=tuple(piece for event in turn.events for piece in split_event_deltas(event)))


def _trail(
    script: Script, turns: Sequence[UserTurn | Stream], client: ClientTarget
) -> dict[Version, tuple[Mapping[str, Any], ...]]:
    """Return the client's threads over growing prefixes of its streams, if it can be stepped."""
    if not isinstance(client, SteppableClient):
        return {}
    session = client.client_session(script)
    trail: dict[Version, list[Mapping[str, Any]]] = {version: [] for version in script.versions}
    seen = -1
    for turn in turns:
        if isinstance(turn, UserTurn):
            session.user(turn)
            continue
        session.begin(turn.agent_id, turn.begun_at)
        for packet in turn.packets:
            for piece in _events(packet.data):
                session.feed(piece, packet.at)
                if session.version != seen:
                    seen = session.version
                    for version, thread in session.threads(_lost(packet.at)).items():
                        trail[version].append(thread)
        session.close(turn.end)
    for version, thread in session.threads().items():
        trail[version].append(thread)
    return {version: tuple(threads) for version, threads in trail.items()}


def _lost(at: str) -> Interrupted:
    return Interrupted(reason="network_failure", at=at)


def _events(data: bytes) -> list[bytes]:
    """Split a packet after each event of the stream, for plain line ends; another stream stays whole."""
    pieces = data.split(b"\n\n")
    return [piece + b"\n\n" for piece in pieces[:-1]] + ([pieces[-1]] if pieces[-1] else [])


def _library(case: Case, script: Script) -> dict[Version, dict[str, Any]]:
    """Return the implementation's own history of the last run as threads of that one turn."""
    if not case.scenario.runs:
        return {}
    _, run = case.scenario.runs[-1]
    if run.library_messages is None:
        return {}
    told = [turn for turn in script.turns if isinstance(turn, RunScript)][-1]
    writer = JournalWriter()
    fold_messages(writer, run.library_messages, agent_id=run.agent_id, at=run.started_at, cut=_ending(told))
    journal = writer.journal()
    last = Journal(ended=Log([journal.ended[-1]]))
    return {
        version: DIALECTS[version].renderer(script.header, script.readings).render(last) for version in script.versions
    }


def _ending(told: RunScript) -> Interrupted | None:
    """Return how the run ended by its events: an error that no regular result follows interrupts it as well (R27)."""
    kinds = [event.get("event_kind") for event in told.events]
    if "agent_run_result" in kinds:
        return None
    return told.interruption or Interrupted(reason="network_failure", at=told.started_at)
