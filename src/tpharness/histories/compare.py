"""What histories lose, and whether model APIs take them, side by side for each phase in which a run can be cut. Pure.

In: scenarios and histories. Out: a `Comparison`, one cell for each phase and history, counted over every place of every
scenario at which the user can cancel and over the errors that scenarios have. Only what is lost of the turn that is cut
counts. A place is tried with the next message of the user, on each API.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tpharness.acceptance import PROVIDERS, RULES, Provider, check_payload
from tpharness.findings import Level
from tpharness.histories.langchain import UnsupportedError
from tpharness.histories.losses import LossKind, happened, losses
from tpharness.histories.moments import Moment, case_moments, every_moment, has_server
from tpharness.histories.phases import Phase, phase_of
from tpharness.histories.play import next_view
from tpharness.histories.projections import Holdings
from tpharness.histories.registry import NamedHistory
from tpharness.run.plan import base_case
from tpharness.scenario.records import Scenario

__all__ = ["DEFAULT_IDS", "Cell", "Comparison", "compare"]

DEFAULT_IDS = ("basics", "histories", "interruptions")
"""The scenarios that are compared when none are named: those that are about interruptions."""

_RULE_OF = {rule.kind.code: rule.id for rule in RULES}


@dataclass(slots=True)
class Cell:
    """One history in one phase.

    `cuts` places were tried, and `unsupported` ones could not be held at all. `there` counts for each kind of loss the
    places that had something of it to lose, `lost` those where it was lost. `refused` counts for each rule of a model
    API, or the code of a finding that no rule has, the places where it is broken; `refusals` those with any.
    `example_lost`, `example_refused` are the first such places.
    """

    cuts: int = 0
    unsupported: int = 0
    there: Counter[LossKind] = field(default_factory=Counter)
    lost: Counter[LossKind] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    refusals: int = 0
    example_lost: str = ""
    example_refused: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The cells by phase and name of the history; `scenarios` are the ids of those that were played."""

    scenarios: tuple[str, ...]
    histories: tuple[str, ...]
    cells: Mapping[Phase, Mapping[str, Cell]]


def compare(scenarios: Iterable[Scenario], histories: Sequence[NamedHistory]) -> Comparison:
    """Cut the scenarios everywhere and count what each history loses and who would refuse it."""
    cells = {phase: {history.name: Cell() for history in histories} for phase in Phase}
    played = []
    for scenario in scenarios:
        played.append(scenario.id)
        case = base_case(scenario)
        for moment in every_moment(case) if has_server(scenario) else case_moments(case):
            phase = phase_of(moment.after)
            if phase is not None:
                came = happened(moment.after)
                for history in histories:
                    _count(cells[phase][history.name], moment, came, history)
    return Comparison(scenarios=tuple(played), histories=tuple(history.name for history in histories), cells=cells)


def _count(cell: Cell, moment: Moment, came: Sequence[Holdings], history: NamedHistory) -> None:
    try:
        document = history.dialect.store(moment.after)
    except UnsupportedError:
        cell.unsupported += 1
        return
    cell.cuts += 1
    cell.there.update(_there(came[-1]))
    last = len(came) - 1
    lost = {loss.kind for loss in losses(came, history.dialect.holdings(document)) if loss.turn == last}
    cell.lost.update(lost)
    if lost:
        cell.example_lost = cell.example_lost or moment.id
    broken = {rule for provider in PROVIDERS for rule in _broken(document, history, provider)}
    cell.refused.update(broken)
    if broken:
        cell.refusals += 1
        cell.example_refused = cell.example_refused or moment.id


def _there(turn: Holdings) -> Iterable[LossKind]:
    """Return the kinds of which something happened in a turn that was cut, so that it can be lost."""
    has: Mapping[LossKind, object] = {
        "partial-text": turn.texts,
        "partial-arguments": [call for call in turn.calls if call.arguments.strip() not in ("", "{}")],
        "tool-name": [call for call in turn.calls if call.name],
        "thinking": turn.thinking,
        "signature": turn.signatures,
        "interruption-fact": turn.interrupted,
        "finished-result": turn.results,
        "usage": turn.usage,
    }
    return [kind for kind, some in has.items() if some]


def _broken(document: object, history: NamedHistory, provider: Provider) -> Iterable[str]:
    view = next_view(history, document, provider)
    found = [] if view is None else check_payload(provider, view)
    return [_RULE_OF.get(finding.code, finding.code) for finding in found if finding.level is Level.MUST]
