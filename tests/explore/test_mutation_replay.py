"""Only what a change can have reached is played, and what is found is the same as if everything was."""

from __future__ import annotations

import copy
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any
from unittest import mock

import pytest
from tests.distribution import Sample
from tests.seeded_defects import DEFECTS, HARMLESS

from tpharness.checks import validity
from tpharness.dialects import messages, thread
from tpharness.explore.mutation import Defect, Harmless, load_scenarios, play_change, record_unharmed, settle_change
from tpharness.explore.mutation.merged_reads import merge_reads
from tpharness.explore.mutation.reach import find_reach
from tpharness.explore.mutation.recording import Recording
from tpharness.explore.mutation.same import same
from tpharness.journal import JournalWriter, UserTurn
from tpharness.protocol import canonical
from tpharness.scenario import Scenario
from tpharness.server_events import recorder
from tpharness.targets import Packet, Reference, Stream, StreamEnd
from tpharness.wires.sse.parser import SseParser
from tpharness.wires.vsp import context
from tpharness.wires.vsp.context import StreamContext
from tpharness.wires.vsp.tool_calls import ToolCalls

HALF = "interruptions/one-of-two-tools-done"
SAMPLE = (
    "basics/tool-call-and-answer",
    HALF,
    "numbers/composed-and-decomposed",
    "parts/every-kind-in-one-response",
    "sse/multi-line-data-with-crlf",
)
"""Calls, thinking, files, a cut, a sweep, line ends that a read may split."""
CHANGES = (*DEFECTS, *HARMLESS)


@cache
def recorded() -> tuple[tuple[Scenario, ...], Recording]:
    """Return the sample and how it is played unharmed."""
    scenarios = load_scenarios(SAMPLE)
    return scenarios, record_unharmed(scenarios)


def change(seed: Callable[[], AbstractContextManager[Any]]) -> Harmless:
    """Return a change of the reference."""
    return Harmless(name="a-change", sentence="It is another one.", side="both", seed=seed)


