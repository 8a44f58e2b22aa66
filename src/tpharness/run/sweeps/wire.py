"""Cutting a stream that a scenario gives itself, at every event or byte of it, with one fold of the client.

There is no server side: a recording of another implementation, or bytes that no server of ours would send. What can be
judged is what the client holds: that it is valid, resumable, and only grows. What was judged at an earlier place is
left out again, as in `run.sweep`, so the cost is linear in the length of the stream.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tpharness.checks import Delivery, Evidence, Side
from tpharness.journal import Interrupted, UserTurn
from tpharness.protocol.versions import Version
from tpharness.run.judge import Outcome, Result, judge
from tpharness.run.plan import Case, script_of, streams_of
from tpharness.run.sweeps.places import CutPlace, wire_cut_time
from tpharness.run.sweeps.trim import shared, trimmed, window
from tpharness.scenario import ClientCut, Compare, CutAt, CutUnit, WireEnd
from tpharness.targets.contract import ClientSession, SteppableClient, Stream
from tpharness.targets.reference import receive_turns
from tpharness.vsp.frames import split_frames

__all__ = ["WireFailure", "sweep_wires", "wires"]


@dataclass(frozen=True, slots=True, kw_only=True)
class WireFailure:
    """A place of a stream at which what the client holds is wrong."""

    place: CutPlace
    result: Result


def wires(case: Case) -> list[int]:
    """Return the turns whose streams the scenario gives itself."""
    return [index for index, run in case.scenario.runs if run.wire is not None]


def sweep_wires(
    case: Case, client: SteppableClient, *, at: CutAt, reasons: Sequence[str]
) -> tuple[int, list[WireFailure]]:
    """Cut each of these streams everywhere; return how many places were tried, and those that did not pass."""
    tried, failed = 0, []
    streams = streams_of(case, None)
    for index in wires(case):
        for reason in reasons:
            one = _Wire(case, client, index, reason)
            one.play(streams, at)
            tried += one.tried
            failed += one.failed
    return tried, failed


class _Wire:
    """One stream cut at every place for one reason."""

    def __init__(self, case: Case, client: SteppableClient, index: int, reason: str) -> None:
        script = script_of(case)
        self.tried = 0
        self.failed: list[WireFailure] = []
        self._case = case
        self._index = index
        self._at = next(wire_cut_time(run) for turn, run in case.scenario.runs if turn == index)
        self._reason = reason
        self._session: ClientSession = client.client_session(script)
        self._before: dict[Version, dict[str, Any]] = {}
        self._seen: int | None = None

    def play(self, streams: Sequence[UserTurn | Stream], at: CutAt) -> None:
        receive_turns(self._session, streams[: self._index])
        stream = streams[self._index]
        if isinstance(stream, Stream):
            self._session.begin(stream.agent_id, stream.begun_at)
            self._cut(stream, at)

    def _cut(self, stream: Stream, at: CutAt) -> None:
        unit = CutUnit.BYTE if at is CutAt.EVERY_BYTE else CutUnit.CHUNK
        pieces = [(piece, packet.at) for packet in stream.packets for piece in _pieces(packet.data, unit)]
        self._judge(unit, last=not pieces)
        for number, (piece, when) in enumerate(pieces, start=1):
            self._session.feed(piece, when)
            self._judge(unit, last=number == len(pieces))

    def _judge(self, unit: CutUnit, *, last: bool) -> None:
        number = self.tried
        self.tried += 1
        seen = self._session.version
        power = self.tried & (self.tried - 1) == 0
        if seen == self._seen and not last and not power:
            return
        cut = Interrupted(reason=self._reason, at=self._at)
        threads = self._session.threads(cut)
        name = f"{self._case.id}@turn-{self._index}-{unit.value}-{number}:{self._reason}"
        result = judge(name, [self._evidence(v, t, whole=last or power) for v, t in threads.items()])
        if result.outcome is not Outcome.PASSED:
            client = ClientCut(unit=unit, count=number)
            place = CutPlace(turn=self._index, reason=self._reason, wire=WireEnd.CUT, server=None, client=client)
            self.failed.append(WireFailure(place=place, result=result))
        self._seen = seen
        self._before = dict(threads)

    def _evidence(self, version: Version, thread: dict[str, Any], *, whole: bool) -> Evidence:
        before = self._before.get(version)
        trail = () if before is None else (before, thread)
        if before is not None and not whole:
            skip = shared(before, thread)
            skip = window(thread, skip) if skip else 0
            if skip:
                thread = trimmed(thread, skip)
                trail = (trimmed(before, skip), thread)
        return Evidence(
            case=self._case.id,
            version=version,
            mode=Compare.CONTENT,
            delivery=Delivery.UNRELATED,
            client=Side(name="client", thread=thread),
            trail=trail,
            readings=self._case.scenario.readings,
        )


def _pieces(data: bytes, unit: CutUnit) -> list[bytes]:
    """Split a packet into bytes, or after each event of the stream."""
    if unit is CutUnit.BYTE:
        return [data[i : i + 1] for i in range(len(data))]
    return split_frames(data)
