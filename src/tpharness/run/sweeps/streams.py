"""Cutting a stream that a scenario gives itself, at every event or byte of it, with one fold of the client.

There is no server side: the stream is a recording of another implementation, or bytes that no server of ours would
send. Judged is what the client holds: that it is valid, resumable, and only grows. What was judged at an earlier place
is left out (`evidence`), so the cost is linear in the length of the stream.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tpharness.checks import Delivery
from tpharness.journal import Interrupted, UserTurn
from tpharness.run.judge import judge
from tpharness.run.plan import Case, make_script, make_streams
from tpharness.run.sweeps.evidence import ThreadsByVersion, place_evidence
from tpharness.run.sweeps.places import CutPlace, given_stream_cut_time
from tpharness.scenario import ClientCut, Compare, CutAt, CutUnit, WireEnd
from tpharness.targets.contract import ClientSession, SteppableClient, Stream
from tpharness.targets.reference import receive_turns
from tpharness.verdict.result import Outcome, Result
from tpharness.wires.sse.frames import iter_pieces

__all__ = ["given_streams", "sweep_streams"]


def given_streams(case: Case) -> list[int]:
    """Return the turns whose streams the scenario gives itself."""
    return [index for index, run in case.scenario.runs if run.wire is not None]


def sweep_streams(
    case: Case, client: SteppableClient, *, at: CutAt, reasons: Sequence[str]
) -> tuple[int, list[tuple[CutPlace, Result]]]:
    """Cut each of these streams everywhere; return how many places were tried, and those that failed."""
    tried, failed = 0, []
    streams = make_streams(case, None)
    unit = CutUnit.BYTE if at is CutAt.EVERY_BYTE else CutUnit.CHUNK
    for index in given_streams(case):
        stream = streams[index]
        if isinstance(stream, Stream):
            for reason in reasons:
                one = _Pass(case, client, index, reason, unit)
                one.play(streams[:index], stream)
                tried += one.tried
                failed += one.failed
    return tried, failed


class _Pass:
    """One stream cut at every place for one reason."""

    def __init__(self, case: Case, client: SteppableClient, index: int, reason: str, unit: CutUnit) -> None:
        self.tried = 0
        self.failed: list[tuple[CutPlace, Result]] = []
        self._case = case
        self._index = index
        self._unit = unit
        run = dict(case.scenario.runs)[index]
        self._cut = Interrupted(reason=reason, at=given_stream_cut_time(run))
        self._session: ClientSession = client.client_session(make_script(case))
        self._before: ThreadsByVersion = {}
        self._seen: int | None = None

    def play(self, before: Sequence[UserTurn | Stream], stream: Stream) -> None:
        receive_turns(self._session, before)
        self._session.begin(stream.agent_id, stream.begun_at)
        pieces = ((piece, packet.at) for packet in stream.packets for piece in self._pieces(packet.data))
        following = next(pieces, None)  # one at a time: a long stream has millions of them
        self._judge(last=following is None)
        while following is not None:
            self._session.feed(*following)
            following = next(pieces, None)
            self._judge(last=following is None)

    def _pieces(self, data: bytes) -> Iterator[bytes]:
        """Yield a packet byte by byte, or up to the end of each event of the stream."""
        return (data[i : i + 1] for i in range(len(data))) if self._unit is CutUnit.BYTE else iter_pieces(data)

    def _judge(self, *, last: bool) -> None:
        number = self.tried
        self.tried += 1
        seen = self._session.version
        power = self.tried & (self.tried - 1) == 0
        if seen == self._seen and not last and not power:
            return
        now = {version: [thread] for version, thread in self._session.threads(self._cut).items()}
        evidence = place_evidence(
            self._case.id,
            now,
            self._before,
            mode=Compare.CONTENT,
            delivery=Delivery.UNRELATED,
            readings=self._case.scenario.readings,
            whole=last or power,
        )
        reason = self._cut.reason
        result = judge(f"{self._case.id}@turn-{self._index}-{self._unit.value}-{number}:{reason}", evidence)
        if result.outcome is not Outcome.PASSED:
            client = ClientCut(unit=self._unit, count=number)
            place = CutPlace(turn=self._index, reason=reason, wire=WireEnd.CUT, server=None, client=client)
            self.failed.append((place, result))
        self._seen = seen
        self._before = now
