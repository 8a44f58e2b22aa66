"""A scenario → the journals before and after each place where a run is cut. Pure.

In: a case. Out: `Moment`s, with journals that have `partial` parts. The server's events of a run are folded once,
however many places it is cut at, because journals share their segments.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tpharness.facts import provider_names
from tpharness.histories.projections import HistoryDialect, RetriesCalls
from tpharness.journal import AgentTurn, Interrupted, Journal, Response, Segment, UserTurn
from tpharness.run.plan import Case, cut_time, make_script, make_streams, place_name
from tpharness.scenario.records import AgentRun, CutAt, Scenario
from tpharness.server_events import Recorder, RunState
from tpharness.targets.contract import RunScript, Script
from tpharness.targets.reference import Reference
from tpharness.wires.registry import default_wire

__all__ = ["Moment", "case_moments", "every_moment", "has_server", "sweep_moments"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """One place where a run is cut, or where a case ends.

    `after` is the journal with its cut, `before` the last journal before it, and `at_model_call` the journal at the
    latest model call; the last two are None where nothing was cut. `id` is the id of the case or of the sweep's place.
    `retried` is the same place for a program that asks its model again after an error, None where no error came before.
    """

    id: str
    after: Journal
    before: Journal | None = None
    at_model_call: Journal | None = None
    retried: Moment | None = None

    def seen_by(self, history: HistoryDialect) -> Moment:
        """Return the place as a history's program comes to it."""
        return self.retried or self if isinstance(history, RetriesCalls) and history.retries_calls else self


def case_moments(case: Case) -> Iterator[Moment]:
    """Yield a moment for each run that the scenario itself cuts, and one for its end.

    In a scenario that has only the client's streams, the client keeps the history.
    """
    yield from _server_moments(case) if has_server(case.scenario) else _client_moments(case)


def has_server(scenario: Scenario) -> bool:
    """Whether the scenario has server events for every run."""
    return all(run.events is not None for _, run in scenario.runs)


def _server_moments(case: Case) -> Iterator[Moment]:
    server, retrying = _servers(case)
    for turn in make_script(case).turns:
        server.play(turn)
        yield from server.journals.cut(case.id, server.recorder.journal(partial=True))
        if retrying is not None:
            retrying.play(turn)
    end = Moment(id=case.id, after=server.recorder.journal(partial=True))
    if retrying is not None:
        end = replace(end, retried=Moment(id=case.id, after=retrying.recorder.journal(partial=True)))
    yield end


def _client_moments(case: Case) -> Iterator[Moment]:
    journals = _LastJournals()
    reader = default_wire().open_reader(
        agent_id=next(iter(case.scenario.agents), "assistant"), providers=provider_names(case.scenario.agents)
    )
    for turn in make_streams(case, None):
        if isinstance(turn, UserTurn):
            reader.add_user_turn(turn)
            continue
        reader.begin(turn.begun_at, agent_id=turn.agent_id)
        journals.update(reader.journal(partial=True))
        for packet in turn.packets:
            reader.feed(packet.data, packet.at)
            journals.update(reader.journal(partial=True))
        reader.close(turn.end.reason, turn.end.at)
        yield from journals.cut(case.id, reader.journal(partial=True))
    yield Moment(id=case.id, after=reader.journal(partial=True))


def sweep_moments(case: Case) -> Iterator[Moment]:
    """Yield a moment for each place of the scenario's sweep.

    A sweep over bytes has one moment for each event, because the server's side does not change between events.
    """
    scenario = case.scenario
    plan = scenario.cut
    if plan is None:
        return
    script = make_script(case)
    for index, run in scenario.runs:
        if run.events is None or plan.turn not in (None, index):
            continue
        counts = _byte_counts(case, script, index) if plan.at is CutAt.EVERY_BYTE else range(len(run.events) + 1)
        for reason in plan.reasons:
            names = [place_name(scenario, index, reason, count) for count in counts]
            yield from _cut_run(case, script, index, run, reason, names)


def every_moment(case: Case) -> Iterator[Moment]:
    """Yield a moment for each place where the user can cancel: before the first and after each event of each run.

    After an error or an end of the run itself, that end counts (R26). The ids, such as
    `theme/name@cancelled-turn-1-event-12`, do not depend on the scenario's own sweep.
    """
    script = make_script(case)
    for index, run in case.scenario.runs:
        if run.events is not None:
            names = [f"{case.id}@cancelled-turn-{index}-event-{count}" for count in range(len(run.events) + 1)]
            yield from _cut_run(case, script, index, run, "user_cancelled", names)


