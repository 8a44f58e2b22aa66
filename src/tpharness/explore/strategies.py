"""Hypothesis strategies for ThreadProtocol: use them in tests of your own.

    from hypothesis import given
    from tpharness.explore.strategies import threads

    @given(threads())
    def test_my_store_keeps_a_thread(thread): ...

Importing this module needs Hypothesis, the extra `fuzz`; campaigns do without it. Each strategy is built from a
generator that a campaign uses as well. They shrink to short conversations of plain texts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from tpharness.extras import install_command

try:
    from hypothesis import strategies as st
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"{error.name} is not installed: the strategies need it; type {install_command('fuzz')}", name=error.name
    ) from error

from tpharness.explore.generate.documents import document, thread
from tpharness.explore.generate.files import scenario_text
from tpharness.explore.generate.programs import GeneratedProgram, cut_scenarios, program
from tpharness.explore.generate.source import Source, one_of
from tpharness.explore.generate.streams import mutated, stream
from tpharness.scenario import Scenario

__all__ = [
    "cut_programs",
    "documents",
    "generated",
    "programs",
    "recorded_streams",
    "scenario_files",
    "streams",
    "threads",
]

_T = TypeVar("_T")


class _Drawn:
    """A source whose numbers Hypothesis gives."""

    def __init__(self, draw: Callable[[st.SearchStrategy[int]], int]) -> None:
        self._draw = draw

    def number(self, low: int, high: int) -> int:
        """Return a number from `low` to `high`."""
        return low if low == high else self._draw(st.integers(low, high))


def generated(make: Callable[[Source], _T]) -> st.SearchStrategy[_T]:
    """Return the strategy of what a generator makes."""

    @st.composite
    def _made(draw: Any) -> _T:
        return make(_Drawn(draw))

    return _made()


def threads() -> st.SearchStrategy[dict[str, Any]]:
    """Whole, valid threads of any version, as JSON values."""
    return generated(thread)


def documents() -> st.SearchStrategy[dict[str, Any]]:
    """Valid threads with unknown fields, odd texts and numbers at the edges in them (R7)."""
    return generated(document)


def programs(*, carriers: bool = True) -> st.SearchStrategy[GeneratedProgram]:
    """Legal model-event programs: a scenario, and places of its last run to interrupt it."""
    return generated(lambda source: program(source, carriers=carriers))


def cut_programs() -> st.SearchStrategy[Scenario]:
    """Scenarios of legal programs, as they are or interrupted somewhere."""
    return generated(lambda source: one_of(source, cut_scenarios(program(source))))


def streams() -> st.SearchStrategy[Scenario]:
    """Client-only scenarios: a legal stream, or chunks in any order, which a fold has to survive (R36)."""
    return generated(stream)


def recorded_streams() -> st.SearchStrategy[Scenario]:
    """Client-only scenarios: a recorded stream of a real server with some of its bytes changed."""
    return generated(mutated)


def scenario_files() -> st.SearchStrategy[str]:
    """Texts of scenario files, most of them good."""
    return generated(scenario_text)
