"""Record how scenarios are played on the reference as it is: each step's input, its result, and the code that it ran.

In: scenarios. Out: a recording. A step is a call whose result follows from its arguments alone: the server plays a
script, the client receives streams, evidence is judged. `replay` takes the result from here wherever a step is given
the same and a change of the reference cannot have reached it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from inspect import iscoroutinefunction
from types import CodeType, FrameType
from typing import Any
from unittest import mock

from tpharness.explore.mutation.merged_reads import merge_reads, parses
from tpharness.explore.mutation.reach import CodeThatRan
from tpharness.journal import Journal
from tpharness.run import play, session
from tpharness.targets import reference

__all__ = ["STEPS", "RecordedScenario", "Recorder", "Recording", "Step", "steps_replaced"]

STEPS: tuple[tuple[Any, str], ...] = (
    (reference.Reference, "serve"),
    (reference.Reference, "receive"),
    (play, "_rechunk_reads"),
    (play, "_rechunk_deltas"),
    (play, "_rechunk_event_deltas"),
    (play, "_collect_trail"),
    (session, "judge"),
    (session, "sweep"),
)
"""Where the steps are that a playing consists of."""

_RENDER = (reference._Rendering, "threads")  # noqa: SLF001  # a step is taken apart where only this runs


@dataclass(slots=True, kw_only=True)
class Step:
    """One call of a step: `own` is the code that it ran but for rendering, `rendering` that of rendering `journals`.

    `merged` are arguments that differ in the reads of streams alone (`merge_reads`), None where there are none.
    """

    arguments: tuple[Any, ...]
    named: dict[str, Any]
    result: Any = None
    own: frozenset[int] = frozenset()
    rendering: frozenset[int] = frozenset()
    journals: tuple[Journal, ...] = ()
    merged: tuple[Any, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedScenario:
    """How one scenario was played: its steps by name, in order, and the code that ran outside of them (`around`)."""

    cases: int
    steps: dict[str, list[Step]]
    around: frozenset[int]
    ran: frozenset[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """How scenarios are played on the reference as it is, by id, and the code that ran; `parsing` parses streams."""

    scenarios: dict[str, RecordedScenario]
    code: CodeThatRan
    parsing: frozenset[int]

    @property
    def cases(self) -> dict[str, int]:
        """How many cases each scenario stands for."""
        return {name: one.cases for name, one in self.scenarios.items()}


@dataclass(slots=True)
class Recorder:
    """Records what is played while it is `listening`, one scenario after another."""

    _code: dict[int, CodeType] = field(default_factory=dict)
    _scenarios: dict[str, RecordedScenario] = field(default_factory=dict)
    _running: dict[int, CodeType] = field(default_factory=dict)
    _steps: dict[str, list[Step]] = field(default_factory=dict)
    _rendered: list[Journal] = field(default_factory=list)
    _rendering: dict[int, CodeType] | None = None

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Record, for as long as the context lasts, every step and the code that runs."""
        was = sys.gettrace()
        with steps_replaced(self._make_recorded), mock.patch.object(*_RENDER, self._make_rendered()):
            sys.settrace(self._trace)
            try:
                yield
            finally:
                sys.settrace(was)

    def end_scenario(self, name: str, cases: int) -> None:
        """Take what was recorded since the scenario before as that of this one."""
        around = frozenset(self._running)
        steps = [step for some in self._steps.values() for step in some]
        ran = around.union(*(step.own for step in steps), *(step.rendering for step in steps))
        self._code.update(self._running)
        self._scenarios[name] = RecordedScenario(cases=cases, steps=self._steps, around=around, ran=ran)
        self._running, self._steps = {}, {}

    def finish(self) -> Recording:
        """Return everything recorded."""
        for scenario in self._scenarios.values():
            for step in scenario.steps.get("receive", ()):
                script, turns = step.arguments
                step.merged = script, merge_reads(turns)
        parsing = frozenset(number for number, code in self._code.items() if parses(code))
        return Recording(scenarios=self._scenarios, code=CodeThatRan(self._code), parsing=parsing)

    def _trace(self, frame: FrameType, _event: str, _argument: Any) -> None:
        code = frame.f_code
        self._running[id(code)] = code

    @contextmanager
    def _step(self, name: str, arguments: tuple[Any, ...], named: dict[str, Any]) -> Iterator[Step]:
        outside, self._running = self._running, {}
        self._rendered, self._rendering = [], {}
        ran, rendering = self._running, self._rendering
        step = Step(arguments=arguments, named=named)
        try:
            yield step
        finally:
            step.own, step.rendering = frozenset(ran), frozenset(rendering)
            step.journals = tuple(self._rendered)
            self._code.update(ran | rendering)
            self._running, self._rendering = outside, None
            self._steps.setdefault(name, []).append(step)

    def _make_recorded(self, name: str, was: Callable[..., Any], *, method: bool) -> Callable[..., Any]:
        if iscoroutinefunction(was):

            async def recorded_later(*arguments: Any, **named: Any) -> Any:
                with self._step(name, arguments[method:], named) as step:
                    step.result = await was(*arguments, **named)
                return step.result

            return recorded_later

        def recorded(*arguments: Any, **named: Any) -> Any:
            with self._step(name, arguments[method:], named) as step:
                step.result = was(*arguments, **named)
            return step.result

        return recorded

    def _make_rendered(self) -> Callable[..., Any]:
        was = getattr(*_RENDER)

        def rendered(rendering: Any, journal: Journal) -> Any:
            outside = self._running
            if self._rendering is not None:
                self._running = self._rendering
            try:
                return was(rendering, journal)
            finally:
                self._running = outside
                self._rendered.append(journal)

        return rendered


@contextmanager
def steps_replaced(make: Callable[..., Callable[..., Any]]) -> Iterator[None]:
    """Put in the place of each step, for as long as the context lasts, what `make(name, step, method=…)` returns."""
    with ExitStack() as stack:
        for owner, name in STEPS:
            made = make(name, getattr(owner, name), method=isinstance(owner, type))
            stack.enter_context(mock.patch.object(owner, name, made))
        yield
