"""Playing scenarios with a change seeded in the reference.

In: changes and scenarios that are loaded. Out: a row for each change. The reference plays both sides in this process,
through the same session as any run; with `jobs` the changes are dealt out to worker processes.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path

from tpharness.errors import UsageError
from tpharness.explore.mutation.module import load_changes
from tpharness.explore.mutation.records import Defect, Harmless, Kill, Row
from tpharness.findings import Level
from tpharness.resources import scenarios_dir
from tpharness.run import Outcome, Result
from tpharness.run.baseline import Baseline, load_baseline
from tpharness.run.select import select_scenarios
from tpharness.run.session import Session
from tpharness.run.workers import THIS_PROCESS, Workers, map_in_order
from tpharness.scenario import Scenario, load_scenario

__all__ = ["load_scenarios", "play_change", "play_module", "unharmed"]

_RULING = re.compile(r"\bR\d+\b")


def load_scenarios(ids: Sequence[str] = (), roots: Sequence[Path] = ()) -> tuple[Scenario, ...]:
    """Load the scenarios that ids and patterns name, all for none. UsageError and ScenarioError as for a run."""
    found = select_scenarios(ids, tuple(roots) or (scenarios_dir(),))
    return tuple(load_scenario(one.path, root=one.root) for one in found)


def play_change(change: Defect | Harmless, scenarios: Iterable[Scenario], baseline: Baseline | None = None) -> Row:
    """Play the scenarios with one change seeded."""
    known = load_baseline() if baseline is None else baseline
    begun = time.perf_counter()
    played, kills = 0, []
    with change.seed(), Session() as session:
        for scenario in scenarios:
            played += 1
            kill, _ = _played(scenario, session, known)
            if kill is not None:
                kills.append(kill)
    return Row(change=change, kills=tuple(kills), played=played, seconds=time.perf_counter() - begun)


def unharmed(scenarios: Iterable[Scenario]) -> dict[str, int]:
    """Return how many cases each scenario stands for.

    UsageError when one fails with nothing seeded: a failure would say nothing of a defect then.
    """
    known = load_baseline()
    failing, cases = [], {}
    with Session() as session:
        for scenario in scenarios:
            kill, cases[scenario.id] = _played(scenario, session, known)
            if kill is not None:
                failing.append(kill.case)
    if failing:
        raise UsageError(
            f"with nothing seeded these fail: {', '.join(failing)}", hint="`tpharness run` says why; correct that first"
        )
    return cases


def play_module(
    module: str, names: Sequence[str], ids: Sequence[str] = (), roots: Sequence[Path] = (), *, jobs: int = 1
) -> Iterator[Row]:
    """Play the changes of a module that `names` says, in that order; errors as for `load_changes`."""
    changes = load_changes(module)
    worker = partial(_in_worker, module, tuple(ids), tuple(roots))
    workers = Workers(jobs=jobs) if jobs > 1 and len(names) > 1 else THIS_PROCESS
    for name, (kills, played, seconds) in zip(names, map_in_order(worker, names, workers), strict=True):
        yield Row(change=changes.named(name), kills=kills, played=played, seconds=seconds)


def _in_worker(
    module: str, ids: tuple[str, ...], roots: tuple[Path, ...], name: str
) -> tuple[tuple[Kill, ...], int, float]:
    """Return what makes up a row but for the change, which holds functions and stays in its process."""
    row = play_change(load_changes(module).named(name), _loaded(ids, roots))
    return row.kills, row.played, row.seconds


@cache
def _loaded(ids: tuple[str, ...], roots: tuple[Path, ...]) -> tuple[Scenario, ...]:
    return load_scenarios(ids, roots)


def _played(scenario: Scenario, session: Session, baseline: Baseline) -> tuple[Kill | None, int]:
    """Play one scenario; return what failed, or None, and the number of its cases."""
    about = frozenset((*scenario.clauses, *scenario.rulings))
    try:
        results = session.run(session.play(scenario))
    except Exception as error:  # noqa: BLE001  # a defect may make anything raise anything
        reason = f"{type(error).__name__}: {error}"
        kill = Kill(scenario=scenario.id, case=scenario.id, codes=(), named=frozenset(), about=about, reason=reason)
        return kill, 1
    cases = sum(one.cases for one in results)
    failed = [one for one in map(baseline.apply, results) if not one.outcome.green]
    if not failed:
        return None, cases
    kill = Kill(
        scenario=scenario.id,
        case=failed[0].id,
        codes=tuple(sorted({code for one in failed for code in one.failing_codes})),
        named=frozenset[str]().union(*map(_named, failed)),
        about=about,
        reason=next((one.reason for one in failed if one.outcome is Outcome.ERRORED), ""),
    )
    return kill, cases


def _named(result: Result) -> set[str]:
    """Return what the findings of a failure cite: by their kind, or in their words, as a diff does."""
    cited: set[str] = set()
    for finding in result.findings:
        if finding.level is Level.MUST:
            cited.update((*finding.kind.clauses, *finding.kind.rulings, *_RULING.findall(finding.message)))
    return cited
