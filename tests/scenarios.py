"""Scenarios for tests: the built-in ones, one of them or all, and a small one to write into a folder."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from tpharness.explore.mutation import load_scenarios
from tpharness.resources import scenarios_dir
from tpharness.scenario import Scenario, load_scenario

TWO_TOOLS = """\
description: Two calls return one after the other.
clauses: [sync.identity]
turns:
  - user: Hi
  - steps:
      - response: [{call: look, id: c1}, {call: look, id: c2}]
      - returns: {c1: 1, c2: 2}
"""


def load_builtin(scenario_id: str) -> Scenario:
    """Return a built-in scenario by its id, `theme/name`."""
    return load_scenario(scenarios_dir() / f"{scenario_id}.yaml", root=scenarios_dir())


@cache
def load_all() -> Mapping[str, Scenario]:
    """Return the built-in scenarios by id. Several modules need them while tests are collected: they are read once."""
    return {scenario.id: scenario for scenario in load_scenarios()}
