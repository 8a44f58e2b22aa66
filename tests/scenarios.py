"""The built-in scenarios, for tests that need one of them, or all."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from tpharness.explore.mutation import load_scenarios
from tpharness.resources import scenarios_dir
from tpharness.scenario import Scenario, load_scenario


def load_builtin(scenario_id: str) -> Scenario:
    """Return a built-in scenario by its id, `theme/name`."""
    return load_scenario(scenarios_dir() / f"{scenario_id}.yaml", root=scenarios_dir())


@cache
def load_all() -> Mapping[str, Scenario]:
    """Return the built-in scenarios by id. Several modules need them while tests are collected: they are read once."""
    return {scenario.id: scenario for scenario in load_scenarios()}
