"""Record how scenarios are played on the reference as it is: each step's input, its result, and the code that it ran.

In: scenarios. Out: a recording. A step is a call whose result follows from its arguments alone: the server plays a
script, the client receives streams, evidence is judged. A sweep has steps of its own: each place is judged. `replay`
takes the result from here wherever a step is given the same and a change of the reference cannot have reached it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from inspect import iscoroutinefunction
from types import CodeType, FrameType
from typing import Any
from unittest import mock

from tpharness.explore.mutation.merged_reads import merge_reads, parses
from tpharness.explore.mutation.reach import CodeThatRan
from tpharness.journal import Journal
from tpharness.run import library_history, play, session, sweeps, variants
from tpharness.run.sweeps import stepped
from tpharness.scenario import Scenario
from tpharness.targets import reference

__all__ = ["CallRecorder", "RecordedScenario", "Recording", "Step", "steps_replaced"]

_STEPS: dict[str, tuple[Any, str]] = {
    "serve": (reference.Reference, "serve"),
    "receive": (reference.Reference, "receive"),
    "split reads": (variants, "rechunk_reads"),
    "split deltas": (variants, "rechunk_deltas"),
    "split event deltas": (variants, "rechunk_event_deltas"),
    "collect trail": (play, "collect_trail"),
    "resolve contents": (play, "resolve_contents"),
    "render library messages": (library_history, "render_library_messages"),
    "find open calls": (play, "find_open_calls"),
    "judge": (session, "judge"),
    "sweep": (sweeps, "sweep"),
    "judge a place": (stepped, "judge"),
}
"""The steps of a playing by name: the object that has the function, and the name of its attribute."""

_RENDER = (reference._Rendering, "threads")  # noqa: SLF001  # a step is taken apart where only this runs


@dataclass(slots=True, kw_only=True)
class Step:
    """One call of a step, which may have `steps` of its own.

    `own` is the code that it ran itself, without its steps and without rendering; `rendering` is the code that rendered
    `journals`; `ran` is all of it. `merged` are arguments in which only the reads of streams differ (`merge_reads`),
    None if there are none.
    """

    name: str
    arguments: tuple[Any, ...]
    named: dict[str, Any]
    result: Any = None
    own: frozenset[int] = frozenset()
    rendering: frozenset[int] = frozenset()
    ran: frozenset[int] = frozenset()
    journals: tuple[Journal, ...] = ()
    steps: tuple[Step, ...] = ()
    merged: tuple[Any, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedScenario:
    """How one scenario was played: its steps in order, and the code that ran outside of them (`around`)."""

    cases: int
    steps: tuple[Step, ...]
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

    def reached(self, scenarios: Iterable[Scenario], reach: frozenset[int] | None) -> list[Scenario]:
        """Return the scenarios that ran some of that code; all of them if it is not known which code it is."""
        return [one for one in scenarios if reach is None or not reach.isdisjoint(self.scenarios[one.id].ran)]


@dataclass(slots=True)
class CallRecorder:
    """Records what is played while it is `listening`, one scenario after another."""

    _code: dict[int, CodeType] = field(default_factory=dict)
    _scenarios: dict[str, RecordedScenario] = field(default_factory=dict)
    _running: dict[int, CodeType] = field(default_factory=dict)
    _steps: list[Step] = field(default_factory=list)
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
        ran = around.union(*(step.ran for step in self._steps))
        self._code.update(self._running)
        self._scenarios[name] = RecordedScenario(cases=cases, steps=tuple(self._steps), around=around, ran=ran)
        self._running, self._steps = {}, []

    def finish(self) -> Recording:
        """Return everything recorded."""
        for scenario in self._scenarios.values():
            for step in scenario.steps:
                if step.name == "receive":
                    *before, turns = step.arguments
                    step.merged = *before, merge_reads(turns)
        parsing = frozenset(number for number, code in self._code.items() if parses(code))
        return Recording(scenarios=self._scenarios, code=CodeThatRan(self._code), parsing=parsing)

    def _trace(self, frame: FrameType, _event: str, _argument: Any) -> None:
        code = frame.f_code
        self._running[id(code)] = code

    @contextmanager
    def _step(self, name: str, arguments: tuple[Any, ...], named: dict[str, Any]) -> Iterator[Step]:
        outside = self._running, self._rendering, self._rendered, self._steps
        ran: dict[int, CodeType] = {}
        rendering: dict[int, CodeType] = {}
        self._running, self._rendering, self._rendered, self._steps = ran, rendering, [], []
        step = Step(name=name, arguments=arguments, named=named)
        try:
            yield step
        finally:
            step.own, step.rendering = frozenset(ran), frozenset(rendering)
            step.journals, step.steps = tuple(self._rendered), tuple(self._steps)
            step.ran = step.own.union(step.rendering, *(one.ran for one in step.steps))
            self._code.update(ran | rendering)
            self._running, self._rendering, self._rendered, self._steps = outside
            self._steps.append(step)

    def _make_recorded(self, name: str, was: Callable[..., Any]) -> Callable[..., Any]:
        if iscoroutinefunction(was):

            async def recorded_later(*arguments: Any, **named: Any) -> Any:
                with self._step(name, arguments, named) as step:
                    step.result = await was(*arguments, **named)
                return step.result

            return recorded_later

        def recorded(*arguments: Any, **named: Any) -> Any:
            with self._step(name, arguments, named) as step:
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
def steps_replaced(make: Callable[[str, Callable[..., Any]], Callable[..., Any]]) -> Iterator[None]:
    """Replace each step by what `make(name, step)` returns, as long as the context lasts."""
    with ExitStack() as stack:
        for name, (owner, attribute) in _STEPS.items():
            stack.enter_context(mock.patch.object(owner, attribute, make(name, getattr(owner, attribute))))
        yield
