"""The same streams in fewer reads, for a client whose parser of bytes is as it was.

In: the turns that a client receives, their streams in reads of any size, such as one byte. Out: turns whose reads end
where an event does, so that what folds the events is called with the same events at the same times. That is not taken
for granted: both are parsed and compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import CodeType

from tpharness.findings import Finding
from tpharness.journal import UserTurn
from tpharness.targets import Packet, reference
from tpharness.targets.contract import Stream
from tpharness.wires.sse import parser as sse
from tpharness.wires.vsp import assembler

__all__ = ["merge_reads", "parses"]

_FILES = frozenset((sse.__file__, assembler.__file__))
_FUNCTIONS = (reference.receive_turns, reference.ReferenceClient.feed)

Turns = Sequence[UserTurn | Stream]


def merge_reads(turns: Turns) -> Turns:
    """Return the turns with their reads merged; the turns as they are if anything but their parser could notice."""
    merged = tuple(turn if isinstance(turn, UserTurn) else _merge(turn) for turn in turns)
    return merged if all(_parse(one) == _parse(other) for one, other in zip(turns, merged, strict=True)) else turns


def parses(code: CodeType) -> bool:
    """Whether code is on the way of bytes to what folds their events, so that a change of it may see single reads."""
    return code.co_filename in _FILES or any(code is function.__code__ for function in _FUNCTIONS)


def _merge(stream: Stream) -> Stream:
    parser = sse.SseParser()
    packets: list[Packet] = []
    pending: list[bytes] = []
    for packet in stream.packets:
        pending.append(packet.data)
        if parser.feed_data(packet.data):
            packets.append(Packet(data=b"".join(pending), at=packet.at))
            pending = []
    if pending:
        packets.append(Packet(data=b"".join(pending), at=stream.packets[-1].at))
    return replace(stream, packets=tuple(packets))


def _parse(turn: UserTurn | Stream) -> tuple[list[tuple[list[bytes], str]], list[Finding]]:
    """Return what the fold of a stream is given, and what the parser finds."""
    parser = sse.SseParser()
    packets = () if isinstance(turn, UserTurn) else turn.packets
    given = [(list(events), packet.at) for packet in packets if (events := parser.feed_data(packet.data))]
    parser.close()
    return given, list(parser.findings)
