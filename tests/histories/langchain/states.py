"""Every state that the design can have: scenarios of the suite, cut after each of their events."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tests.histories.langchain.folding import cuts

from tpharness.histories.langchain import LANGCHAIN, UnsupportedError
from tpharness.resources import scenarios_dir
from tpharness.run.select import SelectedScenario, select_scenarios
from tpharness.scenario import load_scenario

__all__ = ["SELECTED", "States", "states_of"]

SELECTED = tuple(select_scenarios((), (scenarios_dir(),)))


@dataclass(frozen=True, slots=True, kw_only=True)
class States:
    """The states of some variants: how many there are, and each of them once."""

    count: int
    distinct: Sequence[dict[str, Any]]


def states_of(selected: Sequence[SelectedScenario], *variants: str) -> States:
    """Return the states of variants (all if none is named) in scenarios, with empty buffers, which are not sent."""
    count = 0
    distinct: dict[str, dict[str, Any]] = {}
    dialects = [dialect for dialect in LANGCHAIN.values() if not variants or dialect.variant in variants]
    for one in selected:
        for journal in cuts(load_scenario(one.path, root=one.root)):
            for dialect in dialects:
                try:
                    messages = dialect.store(journal)["messages"]
                except UnsupportedError:  # GAP-6
                    continue
                count += 1
                distinct.setdefault(json.dumps(messages), {"messages": messages})
    return States(count=count, distinct=tuple(distinct.values()))
