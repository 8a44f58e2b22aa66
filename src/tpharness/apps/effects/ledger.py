"""The ledger of effects: when each tool started, had its effect, ended or was cancelled.

A tool of the ledger does nothing in the world. Its *effect* is a line here, written at one moment of its run, so that
it is known for certain whether what it was called for has happened, whatever the application and its model believe.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from tpharness.errors import TargetError, UsageError

__all__ = [
    "DEFAULT_TOOLS",
    "EffectLedger",
    "LedgerRun",
    "LedgerRunState",
    "ToolAnswer",
    "ToolFailure",
    "ToolSpec",
    "ToolWaitError",
    "reference_of",
]


class ToolWaitError(TargetError):
    """A run of a tool that was awaited did not come, or did not get so far, in time."""


class ToolFailure(Exception):  # noqa: N818  # what the tool says, not a mistake of anybody here
    """A tool fails, as the plan says."""


class LedgerRunState(StrEnum):
    """How far a run is."""

    RUNNING = "running"
    HELD = "held"  # waits for `LedgerRun.release`
    COMPLETED = "completed"  # its result was given to the caller
    FAILED = "failed"  # its error was
    CANCELLED = "cancelled"  # the caller cancelled it, or went away


_OPEN = (LedgerRunState.RUNNING, LedgerRunState.HELD)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """A tool that is offered: `result` is what it returns, `failure` the text that it fails with, None for none.

    `numbered` adds `reference_of` the run to a result that is an object, so that results of two runs differ.
    """

    name: str
    description: str
    input_schema: Mapping[str, Any]
    result: Any = None
    failure: str | None = None
    numbered: bool = False

    def as_json(self) -> dict[str, Any]:
        """Return what a model is sent as the result of the tool."""
        return {"name": self.name, "description": self.description, "input_schema": self.input_schema}

    def answer(self, number: int, given: ToolAnswer | None = None) -> Any:
        """Return the result of a run by its number, or what is given in its place; ToolFailure if that is one."""
        answer = given or ToolAnswer(result=self.result, failure=self.failure)
        if answer.failure is not None:
            raise ToolFailure(answer.failure)
        if self.numbered and isinstance(answer.result, Mapping):
            return {**answer.result, "reference": reference_of(number)}
        return answer.result


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolAnswer:
    """What one run of a tool answers in place of what its `ToolSpec` says: a result, or the text that it fails with."""

    result: Any = None
    failure: str | None = None


def reference_of(number: int) -> str:
    """Return the word by which a numbered result names its run."""
    return f"TP-{number}"


DEFAULT_TOOLS = (
    ToolSpec(
        name="book_hotel",
        description="Book a hotel room.",
        input_schema={
            "type": "object",
            "properties": {"city": {"type": "string"}, "nights": {"type": "integer", "minimum": 1}},
            "required": ["city"],
        },
        result={"booked": True},
        numbered=True,
    ),
)


@dataclass(slots=True, kw_only=True, eq=False)
class LedgerRun:
    """One run of a tool; times are `loop.time()`, None for what has not happened.

    `number` counts the runs of the ledger from 1; `via` is how the call came: "http", "mcp" or "stdio"; `call_id` is
    the model's id of the call, empty where the application does not say it; `case` is the case that it is of, empty for
    none, see `EffectLedger.begin`; `answer` is what its caller is given, empty before that is known.
    """

    number: int
    tool: str
    arguments: Any
    via: str
    started_at: float
    call_id: str = ""
    case: str = ""
    answer: Mapping[str, Any] = field(default_factory=dict)
    effect_at: float | None = None
    ended_at: float | None = None
    state: LedgerRunState = LedgerRunState.RUNNING
    _changed: asyncio.Event = field(default_factory=asyncio.Event, repr=False)
    _released: asyncio.Event = field(default_factory=asyncio.Event, repr=False)

    def release(self) -> None:
        """Let a run go on that is held, or that would be."""
        self._released.set()

    async def held(self, timeout: float = 10.0) -> None:  # noqa: ASYNC109  # the limit of every wait is an argument
        """Wait until the run holds. ToolWaitError if it does not in so many seconds, or ends before."""
        await self._wait_for((LedgerRunState.HELD,), timeout)

    async def ended(self, timeout: float = 10.0) -> LedgerRunState:  # noqa: ASYNC109
        """Wait until the run is over, and return how it ended. ToolWaitError after so many seconds."""
        await self._wait_for((LedgerRunState.COMPLETED, LedgerRunState.FAILED, LedgerRunState.CANCELLED), timeout)
        return self.state

    async def hold(self) -> None:
        """Wait for `release`."""
        if not self._released.is_set():
            self.change(LedgerRunState.HELD)
            await self._released.wait()
            self.change(LedgerRunState.RUNNING)

    def change(self, state: LedgerRunState) -> None:
        """Note how far the run is."""
        self.state = state
        if state not in _OPEN:
            self.ended_at = asyncio.get_running_loop().time()
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    def as_json(self) -> dict[str, Any]:
        """Return the run as the control endpoint shows it."""
        names = ("number", "tool", "arguments", "via", "call_id", "started_at", "effect_at", "ended_at", "state")
        return {name: getattr(self, name) for name in names}

    async def _wait_for(self, states: tuple[LedgerRunState, ...], limit: float) -> None:
        wanted = " or ".join(states)
        try:
            async with asyncio.timeout(limit):
                while self.state not in states:
                    if self.state not in _OPEN:
                        raise ToolWaitError(f"{self}: waited until it is {wanted}, but it is {self.state}")
                    await self._changed.wait()
        except TimeoutError:
            raise ToolWaitError(
                f"{self}: waited {limit:g} s until it is {wanted}; it is {self.state}",
                hint="a run that holds goes on with release()",
            ) from None

    def __str__(self) -> str:
        return f"run {self.number} of {self.tool}"


@dataclass(slots=True)
class _Rules:
    """What runs are to do: `holds` says by tool, None for any, whether before the effect; `given` what they answer."""

    holds: dict[str | None, bool] = field(default_factory=dict)
    given: deque[ToolAnswer] = field(default_factory=deque)


class EffectLedger:
    """Tools, their runs in the order in which they started, and where runs hold.

    `hold` decides for runs that start after it; `None` stands for every tool. Cases that are played at the same time
    each `begin` with a word of their own: a run whose call's id begins with that word is of the case, also when the
    case is over; any other run is of the only case that is played. `doubtful` counts the runs that could be of several.
    """

    def __init__(self, tools: tuple[ToolSpec, ...] = DEFAULT_TOOLS) -> None:
        self.tools = {tool.name: tool for tool in tools}
        self.runs: list[LedgerRun] = []
        self.doubtful = 0
        self._rules = {"": _Rules()}
        self._over: set[str] = set()
        self._taken = 0
        self._started = asyncio.Event()

    def begin(self, case: str) -> None:
        """A case is played from now on, whose calls have ids that begin with this word."""
        self._rules[case] = _Rules()

    def end(self, case: str) -> None:
        """A case is over: runs of it that still come are of no other one."""
        del self._rules[case]
        self._over.add(case)

    def hold(self, tool: str | None = None, *, before_effect: bool = False, case: str = "") -> None:
        """Let runs of a tool wait: after their effect, or before it."""
        self._known(tool)
        self._rules[case].holds[tool] = before_effect

    def stop_holding(self, tool: str | None = None, *, case: str = "") -> None:
        """Let runs that start from now on go through; those that hold still need `LedgerRun.release`."""
        self._rules[case].holds.pop(tool, None)

    def answer_next(self, *answers: ToolAnswer, case: str = "") -> None:
        """Let the next runs answer this in place of what their tools return; without answers, nothing more of it."""
        self._rules[case].given = deque(answers)

    def effects(self, tool: str | None = None) -> int:
        """Return how often a tool, or any tool, had its effect."""
        return sum(1 for run in self.runs if run.effect_at is not None and tool in (None, run.tool))

    async def next_run(self, timeout: float = 10.0) -> LedgerRun:  # noqa: ASYNC109  # waits have limits
        """Return the next run that was not returned yet. ToolWaitError when none starts in so many seconds."""
        try:
            async with asyncio.timeout(timeout):
                while self._taken >= len(self.runs):
                    self._started.clear()
                    await self._started.wait()
        except TimeoutError:
            raise ToolWaitError(
                f"waited {timeout:g} s for run {self._taken + 1} of a tool",
                hint="does the application use the tools of the ledger, and did the model call one?",
            ) from None
        self._taken += 1
        return self.runs[self._taken - 1]

    async def perform(self, tool: str, arguments: Any, via: str, call_id: str = "") -> Any:
        """Run a tool, and return its result. ToolFailure when it is to fail, UsageError for one that is not offered.

        Cancelled, it notes that and goes.
        """
        spec = self._known(tool)
        loop = asyncio.get_running_loop()
        number, now, case = len(self.runs) + 1, loop.time(), self._case_of(call_id)
        run = LedgerRun(
            number=number, tool=tool, arguments=arguments, via=via, started_at=now, call_id=call_id, case=case
        )
        rules = self._rules.get(case) or _Rules()
        given = rules.given.popleft() if rules.given else None
        before_effect = rules.holds.get(tool, rules.holds.get(None))
        self.runs.append(run)
        self._started.set()
        try:
            if before_effect is True:
                await run.hold()
            result = None if spec is None else spec.answer(number, given)
            run.effect_at, run.answer = loop.time(), {"result": result}
            if before_effect is False:
                await run.hold()
        except asyncio.CancelledError:
            run.change(LedgerRunState.CANCELLED)
            raise
        except ToolFailure as failure:
            run.answer = {"error": str(failure)}
            run.change(LedgerRunState.FAILED)
            raise
        run.change(LedgerRunState.COMPLETED)
        return result

    def _case_of(self, call_id: str) -> str:
        played = [case for case in self._rules if case]
        named = next((case for case in (*played, *self._over) if call_id.startswith(case)), None)
        if named is None and len(played) > 1:
            self.doubtful += 1
            return ""
        return named or next(iter(played), "")

    def _known(self, tool: str | None) -> ToolSpec | None:
        if tool is not None and tool not in self.tools:
            raise UsageError(f"no tool is called {tool!r}", hint=f"one of {', '.join(sorted(self.tools))}")
        return None if tool is None else self.tools[tool]
