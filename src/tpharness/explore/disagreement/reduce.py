"""Make a scenario in which targets part smaller, as long as they part in the same way. Pure but for `parts`.

The events need not be legal, and what repeats them need not fit. So, unlike in `shrinking`, any event and any field may
go by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from tpharness.explore.shrinking.values import shorter_lists, simplify_values
from tpharness.findings import Finding
from tpharness.scenario import AgentRun, Scenario, Turn, UserInput
from tpharness.server_events import event_kind

__all__ = ["reduce_scenario"]

_KEPT = frozenset(
    ("event_kind", "at", "index", "part_kind", "tool_call_id", "agent_id", "kind", "part_delta_kind", "event_type")
)
"""Fields that stay as they are: without them an event is another one."""


def reduce_scenario(scenario: Scenario, parts: Callable[[Scenario], bool], *, patience: int = 2000) -> Scenario:
    """Return a smaller scenario for which `parts` is still true; tries at most `patience` others."""
    while True:
        for other in _smaller(scenario):
            patience -= 1
            if patience < 0:
                return scenario
            if _is_well_formed(other) and parts(other):
                scenario = other
                break
        else:
            return scenario


def _is_well_formed(scenario: Scenario) -> bool:
    """Whether each event has the fields of its kind: what targets make of others, they are not compared in."""
    return not any(isinstance(event_kind(event), Finding) for _, run in scenario.runs for event in run.events or ())


def _smaller(scenario: Scenario) -> Iterator[Scenario]:
    if len(scenario.versions) > 1:
        yield from (replace(scenario, versions=(version,)) for version in reversed(scenario.versions))
    for turns in shorter_lists(scenario.turns):
        if any(isinstance(turn, AgentRun) for turn in turns):
            yield replace(scenario, turns=tuple(turns))
    for index, turn in enumerate(scenario.turns):
        for other in _smaller_run(turn) if isinstance(turn, AgentRun) else _smaller_user(turn):
            yield replace(scenario, turns=(*scenario.turns[:index], other, *scenario.turns[index + 1 :]))


def _smaller_user(turn: Turn) -> Iterator[Turn]:
    plain = ({"part_kind": "user-prompt", "content": "Go on"},)
    if isinstance(turn, UserInput) and turn.parts != plain:
        yield replace(turn, parts=plain)


def _smaller_run(run: AgentRun) -> Iterator[Turn]:
    if run.interrupt is not None:
        yield replace(run, interrupt=None)
    events = tuple(run.events or ())
    if run.interrupt is None:  # which counts events
        yield from (replace(run, events=tuple(fewer), labels={}) for fewer in shorter_lists(events))
    elif events and (run.interrupt.server_after or 0) > 0 and run.interrupt.client_after is None:
        after = run.interrupt.server_after or 0
        if after < len(events):
            yield replace(run, events=events[:after], labels={})
        for gone in range(after):
            cut = replace(run.interrupt, server_after=after - 1)
            yield replace(run, events=(*events[:gone], *events[gone + 1 :]), labels={}, interrupt=cut)
    for index, event in enumerate(events):
        for name, value in event.items():
            if name in _KEPT:
                continue
            fewer = {k: v for k, v in event.items() if k != name}
            others = [fewer, *({**event, name: simpler} for simpler in _simpler(value))]
            yield from (replace(run, events=(*events[:index], other, *events[index + 1 :])) for other in others)


def _simpler(value: object) -> Iterator[object]:
    """Yield the value with something taken away; a field that says which event it is stays."""
    for other in simplify_values(value):
        if not isinstance(value, dict) or (isinstance(other, dict) and _keeps(value, other)):
            yield other


def _keeps(value: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return all(other.get(name) == value[name] for name in value if name in _KEPT)