def _cut_run(
    case: Case, script: Script, index: int, run: AgentRun, reason: str, names: Sequence[str]
) -> Iterator[Moment]:
    """Cut one run before its first and after each of its events; `names` has one name for each of these places."""
    server, retrying = _servers(case)
    both = [one for one in (server, retrying) if one is not None]
    for one in both:
        for earlier in script.turns[:index]:
            one.play(earlier)
        one.begin(run.agent_id, run.started_at)
    failed = False
    for count, name in enumerate(names):
        if count:
            event = (run.events or ())[count - 1]
            failed = failed or event["event_kind"] == "error"
            for one in both:
                one.feed(event)
        cut = Interrupted(reason=reason, at=cut_time(run, count))
        moment = server.moment(name, cut)
        yield replace(moment, retried=retrying.moment(name, cut)) if failed and retrying is not None else moment


def _servers(case: Case) -> tuple[_Server, _Server | None]:
    """Return a fold of a case's events, and one for a program that asks its model again, where an error comes."""
    fails = any(event["event_kind"] == "error" for _, run in case.scenario.runs for event in run.events or ())
    return _Server(case), _Server(case, errors_interrupt=False) if fails else None


class _Server:
    """Folds the server's events of one case."""

    def __init__(self, case: Case, *, errors_interrupt: bool = True) -> None:
        self.recorder = Recorder(providers=provider_names(case.scenario.agents), errors_interrupt=errors_interrupt)
        self.journals = _LastJournals()

    def play(self, turn: UserTurn | RunScript) -> None:
        """Fold a whole turn."""
        if isinstance(turn, UserTurn):
            self.recorder.add_user_turn(turn)
            return
        self.begin(turn.agent_id, turn.started_at)
        for event in turn.events:
            self.feed(event)
        if turn.interruption is not None:
            self.recorder.interrupt(turn.interruption.reason, turn.interruption.at)
        elif self.recorder.state is not RunState.ENDED:  # only a result ends a run well (R27)
            self.recorder.interrupt("network_failure", self.recorder.time)

    def moment(self, name: str, cut: Interrupted) -> Moment:
        """Return the place where the running run is cut now."""
        after = self.recorder.journal(cut, partial=True)
        return next(self.journals.cut(name, after), Moment(id=name, after=after))

    def begin(self, agent_id: str, at: str) -> None:
        """Open a run."""
        self.recorder.begin(agent_id, at)
        self.journals.update(self.recorder.journal(partial=True))

    def feed(self, event: Mapping[str, Any]) -> None:
        """Fold one event."""
        self.recorder.feed(event)
        self.journals.update(self.recorder.journal(partial=True))


class _LastJournals:
    """Remembers the last journal of the running turn, and the journal at the latest model call."""

    def __init__(self) -> None:
        self._running: Journal | None = None
        self._at_model_call: Journal | None = None
        self._responses = self._segments = self._settled = 0

    def update(self, journal: Journal) -> None:
        """Remember a journal unless its last turn has ended, so that the journal before an interruption stays."""
        turn = journal.last
        if turn is None or turn.end is not None:
            return
        if len(turn.segments) < self._segments:  # another turn
            self._segments = self._settled = 0
        self._settled += sum(map(_count_responses, turn.segments[self._segments :]))
        self._segments = len(turn.segments)
        responses = self._settled + _count_responses(turn.tail)
        if responses > self._responses:
            self._at_model_call = self._running
        elif responses == 0:
            self._at_model_call = journal
        self._responses = responses
        self._running = journal

    def cut(self, name: str, after: Journal) -> Iterator[Moment]:
        """Yield the moment of a cut if the last turn of the journal was interrupted."""
        *_, last = (None, *after.turns())
        if isinstance(last, AgentTurn) and isinstance(last.end, Interrupted):
            yield Moment(id=name, after=after, before=self._running, at_model_call=self._at_model_call)


def _count_responses(segment: Segment) -> int:
    return sum(isinstance(entry, Response) for entry in segment.entries)


def _byte_counts(case: Case, script: Script, index: int) -> list[int]:
    """Return the length in bytes of the run's stream before each event and at its end."""
    session = Reference().server_session(script)
    counts: list[int] = []
    sent = 0
    for number, turn in enumerate(script.turns[: index + 1]):
        if isinstance(turn, UserTurn):
            session.user(turn)
            continue
        sent = 0
        counts = [0]
        data = session.begin(turn)
        run = case.scenario.turns[number]
        events = (run.events or ()) if isinstance(run, AgentRun) and number == index else turn.events
        for event in events:
            sent += len(data)
            counts.append(sent)
            data = session.feed(event)
        if number < index and turn.interruption is not None:
            session.interrupt(turn.interruption, abort=turn.abort)
    return counts
