"""Play scenarios with a change seeded, and only those steps that the change can have reached.

In: a recording of the reference as it is, and the code that a change reaches. Out: a context in which a step that is
given what it was given then, and that ran none of that code, has the result that it had. Where the code only renders,
what was folded is rendered anew. A step that is played and comes to the same result gives the very objects of the
recording, so that what follows is seen to be given the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from inspect import iscoroutinefunction
from typing import Any

from tpharness.explore.mutation.recording import RecordedScenario, Step, steps_replaced
from tpharness.explore.mutation.same import same
from tpharness.targets import Script, TargetOutput, reference

__all__ = ["Replay", "replaying"]

_UNKNOWN = object()


@contextmanager
def replaying(reach: frozenset[int], *, parses: bool) -> Iterator[Replay]:
    """Reuse steps that `reach` does not touch, for as long as the context lasts: those of the scenario that is begun.

    `parses`: it touches what parses streams, so that all reads matter.
    """
    replay = Replay(reach, parses)
    with steps_replaced(replay.make):
        yield replay


@dataclass(slots=True)
class Replay:
    """Stands in the place of all steps while a change is seeded that reaches some code."""

    reach: frozenset[int]
    parses: bool
    _steps: Mapping[str, Sequence[Step]] = field(default_factory=dict)
    _taken: dict[str, int] = field(default_factory=dict)

    def begin(self, scenario: RecordedScenario) -> None:
        """Play this scenario from now on. Nothing is reused if the change reaches what runs around its steps."""
        self._steps = scenario.steps if self.reach.isdisjoint(scenario.around) else {}
        self._taken = {}

    def make(self, name: str, was: Callable[..., Any], *, method: bool) -> Callable[..., Any]:
        """Return what stands in the place of a step."""
        if iscoroutinefunction(was):

            async def replayed_later(*arguments: Any, **named: Any) -> Any:
                step = self._next(name)
                given, result = self._result(step, arguments[method:], named)
                return _settle(step, await was(*arguments[:method], *given, **named)) if result is _UNKNOWN else result

            return replayed_later

        def replayed(*arguments: Any, **named: Any) -> Any:
            step = self._next(name)
            given, result = self._result(step, arguments[method:], named)
            return _settle(step, was(*arguments[:method], *given, **named)) if result is _UNKNOWN else result

        return replayed

    def _next(self, name: str) -> Step | None:
        number = self._taken.get(name, 0)
        self._taken[name] = number + 1
        steps = self._steps.get(name, ())
        return steps[number] if number < len(steps) else None

    def _result(self, step: Step | None, given: tuple[Any, ...], named: dict[str, Any]) -> tuple[tuple[Any, ...], Any]:
        """Return the result, or what is to be given to the step if it has to be played."""
        if step is None or not (self.reach.isdisjoint(step.own) or (step.merged is not None and not self.parses)):
            return given, _UNKNOWN
        if not same(given, step.arguments) or not same(named, step.named):
            return given, _UNKNOWN
        if not self.reach.isdisjoint(step.own):
            return step.merged or given, _UNKNOWN
        return given, step.result if self.reach.isdisjoint(step.rendering) else _rendered_again(step)


def _settle(step: Step | None, result: Any) -> Any:
    return step.result if step is not None and same(result, step.result) else result


def _rendered_again(step: Step) -> Any:
    """Return the result of a step with its threads rendered anew; unknown if it does more with them than give them."""
    script, was = step.arguments[0], step.result
    if not isinstance(script, Script):
        return _UNKNOWN
    rendering = reference._Rendering(script)  # noqa: SLF001  # as each session has one
    rendered = [rendering.threads(journal) for journal in step.journals]
    if isinstance(was, TargetOutput):
        return _settle(step, replace(was, threads=rendered[-1])) if len(rendered) == 1 else _UNKNOWN
    return _settle(step, {version: tuple(one[version] for one in rendered) for version in was})
