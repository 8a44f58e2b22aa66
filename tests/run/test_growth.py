"""A stream of any length is judged in a time that is in proportion to it, and judging can be ended."""

from __future__ import annotations

import asyncio
import gc
import re
import signal
import sys
from collections.abc import Callable
from dataclasses import replace

import pytest
from benchmarks.long_streams import KINDS, LongWinded
from tests.counting import count_calls
from tests.scenarios import load_builtin

from tpharness.checks.growth import first_missing
from tpharness.judging_time import JudgedTooLongError, allow_judging, ctrl_c_ends_judging, heed_judging_time, judging
from tpharness.protocol.versions import Version
from tpharness.run.session import Session
from tpharness.run.variants import same_output
from tpharness.scenario.records import Compare
from tpharness.targets.contract import TargetOutput
from tpharness.targets.remote import Patience
from tpharness.trace.format import Traced
from tpharness.trace.secrets import Secrets
from tpharness.verdict.result import Outcome, Result


def play(middle: bytes, patience: Patience | None = None, trace: Traced = Traced.NONE) -> Result:
    """Play a scenario on a server whose stream has this in it."""
    with Session(patience=patience, trace=trace) as session:
        session.players = replace(session.players, server=LongWinded(middle))
        (result,) = session.run(session.play(load_builtin("tools/metadata")))
    return result


@pytest.mark.parametrize("kind", KINDS)
def test_judging_grows_with_the_stream_and_no_faster(kind: str) -> None:
    """Four times as many of a kind are at most 1.2 × four times the work."""
    play(KINDS[kind](4))  # what is loaded once
    few, many = (count_calls(lambda n=n: play(KINDS[kind](n))) for n in (260, 1040))  # type: ignore[misc]
    assert many < 4 * 1.2 * few


@pytest.mark.parametrize("kind", ["calls", "steps with calls", "events"])
def test_the_trace_of_a_case_grows_with_the_stream_and_no_faster(kind: str) -> None:
    """A thread for each event took hours of a stream with 20,000 calls; how many were left out is in the trace."""
    made = []

    def trace(n: int) -> int:
        record = play(KINDS[kind](n), trace=Traced.ALL).record
        assert record is not None
        return count_calls(lambda: made.append(record.files(Result(id="x", outcome=Outcome.PASSED), Secrets())))

    few, many = trace(260), trace(1040)
    assert many < 4 * 1.2 * few
    cuts = [line for files in made for line in files.body.splitlines() if b'"kind":"cut"' in line]
    assert re.search(rb"of \d{4} states of the client's thread, 2\d\d are kept", cuts[-1])


