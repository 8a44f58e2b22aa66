"""A stream of any length is judged in a time that is in proportion to it, and judging can be ended."""

from __future__ import annotations

import asyncio
import re
import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from types import FrameType
from typing import Any

import pytest
from tests.scenarios import load_builtin

from tpharness.judging_time import JudgedTooLongError, allow_judging, heed_judging_time, judging
from tpharness.run.session import Session
from tpharness.targets.contract import Capabilities, Packet, Script, TargetOutput
from tpharness.targets.reference import Reference
from tpharness.targets.remote import Patience
from tpharness.verdict.result import Outcome, Result
from tpharness.wires.vsp.encode import DONE, encode_sse


def frames(*chunks: dict[str, Any]) -> bytes:
    """Return chunks as the bytes of a stream."""
    return b"".join(map(encode_sse, chunks))


def call(i: int, **more: Any) -> bytes:
    """Return the frame of a complete call."""
    return frames({"type": "tool-input-available", "toolCallId": f"c{i}", "toolName": "t", "input": {}, **more})


def output(i: int, **more: Any) -> bytes:
    """Return the frame of the output of a call."""
    return frames({"type": "tool-output-available", "toolCallId": f"c{i}", "output": 1, **more})


def event(i: int) -> bytes:
    """Return the frame of an event."""
    return frames({"type": "data-app-x", "data": i})


def approval(i: int) -> bytes:
    """Return the frames of a call and the question whether it may run."""
    return call(i) + frames({"type": "tool-approval-request", "toolCallId": f"c{i}", "approvalId": f"a{i}"})


def handoff(i: int) -> bytes:
    """Return the frame that hands over to another agent."""
    data = {"source_agent": f"a{i}", "target_agents": [f"a{i + 1}"], "at": "2025-01-20T10:00:05Z"}
    return frames({"type": "data-tp-agent_handoff", "data": data})


def text(i: int) -> bytes:
    """Return the frames of a whole text."""
    delta = {"type": "text-delta", "id": f"t{i}", "delta": "x"}
    return frames({"type": "text-start", "id": f"t{i}"}, delta, {"type": "text-end", "id": f"t{i}"})


def each(*kinds: Callable[[int], bytes]) -> Callable[[int], bytes]:
    """Return a stream with many of one kind, then as many of the next."""
    return lambda n: b"".join(kind(i) for kind in kinds for i in range(n))


KINDS: dict[str, Callable[[int], bytes]] = {
    "calls": each(call),
    "calls with outputs": each(call, output),
    "calls twice": each(call, call),
    "calls of the provider": each(lambda i: call(i, providerExecuted=True), lambda i: output(i, providerExecuted=True)),
    "parts": each(text),
    "parts, then errors": each(text, lambda _: frames({"type": "error", "errorText": "e"})),
    "steps": each(lambda _: frames({"type": "finish-step"}, {"type": "start-step"})),
    "agents": each(handoff),
    "events": each(event),
    "events, then starts": each(event, lambda _: frames({"type": "start"})),
    "approvals": each(approval),
    "parts and events in turn": each(lambda i: event(i) + text(i)),
    "retries": each(lambda _: b"retry: 10\n\n"),
    "comments": each(lambda _: b": x\n\n"),
    "keys": lambda n: frames({"type": "data-app-x", "data": {f"k{i}": i for i in range(n)}}),
    "lines of an event": lambda n: b"data:\n" * n + b"\n",
}


class LongWinded:
    """The reference, whose first stream is another one."""

    def __init__(self, middle: bytes) -> None:
        self._reference = Reference()
        start, end = ({"type": "start"}, {"type": "start-step"}), ({"type": "finish-step"}, {"type": "finish"})
        self._data = frames(*start) + middle + frames(*end) + DONE

    @property
    def capabilities(self) -> Capabilities:
        """All."""
        return self._reference.capabilities

    async def serve(self, script: Script) -> TargetOutput:
        """Play the script, and send the other stream."""
        served = await self._reference.serve(script)
        at = served.streams[0][0].at
        pieces = (self._data[i : i + 4096] for i in range(0, len(self._data), 4096))
        packets = tuple(Packet(data=piece, at=at) for piece in pieces)
        return replace(served, streams=(packets, *served.streams[1:]))


def play(middle: bytes, patience: Patience | None = None) -> Result:
    """Play a scenario on a server whose stream has this in it."""
    with Session(patience=patience) as session:
        session.players = replace(session.players, server=LongWinded(middle))
        (result,) = session.run(session.play(load_builtin("tools/metadata")))
    return result


def count_work(work: Callable[[], object]) -> int:
    """Return how many functions are called: the same each time, whatever else this machine does."""
    calls = 0

    def count(_frame: FrameType, what: str, _arg: object) -> None:
        nonlocal calls
        calls += what in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    return calls


@pytest.mark.parametrize("kind", KINDS)
def test_judging_grows_with_the_stream_and_no_faster(kind: str) -> None:
    """Four times as many of a kind are at most 1.2 × four times the work."""
    play(KINDS[kind](4))  # what is loaded once
    few, many = (count_work(lambda n=n: play(KINDS[kind](n))) for n in (260, 1040))  # type: ignore[misc]
    assert many < 4 * 1.2 * few


def test_states_that_were_not_compared_are_reported() -> None:
    """A check that looks at some states only says so."""
    found = {finding.code: finding for finding in play(each(event)(1000)).findings}
    assert re.match(r"of 10\d\d states of the client's thread, 2\d\d were", found["states-skipped"].message)
    assert "states-skipped" not in {finding.code for finding in play(each(event)(200)).findings}


def test_a_case_that_takes_too_long_to_judge_fails_with_a_finding() -> None:
    """The patience with an answer covers what is computed of it."""
    result = play(each(call)(500), Patience(total=0.01))
    assert result.outcome is Outcome.FAILED
    assert [finding.code for finding in result.findings] == ["judging-too-long"]


def test_time_between_blocks_of_judging_does_not_count() -> None:
    """Other cases are played meanwhile; outside of a case nothing is limited."""
    heed_judging_time()
    with judging():
        heed_judging_time()
    with allow_judging(0.0):
        heed_judging_time()
        with judging(), pytest.raises(JudgedTooLongError, match="more than 0 s"):
            heed_judging_time()


@pytest.mark.skipif(sys.platform == "win32", reason="there a signal comes otherwise")
def test_the_first_ctrl_c_ends_judging_at_once() -> None:
    """Asyncio would cancel the task where it next waits, which judging does not."""
    reached = []

    async def judge_for_ever() -> None:
        with allow_judging(60), judging():
            signal.raise_signal(signal.SIGINT)
            reached.append("went on")

    with asyncio.Runner() as runner, pytest.raises(KeyboardInterrupt):
        runner.run(judge_for_ever())
    assert reached == []
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
