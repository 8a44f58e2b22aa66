"""Scenario → cases, and case → what each side is given to play. Pure.

In: a loaded scenario. Out: its cases (one, or one for each place of a sweep), the `Script` for the server, and the
`Stream`s for the client, cut where the scenario says. Nothing here plays or judges.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson

from tpharness import journal
from tpharness.checks import Delivery
from tpharness.dialects import ThreadHeader
from tpharness.errors import TargetError
from tpharness.journal import Interrupted
from tpharness.protocol.versions import Version
from tpharness.scenario.records import (
    AgentRun,
    ClientCut,
    CutAt,
    CutSide,
    CutUnit,
    GivenStream,
    Interrupt,
    Scenario,
    UserInput,
    WireEnd,
)
from tpharness.server_events import shift
from tpharness.targets.contract import Packet, RunScript, Script, Stream, StreamEnd
from tpharness.wires.registry import DEFAULT_WIRE, name_wire, recognize, recognize_events
from tpharness.wires.sse.frames import iter_frames

__all__ = [
    "Case",
    "SweepPlace",
    "base_case",
    "case_size",
    "cut_case",
    "cut_places",
    "cut_time",
    "cut_times",
    "expected_delivery",
    "explicit_packets",
    "first_bytes",
    "lack_their_events",
    "make_script",
    "make_streams",
    "place_name",
]

_COUNT = re.compile(r"@(?:turn-(\d+)-)?(event|byte)-(\d+)")
_BYTES_OF_AN_EVENT = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One thing to play: a scenario as it stands, or cut at one place. `id` is what reports and baselines use.

    `wire` is the name of what its streams are.
    """

    id: str
    scenario: Scenario
    versions: tuple[Version, ...]
    wire: str = "vsp"


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepPlace:
    """One place of a sweep: run `turn` stops after `count` events; with `byte` the client's stream at that byte."""

    id: str
    turn: int
    count: int
    reason: str
    byte: int | None = None


def base_case(scenario: Scenario, versions: Sequence[Version] | None = None) -> Case:
    """Return the scenario itself as a case, in those of `versions` (None: all) that it supports."""
    wanted = tuple(v for v in scenario.versions if versions is None or v in versions)
    return Case(id=scenario.id, scenario=scenario, versions=wanted, wire=_given_wire(scenario))


def _given_wire(scenario: Scenario) -> str:
    """Return the name of the wire of the first stream that a scenario gives itself, of the default one without any."""
    given = next((run.wire for _, run in scenario.runs if run.wire is not None), None)
    if given is None:
        return DEFAULT_WIRE
    return recognize_events(given.chunks).name if given.chunks is not None else name_wire(given.data or b"")


def place_name(scenario: Scenario, turn: int, reason: str, count: int) -> str:
    """Return the id of one place of the scenario's sweep: `theme/name@event-12`.

    The turn is named when several runs are cut, the reason when there are several.
    """
    plan = scenario.cut
    if plan is None:
        raise ValueError(f"{scenario.id} has no sweep")
    runs = [i for i, _ in scenario.runs if plan.turn is None or plan.turn == i]
    word = "event" if plan.at is CutAt.EVERY_EVENT else "byte"
    where = f"turn-{turn}-" if len(runs) > 1 else ""
    why = f":{reason}" if len(plan.reasons) > 1 else ""
    return f"{scenario.id}@{where}{word}-{count}{why}"


