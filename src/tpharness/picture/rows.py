"""What happened in a case, row by row, played by the embedded reference.

In: a script, and how the client's streams come of what the server sent. Out: rows, one for each frame on the wire and
for each step that puts none on it:

    kind        user, begin (of a stream), event, more (a further frame of the same step), chunk (of a stream that is
                given and belongs to no event), end (of a run)
    turn, at    the index of the script's turn, and when it happened
    event       what the server did; `index` is that of the event in its run
    frame       the text of the frame, at the bytes `from` to `to` of its stream; `lost` if the client never got it,
                `broken` if it got only that many bytes of it
    server, client     the number of the thread that the side holds if it is cut after the row
    gone        for each side the number of what it would not keep (`unkept`)
    state       where the client's stream stands
    found       findings of either side's fold that the row caused

A cut is an `Interrupted` at the time that sweeps use, so that a place shows what a sweep judges there. Between two
bytes of one frame no thread changes, so the frames are the finest places.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

from tpharness.facts import later_time
from tpharness.findings import Finding
from tpharness.journal import Interrupted, UserTurn
from tpharness.picture.tables import Tables
from tpharness.picture.unkept import unkept
from tpharness.protocol.versions import Version
from tpharness.readings import Readings, UnfinishedRule
from tpharness.run.plan import cut_times
from tpharness.targets.contract import Packet, RunScript, Script, Stream
from tpharness.targets.reference import ReferenceClient, ReferenceServer, serve_run
from tpharness.wires.sse.frames import split_frames

__all__ = ["Film", "Play", "finding_json", "play_film"]

Row = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Film:
    """What is played: `streams` makes the client's streams of the packets that the server sent for each run.

    `served` is whether there are server events to play; `given` has the indexes of turns whose streams do not come of
    them; `recorded` is the thread that a recorded server had, which then stands for the server's. Every cut has
    `reason`.
    """

    script: Script
    streams: Callable[[Sequence[Sequence[Packet]]], Sequence[UserTurn | Stream]]
    served: bool = True
    given: frozenset[int] = frozenset()
    recorded: Mapping[str, Any] | None = None
    reason: str = "network_failure"


@dataclass(slots=True, kw_only=True)
class Play:
    """The rows of what was played so far, and their tables."""

    version: Version
    readings: Readings = field(default_factory=Readings)
    tables: Tables = field(default_factory=Tables)
    rows: list[Row] = field(default_factory=list)


class _Side:
    """One side's session, and what it has reported so far."""

    def __init__(self, name: str, session: ReferenceServer | ReferenceClient, play: Play) -> None:
        self._name, self._session, self._play = name, session, play
        self._reported: list[Finding] = []
        self._gone: int | None = None

    def note(self, row: Row, cut: Interrupted | None) -> None:
        """Note in a row what the side holds if it is cut there, what it would not keep, and what it has just found."""
        play, session = self._play, self._session
        partial = play.readings.R20 is not UnfinishedRule.DROP  # else what is open goes, and need not be put together
        row[self._name] = play.tables.thread(session.threads(cut)[play.version], self._name, folded=True)
        journal = session.journal(cut, partial=partial)
        gone = unkept(journal, session.written, play.version, play.readings, play.tables, self._name)
        if gone:
            row.setdefault("gone", {})[self._name] = play.tables.value(gone)
        now = session.findings()
        if len(now) > len(self._reported):
            fresh = list(now)
            for finding in self._reported:
                if finding in fresh:  # one that says how many more there are is said anew
                    fresh.remove(finding)
            row.setdefault("found", []).extend(finding_json(finding, self._name) for finding in fresh)
            self._reported = list(now)


def finding_json(finding: Finding, side: str = "") -> dict[str, Any]:
    """Return a finding as a page shows it: `as_json`, with its place in words."""
    shown = {name: value for name, value in finding.as_json().items() if value not in ([], "")}
    return {**shown, "place": str(finding.with_place(case=None).place), "side": side or finding.place.side or ""}


def play_film(film: Film, version: Version) -> Play:
    """Play a case on both of the reference's sessions, which a cut does not end."""
    play = Play(version=version, readings=film.script.readings)
    served = list(_serve(film, play)) if film.served else []
    streams = film.streams([[packet for packet, _ in run] for run in served if run[0][0] is not None])
    client = ReferenceClient(film.script)
    side = _Side("client", client, play)
    for index, (turn, stream) in enumerate(zip(film.script.turns, streams, strict=True)):
        steps = served[index] if served else []
        if isinstance(turn, UserTurn):
            row = steps[0][1] if steps else _user_row(turn)
            client.user(turn)
            side.note(row, None)
            rows = [row]
        elif isinstance(stream, Stream):
            rows = list(_receive(film, turn, stream, steps if index not in film.given else [], client, side))
            if index in film.given and steps:
                rows = _side_by_side([step for _, step in steps], rows)
        else:
            raise TypeError(f"turn {index} is a run for the server and a user's for the client")
        play.rows += [{**row, "turn": index} for row in rows]
    if film.recorded is not None:
        number = play.tables.thread(film.recorded, "server")
        for row in play.rows:
            row["server"] = number
    return play


def _user_row(turn: UserTurn) -> Row:
    return {"kind": "user", "at": turn.at, "event": {"parts": [dict(part) for part in turn.parts]}}


