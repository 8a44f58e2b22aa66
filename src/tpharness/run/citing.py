"""Which scenarios cite which clauses; a file is loaded only if they do not stand plainly at its beginning."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tpharness import scenario
from tpharness.errors import TpharnessError, UsageError
from tpharness.run.select import SelectedScenario
from tpharness.scenario_files import read_clauses

__all__ = ["choose_citing", "cited_clauses", "cites"]


def choose_citing(selected: list[SelectedScenario], clauses: Sequence[str]) -> list[SelectedScenario]:
    """Return the scenarios that cite one of the clauses, all where there are no clauses. UsageError if none is left."""
    if not clauses:
        return selected
    citing = [one for one in selected if cites(one, lambda cited: not set(cited).isdisjoint(clauses))]
    if not citing:
        raise UsageError(
            f"no scenario that was named cites {' or '.join(clauses)}",
            hint=f"`tpharness explain {clauses[0]}` says what exercises it",
        )
    return citing


def cites(one: SelectedScenario, fit: Callable[[tuple[str, ...]], bool]) -> bool:
    """Whether the clauses that a scenario cites fit. One that does not load is chosen, so that the run says why."""
    cited = cited_clauses(one)
    return cited is None or fit(cited)


def cited_clauses(one: SelectedScenario) -> tuple[str, ...] | None:
    """Return the clauses that a scenario cites, None for one that does not load."""
    cited = read_clauses(one.path)
    if cited is not None:
        return cited
    try:
        return scenario.load_scenario(one.path, root=one.root).clauses
    except TpharnessError:
        return None
