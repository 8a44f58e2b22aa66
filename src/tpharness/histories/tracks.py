"""A scenario and histories → what each history loses at every place where the user can cancel, for a picture. Pure.

In: a scenario with server events, histories. Out: JSON values: the `names` of the histories; `states`, each with a
colour, a line of words and items, shared by the places that have the same; and by turn and number of events the states
of the histories, in the order of their names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tpharness.histories.compare import Judgement, KnownPayloads, judge_moment
from tpharness.histories.losses import LOSS_KINDS, LossKind
from tpharness.histories.moments import every_moment, has_server
from tpharness.histories.produced import journal_contents
from tpharness.histories.projections import HistoryDialect
from tpharness.histories.report import LEGEND
from tpharness.model_apis.rules import RULES
from tpharness.run.plan import base_case
from tpharness.scenario.records import Scenario

__all__ = ["Tracks", "history_tracks"]

_RULES = {rule.id: rule for rule in RULES}
_LOST: Mapping[LossKind, str] = {
    "partial-text": "text",
    "partial-arguments": "arguments",
    "tool-name": "the name of a tool",
    "thinking": "thoughts",
    "signature": "a signature",
    "finished-result": "a result",
    "usage": "token counts",
    "interruption-fact": "that it was cut",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Tracks:
    """What histories lose: `places` has the numbers of `states` by the turn that is cut and how many events it had."""

    names: Sequence[str]
    states: Sequence[Mapping[str, Any]]
    places: Mapping[tuple[int, int], Sequence[int]]


def history_tracks(scenario: Scenario, histories: Sequence[HistoryDialect]) -> Tracks | None:
    """Return the tracks of a scenario; None if it has no server events for every run."""
    if not has_server(scenario):
        return None
    numbers: dict[str, int] = {}
    known: KnownPayloads = {}
    states: list[Mapping[str, Any]] = []
    places: dict[tuple[int, int], list[int]] = {}
    case = base_case(scenario)
    moments = every_moment(case)
    for index, run in scenario.runs:
        for count in range(len(run.events or ()) + 1):
            moment = next(moments)
            produced = journal_contents(moment.after)
            here = places[index, count] = []
            for history in histories:
                state = _state(judge_moment(moment, produced, history, known))
                number = numbers.setdefault(repr(state), len(states))
                if number == len(states):
                    states.append(state)
                here.append(number)
    return Tracks(names=[history.name for history in histories], states=states, places=places)


def _state(judged: Judgement | None) -> Mapping[str, Any]:
    """Return what a history makes of a place as the page shows it: `good`, `warn` if it loses something, or `bad`."""
    if judged is None:
        return {"colour": "none", "words": "cannot be held", "items": []}
    kinds = sorted({loss.kind for loss in judged.losses}, key=LOSS_KINDS.index)
    rules = [rule for _, rule in judged.broken]
    lost = f"loses {', '.join(_LOST[kind] for kind in kinds)}" if kinds else "loses nothing"
    words = f"{lost}; a model API refuses it ({', '.join(rules)})" if rules else lost
    items = [f"{LEGEND[loss.kind]}: {loss.detail}" for loss in judged.losses]
    items += [f"refused by {provider}: {_meaning(rule)}" for provider, rule in judged.broken]
    return {"colour": "bad" if rules else "warn" if kinds else "good", "words": words, "items": items}


def _meaning(rule: str) -> str:
    return _RULES[rule].kind.entry.meaning if rule in _RULES else rule
