"""One function decides what survives an interruption: the writer's segments and a dialect's tail both follow it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import pytest

from tpharness.journal import (
    AgentTurn,
    Entry,
    Event,
    Interrupted,
    Journal,
    JournalWriter,
    Part,
    Response,
    Return,
    Segment,
    keep,
    survivors,
)
from tpharness.readings import AnswerRule, Readings, UnfinishedRule
from tpharness.resources import scenarios_dir
from tpharness.run.plan import base_case, make_script
from tpharness.run.select import select_scenarios
from tpharness.scenario import load_scenario
from tpharness.server_events import Recorder
from tpharness.targets.contract import RunScript

EVERY_READING = [Readings(R20=one, R21=other) for one, other in product(UnfinishedRule, AnswerRule)]
AT = "2025-01-20T10:00:00Z"


def responses() -> Iterator[tuple[Response, list[int], set[int]]]:
    """Return finished and unfinished responses of every sort of part, their calls, and which of these are answered."""
    text = Part(kind="text", fields={"content": "Hi"})
    half = Part(kind="text", fields={"content": "H"}, complete=False)
    thought = Part(kind="thinking", fields={"content": "Hm"})
    call = Part(kind="tool-call", fields={"tool_call_id": "c"})
    for parts in [(), (text,), (half,), (text, half), (thought,), (text, call), (call, call), (call, half)]:
        keys = [key for key, part in enumerate(parts) if part.kind == "tool-call"]
        for finished, answered in product([True, False], [set(), set(keys[:1]), set(keys)]):
            shown = tuple(part for part in parts if part.complete or not finished)
            yield Response(agent_id="a", at=AT, parts=shown, finished=finished), keys, answered


@pytest.mark.parametrize("readings", EVERY_READING, ids=lambda readings: str(readings.as_json()))
def test_what_has_settled_is_kept_whole_by_every_reading(readings: Readings) -> None:
    """Otherwise a segment would hold what one of the readings drops."""
    settled = [one for one in responses() if keep.is_settled(*one)]
    assert settled
    assert all(keep.surviving_response(*one, readings) is one[0] for one in settled)


def test_what_the_default_reading_drops_has_not_settled() -> None:
    """R20, R21: a response that is unfinished, or of which a call is open, may still go."""
    for response, calls, answered in responses():
        owed = response.finished and answered >= set(calls)
        assert keep.is_settled(response, calls, answered) == owed, response


def journals() -> Iterator[Journal]:
    """Play the events of the built-in scenarios and return the journal after each."""
    for one in select_scenarios((), (scenarios_dir(),)):
        scenario = load_scenario(one.path, root=one.root)
        if any(run.events is None for _, run in scenario.runs):
            continue
        recorder = Recorder(providers={})
        for turn in make_script(base_case(scenario)).turns:
            if not isinstance(turn, RunScript):
                recorder.add_user_turn(turn)
                continue
            recorder.begin(turn.agent_id, turn.started_at)
            for event in turn.events:
                recorder.feed(event)
                yield recorder.journal()
            cut = turn.interruption or Interrupted(
                reason="network_failure", at=recorder.time
            )  # R27, unless it has ended
            recorder.interrupt(cut.reason, cut.at)


def test_nothing_in_a_segment_could_be_dropped() -> None:
    """In every scenario, after each of its events, with each reading."""
    seen: dict[int, object] = {}  # the segments by their ids, which are kept alive so that no id comes again
    for journal in journals():
        for turn in (journal.last, *journal.ended[-1:]):
            for segment in turn.segments if isinstance(turn, AgentTurn) else ():
                if id(segment) not in seen:
                    seen[id(segment)] = segment
                    assert all(survivors(segment, readings) == segment.entries for readings in EVERY_READING)
    assert len(seen) > 50


def writer_of(*steps: Callable[[JournalWriter], Any]) -> JournalWriter:
    """Return a writer with a turn of these steps."""
    writer = JournalWriter()
    writer.begin_turn("a", AT)
    for step in steps:
        step(writer)
    return writer


def thinking(writer: JournalWriter) -> None:
    """Write a response of nothing but thinking, and finish it."""
    writer.begin_response(AT)
    writer.close_part(writer.open_part("thinking", {}, "content"))
    writer.finish_response()


def source(writer: JournalWriter) -> None:
    """Write an event that is content of the open response."""
    writer.add_event(Event(name="source.url", data={}, at=AT, bound=writer.response_open))


def kept(writer: JournalWriter) -> list[Entry]:
    """Return what is left of the turn when it is cut now."""
    turn = writer.journal().last
    assert turn is not None
    return [entry for one in turn.segments for entry in one.entries] + list(survivors(turn.tail, Readings()))


def test_the_writer_closes_segments_by_what_survives(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two places that decide would drop a response when the turn is cut at once, and keep it once it has settled."""
    before = writer_of(thinking, thinking)
    assert len(kept(before)) == 2
    real = keep.surviving_response

    def dropping(response: Response, *rest: Any) -> Response | None:
        return None if any(part.kind == "thinking" for part in response.parts) else real(response, *rest)

    monkeypatch.setattr(keep, "surviving_response", dropping)
    assert kept(writer_of(thinking, thinking, thinking)) == []


def test_the_events_of_a_finished_response_without_parts_stay_at_once_and_later() -> None:
    """They belong to a response that has finished (R20, R25), also while nothing has come after it."""

    def empty(writer: JournalWriter) -> None:
        writer.begin_response(AT)
        source(writer)
        writer.finish_response()

    def names(writer: JournalWriter) -> list[str]:
        return [entry.name for entry in kept(writer) if isinstance(entry, Event)]

    assert names(writer_of(empty)) == ["source.url"]
    assert names(writer_of(empty, thinking)) == ["source.url"]
    assert names(writer_of(lambda writer: writer.begin_response(AT), source)) == []


def test_an_event_stays_that_follows_a_response_which_has_settled() -> None:
    """The tail may begin with it: the response before it is in a segment, and stays (R23)."""
    bound = Event(name="source.url", data={}, at=AT, bound=True)
    assert survivors(Segment(entries=(bound,), calls={}), Readings()) == (bound,)


def test_a_call_that_is_never_answered_costs_no_second_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fold stays linear: a response is asked about until it has settled, and what stands behind it is not."""
    asked = 0
    real = keep.is_settled

    def counting(*args: Any) -> bool:
        nonlocal asked
        asked += 1
        return real(*args)

    def calling(writer: JournalWriter) -> None:
        writer.begin_response(AT)
        writer.add_part("tool-call", {"tool_call_id": "c", "tool_name": "t"})

    monkeypatch.setattr(keep, "is_settled", counting)
    writer = writer_of(calling, *[thinking] * 100)
    assert asked == 100
    turn = writer.journal().last
    assert turn is not None
    assert not turn.segments
    writer.add_return("c", "tool-return", {}, AT)
    thinking(writer)
    assert asked == 100 + 101
    turn = writer.journal().last
    assert turn is not None
    assert len(turn.segments) == 1
    assert isinstance(turn.segments[0].entries[-1], Return)
