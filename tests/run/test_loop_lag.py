"""A machine that stands still is not taken for a target that does not keep its word."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest
from tests.scenarios import load_builtin

from tpharness.findings import Place
from tpharness.judging_time import JudgingTime, allow_judging, judging
from tpharness.run.loop_lag import LoopLag
from tpharness.run.play import Players
from tpharness.run.session import Session
from tpharness.targets import Reference
from tpharness.targets.contract import Script, TargetOutput
from tpharness.targets.remote import CAPABILITY_KINDS, BrokenContractError, Remote
from tpharness.verdict import Outcome, Result

SCENARIO = load_builtin("basics/client-loses-the-end")


class Late(Remote):
    """The reference, far away, which `breaks` so many promises one after the other."""

    at_once = 1

    def __init__(self, breaks: int) -> None:
        self.capabilities = Reference().capabilities
        self.served = 0
        self._breaks = breaks

    async def open(self) -> None:
        """Nothing is to be opened."""

    async def close(self) -> None:
        """Nor closed."""

    async def serve(self, script: Script) -> TargetOutput:
        """Serve as the reference, or say that a promise was broken."""
        self.served += 1
        if self.served <= self._breaks:
            raise BrokenContractError(CAPABILITY_KINDS["cancel"].at(Place(), "0.08 s later it still listens"))
        return await Reference().serve(script)


def played(server: Any) -> Result:
    """Play one case on it."""
    with Session() as session:
        session.players = Players(server=server, client=Reference(), compare=None)
        case, reason = session.run(session.adapt(SCENARIO))
        assert not reason
        return session.run(session.play_case(case))


@pytest.mark.parametrize(
    ("breaks", "late", "outcome", "plays"),
    [
        (0, 0.0, Outcome.PASSED, 1),
        (1, 0.0, Outcome.FAILED, 1),
        (1, 0.25, Outcome.PASSED, 2),
        (9, 0.25, Outcome.FAILED, 3),
    ],
    ids=["good", "bad", "late machine", "bad on a late machine"],
)
def test_a_case_that_the_machine_spoilt_is_played_again(
    breaks: int, late: float, outcome: Outcome, plays: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A few times; and what fails while the clock runs has failed."""

    class FixedLag(LoopLag):
        def _measure(self) -> None:
            self.max_delay = late

    monkeypatch.setattr("tpharness.run.session.LoopLag", FixedLag)
    server = Late(breaks)
    result = played(server)
    assert result.outcome is outcome
    assert server.served == plays
    assert result.played_again == plays - 1, "the report counts what was discarded"


@pytest.fixture
def stand_still(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Return what lets the clock go on by so many seconds without anything else."""
    clock, ahead = time.monotonic, [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock() + sum(ahead))
    return ahead.append


def test_the_lag_is_how_late_the_loop_was(stand_still: Callable[[float], None]) -> None:
    """Also when it is left before the next beat."""

    async def work() -> tuple[float, float]:
        async with LoopLag(JudgingTime(0)) as calm:
            await asyncio.sleep(0)
        async with LoopLag(JudgingTime(0)) as late:
            stand_still(60)
        return calm.max_delay, late.max_delay

    calm, late = asyncio.run(work())
    assert late > 59
    assert calm < 30


def test_judging_the_case_is_no_lag(stand_still: Callable[[float], None]) -> None:
    """It waits for no target meanwhile: to play it again would only judge it again, for as long."""

    async def work() -> float:
        with allow_judging(60) as judged:
            async with LoopLag(judged) as lag:
                with judging():
                    stand_still(60)
            return lag.max_delay

    assert asyncio.run(work()) < 30
