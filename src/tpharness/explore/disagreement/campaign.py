"""Scenarios, given or generated, on a panel of targets: only the disagreements, grouped by cause, each made small.

In: an opened panel, scenarios, seeds. Out: causes in the order in which they were found, each with its smallest
scenario. The same seed gives the same cases. Two disagreements have one cause if the same targets depart in the same
thing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from tpharness.explore.campaigns.cases import case_source
from tpharness.explore.disagreement.panel import Panel
from tpharness.explore.disagreement.parting import Disagreement, find_disagreements
from tpharness.explore.disagreement.reduce import reduce_scenario
from tpharness.explore.generate.programs import cut_scenarios, program
from tpharness.explore.generate.runs import odd_runs
from tpharness.findings import Finding, Kind, Place
from tpharness.run.plan import base_case, cut_case, cut_places
from tpharness.run.sweeps.failures import make_failure_file, make_folder
from tpharness.scenario import Expectation, Scenario
from tpharness.verdict.causes import Cause

__all__ = ["FoundDifference", "compare_scenarios", "generated_scenarios", "given_scenarios", "save_found"]

_TARGETS_DIFFER = Kind("targets-differ")
_LEGAL_EVERY = 4
"""One in so many generated conversations is one of a correct server; the others have events in odd orders and forms."""


@dataclass(slots=True)
class FoundDifference:
    """One cause: the disagreement in the smallest scenario that shows it, how many cases did, and the first of them."""

    disagreement: Disagreement
    scenario: Scenario
    case: str
    count: int = 1
    file: Path | None = field(default=None)


def given_scenarios(scenarios: Iterable[Scenario]) -> Iterator[tuple[str, Scenario]]:
    """Yield each scenario as it is and, if it is cut everywhere, at each of its places, with the id of the case."""
    for scenario in scenarios:
        case = base_case(replace(scenario, expect=Expectation()))  # which is about the whole of it
        yield case.id, replace(case.scenario, cut=None)
        for place in cut_places(scenario):
            yield place.id, cut_case(case, place).scenario


def generated_scenarios(seed: int, cases: int) -> Iterator[tuple[str, Scenario]]:
    """Yield so many generated scenarios of a seed, with words that name each."""
    number = made = 0
    while made < cases:
        generate = program if number % _LEGAL_EVERY == 0 else odd_runs
        for scenario in cut_scenarios(generate(case_source(seed, number)))[: cases - made]:
            made += 1
            yield f"case {number} of seed {seed}", scenario
        number += 1


def compare_scenarios(
    panel: Panel,
    scenarios: Iterable[tuple[str, Scenario]],
    *,
    shrink_seconds: float,
    progress: Callable[[int, int], None] = lambda *_: None,
    clock: Callable[[], float] = time.monotonic,
) -> tuple[int, list[FoundDifference]]:
    """Play scenarios on a panel; return how many were played, and the causes of disagreement that were found."""
    found: dict[str, FoundDifference] = {}
    played = 0
    for name, scenario in scenarios:
        played += 1
        for one in find_disagreements(panel.views(scenario)):
            known = found.get(one.key)
            if known is not None:
                known.count += 1
                continue
            smallest = _shrink(panel, one, scenario, shrink_seconds, clock) if shrink_seconds else scenario
            shown = next((d for d in find_disagreements(panel.views(smallest)) if d.key == one.key), None)
            found[one.key] = FoundDifference(shown or one, smallest if shown else scenario, name)
        progress(played, len(found))
    return played, list(found.values())


def _shrink(
    panel: Panel, one: Disagreement, scenario: Scenario, seconds: float, clock: Callable[[], float]
) -> Scenario:
    until = clock() + seconds

    def parts(other: Scenario) -> bool:
        return clock() < until and any(d.key == one.key for d in find_disagreements(panel.views(other)))

    return reduce_scenario(scenario, parts)


def save_found(found: FoundDifference, folder: Path, *, found_by: str, sides: tuple[str, ...]) -> Path:
    """Write the scenario of a cause into a folder as a file that can be committed; return where it is.

    Its description says what differs; what is right is for a person to add, as an outline or a thread.
    """
    one = found.disagreement
    finding: Finding = _TARGETS_DIFFER.at(Place(), one.message)
    cause = Cause(codes=(_TARGETS_DIFFER.code,), rulings=one.decided, where=one.key)
    make_folder(folder)
    file = make_failure_file(
        found.scenario,
        cause,
        [finding],
        folder,
        what=f"In {one.about}, targets differ",
        found_by=found_by,
        sides=sides,
        played_by="compare-targets",
    )
    file.write()
    return file.path
