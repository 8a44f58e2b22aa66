"""Play a scenario on a target that keeps a history of another system, and judge what it keeps.

In: a scenario, a history, and a target that declares it (`histories`, contract 1.2). Out: results, one for the case and
one for each place of its sweep. The target is given the script, as a server is, and answers with the document that it
stores and, for each API that it writes requests for, with what a model is sent next. Two things are checked: the
document has what this history keeps of the same events, and each API accepts the request. The requests are the
target's own: nothing is written for it.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import replace
from itertools import zip_longest
from typing import Any

from tpharness.errors import InputError, UsageError
from tpharness.findings import Finding, Kind, Level, Place
from tpharness.histories.langchain import UnsupportedError
from tpharness.histories.moments import case_moments, has_server
from tpharness.histories.play import NEXT_USER, with_provider
from tpharness.histories.projections import ComparesDocuments
from tpharness.histories.registry import OTHER_HISTORIES
from tpharness.model_apis.append_only import first_differing_value
from tpharness.model_apis.check import check_payload
from tpharness.model_apis.registry import PLAYED_APIS
from tpharness.run.plan import Case, SweepPlace, base_case, cut_case, cut_places, make_script
from tpharness.scenario.records import CutAt, CutPlan, Scenario
from tpharness.targets.contract import AnsweringTarget
from tpharness.targets.forms import turns_json
from tpharness.verdict.result import CheckState, Outcome, Result

__all__ = ["CHECK_NAMES", "KEPT_BY_TARGETS", "compare_documents", "play_kept", "require_keeper"]

KEPT_OTHERWISE = Kind("history-kept-otherwise")
CHECK_NAMES = ("kept", *(f"accepted-{name}" for name in PLAYED_APIS))
KEPT_BY_TARGETS = tuple(name for name, history in OTHER_HISTORIES.items() if isinstance(history, ComparesDocuments))
"""The histories that a target may declare."""

_CANCELLED = re.compile(r"@cancelled-turn-(\d+)-event-(\d+)$")

Attempt = Callable[[Case, Callable[[], Awaitable[Result]]], Awaitable[Result]]
"""What makes a result of work on a target: that of the work, or what the target did instead of answering."""


def require_keeper(target: Any, name: str) -> AnsweringTarget:
    """Return the target, which keeps the history with this name. UsageError if it does not, or if no target can."""
    if name not in KEPT_BY_TARGETS:
        raise UsageError(f"{name} is not a history that a target can keep", hint=f"one of {', '.join(KEPT_BY_TARGETS)}")
    declared = target.capabilities.histories
    if name not in declared or not isinstance(target, AnsweringTarget):
        said = f"it declares {', '.join(declared)}" if declared else "it declares no histories"
        raise UsageError(
            f"{target.capabilities.name} does not keep the history {name}",
            hint=f"{said}; a target names it in `histories`, and answers `keep`: see `tpharness docs CONTROL`",
        )
    return target


async def play_kept(
    scenario: Scenario, name: str, target: AnsweringTarget, attempt: Attempt, place: str | None = None
) -> list[Result]:
    """Play a scenario and each place of its sweep on a target, or only one place.

    A scenario that gives the stream itself asks nothing of a target that is given events. Places between the bytes of a
    stream are left out: nothing of a history changes between two events.
    """
    if not has_server(scenario):
        reason = "the scenario gives the stream itself, and a history is kept from events"
        return [Result(id=scenario.id, outcome=Outcome.NO_PART, reason=reason, clauses=scenario.clauses)]
    case = base_case(scenario)
    cases = [] if place is not None else [case]
    cancelled = _CANCELLED.search(place or "")
    if cancelled is not None:
        turn, count = map(int, cancelled.groups())
        cases += [cut_case(one, two) for one, two in _cancelled(case, str(place), turn, count)]
    elif scenario.cut is not None and scenario.cut.at is CutAt.EVERY_EVENT:
        cases += [cut_case(case, one) for one in cut_places(scenario) if place in (None, one.id)]
    if not cases:
        reason = "the scenario has no such place between two events"
        return [Result(id=str(place), outcome=Outcome.NOT_APPLICABLE, reason=reason, clauses=scenario.clauses)]
    return [await attempt(one, _Keeping(one, name, target).judged) for one in cases]


def _cancelled(case: Case, name: str, turn: int, count: int) -> Iterator[tuple[Case, SweepPlace]]:
    """Yield a case and where the user cancels it, as `play_history` names it; nothing if there is no such event."""
    runs = dict(case.scenario.runs)
    if turn in runs and count <= len(runs[turn].events or ()):
        swept = replace(case.scenario, cut=CutPlan(at=CutAt.EVERY_EVENT))
        place = SweepPlace(id=name, turn=turn, count=count, reason="user_cancelled")
        yield replace(case, scenario=swept), place


class _Keeping:
    """One case that a target keeps."""

    def __init__(self, case: Case, name: str, target: AnsweringTarget) -> None:
        self._case, self._name, self._target = case, name, target

    async def judged(self) -> Result:
        """Ask the target to keep the case; return the verdict."""
        case, history = self._case, OTHER_HISTORIES[self._name]
        clauses = case.scenario.clauses
        *_, end = case_moments(case)
        try:
            right = history.store(end.seen_by(history).after)
        except UnsupportedError as error:
            return Result(id=case.id, outcome=Outcome.NOT_APPLICABLE, reason=str(error), clauses=clauses)
        script = make_script(case)
        request = {
            "history": self._name,
            "agents": dict(script.header.agents),
            "turns": turns_json(script.turns),
            "apis": list(PLAYED_APIS),
            "next_user": NEXT_USER,
        }
        kept = await self._target.answer("keep", request)
        checks = dict.fromkeys(CHECK_NAMES, CheckState.NOT_APPLICABLE)
        findings: list[Finding] = []
        for check, found in _judge(kept, right, history):
            failed = any(finding.level is Level.MUST for finding in found)
            checks[check] = CheckState.FAILED if failed else CheckState.PASSED
            findings += [finding.with_place(case=case.id) for finding in found]
        outcome = Outcome.FAILED if CheckState.FAILED in checks.values() else Outcome.PASSED
        return Result(id=case.id, outcome=outcome, checks=checks, findings=tuple(findings), clauses=clauses)


def _judge(kept: Mapping[str, Any], right: Any, history: Any) -> Iterator[tuple[str, list[Finding]]]:
    yield "kept", list(compare_documents(kept["document"], history.loads(history.dumps(right)), history))
    requests = kept.get("requests") or {}
    for api in PLAYED_APIS:
        if api in requests:
            yield f"accepted-{api}", with_provider(api, check_payload(api, requests[api]))


def compare_documents(document: Any, right: Any, history: ComparesDocuments) -> Iterator[Finding]:
    """Yield a finding for the first entry of a document that is not what the history keeps, which `right` is."""
    try:
        got = history.entries(document)
    except InputError as error:
        yield KEPT_OTHERWISE.at(Place(pointer=""), str(error))
        return
    expected = history.entries(right)
    for one, other in zip_longest(got, expected):
        if one is None:
            place = Place(pointer="")
            yield KEPT_OTHERWISE.at(place, f"an entry is missing behind {len(got)} that are right", expected=other[1])
            return
        if other is None:
            yield KEPT_OTHERWISE.at(Place(pointer=one[0]), "an entry too many", got=one[1], expected="nothing")
            return
        found = first_differing_value(other[1], one[1])
        if found is not None:
            inside, wanted, had = found
            yield KEPT_OTHERWISE.at(Place(pointer=f"{one[0]}{inside}"), got=had, expected=wanted)
            return