def case_size(scenario: Scenario, case: str) -> int:
    """Return how many events, or chunks of a stream, the case with this id plays: small cases are read first.

    Bytes of a stream without events count as an event a hundred.
    """
    sizes = {turn: len(run.events_before_cut) or _wire_size(run.wire) for turn, run in scenario.runs}
    place = _COUNT.search(case)
    if place is not None:
        before = sum(size for turn, size in sizes.items() if place[1] is not None and turn < int(place[1]))
        return before + (int(place[3]) if place[2] == "event" else int(place[3]) // _BYTES_OF_AN_EVENT)
    return sum(sizes.values())


def _wire_size(wire: GivenStream | None) -> int:
    if wire is None:
        return 0
    return len(wire.chunks) if wire.chunks is not None else len(wire.data or b"") // _BYTES_OF_AN_EVENT


def cut_places(scenario: Scenario) -> Iterator[SweepPlace]:
    """Yield the places of the scenario's sweep after each server event."""
    plan = scenario.cut
    for index, run in scenario.runs if plan is not None else ():
        if plan is not None and (plan.turn is None or plan.turn == index):
            for reason in plan.reasons:
                for count in range(len(run.events or ()) + 1):
                    name = place_name(scenario, index, reason, count)
                    yield SweepPlace(id=name, turn=index, count=count, reason=reason)


def cut_case(case: Case, place: SweepPlace) -> Case:
    """Return the scenario cut at one place as a case of its own.

    A sweep cuts the whole stream that the server's events give, whatever the scenario gives itself.
    """
    scenario = case.scenario
    run = scenario.turns[place.turn]
    if not isinstance(run, AgentRun) or scenario.cut is None:
        raise TypeError(f"turn {place.turn} of {scenario.id} is not a run of a sweep")
    both = scenario.cut.side is CutSide.BOTH or place.byte is not None
    client = None if both else ClientCut(unit=CutUnit.EVENT, count=place.count)
    interrupt = Interrupt(
        reason=place.reason,
        at=cut_time(run, place.count),
        wire=WireEnd.CUT,
        server_after=place.count if both else None,
        client_after=client if place.byte is None else ClientCut(unit=CutUnit.BYTE, count=place.byte),
        client_reason=place.reason,
    )
    turns = (*scenario.turns[: place.turn], replace(run, interrupt=interrupt, wire=None))
    expect = replace(scenario.expect, outline={}, thread={})
    return replace(case, id=place.id, scenario=replace(scenario, id=place.id, turns=turns, cut=None, expect=expect))


def cut_time(run: AgentRun | RunScript, count: int) -> str:
    """Return the time of a cut after `count` events: one millisecond after the last of them that has a time."""
    events = run.events or ()
    for index in range(min(count, len(events)) - 1, -1, -1):
        if "at" in events[index]:
            return shift(str(events[index]["at"]), 0.001)
    return shift(run.started_at, 0.001)


def cut_times(run: AgentRun | RunScript) -> list[str]:
    """Return what `cut_time` is after 0, 1, … events, to the last one; each event is looked at once."""
    times = [shift(run.started_at, 0.001)]
    for event in run.events or ():
        times.append(shift(str(event["at"]), 0.001) if "at" in event else times[-1])
    return times


def make_script(case: Case) -> Script:
    """Return the script that the server plays."""
    scenario = case.scenario
    turns = [_user_turn(turn) if isinstance(turn, UserInput) else _run_script(turn) for turn in scenario.turns]
    return Script(
        header=ThreadHeader(thread_id=scenario.thread_id, created_at=scenario.created_at, agents=scenario.agents),
        turns=tuple(turns),
        versions=case.versions,
        carriers=scenario.carriers,
        readings=scenario.readings,
        wire=case.wire,
    )


def make_streams(case: Case, derived: Sequence[Sequence[Packet]] | None) -> tuple[journal.UserTurn | Stream, ...]:
    """Return what the client receives: the scenario's own streams, or else those that the server sent, both cut."""
    turns: list[journal.UserTurn | Stream] = []
    sent = iter(derived or ())
    for turn in case.scenario.turns:
        if isinstance(turn, UserInput):
            turns.append(_user_turn(turn))
            continue
        packets: Sequence[Packet] = next(sent, ())
        if turn.wire is not None:
            packets = explicit_packets(turn)
        turns.append(
            Stream(
                agent_id=turn.agent_id,
                begun_at=turn.started_at,
                packets=tuple(_cut_packets(packets, turn.interrupt)),
                end=_stream_end(turn, packets),
            )
        )
    return tuple(turns)


def expected_delivery(case: Case) -> Delivery:
    """Return how much of what the server sends reaches the client."""
    runs = [run for _, run in case.scenario.runs]
    recorded = case.scenario.recorded
    if any(run.events is None for run in runs):
        if recorded is None or not recorded.threads:
            return Delivery.UNRELATED
        cut = any(run.interrupt is not None and run.interrupt.wire is WireEnd.CUT for run in runs)
        return Delivery.PART if cut else Delivery.WHOLE
    lost = any(run.interrupt is not None and run.interrupt.client_after is not None for run in runs)
    return Delivery.PART if lost else Delivery.WHOLE


def explicit_packets(run: AgentRun) -> list[Packet]:
    """Return the packets of a stream that the scenario gives itself, one for each chunk or one for raw bytes."""
    given = run.wire
    if given is None:
        return []
    if given.data is not None:
        return [Packet(data=given.data, at=run.started_at)]
    wire = recognize_events(given.chunks or ())
    chunks = [
        Packet(data=wire.encode([chunk]), at=run.started_at, event=i) for i, chunk in enumerate(given.chunks or ())
    ]
    ended = any(map(wire.is_last, given.chunks or ()))
    return [*chunks, Packet(data=wire.end if ended else b"", at=run.started_at)]


def _user_turn(turn: UserInput) -> journal.UserTurn:
    return journal.UserTurn(at=turn.submitted_at, parts=turn.parts, client_metadata=turn.client_metadata)


def _run_script(run: AgentRun) -> RunScript:
    interrupt = run.interrupt
    events = run.events_before_cut
    base = RunScript(agent_id=run.agent_id, started_at=run.started_at, events=events, message_id=run.message_id)
    if interrupt is None or (interrupt.server_after is None and interrupt.client_after is not None):
        return base  # the server went on to its end
    cut = Interrupted(reason=interrupt.reason, at=interrupt.at)
    if any(e.get("event_kind") == "agent_run_result" for e in events):
        return replace(base, interruption=cut)  # R26: the run has ended, so nothing more is sent
    match interrupt.wire:
        case WireEnd.ERROR if not _has_failed(events):
            error = {"event_kind": "error", "error_text": "the run failed", "at": interrupt.at}
            return replace(base, events=(*events, error), interruption=cut)
        case WireEnd.FINISH:
            result = {"event_kind": "agent_run_result", "finish_reason": "content_filter", "at": interrupt.at}
            return replace(base, events=(*events, result), interruption=cut)
        case WireEnd.ABORT:
            return replace(base, interruption=cut, abort=True)
        case _:
            return replace(base, interruption=cut)


def _has_failed(events: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the agent that runs at the end reported an error: that of an agent before it is of another turn (R45)."""
    kinds = (event.get("event_kind") for event in reversed(events))
    return next((kind for kind in kinds if kind in ("error", "agent_start")), None) == "error"


def _stream_end(run: AgentRun, packets: Sequence[Packet]) -> StreamEnd:
    interrupt = run.interrupt
    if interrupt is None:
        last = packets[-1].at if packets else run.started_at
        events = run.events or ()
        return StreamEnd(reason=None, at=str(events[-1].get("at", last)) if events else last)
    signalled = interrupt.wire in (WireEnd.ABORT, WireEnd.ERROR, WireEnd.FINISH) and interrupt.client_after is None
    reason = interrupt.client_reason or (None if signalled else interrupt.reason)
    return StreamEnd(reason=reason, at=interrupt.at)


def _cut_packets(packets: Sequence[Packet], interrupt: Interrupt | None) -> Iterator[Packet]:
    after = None if interrupt is None else interrupt.client_after
    if after is None:
        yield from packets
        return
    match after.unit:
        case CutUnit.BYTE:
            yield from first_bytes(packets, after.count)
        case CutUnit.EVENT:
            if lack_their_events(packets):
                raise TargetError(
                    "the server's packets belong to no events, so its stream cannot be cut at one",
                    hint="say which event the bytes belong to: a comment `: tp N` behind them over HTTP (or do not"
                    " declare marks), `event` of a packet over stdio, Packet.event in Python",
                )
            yield from (
                p for i, p in enumerate(packets) if (-1 if i == 0 else _event_index(p, after.count)) < after.count
            )
        case CutUnit.CHUNK:
            yield from _first_chunks(packets, after.count)


def lack_their_events(packets: Sequence[Packet]) -> bool:
    """Whether no packet says which event caused it, though there is more than what opens and ends a stream."""
    return all(packet.event is None for packet in packets) and any(_says_an_event(packet.data) for packet in packets)


def _says_an_event(data: bytes) -> bool:
    wire = recognize(data)
    texts = [frame.field(b"data") for frame in iter_frames(data) if frame.raw != wire.end]
    try:
        events = [orjson.loads(text) for text in texts if text is not None]
    except orjson.JSONDecodeError:
        return True
    return not all(isinstance(event, dict) and wire.needs_no_event(event) for event in events)


def _event_index(packet: Packet, otherwise: int) -> int:
    return otherwise if packet.event is None else packet.event


def first_bytes(packets: Sequence[Packet], count: int) -> Iterator[Packet]:
    """Yield the packets up to a number of bytes; the last of them may be cut."""
    for packet in packets:
        if count <= 0:
            return
        yield packet.with_data(packet.data[:count])
        count -= len(packet.data)


def _first_chunks(packets: Sequence[Packet], count: int) -> Iterator[Packet]:
    """Cut after a number of events of the stream; only whole events count, whatever the line ends."""
    for packet in packets:
        if count <= 0:
            return
        frames = list(iter_frames(packet.data))
        yield packet if len(frames) <= count else packet.with_data(packet.data[: frames[count - 1].end])
        count -= len(frames)
