"""Play scenarios with a change seeded, and only those steps that the change can have reached.

In: a recording of the unchanged reference, and the code that a change reaches. Out: a context in which a step returns
its recorded result if it has its recorded input and ran none of that code. If the code only renders, the recorded
journals are rendered again. A step that is played and gives an equal result returns the recorded objects themselves, so
that the steps after it are seen to have their recorded input.

At first the steps of a scenario are played one by one with their recorded arguments. As long as each gives its recorded
result, the next one would have the same input, and in the end the scenario passes as it did. After the first other
result the whole scenario is played, without repeating what was played already.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from inspect import iscoroutine, iscoroutinefunction
from typing import Any

from tpharness.explore.mutation.recording import RecordedScenario, Step, steps_replaced
from tpharness.explore.mutation.same import same
from tpharness.run.trail import Trail
from tpharness.targets import Script, TargetOutput, reference

__all__ = ["Replay", "replaying"]

_UNKNOWN = object()

_Key = tuple[str, str]


@contextmanager
def replaying(reach: frozenset[int], *, parses: bool) -> Iterator[Replay]:
    """Reuse steps that `reach` does not touch, for as long as the context lasts: those of the scenario that is begun.

    `parses`: it touches what parses streams, so that all reads matter.
    """
    replay = Replay(reach, parses)
    with steps_replaced(replay.make):
        yield replay


class _Expected:
    """The steps that were recorded inside of one, or of a scenario, as they are taken again."""

    def __init__(self, steps: Iterable[Step] = ()) -> None:
        self._steps: dict[_Key, list[Step]] = {}
        self._taken: dict[_Key, int] = {}
        for step in steps:
            self._steps.setdefault(_key(step.name, step.arguments), []).append(step)

    def take(self, name: str, given: Sequence[Any]) -> Step | None:
        """Return the next one of that name; of those that are given a name of their own, such as a place, that one."""
        key = _key(name, given)
        number = self._taken.get(key, 0)
        self._taken[key] = number + 1
        steps = self._steps.get(key, ())
        return steps[number] if number < len(steps) else None


def _key(name: str, given: Sequence[Any]) -> _Key:
    return name, given[0] if given and isinstance(given[0], str) else ""


@dataclass(slots=True)
class Replay:
    """Replaces all steps while a change is seeded that reaches some code."""

    reach: frozenset[int]
    parses: bool
    _was: dict[str, Callable[..., Any]] = field(default_factory=dict)
    _expected: _Expected = field(default_factory=_Expected)
    _played: dict[int, Any] = field(default_factory=dict)  # results, or what was raised, by the id of the step

    def begin(self, scenario: RecordedScenario) -> bool:
        """Begin a scenario: play its steps by themselves. Whether it has to be played, since not all is as it was."""
        self._expected = _Expected(scenario.steps)
        self._played = {}
        return not self.reach.isdisjoint(scenario.around) or not all(map(self._comes_to_the_same, scenario.steps))

    def _comes_to_the_same(self, step: Step) -> bool:
        if self.reach.isdisjoint(step.ran):
            return True
        try:
            result = self._render_again(step)
            if result is _UNKNOWN:
                with self._inside(step):
                    result = self._was[step.name](*self._given(step), **step.named)
                    result = _settle(step, _finish(result) if iscoroutine(result) else result)
        except Exception as error:  # noqa: BLE001  # a defect may make anything raise anything
            result = _Raised(error)
        self._played[id(step)] = result
        return result is step.result

    def make(self, name: str, was: Callable[..., Any]) -> Callable[..., Any]:
        """Return the replacement of a step."""
        self._was[name] = was
        if iscoroutinefunction(was):

            async def replayed_later(*arguments: Any, **named: Any) -> Any:
                step, given, result = self._look_up(name, arguments, named)
                if result is not _UNKNOWN:
                    return result
                with self._inside(step):
                    return _settle(step, await was(*given, **named))

            return replayed_later

        def replayed(*arguments: Any, **named: Any) -> Any:
            step, given, result = self._look_up(name, arguments, named)
            if result is not _UNKNOWN:
                return result
            with self._inside(step):
                return _settle(step, was(*given, **named))

        return replayed

    def _look_up(
        self, name: str, given: tuple[Any, ...], named: dict[str, Any]
    ) -> tuple[Step | None, tuple[Any, ...], Any]:
        """Return the step that was recorded, what is to be given to it if it has to be played, and else its result."""
        step = self._expected.take(name, given)
        if step is None or not same(given, step.arguments) or not same(named, step.named):
            return step, given, _UNKNOWN
        known = self._played.get(id(step), _UNKNOWN)
        if isinstance(known, _Raised):
            raise known.error
        return step, self._given(step), self._render_again(step) if known is _UNKNOWN else known

    def _given(self, step: Step) -> tuple[Any, ...]:
        return step.arguments if self.parses or step.merged is None else step.merged

    def _render_again(self, step: Step) -> Any:
        """Return the result of a step that is given what it was given, if no more than its threads can be another."""
        if self.reach.isdisjoint(step.ran):
            return step.result
        folds = not self.reach.isdisjoint(step.own) or not all(self.reach.isdisjoint(one.ran) for one in step.steps)
        return _UNKNOWN if folds else _rendered_again(step)

    @contextmanager
    def _inside(self, step: Step | None) -> Iterator[None]:
        """Expect the steps that were recorded inside of one, for as long as it is played."""
        outside, self._expected = self._expected, _Expected(() if step is None else step.steps)
        try:
            yield
        finally:
            self._expected = outside


@dataclass(frozen=True, slots=True)
class _Raised:
    error: Exception


def _finish(work: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine of the reference, which waits for nothing."""
    try:
        work.send(None)
    except StopIteration as end:
        return end.value
    raise RuntimeError("a step of the reference waits")


def _settle(step: Step | None, result: Any) -> Any:
    return step.result if step is not None and same(result, step.result) else result


def _rendered_again(step: Step) -> Any:
    """Return the result of a step with its threads rendered anew; unknown if it does more with them than give them."""
    script, was = next((one for one in step.arguments if isinstance(one, Script)), None), step.result
    if script is None or not isinstance(was, TargetOutput | dict):
        return _UNKNOWN
    rendering = reference._Rendering(script)  # noqa: SLF001  # as each session has one
    rendered = [rendering.threads(journal) for journal in step.journals]
    if isinstance(was, TargetOutput):
        return _settle(step, replace(was, threads=rendered[-1])) if len(rendered) == 1 else _UNKNOWN
    if not all(isinstance(trail, Trail) for trail in was.values()):
        return _UNKNOWN
    trails = {version: replace(trail, states=tuple(one[version] for one in rendered)) for version, trail in was.items()}
    return _settle(step, trails)
