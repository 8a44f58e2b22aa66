"""One scenario over two wires: where the threads of their clients differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tpharness.findings import Finding
from tpharness.folding import render
from tpharness.journal import Interrupted, Journal, UserTurn
from tpharness.protocol.compare import identical
from tpharness.protocol.versions import newest_version
from tpharness.run.plan import base_case, make_script
from tpharness.scenario import Scenario
from tpharness.server_events import Recorder
from tpharness.targets.contract import RunScript
from tpharness.wires.contract import Reader, Wire, Writer
from tpharness.wires.registry import wire_named


class Side:
    """A server and a client of one wire."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self.reader: Reader = wire.open_reader()
        self._writer: Writer | None = None
        self.sent: list[bytes] = []

    def begin(self, run: RunScript, recorder: Recorder, parts: tuple[Mapping[str, Any], ...]) -> None:
        """Start a run."""
        names = recorder.tool_name
        self._writer = self._wire.open_writer(
            agent_id=run.agent_id, message_id=run.message_id, tool_name=names, waiting=recorder.waiting_calls
        )
        self.reader.begin(run.started_at, agent_id=run.agent_id)
        self._send(self._writer.start(run.started_at, parts), run.started_at)

    def _send(self, data: bytes, at: str) -> None:
        self.sent.append(data)
        self.reader.feed(data, at)

    def feed(self, event: Mapping[str, Any], at: str) -> None:
        """Send one event of the model, and read it."""
        assert self._writer is not None
        self._send(self._writer.feed(event), at)

    def end(self, run: RunScript, at: str) -> None:
        """End the run as the script says."""
        assert self._writer is not None
        cut = run.interruption
        if cut is None or self.reader.turn_ended:
            self._send(self._writer.finish(), at)
        elif run.abort:
            self._send(self._writer.stop(cut.reason, cut.at), at)
        seen = cut.reason if cut is not None and not run.abort else None  # what the client observes of the end
        self.reader.close(seen, cut.at if cut is not None else at)


def thread_of(journal: Journal) -> list[Any]:
    """Return the turns of a journal's thread."""
    turns: list[Any] = render(journal, newest_version(), "t", "2025-01-20T10:00:00Z")["turns"]
    return turns


def differences(scenario: Scenario) -> Iterator[tuple[str, list[Any], list[Any]]]:
    """Yield each place of a scenario at which the two threads of a run that was cut there differ, and both threads."""
    recorder, parts = Recorder(), tuple[Mapping[str, Any], ...]()
    sides = [Side(wire_named(name)) for name in ("vsp", "ag-ui")]
    for number, turn in enumerate(make_script(base_case(scenario)).turns):
        if isinstance(turn, UserTurn):
            recorder.add_user_turn(turn)
            parts = turn.parts
            for side in sides:
                side.reader.add_user_turn(turn)
            continue
        recorder.begin(turn.agent_id, turn.started_at)
        for side in sides:
            side.begin(turn, recorder, parts)
        at = turn.started_at
        for index, event in enumerate(turn.events):
            recorder.feed(event)
            at = str(event.get("at", at))
            for side in sides:
                side.feed(event, at)
            for reason in ("network_failure", "user_cancelled"):
                cut = Interrupted(reason=reason, at=at)
                one, other = (thread_of(side.reader.journal(cut)) for side in sides)
                if not identical(one, other):
                    yield f"{scenario.id}: turn {number}, {reason} after event {index}", one, other
        for side in sides:
            side.end(turn, at)
        one, other = (thread_of(side.reader.journal()) for side in sides)
        if not identical(one, other):
            yield f"{scenario.id}: the end of turn {number}", one, other
        recorder.interrupt(turn.interruption.reason if turn.interruption else "network_failure", at)


def findings_of(scenario: Scenario) -> list[Finding]:
    """Return what is wrong with the streams of AG-UI that the reference sends for a scenario."""
    return _played(scenario).reader.findings


def stream_of(scenario: Scenario) -> bytes:
    """Return all that the reference sends over AG-UI for a scenario."""
    return b"".join(_played(scenario).sent)


def _played(scenario: Scenario) -> Side:
    recorder, parts = Recorder(), tuple[Mapping[str, Any], ...]()
    side = Side(wire_named("ag-ui"))
    for turn in make_script(base_case(scenario)).turns:
        if isinstance(turn, UserTurn):
            recorder.add_user_turn(turn)
            parts = turn.parts
            continue
        recorder.begin(turn.agent_id, turn.started_at)
        side.begin(turn, recorder, parts)
        at = turn.started_at
        for event in turn.events:
            recorder.feed(event)
            at = str(event.get("at", at))
            side.feed(event, at)
        side.end(turn, at)
        recorder.interrupt("network_failure", at)
    return side
