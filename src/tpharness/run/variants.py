"""Play a case once more in other ways that must not matter: other reads and deltas, and the same thing twice.

In: a script, the streams of a case and its targets. Out: what each variant gave. Where the thread depends on a split,
the first place at which it does is looked for, by splitting no more than the beginning, half as much each time.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tpharness.checks import Split
from tpharness.checks.variants import same_thread
from tpharness.errors import TargetError
from tpharness.faults import split_deltas, split_event_deltas, split_reads
from tpharness.findings import shorten
from tpharness.journal import UserTurn
from tpharness.judging_time import judging
from tpharness.printable import counted
from tpharness.protocol.jcs import CanonicalError
from tpharness.protocol.versions import Version
from tpharness.targets.contract import (
    Packet,
    ResumingClient,
    RunScript,
    Script,
    SeededServer,
    Stream,
    TargetOutput,
)
from tpharness.wires.contract import Wire
from tpharness.wires.registry import wire_named
from tpharness.wires.sse.frames import split_frames

if TYPE_CHECKING:
    from tpharness.run.play import Players

__all__ = ["PlayedVariant", "play_variants", "rechunk_deltas", "rechunk_event_deltas", "rechunk_reads"]

_READ_SIZES = (1, 7)
_MOST_READS = 10_000
"""How many reads a stream is split into: a longer one comes in larger reads, so that it does not take seconds."""
_AROUND = 16
"""How many bytes are shown on each side of a split."""

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
    if not _same(output, received):
        counts = [0 if isinstance(turn, UserTurn) else len(turn.packets) for turn in reads]
        first = await _first_that_matters(
            lambda most: players.client.receive(script, _split_beginning(turns, reads, most)), sum(counts), received
        )
        split = None if first is None else _describe_read(reads, first)
    return PlayedVariant(name=f"reads of {counted(size, 'byte')}", side="client", output=output, split=split)


async def _play_deltas(script: Script, turns: _Turns, players: Players, received: TargetOutput) -> PlayedVariant:
    with judging():
        deltas = [rechunk_deltas(turn, wire_named(script.wire)) for turn in turns]
    output = await players.client.receive(script, deltas)
    split = None
    if not _same(output, received):
        count = sum(len(turn.packets) for turn in turns if isinstance(turn, Stream))
        first = await _first_that_matters(
            lambda most: players.client.receive(script, _take_beginning(turns, deltas, most)), count, received
        )
        split = None if first is None else _describe_packet(turns, first, wire_named(script.wire))
    return PlayedVariant(name="deltas of one UTF-16 unit", side="client", output=output, split=split)


async def _play_event_deltas(script: Script, players: Players, served: TargetOutput) -> PlayedVariant:
    with judging():
        single = replace(script, turns=tuple(rechunk_event_deltas(turn) for turn in script.turns))
    output = await players.server.serve(single)
    split = None
    if not _same(output, served):
        count = sum(len(turn.events) for turn in script.turns if isinstance(turn, RunScript))
        first = await _first_that_matters(lambda most: players.server.serve(_split_events(script, most)), count, served)
        split = None if first is None else _describe_event(script, first)
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


# ------------------------------------------------------------------------------------- the first split that matters


def _same(one: TargetOutput, other: TargetOutput) -> bool:
    """Whether two playings gave the same threads, in the versions that both have."""
    try:
        return all(same_thread(one.threads[v], other.threads[v]) for v in one.threads.keys() & other.threads.keys())
    except CanonicalError:  # the checks say so
        return True


async def _first_that_matters(
    play: Callable[[int], Awaitable[TargetOutput]], count: int, right: TargetOutput
) -> int | None:
    """Return the number of the first piece whose split changes the thread; `play` splits so many from the beginning.

    None if a target does not play that often.
    """
    alike, other = 0, count
    try:
        while other - alike > 1:
            middle = (alike + other) // 2
            if _same(await play(middle), right):
                alike = middle
            else:
                other = middle
    except TargetError:
        return None
    return other - 1 if count else None


def _split_beginning(turns: _Turns, reads: _Turns, most: int) -> list[UserTurn | Stream]:
    """Return the streams with their first pieces as reads of their own; what is left of a packet is one read."""
    result: list[UserTurn | Stream] = []
    for turn, split in zip(turns, reads, strict=True):
        if isinstance(turn, UserTurn) or isinstance(split, UserTurn):
            result.append(turn)
            continue
        pieces, packets = iter(split.packets), []
        for packet in turn.packets:
            done = 0
            while done < len(packet.data):
                piece = next(pieces)
                if most > 0:
                    packets.append(piece)
                    done += len(piece.data)
                    most -= 1
                    continue
                packets.append(packet.with_data(packet.data[done:]))
                for _ in range(-(-len(packet.data[done:]) // len(piece.data)) - 1):
                    next(pieces)
                break
        result.append(replace(turn, packets=tuple(packets)))
    return result


def _take_beginning(turns: _Turns, others: _Turns, most: int) -> list[UserTurn | Stream]:
    """Return the streams with their first packets taken from the others, which have as many."""
    result: list[UserTurn | Stream] = []
    for turn, other in zip(turns, others, strict=True):
        if isinstance(turn, UserTurn) or isinstance(other, UserTurn):
            result.append(turn)
            continue
        count = max(0, min(most, len(turn.packets)))
        most -= count
        result.append(replace(turn, packets=(*other.packets[:count], *turn.packets[count:])))
    return result


def _split_events(script: Script, most: int) -> Script:
    """Return the script with the deltas of its first events split."""
    turns: list[UserTurn | RunScript] = []
    for turn in script.turns:
        if isinstance(turn, UserTurn):
            turns.append(turn)
            continue
        count = max(0, min(most, len(turn.events)))
        most -= count
        split = [piece for event in turn.events[:count] for piece in split_event_deltas(event)]
        turns.append(replace(turn, events=(*split, *turn.events[count:])))
    return replace(script, turns=tuple(turns))


def _describe_read(reads: _Turns, number: int) -> Split | None:
    """Return where the read of that number ends, of all reads of all streams."""
    for run, packets in _streams(reads):
        if number < len(packets):
            at = sum(len(packet.data) for packet in packets[: number + 1])
            data = b"".join(packet.data for packet in packets)
            return Split(byte=at, said=f"the first split that matters is at byte {at} of {run}: {_around(data, at)}")
        number -= len(packets)
    return None


def _describe_packet(turns: _Turns, number: int, wire: Wire) -> Split | None:
    """Return where the chunk begins that is split in the packet of that number, of all packets of all streams."""
    for run, packets in _streams(turns):
        if number < len(packets):
            at, chunk = sum(len(packet.data) for packet in packets[:number]), packets[number].data
            for frame in split_frames(chunk):
                if split_deltas(frame, wire) != frame:
                    chunk = frame
                    break
                at += len(frame)
            words = f"the first chunk that must not be split begins at byte {at} of {run}"
            return Split(byte=at, said=f"{words}: {shorten(chunk.rstrip())}")
        number -= len(packets)
    return None


def _describe_event(script: Script, number: int) -> Split | None:
    """Return which event of which run the event of that number is, of all runs."""
    runs = [turn for turn in script.turns if isinstance(turn, RunScript)]
    for index, run in enumerate(runs):
        if number < len(run.events):
            named = f"run {index + 1}" if len(runs) > 1 else "the run"
            words = f"the first event that must not be split is event {number} of {named}"
            return Split(event=number, said=f"{words}: {shorten(run.events[number])}")
        number -= len(run.events)
    return None


def _streams(turns: _Turns) -> list[tuple[str, Sequence[Packet]]]:
    streams = [turn.packets for turn in turns if isinstance(turn, Stream)]
    return [(f"stream {n}" if len(streams) > 1 else "the stream", one) for n, one in enumerate(streams, start=1)]


def _around(data: bytes, at: int) -> str:
    """Return what stands on both sides of a split, with a bar between."""
    return f"{shorten(data[max(0, at - _AROUND) : at])} | {shorten(data[at : at + _AROUND])}"