@pytest.mark.sampled
def test_what_is_found_is_what_playing_everything_finds(
    sample: Sample[Defect | Harmless], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Changes both ways: the same failures, with their cases, codes and citations, also where none is.

    A verdict that some of the scenarios settle is the same as after all of them, and each failure that it took is one
    of theirs: without a recording, and with one, whether or not some are played outright before it is looked at.
    """
    scenarios, recording = recorded()
    chosen = sample(CHANGES[::5])
    monkeypatch.setattr("tpharness.explore.mutation.play.find_reach", cache(find_reach))  # one change is asked thrice
    killed = 0
    for index, one in enumerate(chosen):
        every = play_change(one, scenarios)
        assert play_change(one, scenarios, recording=recording).kills == every.kills, one.name
        killed += every.killed
        for known, outright in ((None, 0), (recording, 0), (recording, 2)) if index % 2 == 0 else ():
            with monkeypatch.context() as patched:
                patched.setattr("tpharness.explore.mutation.play._OUTRIGHT", outright)
                some = settle_change(one, scenarios, known)
            assert (some.killed, some.right, some.confirmed) == (every.killed, every.right, every.confirmed), one.name
            assert set(some.kills) <= set(every.kills), one.name
    assert 1 <= killed < len(chosen)


def test_what_is_settled_is_not_played_on() -> None:
    """Four scenarios find it; the first that is about it is enough, and a recording is not asked."""
    scenarios, recording = recorded()
    (broken,) = [one for one in DEFECTS if one.name == "complete-turn-without-end"]
    assert len(play_change(broken, scenarios, recording=recording).kills) == 4
    with mock.patch("tpharness.explore.mutation.play.find_reach") as asked:
        assert settle_change(broken, scenarios, recording).played == 1
    assert not asked.called


def test_only_what_a_change_reaches_is_asked_for_a_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    """What does not run its code cannot fail; without a recording nobody knows."""
    monkeypatch.setattr("tpharness.explore.mutation.play._OUTRIGHT", 0)
    scenarios, recording = recorded()
    seed = change(replaced(ToolCalls, "_is_complete"))
    assert 1 <= settle_change(seed, scenarios, recording).played < len(scenarios)
    assert settle_change(seed, scenarios).played == len(scenarios)


def test_a_recording_is_what_it_was_after_changes_were_played() -> None:
    """A change modifies nothing that was recorded: the next one is given the same."""
    scenarios, recording = recorded()
    steps = [step for one in recording.scenarios.values() for step in one.steps if step.name == "receive"]
    before = copy.deepcopy([step.result for step in steps])
    for one in CHANGES[::120]:
        play_change(one, scenarios, recording=recording)
    assert all(same(step.result, was) for step, was in zip(steps, before, strict=True))


def count_calls(owner: Any, name: str, seed: Callable[[], AbstractContextManager[Any]]) -> tuple[int, int]:
    """Return how often a function is called with a change seeded: with the recording, and without."""
    reach = find_reach(change(seed), recorded()[1].code)
    was = getattr(owner, name)
    counts = []
    for recording in (recorded()[1], None):
        calls = mock.Mock()

        def counted(*given: Any, calls: mock.Mock = calls, **named: Any) -> Any:
            calls()
            return was(*given, **named)

        with (
            mock.patch.object(owner, name, counted),
            mock.patch("tpharness.explore.mutation.play.find_reach", return_value=reach),
        ):
            play_change(change(seed), recorded()[0], recording=recording)
        counts.append(calls.call_count)
    return counts[0], counts[1]


def replaced(owner: Any, name: str) -> Callable[[], AbstractContextManager[Any]]:
    """Seed another function that does the same."""
    was = getattr(owner, name)

    def again(*given: Any, **named: Any) -> Any:
        return was(*given, **named)

    return lambda: mock.patch.object(owner, name, again)


def test_a_change_of_the_client_leaves_the_server_and_the_verdicts_alone() -> None:
    """Evidence is judged again only where it is another one."""
    seed = replaced(ToolCalls, "_is_complete")
    served, whole = count_calls(recorder.Recorder, "begin", seed)
    assert 0 <= served < whole / 2
    received, whole = count_calls(StreamContext, "begin", seed)
    assert whole / 2 < received <= whole
    judged, whole = count_calls(validity, "check_thread", seed)
    assert judged < whole  # the places of a sweep are


def test_a_step_that_raises_fails_its_scenario_as_it_would() -> None:
    """It is played once: what it raised is raised again where the scenario is played."""
    asked = mock.Mock(side_effect=LookupError("lost"))

    def lost(*_: Any, **__: Any) -> Any:
        return asked()

    seed = change(lambda: put(ToolCalls, "_is_complete", lost))
    scenarios, recording = recorded()
    found = play_change(seed, scenarios, recording=recording)
    once = asked.call_count
    assert found.kills == play_change(seed, scenarios).kills
    assert {kill.reason for kill in found.kills} == {"LookupError: lost"}
    assert once == len(found.kills)


def test_a_step_that_differs_is_not_played_again() -> None:
    """The scenario goes on from it: every stream is folded at most as often as if everything was played."""
    (broken,) = [one for one in DEFECTS if one.name == "done-taken-as-json"]
    received, whole = count_calls(StreamContext, "begin", broken.seed)
    assert 0 < received <= whole


def test_what_was_folded_is_only_rendered_anew() -> None:
    """A change of how threads are written folds no stream again, but where a sweep does."""
    seed = replaced(thread, "survivors")
    folded, whole = count_calls(JournalWriter, "begin_turn", seed)
    assert folded < whole / 2


def test_a_change_that_no_scenario_runs_plays_nothing() -> None:
    """Not even what is around the steps."""
    scenarios, recording = recorded()
    with mock.patch("tpharness.explore.mutation.play._played") as played:
        row = play_change(change(replaced(Reference, "resolve")), scenarios[:1], recording=recording)
    assert not played.called
    assert row.played == 1


def test_a_change_that_cannot_be_seen_is_played_whole() -> None:
    """Nobody knows what it reaches."""
    scenarios, recording = recorded()
    assert find_reach(change(nullcontext), recording.code) is None
    with mock.patch("tpharness.explore.mutation.play.replaying") as replayed:
        for play in (play_change, settle_change):
            assert play(change(nullcontext), scenarios, recording=recording).played == len(scenarios)
    assert not replayed.called


class Other(JournalWriter):
    """Writes as any other."""

    def begin_turn(self, agent_id: str, at: str) -> None:
        """See `JournalWriter`."""
        super().begin_turn(agent_id, at)


def names_of(seed: Callable[[], AbstractContextManager[Any]]) -> set[str]:
    """Return the functions, among all that ran in the sample, that a change reaches."""
    code = recorded()[1].code
    found = find_reach(change(seed), code)
    assert found is not None
    return {code.named(number) for number in found}


def test_a_change_reaches_the_functions_that_it_replaces() -> None:
    """Functions of a module, methods, properties, rows of a table, and the methods that a class overrides."""
    assert names_of(replaced(thread, "survivors")) == {"survivors"}
    assert names_of(lambda: mock.patch.object(StreamContext, "time", property(str))) == {"StreamContext.time"}
    key, action = next(iter(recorder.TRANSITIONS.items()))
    row = {key: lambda *_: None}
    assert names_of(lambda: mock.patch.dict(recorder.TRANSITIONS, row)) == {action.__qualname__}
    assert names_of(lambda: mock.patch.object(context, "JournalWriter", Other)) == {"JournalWriter.begin_turn"}


def test_anything_else_reaches_whoever_names_it() -> None:
    """Constants, classes of another kind, and names that hide a built-in one."""
    assert "canonical_thread" in names_of(lambda: put(canonical, "_LEFT_OUT", ()))
    assert "messages" in names_of(lambda: put(messages, "sorted", list, create=True))
    assert "Assembler.begin" in names_of(lambda: mock.patch("tpharness.wires.vsp.assembler.SseParser", object))


def put(owner: Any, name: str, value: Any, *, create: bool = False) -> Any:
    """Put a value in the place of another one."""
    return mock.patch.object(owner, name, value, create=create)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"n": 1}, {"n": 1.0}),
        ({"n": 1}, {"n": True}),
        ({"n": 0.0}, {"n": -0.0}),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ([1], (1,)),
        ([1], [1, 2]),
        (0.0, -0.0),
        (UserTurn(at="t", parts=({"n": 1},)), UserTurn(at="t", parts=({"n": 1.0},))),
        (object(), object()),
        ({"n": {1}}, {"n": {2}}),
    ],
)
def test_what_only_python_takes_for_equal_is_not_the_same(one: Any, other: Any) -> None:
    """1, 1.0 and True are three values of JSON."""
    assert not same(one, other)


def test_equal_values_and_records_are_the_same() -> None:
    """Also with half characters, and with keys that are not text."""
    for make in (
        lambda: {"a": [1, 2.5, None, "\ud800", {"b": True}]},
        lambda: {Packet: [1.5]},
        lambda: Stream(agent_id="a", begun_at="t", packets=(Packet(data=b"x", at="t"),), end=END),
        Reference,
    ):
        assert same(make(), make())


END = StreamEnd(reason=None, at="t9")


def stream(*reads: bytes) -> Stream:
    """Return a stream in these reads, a second apart."""
    packets = tuple(Packet(data=read, at=f"t{number}") for number, read in enumerate(reads))
    return Stream(agent_id="a", begun_at="t0", packets=packets, end=END)


def test_reads_are_merged_up_to_the_end_of_an_event() -> None:
    """Each event keeps its time, and what follows the last one is there."""
    data = b"data: 1\n\ndata: 2\r\n\r\ndata"
    reads = stream(*(data[i : i + 1] for i in range(len(data))))
    (merged,) = merge_reads([reads])
    assert isinstance(merged, Stream)
    assert b"".join(packet.data for packet in merged.packets) == data
    assert [(packet.data, packet.at) for packet in merged.packets[:1]] == [(b"data: 1\n\n", "t8")]
    assert len(merged.packets) == 3


def test_reads_stay_if_their_parser_can_tell_them_apart() -> None:
    """What is merged is parsed and compared, whatever the parser does."""
    reads = stream(b"data: 1\n", b"\n")

    class Impatient(SseParser):
        def feed_data(self, data: bytes) -> list[bytes]:
            return [data] if data != b"data: 1\n" else []

    with mock.patch("tpharness.wires.sse.parser.SseParser", Impatient):
        assert merge_reads([reads]) == [reads]


def test_a_parser_that_sees_single_reads_is_given_all_of_them() -> None:
    """It is found by the reads of one byte."""
    scenarios, recording = recorded()
    (broken,) = [one for one in DEFECTS if one.name == "cr-and-lf-split-counted-twice"]
    row = play_change(broken, scenarios, recording=recording)
    assert row.killed
    assert row.kills == play_change(broken, scenarios).kills
