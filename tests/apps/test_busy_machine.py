"""A busy machine makes an application late, which is no fault: what is found is the same there."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from benchmarks.virtual_time import IdleLoop, Ready
from tests.apps.chat_app import ChatApp, Defect, Json, Stored
from tests.apps.playing import NOT_ASKED_FOR, STOP, THREAD, codes_of, playing
from tests.distribution import Sample

from tpharness.apps.cases import CaseTool
from tpharness.apps.cases.catalogue import all_cases
from tpharness.verdict import Outcome

TOOL = 0.2
"""Seconds that a tool of the application takes: where others have the processor as long, it ends with the cut."""


class BusyMachine(IdleLoop):
    """Others have the processor for `lost` seconds whenever somebody waits here, so that everything happens late."""

    lost = TOOL

    def idle(self, select: Callable[[float | None], Ready], timeout: float | None) -> Ready:
        """Let others have the processor first."""
        self.jump(self.lost)
        return super().idle(select, timeout)


class LessBusyMachine(BusyMachine):
    """A case can still be cut while a tool runs that nobody holds."""

    lost = TOOL / 4


class TidiesUp(ChatApp):
    """Has something to do in ten turns before it leaves the model's answer."""

    @contextlib.asynccontextmanager
    async def _stream(self, chat: Stored) -> AsyncIterator[AsyncIterator[Json]]:
        async with super()._stream(chat) as stream:
            try:
                yield stream
            finally:
                for _ in range(10):
                    await asyncio.sleep(0.001)


@pytest.mark.parametrize("loop", [IdleLoop, LessBusyMachine, BusyMachine])
def test_an_application_that_stops_late_on_a_busy_machine_stops(loop: type[IdleLoop]) -> None:
    """It is given its share of the processor and not seconds alone; one that runs on is found there, too."""
    ids = ("user-leaves/in-text", "user-leaves/in-answer", "stop-button/in-text")
    config: dict[str, Any] = {"on_disconnect": "stop", "stop": STOP}
    with asyncio.Runner(loop_factory=loop) as runner:
        assert codes_of(runner.run(playing(TidiesUp(), *ids, **config))) == set()
        assert codes_of(runner.run(playing(ChatApp(Defect.RUNS_ON), *ids, **config))) == {"runs-on"}


def test_an_application_that_goes_on_late_goes_on() -> None:
    """Its tool ends later than on a quiet machine, and what it asks the model then comes in time all the same."""
    with asyncio.Runner(loop_factory=BusyMachine) as runner:
        app = ChatApp(Defect.RUNS_ON, tool_seconds=TOOL)
        results = runner.run(playing(app, "user-leaves/*", on_disconnect="continue", thread=THREAD))
    assert codes_of(results) == set()
    assert {result.id for result in results if result.outcome is not Outcome.PASSED} == {"user-leaves/in-thinking"}


@pytest.mark.sampled
@pytest.mark.parametrize(("loop", "effects"), [(LessBusyMachine, None), (BusyMachine, "ledger")])
def test_an_application_that_bears_everything_is_accused_of_nothing(
    loop: type[IdleLoop], effects: str | None, sample: Sample[str]
) -> None:
    """In no case, and no case is left out that a quiet machine plays."""
    every = [case.id for case in all_cases(CaseTool(name="book_hotel"), ledger=effects is not None)]
    chosen = sample(every)
    config: dict[str, Any] = {"on_disconnect": "stop", "stop": STOP, "thread": THREAD, "effects": effects}
    with asyncio.Runner(loop_factory=loop) as runner:
        results = runner.run(playing(ChatApp(tool_seconds=TOOL), *chosen, **config))
    assert codes_of(results) == set()
    assert {result.id for result in results} == set(chosen)
    left_out = {result.id for result in results if result.outcome is not Outcome.PASSED}
    assert left_out == NOT_ASKED_FOR & set(chosen)
