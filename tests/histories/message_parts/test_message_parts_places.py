"""Every scenario of the suite, cut at every event: what holds of any history, whatever happened."""

from __future__ import annotations

from itertools import product

import pytest
from tests.about import about
from tests.distribution import Sample
from tests.histories.message_parts.build import journal_of

from tpharness.histories.message_parts import MESSAGE_PARTS, dumps, interrupt_findings, loads
from tpharness.histories.message_parts.dialect import WRITTEN_FOR
from tpharness.histories.message_parts.records import (
    AssistantMessage,
    HistoryEvent,
    InterruptEntry,
    ToolCallPart,
    ToolResultMessage,
    Variant,
)
from tpharness.journal import AgentTurn, Event, Interrupted, Journal, Log, Response, Return, UserTurn
from tpharness.resources import scenarios_dir
from tpharness.run.select import SelectedScenario, select_scenarios
from tpharness.scenario import AgentRun, Scenario, load_scenario

THEMES = ("basics/*", "cycles/*", "histories/*", "interruptions/*", "parts/*", "documents/*", "approvals/*")
VARIANTS: tuple[Variant, ...] = ("plan", "current")
PLAYED = list(product(VARIANTS, select_scenarios(THEMES, (scenarios_dir(),))))


def run_length(played: Scenario) -> int:
    """Return how many events of the last run happen, 0 where no run is the last."""
    last = played.turns[-1]
    return len(last.events_before_cut) if isinstance(last, AgentRun) and last.events else 0


def parted(journal: Journal) -> tuple[Journal, UserTurn | AgentTurn]:
    """Return the journal without its last turn, and that turn."""
    *earlier, last = journal.turns()
    return Journal(ended=Log(earlier)), last


def user_cut(turn: UserTurn | AgentTurn) -> bool:
    """Whether the user cut this turn."""
    return isinstance(turn, AgentTurn) and isinstance(turn.end, Interrupted) and turn.end.reason == "user_cancelled"


def tells_interruption(event: HistoryEvent) -> bool:
    """Whether an event tells an interruption by the user."""
    return (
        isinstance(event, InterruptEntry)
        or (isinstance(event, AssistantMessage) and event.stop_reason == "aborted")
        or (isinstance(event, ToolResultMessage) and event.status == "aborted")
    )


def answered(turn: UserTurn | AgentTurn) -> bool:
    """Whether the model had said what it had to say, which ends a task of the program: nothing is left to interrupt."""
    if not isinstance(turn, AgentTurn):
        return False
    segments = (*turn.segments, turn.tail)  # the tail is empty where a later response has been reset
    said = [entry for segment in segments for entry in segment.entries if not isinstance(entry, Event)]
    last = said[-1] if said else None
    if not isinstance(last, Response) or not last.finished or last.failed is not None:
        return False
    returned = {entry.call_key for entry in said if isinstance(entry, Return)}
    kinds = {part.kind for part in last.parts}
    if "tool-call" in kinds or turn.tail.calls.keys() - returned:  # a tool runs
        return False
    return any(str(p.fields.get("content")).strip() for p in last.parts if p.kind == "text")


@pytest.mark.sampled
def test_the_user_cancels_anywhere(sample: Sample[tuple[Variant, SelectedScenario]]) -> None:
    """The history survives its file, every call of the turn has a result, the interruption is told and shown."""
    for variant, one in sample(PLAYED):
        with about(f"{one} in {variant}"):
            cancel_everywhere(load_scenario(one.path, root=one.root), variant)


def cancel_everywhere(played: Scenario, variant: Variant) -> None:
    """Cut the last run of a scenario, if it ends with one, at each event."""
    dialect = MESSAGE_PARTS[f"message-parts/{variant}"]
    for count in range(run_length(played) + 1) if run_length(played) else ():
        journal = journal_of(played, (count, "user_cancelled"))
        document = dialect.store(journal)
        decoded = loads(dumps(document), variant)
        assert not decoded.findings
        earlier, last = parted(journal)
        if not user_cut(last):
            continue  # the run had ended before, or an error had been first
        told = variant == "plan" or not answered(last)
        assert dialect.turn_contents(document)[-1].interrupted or not told
        events = decoded.events[len(dialect.store(earlier)) :]
        assert any(map(tells_interruption, events)) == told
        results = {event.call_id for event in events if isinstance(event, ToolResultMessage)}
        made = [p for e in events if isinstance(e, AssistantMessage) for p in e.parts if isinstance(p, ToolCallPart)]
        assert {part.call_id for part in made} <= results
        codes = {finding.code for finding in interrupt_findings(dialect.replay(document), interrupted=int(told))}
        assert codes <= ({"duplicate-interrupt"} if variant == "plan" else set())
        for provider in WRITTEN_FOR:
            dialect.model_input(document, provider, next_user="go on")


@pytest.mark.sampled
def test_anything_else_aborts_nothing(sample: Sample[tuple[Variant, SelectedScenario]]) -> None:
    """A failure, a time-out or a program's end anywhere is not an interruption by the user."""
    for variant, one in sample(PLAYED):
        played = load_scenario(one.path, root=one.root)
        places = range(0, run_length(played) + 1, 3) if run_length(played) else ()
        for reason, count in product(("timeout", "network_failure", "process_ended"), places):
            journal = journal_of(played, (count, reason))
            if not any(map(user_cut, journal.turns())):
                stored = MESSAGE_PARTS[f"message-parts/{variant}"].store(journal)
                assert '"aborted"' not in dumps(stored), (one.id, variant, reason, count)
