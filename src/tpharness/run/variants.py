"""Play a case once more in other ways that must not matter: other reads and deltas, and the same thing twice.

In: a script, the streams of a case and its targets. Out: what each variant gave. Where the thread depends on a split,
the first place at which it does is looked for, by splitting no more than the beginning, half as much each time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from tpharness import run as runner
from tpharness.checks import Split
from tpharness.checks.variants import same_thread
from tpharness.faults import split_deltas, split_event_deltas, split_reads
from tpharness.journal import UserTurn
from tpharness.judging_time import judging
from tpharness.printable import counted
from tpharness.protocol.jcs import CanonicalError
from tpharness.protocol.versions import Version
from tpharness.targets.contract import Packet, ResumingClient, RunScript, Script, SeededServer, Stream, TargetOutput
from tpharness.wires.contract import Wire
from tpharness.wires.registry import wire_named

if TYPE_CHECKING:
    from tpharness.run.play import Players

__all__ = ["PlayedVariant", "play_variants", "rechunk_deltas", "rechunk_event_deltas", "rechunk_reads"]

_READ_SIZES = (1, 7)
_MOST_READS = 10_000
"""How many reads a stream is split into: a longer one comes in larger reads, so that it does not take seconds."""

_Turns = Sequence[UserTurn | Stream]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayedVariant:
    """What a variant gave for one side. `split` is the first that matters, None where none does or none was found."""

    name: str
    side: str
    output: TargetOutput
    split: Split | None = None


async def play_variants(
    script: Script, turns: _Turns, players: Players, received: TargetOutput, served: TargetOutput | None
) -> tuple[list[PlayedVariant], list[PlayedVariant]]:
    """Return what came of other reads and deltas, and of repetitions.

    `received` and `served` are what the two sides gave first; `served` is None for a server that is not played.
    """
    client = players.client
    rechunked = [await _play_reads(script, turns, players, received, size) for size in _READ_SIZES]
    rechunked.append(await _play_deltas(script, turns, players, received))
    repeated = [PlayedVariant(name="a second run", side="client", output=await client.receive(script, turns))]
    resumes = wire_named(script.wire).resumable and client.capabilities.resume
    if resumes and isinstance(client, ResumingClient):
        output = await client.receive_resumed(script, turns)
        repeated.append(PlayedVariant(name="streams broken off and gone on with", side="client", output=output))
    if served is not None:
        if "server" in players.remote:  # the older versions are written from the same record: one is enough
            script = replace(script, versions=tuple(v for v in Version if v in script.versions)[-1:])
        rechunked.append(await _play_event_deltas(script, players, served))
        again = await players.server.serve(script)
        repeated.append(PlayedVariant(name="a second run", side="server", output=again))
        if players.server.capabilities.seed and isinstance(players.server, SeededServer):
            seeded = await players.server.serve_seeded(script)
            if seeded is not None:
                name = "the last run on a thread that was handed over"
                repeated.append(PlayedVariant(name=name, side="server", output=seeded))
    return rechunked, repeated


async def _play_reads(
    script: Script, turns: _Turns, players: Players, received: TargetOutput, size: int
) -> PlayedVariant:
    with judging():
        reads = [rechunk_reads(turn, size) for turn in turns]
    output = await players.client.receive(script, reads)
    split = None
    if not same_output(output, received):
        again = partial(players.client.receive, script)
        split = await runner.find_read_split(again, turns, reads, partial(same_output, received))
    return PlayedVariant(name=f"reads of {counted(size, 'byte')}", side="client", output=output, split=split)


async def _play_deltas(script: Script, turns: _Turns, players: Players, received: TargetOutput) -> PlayedVariant:
    with judging():
        deltas = [rechunk_deltas(turn, wire_named(script.wire)) for turn in turns]
    output = await players.client.receive(script, deltas)
    split = None
    if not same_output(output, received):
        again, wire = partial(players.client.receive, script), wire_named(script.wire)
        split = await runner.find_packet_split(again, turns, deltas, partial(same_output, received), wire)
    return PlayedVariant(name="deltas of one UTF-16 unit", side="client", output=output, split=split)


async def _play_event_deltas(script: Script, players: Players, served: TargetOutput) -> PlayedVariant:
    with judging():
        single = replace(script, turns=tuple(rechunk_event_deltas(turn) for turn in script.turns))
    output = await players.server.serve(single)
    split = None
    if not same_output(output, served):
        split = await runner.find_event_split(players.server.serve, script, partial(same_output, served))
    return PlayedVariant(name="event deltas of one character", side="server", output=output, split=split)


def rechunk_reads(turn: UserTurn | Stream, size: int) -> UserTurn | Stream:
    """Return a stream in reads of so many bytes, or of more if it is long."""
    if isinstance(turn, UserTurn):
        return turn
    size = max(size, sum(len(packet.data) for packet in turn.packets) // _MOST_READS)
    packets = [Packet(data=piece, at=p.at) for p in turn.packets for piece in split_reads(p.data, size)]
    return replace(turn, packets=tuple(packets))


def rechunk_deltas(turn: UserTurn | Stream, wire: Wire) -> UserTurn | Stream:
    """Return a stream with each text in deltas of one UTF-16 unit."""
    if isinstance(turn, UserTurn):
        return turn
    return replace(turn, packets=tuple(p.with_data(split_deltas(p.data, wire)) for p in turn.packets))


def rechunk_event_deltas(turn: UserTurn | RunScript) -> UserTurn | RunScript:
    """Return a run with each text of its events in deltas of one character."""
    if isinstance(turn, UserTurn):
        return turn
    return replace(turn, events=tuple(piece for event in turn.events for piece in split_event_deltas(event)))


def same_output(one: TargetOutput, other: TargetOutput) -> bool:
    """Whether two playings gave the same threads, in the versions that both have."""
    try:
        with judging():
            return all(same_thread(one.threads[v], other.threads[v]) for v in one.threads.keys() & other.threads.keys())
    except CanonicalError:  # the checks say so
        return True
