"""A real agent framework that plays the first events of a run, and is cancelled there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from typing import Any

from tests.histories.message_parts.build import inline, scenario

from tpharness.journal import UserTurn
from tpharness.run.plan import base_case, make_script
from tpharness.scenario import Scenario

__all__ = ["PLAYED", "TWO_TOOLS", "CutScript", "events_of"]

TWO_TOOLS = """
  - user: q
  - steps:
      - response: [{{text: Both.}}, {{call: slow, id: c1, args: {{a: 1}}}}, {{call: fast, id: c2, args: {{}}}}]
      - returns: {{c2: two}}
      - returns: {{c1: one}}
      - response: [{last}{{text: Done.}}]
"""
"""A run whose second tool is done first; `last` is what the last response begins with."""
PLAYED: dict[str, Scenario] = {
    "text": scenario("histories/k01-text-only"),
    "thinking, call and answer": scenario("histories/k02-thinking-call-and-answer"),
    "two tools, the second done first": inline(TWO_TOOLS.format(last="{thinking: hm}, ")),
}
"""What a real framework plays, cut after each event."""

Event = dict[str, Any]


def events_of(scenario: Scenario) -> tuple[Event, ...]:
    """Return the server's events of the one run of a scenario, which are Pydantic AI's own."""
    (run,) = [turn for turn in make_script(base_case(scenario)).turns if not isinstance(turn, UserTurn)]
    return tuple(dict(event) for event in run.events)


class CutScript:
    """The script of a model and its tools: what comes after the first `at` events never comes."""

    def __init__(self, script: tuple[Event, ...], at: int) -> None:
        self._script, self._at = script, at
        self._asked = 0
        self._reached = asyncio.Event()

    async def _wait(self, index: int) -> None:
        """Go on if an event is before the cut; else wait to be cancelled."""
        if index >= self._at:
            self._reached.set()
            await asyncio.Event().wait()

    async def response(self) -> AsyncIterator[Event]:
        """Yield the events of the next response of the model."""
        begins = [i for i, event in enumerate(self._script) if event["event_kind"] == "model_request"]
        start, self._asked = begins[self._asked], self._asked + 1
        for index in range(start, len(self._script)):
            await self._wait(index)
            if self._script[index]["event_kind"] == "model_response_end":
                return
            yield self._script[index]

    async def returned(self, call_id: str) -> Any:
        """Return what a tool returns, once it has."""
        for index, event in enumerate(self._script):
            if event["event_kind"] == "function_tool_result" and event["part"]["tool_call_id"] == call_id:
                await self._wait(index)
                return event["part"]["content"]
        raise AssertionError(call_id)

    async def cancel(self, run: Coroutine[Any, Any, None]) -> None:
        """Play a run until it ends or has come to the cut, and cancel it there."""
        task = asyncio.create_task(run)
        waiting = asyncio.create_task(self._reached.wait())
        await asyncio.wait({task, waiting}, return_when=asyncio.FIRST_COMPLETED)
        for _ in range(500):  # let the tools that have returned be noticed
            await asyncio.sleep(0)
        task.cancel()
        waiting.cancel()
        await asyncio.gather(task, waiting, return_exceptions=True)
