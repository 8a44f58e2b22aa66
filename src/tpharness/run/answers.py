"""What a worker answers when it has played a scenario, and whether that is what it was asked.

In: a selected scenario and the answer of a worker, which may be another machine with older files or another version.
Out: the results, or an errored one that says what is wrong with the answer. A verdict is never taken from the wrong
file, and no place of a sweep goes missing.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from tpharness.errors import TpharnessError
from tpharness.printable import counted
from tpharness.run.plan import cut_places
from tpharness.run.select import SelectedScenario
from tpharness.scenario import load_scenario
from tpharness.scenario.records import CutAt
from tpharness.verdict.result import Outcome, Result

__all__ = ["WorkerAnswer", "make_answer", "results_of"]

_ANSWERED = {Outcome.PASSED, Outcome.FAILED}
"""Outcomes of a whole scenario after which each place of its sweep has a verdict, too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerAnswer:
    """The results of a scenario, the version of tpharness that played it, and the hash of the file that it read."""

    version: str
    digest: str
    results: tuple[Result, ...]


def make_answer(one: SelectedScenario, results: list[Result]) -> WorkerAnswer:
    """Return what a worker sends back."""
    return WorkerAnswer(version=version("tpharness"), digest=_digest(one.path), results=tuple(results))


def results_of(one: SelectedScenario, answer: object) -> list[Result]:
    """Return the results in the answer to this scenario, or one that says why it is not an answer to it."""
    problem = _find_problem(one, answer)
    if not problem and isinstance(answer, WorkerAnswer):
        return list(answer.results)
    hint = "the workers need the same version of tpharness and the same files as this process"
    return [
        Result(id=str(one), outcome=Outcome.ERRORED, reason=f"the answer of its worker is not taken: {problem}; {hint}")
    ]


def _find_problem(one: SelectedScenario, answer: object) -> str:
    if not isinstance(answer, WorkerAnswer) or not all(isinstance(result, Result) for result in answer.results):
        return f"it is not a list of results but {type(answer).__name__}"
    if answer.version != version("tpharness"):
        return f"it is from tpharness {answer.version}, this is {version('tpharness')}"
    if answer.digest != _digest(one.path):
        return f"it read another {one.path.name} than this process"
    asked = one.place or one.id
    counts = Counter(result.id for result in answer.results)
    others = sorted(name for name in counts if name != asked and not name.startswith(f"{asked}@"))
    if others:
        return f"it has a result for {others[0]}, which it was not asked for"
    twice = sorted(name for name, count in counts.items() if count > 1)
    if twice:
        return f"it has two results for {twice[0]}"
    if not counts:
        return "it has no result"
    return _find_missing(one, answer.results)


def _find_missing(one: SelectedScenario, results: tuple[Result, ...]) -> str:
    """Return what is missing of a scenario that is played whole, without faults: itself, or places of its sweep."""
    if one.place is not None or any("@fault-" in result.id for result in results):
        return ""
    whole = next((result for result in results if result.id == one.id), None)
    if whole is None:
        return f"it has no result for {one.id} itself"
    if whole.outcome not in _ANSWERED:
        return ""
    try:
        scenario = load_scenario(one.path, root=one.root)
    except TpharnessError as error:
        return f"it has a verdict on a file that does not load here: {error}"
    if scenario.cut is not None and scenario.cut.at is not CutAt.EVERY_EVENT:
        return "" if len(results) > 1 else "it has no result for the places of its sweep"
    expected, got = 1 + sum(1 for _ in cut_places(scenario)), sum(result.cases for result in results)
    return "" if got == expected else f"it has verdicts on {counted(got, 'case')} of {expected}"


def _digest(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""
