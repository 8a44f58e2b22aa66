"""A case that was played → what its trace says: the script, the wire, both threads at each step, what was asked. Pure.

In: a `CaseRecord`, made while the case was played, and its result. Out: lines and bytes for `trace`. The reference is
stepped once more here, beside what was played: it is pure, so nothing that is judged can change by it. A target under
test is never asked again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tpharness.journal import Journal, UserTurn
from tpharness.protocol.versions import Version, newest_version
from tpharness.run.plan import Case, make_script
from tpharness.run.play import PlayedCase
from tpharness.run.tracing.dropped import dropped_words, find_dropped
from tpharness.run.tracing.lines import CaseLines
from tpharness.run.tracing.pool import ThreadPool
from tpharness.run.tracing.steps import client_steps, received_session, served_session, server_steps
from tpharness.run.trail import Pace
from tpharness.targets.contract import Packet, Script, Stream
from tpharness.trace.secrets import Secrets
from tpharness.trace.tape import TapeNote
from tpharness.trace.write import CaseFiles
from tpharness.verdict.result import Result

__all__ = ["CaseRecord"]

_MORE_WAS_PLAYED = "what was played after it, such as other splits of the same bytes, is not in the trace"


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseRecord:
    """What is known of a case that was played. It can be pickled, and refers to what is there anyway."""

    case: Case
    server: Mapping[str, Any]
    client: Mapping[str, Any]
    compare: str
    played: PlayedCase | None
    notes: Sequence[TapeNote]
    forgotten: int
    seconds: float
    remark: str = ""

    def files(self, result: Result, secrets: Secrets) -> CaseFiles:
        """Return what a trace says of the case."""
        return _Files(self, result, secrets).make()


class _Files:
    """The lines of one case as they are made."""

    def __init__(self, record: CaseRecord, result: Result, secrets: Secrets) -> None:
        self._record = record
        self._case = record.case
        self._result = result
        self._secrets = secrets
        self._out = CaseLines(secrets)
        self._version = newest_version(self._case.versions) if self._case.versions else None
        self._pool = ThreadPool(self._out.add)
        self._events: dict[int, dict[int, tuple[int, int]]] = {}  # by run and event: where the server's bytes are

    def make(self) -> CaseFiles:
        self._head()
        script = make_script(self._case)
        played = self._record.played
        self._script(script)
        if played is not None:
            self._streams_of(played)
        else:
            self._streams_noted("read", "server")
            self._streams_noted("sent", "client")
        self._server_events(script)
        if played is not None and self._version is not None:
            self._threads(script, played, self._version)
        record = self._record
        self._out.moments(record.notes, record.forgotten)
        if record.notes and played is not None:
            self._out.cut(_MORE_WAS_PLAYED)
        return self._out.files()

    # ------------------------------------------------------------------------------------------------ what was asked

    def _head(self) -> None:
        record, result, scenario = self._record, self._result, self._case.scenario
        remarks = [record.remark] if record.remark else []
        if record.played is not None and record.played.recorded:
            remarks.append("the server's threads are those of a recorded server, which was not played")
        self._out.add(
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
            self._out.add({"kind": "finding", **finding.as_json()})

    def _script(self, script: Script) -> None:
        run = 0
        for index, turn in enumerate(script.turns):
            if isinstance(turn, UserTurn):
                self._out.add({"kind": "script", "turn": index, "user": {"at": turn.at, "parts": list(turn.parts)}})
                continue
            cut = turn.interruption
            line: dict[str, Any] = {"kind": "script", "turn": index, "run": run, "agent_id": turn.agent_id}
            line |= {"started_at": turn.started_at, "events": len(turn.events), "abort": turn.abort}
            self._out.add(line if cut is None else {**line, "interruption": {"reason": cut.reason, "at": cut.at}})
            run += 1

    def _server_events(self, script: Script) -> None:
        runs = [turn for turn in script.turns if not isinstance(turn, UserTurn)]
        for number, run in enumerate(runs):
            places = self._events.get(number, {})
            for index, event in enumerate(run.events):
                line: dict[str, Any] = {"kind": "event", "run": number, "index": index, "event": event}
                if index in places:
                    line |= {"offset": places[index][0], "size": places[index][1]}
                if not self._out.add(line):
                    return

    # ------------------------------------------------------------------------------------------------ the wire

    def _streams_of(self, played: PlayedCase) -> None:
        sent = [] if played.served is None else list(played.served.streams)
        given = [turn for turn in played.turns if isinstance(turn, Stream)]
        for run in range(max(len(sent), len(given))):
            number, whole = -1, None
            if run < len(sent):
                self._events[run] = _event_places(sent[run])
                whole = b"".join(packet.data for packet in sent[run])
                number = self._out.stream(whole)
                self._out.wire("server", run, whole, number, sent[run])
            if run < len(given):
                part = b"".join(packet.data for packet in given[run].packets)
                if whole is None or not whole.startswith(part):
                    number = self._out.stream(part)
                self._out.wire("client", run, part, number, given[run].packets)
                end = given[run].end
                self._out.add({"kind": "end", "run": run, "reason": end.reason, "at": end.at})

    def _streams_noted(self, way: str, side: str) -> None:
        """Add the streams of a case that did not come to its end, as far as they were read or sent."""
        runs: dict[int, list[TapeNote]] = {}
        for note in self._record.notes:
            if note.kind == way:
                runs.setdefault(note.run, []).append(note)
        for run, notes in runs.items():
            whole, size = b"".join(note.body for note in notes), sum(note.size for note in notes)
            if len(whole) < size:
                self._out.cut(f"of a stream of {size} bytes, the first {len(whole)} are kept")
            self._out.wire(side, run, whole, self._out.stream(whole), ())

    # ------------------------------------------------------------------------------------------------ the threads

    def _threads(self, script: Script, played: PlayedCase, version: Version) -> None:
        if played.served is not None and self._case.scenario.scripted:
            own = bool(self._record.server["reference"]) and not played.recorded
            pace = Pace()
            for run, offset, event, thread in server_steps(script, version, pace):
                places = self._events.get(run, {})
                there = offset if own else sum(places[event - 1]) if event - 1 in places else None
                self._step("server", run, there, event, thread, own=own)
            self._left_out("server", pace)
        pace = Pace()
        own = bool(self._record.client["reference"])
        for run, offset, event, thread in client_steps(script, version, played.turns, pace):
            self._step("client", run, offset, event, thread, own=own)
        self._left_out("client", pace)
        self._finals(script, played)

    def _step(self, side: str, run: int, offset: int | None, event: int, thread: Any, *, own: bool) -> None:
        number = self._pool.add(thread)
        if number is not None:
            line = {"kind": "step", "side": side, "run": run, "offset": offset, "event": event}
            self._out.add({**line, "held": number if own else None, "right": number})

    def _left_out(self, side: str, pace: Pace) -> None:
        if pace.skipped:
            self._out.cut(f"of {pace.seen} states of the {side}'s thread, {pace.seen - pace.skipped} are kept")

    def _finals(self, script: Script, played: PlayedCase) -> None:
        received = received_session(script, played.turns)
        self._final("client", played.received.threads, received.threads())
        self._dropped("client", received.journal(), script)
        if played.served is not None:
            served = served_session(script) if self._case.scenario.scripted else None
            self._final("server", played.served.threads, {} if served is None else served.threads())
            if served is not None:
                self._dropped("server", served.journal(), script)

    def _dropped(self, side: str, journal: Journal, script: Script) -> None:
        if self._version is not None:
            for _, entry, why in find_dropped(journal, self._version, script.readings):
                self._out.add({"kind": "dropped", "side": side, "what": dropped_words(entry), "why": why})

    def _final(self, side: str, threads: Mapping[Version, Any], truths: Mapping[Version, Any]) -> None:
        for version, thread in threads.items():
            held = self._pool.add(thread)
            right = self._pool.add(truths[version]) if version in truths else None
            self._out.add({"kind": "final", "side": side, "version": version.value, "held": held, "right": right})


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