def _serve(film: Film, play: Play) -> Iterator[list[tuple[Any, Row]]]:
    """Play the server's side; yield the steps of each turn, each with its packet, which a user's turn does not have."""
    session = ReferenceServer(film.script)
    side = _Side("server", session, play)
    for turn in film.script.turns:
        if isinstance(turn, UserTurn):
            session.user(turn)
            side.note(row := _user_row(turn), None)
            yield [(None, row)]
            continue
        steps: list[tuple[Any, Row]] = []
        times = cut_times(turn)
        for count, packet in enumerate(serve_run(session, turn)):
            row, cut = _step(turn, packet, count), Interrupted(reason=film.reason, at=_at(times, count))
            side.note(row, None if row["kind"] == "end" else cut)
            steps.append((packet, row))
        yield steps


def _at(times: Sequence[str], count: int) -> str:
    """Return the time of a cut after a step: the one that ends the run follows its last event."""
    return times[min(count, len(times) - 1)]


def _step(run: RunScript, packet: Packet, count: int) -> Row:
    """Return the row of a packet: the first one opens the stream, the last one ends it, the others have an event."""
    if packet.event is not None:
        return {"kind": "event", "at": packet.at, "index": packet.event, "event": dict(run.events[packet.event])}
    if not count:
        return {"kind": "begin", "at": packet.at, "event": {"agent_id": run.agent_id}}
    return _end(packet.at, None if run.interruption is None else run.interruption.reason)


def _end(at: str, reason: str | None) -> Row:
    return {"kind": "end", "at": at, **({"event": {"interrupted": reason}} if reason else {})}


def _receive(
    film: Film,
    run: RunScript,
    stream: Stream,
    steps: Sequence[tuple[Packet, Row]],
    client: ReferenceClient,
    side: _Side,
) -> Iterator[Row]:
    """Yield the rows of one run; without steps its frames stand alone, between a row that begins and one that ends."""
    seen = sum(len(packet.data) for packet in stream.packets)
    data = b"".join(packet.data for packet in stream.packets)
    client.begin(stream.agent_id, stream.begun_at)
    frames = list(_frames(stream, steps))
    times = cut_times(run)
    offset = 0
    for last, (count, packet, step, number, frame) in zip(_is_last(frames), frames, strict=True):
        row = _row_of(step, number, frame, offset, seen)
        client.feed(data[offset : offset + len(frame)], packet.at)
        offset += len(frame)
        if last:
            client.close(stream.end)
        at = _at(times, count) if steps else later_time(stream.begun_at, client.time)
        side.note(row, None if last else Interrupted(reason=film.reason, at=at))
        row["state"] = client.state_name
        yield row


def _frames(stream: Stream, steps: Sequence[tuple[Packet, Row]]) -> Iterator[tuple[int, Packet, Row, int, bytes]]:
    """Yield each frame of a run: the number of its step, its packet, the step, its number in the step, its bytes.

    The packets are those that the server sent if there are steps, else those that the client got. The last step ends
    the run.
    """
    begin: Row = {"kind": "begin", "at": stream.begun_at, "event": {"agent_id": stream.agent_id}}
    alone = [(packet, {"kind": "chunk", "at": packet.at}) for packet in stream.packets if packet.data]
    end = _end(stream.end.at, stream.end.reason)
    for count, (packet, step) in enumerate(
        steps or [(Packet(data=b"", at=stream.begun_at), begin), *alone, (Packet(data=b"", at=stream.end.at), end)]
    ):
        for number, frame in enumerate(split_frames(packet.data) or [b""]):
            yield count, packet, step, number, frame


def _is_last(items: Sequence[object]) -> Iterator[bool]:
    return (number + 1 == len(items) for number in range(len(items)))


def _row_of(step: Row, number: int, frame: bytes, offset: int, seen: int) -> Row:
    """Return the row of the `number`-th frame of a step; `seen` is how many bytes of the stream the client got."""
    row = {**step, **({"gone": dict(step["gone"])} if "gone" in step else {})}
    if number:
        row = {name: value for name, value in row.items() if name not in ("event", "index", "found")}
        row["kind"] = "chunk" if step["kind"] == "chunk" else "more"
    if frame:
        row |= {"frame": frame.decode("utf-8", "backslashreplace"), "from": offset, "to": offset + len(frame)}
        if offset >= seen:
            row["lost"] = True
        elif offset + len(frame) > seen:
            row["broken"] = seen - offset
    return row


def _side_by_side(steps: Sequence[Row], rows: Sequence[Row]) -> list[Row]:
    """Return the server's steps beside the rows of a stream that the scenario gives: neither follows from the other."""
    *steps, last = steps or [{}]
    *rows, end = rows
    merged: list[Row] = []
    for step, row in zip_longest(steps, rows):
        one = {**(row or {}), **(step or {})}
        for side, beside in (("server", step), ("client", row)):
            if beside is None and merged:
                one.setdefault(side, merged[-1].get(side))
        if row and step and "gone" in row:
            one["gone"] = {**row["gone"], **step.get("gone", {})}
        merged.append(one)
    return [*merged, {**end, **{name: value for name, value in last.items() if name in ("server", "event")}}]
