"""The first place at which it matters for a thread how a stream, or the events of a run, are split.

In: what was played, as it was and split everywhere, and a function that plays. Out: the place, with what stands there.
The beginning alone is split, half as much each time or half as much again: as many playings as its size has bits.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from tpharness.checks import Split
from tpharness.errors import TargetError
from tpharness.faults import split_deltas, split_event_deltas
from tpharness.findings import shorten
from tpharness.journal import UserTurn
from tpharness.targets.contract import Packet, RunScript, Script, Stream, TargetOutput
from tpharness.wires.contract import Wire
from tpharness.wires.sse.frames import split_frames

__all__ = ["find_event_split", "find_packet_split", "find_read_split"]

_AROUND = 16
"""How many bytes are shown on each side of a split."""

_Turns = Sequence[UserTurn | Stream]
_PlayStreams = Callable[[_Turns], Awaitable[TargetOutput]]
_Same = Callable[[TargetOutput], bool]
"""Whether a playing gave the thread that the streams or events gave as they are."""


async def find_read_split(play: _PlayStreams, turns: _Turns, reads: _Turns, same: _Same) -> Split | None:
    """Return the first read that changes the thread; `reads` are the streams in small reads, `turns` as they came."""
    count = sum(len(packets) for _, packets in _streams(reads))
    first = await _first_that_matters(lambda most: play(_split_beginning(turns, reads, most)), count, same)
    return None if first is None else _describe_read(reads, first)


async def find_packet_split(play: _PlayStreams, turns: _Turns, deltas: _Turns, same: _Same, wire: Wire) -> Split | None:
    """Return the first packet whose deltas change the thread; `deltas` are the streams with each text in pieces."""
    count = sum(len(packets) for _, packets in _streams(turns))
    first = await _first_that_matters(lambda most: play(_take_beginning(turns, deltas, most)), count, same)
    return None if first is None else _describe_packet(turns, first, wire)


async def find_event_split(
    play: Callable[[Script], Awaitable[TargetOutput]], script: Script, same: _Same
) -> Split | None:
    """Return the first event of a script whose deltas change the thread."""
    count = sum(len(turn.events) for turn in script.turns if isinstance(turn, RunScript))
    first = await _first_that_matters(lambda most: play(_split_events(script, most)), count, same)
    return None if first is None else _describe_event(script, first)


async def _first_that_matters(play: Callable[[int], Awaitable[TargetOutput]], count: int, same: _Same) -> int | None:
    """Return the number of the first piece whose split changes the thread; `play` splits so many from the beginning.

    None if a target does not play that often.
    """
    alike, other = 0, count
    try:
        while other - alike > 1:
            middle = (alike + other) // 2
            if same(await play(middle)):
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
