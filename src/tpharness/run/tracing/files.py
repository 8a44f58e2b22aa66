"""A case that was played → what its trace says: the script, the wire, both threads at each step, what was asked. Pure.

In: a `CaseRecord`, made while the case was played, and its result. Out: lines and bytes for `trace`. The reference is
stepped once more here, beside what was played: it is pure, so nothing that is judged can change by it. A target under
test is never asked again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from tpharness.journal import UserTurn
from tpharness.protocol.versions import Version, newest_version
from tpharness.run.judge import Result
from tpharness.run.plan import Case, make_script
from tpharness.run.play import Played
from tpharness.run.tracing.pool import ThreadPool
from tpharness.run.tracing.steps import client_steps, client_threads, server_steps, server_threads
from tpharness.targets.contract import Packet, Script, Stream
from tpharness.trace.format import MAX_CASE, decode_line, encode_line
from tpharness.trace.secrets import Secrets, shown_headers
from tpharness.trace.tape import Note
from tpharness.trace.write import CaseFiles
from tpharness.vsp.frames import split_frames

__all__ = ["CaseRecord"]

_MOST_WIRE = MAX_CASE // 2
_MOST_BODIES = MAX_CASE // 4
_LARGEST_BODY = 200_000
_MOST_LINES = 20_000
_MORE_WAS_PLAYED = "what was played after it, such as other splits of the same bytes, is not in the trace"


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseRecord:
    """What is known of a case that was played. It can be pickled, and refers to what is there anyway."""

    case: Case
    server: Mapping[str, Any]
    client: Mapping[str, Any]
    compare: str
    played: Played | None
    notes: Sequence[Note]
    forgotten: int
    seconds: float
    remark: str = ""

    def files(self, result: Result, secrets: Secrets) -> CaseFiles:
        """Return what a trace says of the case."""
        return _Files(self, result, secrets).make()


class _Files:
    """The lines of one case as they are made; `cuts` are sentences about what is left out."""

    def __init__(self, record: CaseRecord, result: Result, secrets: Secrets) -> None:
        self._record = record
        self._case = record.case
        self._result = result
        self._secrets = secrets
        self._lines: list[bytes] = []
        self._size = 0
        self._wires: list[dict[str, Any]] = []
        self._streams: list[bytes] = []
        self._cuts: list[str] = []
        self._version = newest_version(self._case.versions) if self._case.versions else None
        self._pool = ThreadPool(self._add)
        self._events: dict[int, dict[int, tuple[int, int]]] = {}  # by run and event: where the server's bytes are

    def make(self) -> CaseFiles:
        self._head()
        script = make_script(self._case)
        played = self._record.played
        self._script(script)
        if played is not None:
            self._streams_of(played)
        self._server_events(script)
        if played is not None and self._version is not None:
            self._threads(script, played, self._version)
        self._moments()
        for cut in self._cuts:
            self._lines.append(encode_line({"kind": "cut", "what": cut}))
        return CaseFiles(body=b"".join(self._lines), wires=tuple(self._wires), streams=tuple(self._streams))

    def _add(self, line: Mapping[str, Any]) -> bool:
        """Add a line; False if the case is as large as it may be."""
        text = encode_line(line)
        if self._size + len(text) > MAX_CASE - _MOST_WIRE:
            words = f"the trace of a case is at most {MAX_CASE // 1_000_000} MB: some of its lines are left out"
            if words not in self._cuts:
                self._cuts.append(words)
            return False
        self._size += len(text)
        self._lines.append(text)
        return True

    # ------------------------------------------------------------------------------------------------ what was asked

    def _head(self) -> None:
        record, result, scenario = self._record, self._result, self._case.scenario
        remarks = [record.remark] if record.remark else []
        if record.played is not None and record.played.recorded:
            remarks.append("the server's threads are those of a recorded server, which was not played")
        self._add(
            {
                "kind": "case",
                "id": result.id,
                "description": scenario.description,
                "clauses": list(scenario.clauses),
                "rulings": list(scenario.rulings),
                "outcome": result.outcome.value,
                "reason": self._secrets.text(result.reason),
                "versions": [version.value for version in self._case.versions],
                **({} if self._version is None else {"version": self._version.value}),
                "compare": record.compare,
                "seconds": round(record.seconds, 6),
                "played": "; ".join(remarks),
                "server": dict(record.server),
                "client": dict(record.client),
            }
        )
        for finding in result.findings:
            self._add({"kind": "finding", **finding.as_json()})

    def _script(self, script: Script) -> None:
        run = 0
        for index, turn in enumerate(script.turns):
            if isinstance(turn, UserTurn):
                self._add({"kind": "script", "turn": index, "user": {"at": turn.at, "parts": list(turn.parts)}})
                continue
            cut = turn.interruption
            line: dict[str, Any] = {"kind": "script", "turn": index, "run": run, "agent_id": turn.agent_id}
            line |= {"started_at": turn.started_at, "events": len(turn.events), "abort": turn.abort}
            self._add(line if cut is None else {**line, "interruption": {"reason": cut.reason, "at": cut.at}})
            run += 1

    def _server_events(self, script: Script) -> None:
        runs = [turn for turn in script.turns if not isinstance(turn, UserTurn)]
        for number, run in enumerate(runs):
            places = self._events.get(number, {})
            for index, event in enumerate(run.events):
                line: dict[str, Any] = {"kind": "event", "run": number, "index": index, "event": event}
                if index in places:
                    line |= {"offset": places[index][0], "size": places[index][1]}
                if not self._add(line):
                    return

    def _moments(self) -> None:
        record = self._record
        bodies = 0
        seen: dict[tuple[str, int], int] = {}
        for note in record.notes:
            line: dict[str, Any] = {"kind": note.kind, "t": round(note.t, 6), "what": note.what}
            if note.kind == "stderr":
                line["text"] = self._secrets.text(str(note.body))
            elif note.kind in ("read", "sent"):
                key = (note.kind, note.run)
                offset = seen.get(key, 0)
                seen[key] = offset + note.size
                line |= {"kind": "moved", "way": note.kind, "run": note.run, "size": note.size, "offset": offset}
            else:
                bodies += self._body(line, note, bodies)
            if not self._add(line):
                return
        if record.notes and record.played is not None:
            self._cuts.append(_MORE_WAS_PLAYED)
        if record.forgotten:
            self._cuts.append(f"{record.forgotten} more requests, reads and lines of standard error")

    def _body(self, line: dict[str, Any], note: Note, used: int) -> int:
        if note.status is not None:
            line["status"] = note.status
        if note.headers:
            line["headers"] = [list(pair) for pair in shown_headers(note.headers)]
        if note.body is None:
            return 0
        size = len(note.body) if isinstance(note.body, bytes) else len(encode_line(note.body))
        if size > _LARGEST_BODY or used + size > _MOST_BODIES:
            line["note"] = f"a document of {size} bytes, which is left out"
            return 0
        line["body"] = _read_body(note.body) if isinstance(note.body, bytes) else note.body
        return size

    # ------------------------------------------------------------------------------------------------ the wire

    def _streams_of(self, played: Played) -> None:
        sent = [] if played.served is None else list(played.served.streams)
        given = [turn for turn in played.turns if isinstance(turn, Stream)]
        for run in range(max(len(sent), len(given))):
            ours = sent[run] if run < len(sent) else None
            theirs = given[run].packets if run < len(given) else None
            if ours is not None:
                self._events[run] = _event_places(ours)
            whole = None if ours is None else b"".join(packet.data for packet in ours)
            part = None if theirs is None else b"".join(packet.data for packet in theirs)
            number = None if whole is None else self._stream(whole)
            self._wire("server", run, whole, number, ours)
            if part is not None and (whole is None or not whole.startswith(part)):
                number = self._stream(part)
            self._wire("client", run, part, number, theirs)
            if run < len(given):
                end = given[run].end
                self._add({"kind": "end", "run": run, "reason": end.reason, "at": end.at})

    def _stream(self, data: bytes) -> int:
        room = max(0, _MOST_WIRE - sum(map(len, self._streams)))
        if len(data) > room:
            self._cuts.append(f"of a stream of {len(data)} bytes, the first {room} are kept")
        self._streams.append(data[:room])
        return len(self._streams) - 1

    def _wire(
        self, side: str, run: int, data: bytes | None, number: int | None, packets: Sequence[Packet] | None
    ) -> None:
        if data is None or number is None:
            return
        kept = min(len(data), len(self._streams[number]))
        line = {"kind": "wire", "run": run, "side": side, "file": number, "size": len(data), "kept": kept}
        self._wires.append(line)
        offset = 0
        for packet in (packets or ())[:_MOST_LINES]:
            about: dict[str, Any] = {"kind": "packet", "run": run, "side": side, "offset": offset}
            about |= {"size": len(packet.data), "at": packet.at}
            self._add(about if packet.event is None else {**about, "event": packet.event})
            offset += len(packet.data)
        offset = 0
        frames = split_frames(data)
        for index, frame in enumerate(frames[:_MOST_LINES]):
            about = {"kind": "chunk", "run": run, "side": side, "index": index, "offset": offset}
            self._add({**about, "size": len(frame), "type": _chunk_type(frame)})
            offset += len(frame)
        if max(len(frames), len(packets or ())) > _MOST_LINES:
            self._cuts.append(f"a stream has {len(frames)} chunks: the first {_MOST_LINES} are listed")

    # ------------------------------------------------------------------------------------------------ the threads

    def _threads(self, script: Script, played: Played, version: Version) -> None:
        if played.served is not None and self._case.scenario.scripted:
            own = bool(self._record.server["reference"]) and not played.recorded
            for run, offset, event, thread in server_steps(script, version):
                places = self._events.get(run, {})
                there = offset if own else sum(places[event - 1]) if event - 1 in places else None
                self._step("server", run, there, event, thread, own=own)
        own = bool(self._record.client["reference"])
        for run, offset, event, thread in client_steps(script, version, played.turns):
            self._step("client", run, offset, event, thread, own=own)
        self._finals(script, played)

    def _step(self, side: str, run: int, offset: int | None, event: int, thread: Any, *, own: bool) -> None:
        number = self._pool.add(thread)
        if number is not None:
            line = {"kind": "step", "side": side, "run": run, "offset": offset, "event": event}
            self._add({**line, "held": number if own else None, "right": number})

    def _finals(self, script: Script, played: Played) -> None:
        truths = client_threads(script, played.turns)
        self._final("client", played.received.threads, truths)
        if played.served is not None:
            truths = server_threads(script) if self._case.scenario.scripted else {}
            self._final("server", played.served.threads, truths)

    def _final(self, side: str, threads: Mapping[Version, Any], truths: Mapping[Version, Any]) -> None:
        for version, thread in threads.items():
            held = self._pool.add(thread)
            right = self._pool.add(truths[version]) if version in truths else None
            self._add({"kind": "final", "side": side, "version": version.value, "held": held, "right": right})


def _read_body(body: bytes) -> Any:
    """Return an answer as JSON, or as text where it is not JSON."""
    try:
        return decode_line(body)
    except (ValueError, RecursionError):
        return body.decode("utf-8", "backslashreplace")


def _event_places(packets: Sequence[Packet]) -> dict[int, tuple[int, int]]:
    """Return for each event where its bytes begin on the wire and how many they are."""
    places: dict[int, tuple[int, int]] = {}
    offset = 0
    for packet in packets:
        size = len(packet.data)
        if packet.event is not None:
            start, before = places.get(packet.event, (offset, 0))
            places[packet.event] = start, before + size
        offset += size
    return places


def _chunk_type(frame: bytes) -> str:
    for line in frame.splitlines():
        if line.startswith(b"data:"):
            try:
                chunk = orjson.loads(line[5:])
            except orjson.JSONDecodeError:
                return ""
            found = chunk.get("type") if isinstance(chunk, dict) else None
            return found if isinstance(found, str) else ""
    return ""
