"""What a foreign server's streams say to a client that reads no carriers, beside what the reference's say. Pure.

In: the script of a case, what a server sent for it, what the reference sends. Out: the thread that the plain chunks
give, whether those of the reference give its own thread, and the events of the wire that the server has not sent. Only
a server that is not the reference is judged so, once for each case: its carriers would hide what its plain chunks lack
from every other comparison, and the AI SDK's own client reads nothing but these.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from tpharness.checks import Delivery, Plain, StreamChange, Thread, Unsaid
from tpharness.journal import UserTurn
from tpharness.protocol.compare import same_content
from tpharness.protocol.versions import Version
from tpharness.run import stream_change
from tpharness.run.plan import Case
from tpharness.run.play import Given, Players
from tpharness.targets.contract import Packet, RunScript, Script, Stream, TargetOutput
from tpharness.targets.reference import ReferenceClient, receive_turns
from tpharness.wires.contract import Wire
from tpharness.wires.owed import Owed
from tpharness.wires.registry import wire_named
from tpharness.wires.sse.frames import iter_pieces

__all__ = ["read_plain"]

Streams = Sequence[Sequence[Packet]]


def read_plain(
    case: Case, script: Script, given: Given, players: Players, right: TargetOutput
) -> tuple[Plain | None, tuple[Unsaid, ...] | None]:
    """Return the streams of a server without carriers, None if it sends none, and what they lack that no thread shows.

    Both are None of what no server has sent for the script. `right` is what the reference gives for it.
    """
    served = given.first.served
    if served is None or given.first.recorded or any(run.wire is not None for _, run in case.scenario.runs):
        return None, None
    carries = script.carriers and players.server.capabilities.carriers and given.delivery is Delivery.WHOLE
    plain = _PlainStreams(script, given.first.turns, right.streams) if carries else None
    return plain, _find_unsaid(script, served.streams, right.streams)


class _PlainStreams:
    """The streams of one case without their carriers: `turns` as the server sent them, `right` of the reference."""

    def __init__(self, script: Script, turns: Sequence[UserTurn | Stream], right: Streams) -> None:
        self._script = script
        wire = wire_named(script.wire)
        self._right = [_without_carriers(packets, wire) for packets in right]
        self._turns = [
            replace(turn, packets=_without_carriers(turn.packets, wire)) if isinstance(turn, Stream) else turn
            for turn in turns
        ]

    @cached_property
    def threads(self) -> Mapping[Version, Thread]:
        """What a client makes of the server's plain chunks."""
        return self._receive(self._turns)

    def suffices(self, version: Version, truth: Thread) -> bool:
        """Whether the reference's plain chunks say everything: a case that relies on carriers does not count (R39)."""
        return same_content(self._right_threads[version], truth)

    @cached_property
    def change(self) -> StreamChange:
        """What says which of the plain chunks to send otherwise."""
        return stream_change.StreamChange(self._script, self._turns, self._right).describe

    @cached_property
    def _right_threads(self) -> Mapping[Version, Thread]:
        right = iter(self._right)
        return self._receive(
            [replace(turn, packets=next(right, ())) if isinstance(turn, Stream) else turn for turn in self._turns]
        )

    def _receive(self, turns: Sequence[UserTurn | Stream]) -> Mapping[Version, Thread]:
        client = ReferenceClient(self._script)
        receive_turns(client, turns)
        return client.threads()


def _without_carriers(packets: Sequence[Packet], wire: Wire) -> tuple[Packet, ...]:
    """Return packets without the frames that carry facts; a frame that is split goes with its last bytes."""
    kept: list[Packet] = []
    rest = b""
    for packet in packets:
        data, rest = rest + packet.data, b""
        frames = list(iter_pieces(data))
        if frames and not frames[-1].endswith((b"\n\n", b"\r\r", b"\r\n\r\n")):
            rest = frames.pop()
        plain = [frame for frame in frames if not wire.frame_carries(frame)]
        kept.append(packet.with_data(b"".join(plain)))
    if rest and kept and not wire.frame_carries(rest):
        kept[-1] = kept[-1].with_data(kept[-1].data + rest)
    return tuple(kept)


def _find_unsaid(script: Script, sent: Streams, right: Streams) -> tuple[Unsaid, ...]:
    """Return what the reference's streams say outside of every thread, and the server's do not, in order."""
    wire = wire_named(script.wire)
    held = _read(wire, [packet for packets in sent for packet in (*packets, _BREAK)])
    wanted = [one for packets in right for one in _read(wire, packets) if one.sort]
    missing = Counter(one.said for one in wanted) - Counter(one.said for one in held)
    if not missing:
        return ()
    extra = Counter(one.said for one in held) - Counter(one.said for one in wanted)
    found = []
    for where, one in _placed(script, right, wire):
        if one.sort and missing[one.said] > 0:
            missing[one.said] -= 1
            got = _nearest(one, [other for other in held if extra[other.said] > 0])
            if got is not None:
                extra[got.said] -= 1
            found.append(Unsaid(sort=one.sort, where=where, event=one.event, got=None if got is None else got.event))
    return tuple(found)


_BREAK = Packet(data=b"\n\n", at="")  # a frame that was cut at the end of a stream does not go on in the next one


def _read(wire: Wire, packets: Sequence[Packet]) -> Sequence[Owed]:
    return wire.read_owed(b"".join(packet.data for packet in packets))


def _placed(script: Script, right: Streams, wire: Wire) -> Iterator[tuple[str, Owed]]:
    """Yield what the reference's streams owe, with the server event that causes it."""
    runs = [turn for turn in script.turns if isinstance(turn, RunScript)]
    for number, (run, packets) in enumerate(zip(runs, right, strict=False), 1):
        of = f" of run {number}" if len(runs) > 1 else ""
        for packet in packets:
            where = f"at the end{of or ' of the run'}"
            if packet.event is not None and packet.event < len(run.events):
                where = f"at server event {packet.event}{of} ({run.events[packet.event].get('event_kind')})"
            yield from ((where, one) for one in _read(wire, [packet]))


def _nearest(one: Owed, others: Sequence[Owed]) -> Owed | None:
    """Return what a server has sent in place of something: another answer of the same call, or the same type."""

    def alike(other: Owed) -> bool:
        if other.about != one.about or not one.about:
            return other.about == one.about and bool(other.event.get("type") == one.event.get("type"))
        return other.sort == one.sort or {other.sort, one.sort} <= {"answer", "provider", ""}

    def far(other: Owed) -> tuple[bool, bool]:
        return other.event.get("type") != one.event.get("type"), other.sort != one.sort

    return min(filter(alike, others), key=far, default=None)
