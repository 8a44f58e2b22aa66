"""Compare what histories lose, and whether model APIs accept them, for each phase in which a run can be cut. Pure.

In: scenarios and histories. Out: a `HistoryComparison`, one cell for each phase and history. A cell counts every place
at which the user can cancel a scenario, and the errors of scenarios. Only losses of the turn that is cut count. At each
place every API gets the history with the user's next message.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tpharness.findings import Level
from tpharness.histories.langchain import UnsupportedError
from tpharness.histories.losses import HistoryLoss, LossKind, find_losses
from tpharness.histories.moments import Moment, case_moments, every_moment, has_server
from tpharness.histories.phases import Phase, phase_of
from tpharness.histories.play import next_input
from tpharness.histories.produced import journal_contents
from tpharness.histories.projections import HistoryDialect, TurnContent
from tpharness.model_apis.check import check_payload
from tpharness.model_apis.registry import PLAYED_APIS, ApiName
from tpharness.model_apis.rules import RULES
from tpharness.run.plan import base_case
from tpharness.scenario.records import Scenario

__all__ = ["DEFAULT_IDS", "Cell", "HistoryComparison", "Judgement", "KnownPayloads", "compare", "judge_moment"]

DEFAULT_IDS = ("basics", "histories", "interruptions")
"""The scenarios that are compared by default: those about interruptions."""

KnownPayloads = dict[tuple[ApiName, str], tuple[str, ...]]
"""The rules that a payload breaks, by the API and the payload as text."""

_RULE_OF = {rule.kind.code: rule.id for rule in RULES}


@dataclass(slots=True)
class Cell:
    """One history in one phase, counted in places.

    `cuts` were tried; `unsupported` could not be stored at all. For each kind of loss, `possible` had something of that
    kind to lose and `lost` lost it. `refused` counts the places for each rule of a model API that is broken there (for
    a finding without a rule: its code), `refusals` the places with any broken rule. `example_lost` and
    `example_refused` are the ids of the first such places.
    """

    cuts: int = 0
    unsupported: int = 0
    possible: Counter[LossKind] = field(default_factory=Counter)
    lost: Counter[LossKind] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    refusals: int = 0
    example_lost: str = ""
    example_refused: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryComparison:
    """The cells by phase and history name; `scenarios` are the ids of the scenarios played."""

    scenarios: tuple[str, ...]
    histories: tuple[str, ...]
    cells: Mapping[Phase, Mapping[str, Cell]]


def compare(scenarios: Iterable[Scenario], histories: Sequence[HistoryDialect]) -> HistoryComparison:
    """Cut the scenarios at every place; count what each history loses and which APIs reject it."""
    cells = {phase: {history.name: Cell() for history in histories} for phase in Phase}
    played = []
    for scenario in scenarios:
        known: KnownPayloads = {}
        played.append(scenario.id)
        case = base_case(scenario)
        for moment in every_moment(case) if has_server(scenario) else case_moments(case):
            phase = phase_of(moment.after)
            for seen in filter(None, (moment, moment.retried)) if phase is not None else ():
                if phase is None or phase_of(seen.after) is None:
                    continue  # the second try has been answered
                produced = journal_contents(seen.after)
                for history in histories:
                    if moment.seen_by(history) is seen:
                        judged = judge_moment(seen, produced, history, known)
                        _count(cells[phase][history.name], seen.id, produced[-1], judged)
    return HistoryComparison(
        scenarios=tuple(played), histories=tuple(history.name for history in histories), cells=cells
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What a history loses of the turn that is cut at one place, and the rules that it breaks there, by model API."""

    losses: tuple[HistoryLoss, ...]
    broken: tuple[tuple[ApiName, str], ...]


def judge_moment(
    moment: Moment, produced: Sequence[TurnContent], history: HistoryDialect, known: KnownPayloads
) -> Judgement | None:
    """Judge what a history keeps at one place, of which `produced` is the content; None if it cannot be stored.

    `known` are the payloads that were judged before, to which new ones are added: most places of a run, and most
    histories at a place, send what another one sends.
    """
    seen = moment.seen_by(history)
    if seen is not moment:
        produced = journal_contents(seen.after)
    try:
        document = history.store(seen.after)
    except UnsupportedError:
        return None
    last = len(produced) - 1
    losses = tuple(loss for loss in find_losses(produced, history.turn_contents(document)) if loss.turn == last)
    broken = ((provider, rule) for provider in PLAYED_APIS for rule in _broken(document, history, provider, known))
    return Judgement(losses=losses, broken=tuple(dict.fromkeys(broken)))


def _count(cell: Cell, place: str, produced: TurnContent, judged: Judgement | None) -> None:
    if judged is None:
        cell.unsupported += 1
        return
    cell.cuts += 1
    cell.possible.update(_possible_losses(produced))
    lost = {loss.kind for loss in judged.losses}
    cell.lost.update(lost)
    if lost:
        cell.example_lost = cell.example_lost or place
    broken = {rule for _, rule in judged.broken}
    cell.refused.update(broken)
    if broken:
        cell.refusals += 1
        cell.example_refused = cell.example_refused or place


def _possible_losses(turn: TurnContent) -> Iterable[LossKind]:
    """Return the kinds of loss that are possible for the turn that was cut."""
    present: Mapping[LossKind, object] = {
        "partial-text": turn.texts,
        "partial-arguments": [call for call in turn.calls if call.arguments.strip() not in ("", "{}")],
        "tool-name": [call for call in turn.calls if call.name],
        "thinking": turn.thinking,
        "signature": turn.signatures,
        "interruption-fact": turn.interrupted,
        "finished-result": turn.results,
        "usage": turn.usage,
    }
    return [kind for kind, value in present.items() if value]


def _broken(document: object, history: HistoryDialect, provider: ApiName, known: KnownPayloads) -> Iterable[str]:
    payload = next_input(history, document, provider)
    if payload is None:
        return ()
    key = provider, repr(payload)
    if key not in known:
        found = [finding.code for finding in check_payload(provider, payload) if finding.level is Level.MUST]
        known[key] = tuple(_RULE_OF.get(code, code) for code in found)
    return known[key]
