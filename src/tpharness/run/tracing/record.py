"""Records of cases, made while they are played: cheap, since they refer to what is there anyway.

In: a case, its players and its tape, or a place of a sweep and the threads that its sessions hold there. Out: a
`CaseRecord`, of which the files of a trace are made if somebody wants them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tpharness.journal import Interrupted, UserTurn
from tpharness.run.plan import Case, first_bytes, make_script
from tpharness.run.play import PlayedCase, Players, comparison_mode
from tpharness.run.sweeps.evidence import ThreadsByVersion
from tpharness.run.sweeps.places import CutPlace, cut_scenario, without_pins
from tpharness.run.tracing.files import CaseRecord
from tpharness.targets.contract import Capabilities, Packet, Stream, StreamEnd, TargetOutput
from tpharness.targets.reference import is_foreign
from tpharness.trace.secrets import Secrets
from tpharness.trace.tape import Tape
from tpharness.trace.write import CaseFiles
from tpharness.verdict.result import RecordedCase, Result

__all__ = ["MOST_RECORDED", "PlaceRecorder", "make_ready", "make_record", "record_place"]

MOST_RECORDED = 20
"""Places of one sweep that get a record: those that fail after them most often fail alike."""


def make_record(case: Case, players: Players, tape: Tape, seconds: float, *, remark: str = "") -> CaseRecord:
    """Return the record of a case from its tape."""
    return CaseRecord(
        case=case,
        server=_player(players.server.capabilities, reference=not is_foreign(players.server)),
        client=_player(players.client.capabilities, reference=not is_foreign(players.client)),
        compare=comparison_mode(case.scenario, players).value,
        played=tape.played,
        notes=tuple(tape.notes),
        forgotten=tape.forgotten,
        seconds=seconds,
        remark=remark,
    )


PlaceRecorder = Callable[
    [Case, CutPlace, Interrupted, str, ThreadsByVersion, Sequence[Sequence[Packet]], int | None], CaseRecord
]


def record_place(
    players: Players,
    case: Case,
    place: CutPlace,
    cut: Interrupted,
    name: str,
    threads: ThreadsByVersion,
    sent: Sequence[Sequence[Packet]],
    read: int | None,
) -> CaseRecord:
    """Return the record of a place of a sweep, from the sessions that are there anyway.

    `threads` are those of both sides, `sent` what the server has sent in each run, and `read` how many bytes of the
    last run the client has read, None for all.
    """
    cut_here = replace(case, id=name, scenario=cut_scenario(without_pins(case.scenario), place))
    script = make_script(cut_here)
    streams = iter(sent)
    turns: list[UserTurn | Stream] = []
    for turn in script.turns:
        if isinstance(turn, UserTurn):
            turns.append(turn)
            continue
        packets = tuple(next(streams, ()))
        ending = turn.interruption
        end = StreamEnd(reason=None if ending is None or turn.abort else ending.reason, at=packets[-1].at)
        turns.append(Stream(agent_id=turn.agent_id, begun_at=turn.started_at, packets=packets, end=end))
    last = turns[-1]
    if isinstance(last, Stream):
        seen = last.packets if read is None else tuple(first_bytes(last.packets, read))
        turns[-1] = replace(last, packets=seen, end=StreamEnd(reason=cut.reason, at=cut.at))
    played = PlayedCase(
        served=TargetOutput(
            threads={version: both[0] for version, both in threads.items()}, streams=tuple(map(tuple, sent))
        ),
        turns=tuple(turns),
        received=TargetOutput(threads={version: both[1] for version, both in threads.items()}),
    )
    return make_record(cut_here, players, Tape(played=played), 0.0, remark="one place of a sweep, which plays it once")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ready:
    """What a worker has made of a record, so that less is sent to who writes the trace."""

    made: CaseFiles

    def files(self, result: Result, secrets: Secrets) -> CaseFiles:
        """Return it."""
        del result, secrets
        return self.made


def make_ready(result: Result, secrets: Secrets) -> RecordedCase | None:
    """Return the record of a result with all its work done, for another process."""
    return None if result.record is None else _Ready(made=result.record.files(result, secrets))


def _player(declared: Capabilities, *, reference: bool) -> dict[str, Any]:
    return {"name": declared.name, "version": declared.implementation_version, "reference": reference}