def test_two_playings_are_compared_as_part_of_judging(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C ends only what is judged at once: to compare threads of 20,000 calls took a second in which it waited."""
    compared = []

    def compare(one: object, other: object) -> bool:
        heed_judging_time()
        compared.append((one, other))
        return True

    monkeypatch.setattr("tpharness.run.variants.same_thread", compare)
    output = TargetOutput(threads={Version.V0_0_4: {}})
    assert same_output(output, output)
    with allow_judging(-1.0), pytest.raises(JudgedTooLongError):
        same_output(output, output)
    assert len(compared) == 1


def test_states_that_were_not_compared_are_reported() -> None:
    """A check that looks at some states only says so."""
    found = {finding.code: finding for finding in play(KINDS["events"](1000)).findings}
    assert re.match(r"of 10\d\d states of the client's thread, 2\d\d were", found["states-skipped"].message)
    assert "states-skipped" not in {finding.code for finding in play(KINDS["events"](200)).findings}


def test_a_case_that_takes_too_long_to_judge_fails_with_a_finding() -> None:
    """The patience with an answer covers what is computed of it."""
    result = play(KINDS["calls"](500), Patience(total=0.01))
    assert result.outcome is Outcome.FAILED
    assert [finding.code for finding in result.findings] == ["judging-too-long"]


def test_a_check_that_compares_for_long_is_ended() -> None:
    """Where each message of a side is looked for in all of the other's, the time of the case counts for every one."""
    event = {"message_type": "system", "event_type": "x", "timestamp": "2025-01-20T10:00:00Z", "event_data": {}}
    turns = [[{"turn_type": "agent", "messages": [{**event, "event_data": {"n": n}}]}] for n in (1, 2)]
    with allow_judging(-1.0), judging(), pytest.raises(JudgedTooLongError):
        first_missing({"turns": turns[0]}, {"turns": turns[1]}, Compare.EXACT)


def test_time_between_blocks_of_judging_does_not_count() -> None:
    """Other cases are played meanwhile; outside of a case nothing is limited."""
    heed_judging_time()
    with judging():
        heed_judging_time()
    with allow_judging(0.0):
        heed_judging_time()
        with judging(), pytest.raises(JudgedTooLongError, match="more than 0 s"):
            heed_judging_time()


def test_no_garbage_is_collected_while_something_is_judged() -> None:
    """A look through a long stream takes a second in which no Ctrl-C is heeded; where none was, none is afterwards."""
    with allow_judging(60):
        for enabled in (True, False):
            (gc.enable if enabled else gc.disable)()
            try:
                with judging():
                    assert not gc.isenabled()
                    with judging():
                        pass
                    assert not gc.isenabled()
                assert gc.isenabled() is enabled
            finally:
                gc.enable()


@pytest.mark.skipif(sys.platform == "win32", reason="there a signal comes otherwise")
def test_the_first_ctrl_c_ends_judging_at_once() -> None:
    """Asyncio would cancel the task where it next waits, which judging does not."""
    reached = []

    async def judge_for_ever(heed_ctrl_c: Callable[[], None]) -> None:
        heed_ctrl_c()
        with allow_judging(60), judging():
            signal.raise_signal(signal.SIGINT)
            reached.append("went on")

    with asyncio.Runner() as runner, pytest.raises(KeyboardInterrupt), ctrl_c_ends_judging() as heed_ctrl_c:
        runner.run(judge_for_ever(heed_ctrl_c))
    assert reached == []
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.skipif(sys.platform == "win32", reason="there a signal comes otherwise")
@pytest.mark.parametrize("inside", [True, False], ids=["while one judges", "before one judges"])
@pytest.mark.parametrize("turns", [0, 1], ids=["while the runner's task is cancelled", "when it has just ended"])
def test_nothing_is_judged_after_the_first_ctrl_c(turns: int, *, inside: bool) -> None:
    """A task judges for seconds before it waits, and asyncio would cancel it only there."""
    begun = asyncio.Event()
    reached: list[str] = []
    pressed: list[bool] = []

    def press() -> None:
        if not pressed:
            pressed.append(True)
            signal.raise_signal(signal.SIGINT)

    async def judge(turns: int) -> None:
        await begun.wait()
        for _ in range(turns):
            await asyncio.sleep(0)
        with allow_judging(60):
            if not inside:
                press()
            with judging():
                reached.append("judged")
                press()
                reached.append("went on")

    async def wait_for(task: asyncio.Task[None], heed_ctrl_c: Callable[[], None]) -> None:
        heed_ctrl_c()
        begun.set()
        await task

    with asyncio.Runner() as runner:
        loop = runner.get_loop()
        tasks = [loop.create_task(judge(0)), loop.create_task(judge(turns))]
        with pytest.raises(KeyboardInterrupt), ctrl_c_ends_judging() as heed_ctrl_c:
            runner.run(wait_for(tasks[0], heed_ctrl_c))
        runner.run(asyncio.sleep(0))
        assert [task.cancelled() for task in tasks] == [True, True]
    assert reached == ["judged"] * inside
    with allow_judging(60), judging():
        reached.append("the next run")
    assert reached[-1] == "the next run"


@pytest.mark.skipif(sys.platform == "win32", reason="there a signal comes otherwise")
def test_another_ctrl_c_while_judging_ends_does_no_more() -> None:
    """Asyncio would end its loop halfway, and then not run what leaves the targets in order."""
    begun = asyncio.Event()
    reached = []

    async def judge() -> None:
        await begun.wait()
        with allow_judging(60), judging():
            try:
                signal.raise_signal(signal.SIGINT)
            finally:
                signal.raise_signal(signal.SIGINT)

    async def wait_for(task: asyncio.Task[None], heed_ctrl_c: Callable[[], None]) -> None:
        heed_ctrl_c()
        begun.set()
        try:
            await task
        finally:
            reached.append("left in order")

    with asyncio.Runner() as runner:
        task = runner.get_loop().create_task(judge())
        with pytest.raises(KeyboardInterrupt), ctrl_c_ends_judging() as heed_ctrl_c:
            runner.run(wait_for(task, heed_ctrl_c))
        assert task.cancelled()
    assert reached == ["left in order"]
