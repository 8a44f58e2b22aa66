"""A busy machine makes an application late, which is no fault: what is found is the same there."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from benchmarks.virtual_time import IdleLoop, Ready
from tests.apps.chat_app import ChatApp, Defect, Json, Stored, Writer
from tests.apps.playing import NOT_ASKED_FOR, STOP, THREAD, codes_of, count_lines, play, playing
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


class ShowsLate(ChatApp):
    """Something holds up the chunk that shows a call, longer than a stream has to be silent to count as quiet."""

    late = 0.3

    def writer(self, chat: Stored, body: Json, response: web.StreamResponse) -> Writer:
        """Return such a writer."""
        del chat, body
        return LateWriter(response)


class LateWriter(Writer):
    """Holds up the chunk of a call."""

    async def send(self, chunk: Mapping[str, Any], *, done: bool = False) -> None:
        """Wait before a call is shown."""
        if chunk["type"] == "tool-input-available":
            await asyncio.sleep(ShowsLate.late)
        await super().send(chunk, done=done)


def test_a_call_that_is_shown_late_is_cut_while_its_tool_runs(tmp_path: Path) -> None:
    """The application was seen to show a call before its result: silence is no sign that the tool runs by now."""
    effects = tmp_path / "effects.txt"
    app = ShowsLate(effects=effects, tool_seconds=0.6)
    (result,) = play(app, "user-leaves/while-tool-runs", effects=count_lines(effects), on_disconnect="stop")
    assert (result.outcome, codes_of([result])) == (Outcome.PASSED, set())
    assert len(effects.read_text("utf-8").splitlines()) == 2  # that of the run before the cases, and that of the case
