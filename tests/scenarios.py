"""The built-in scenarios, for tests that need one of them."""

from __future__ import annotations

from tpharness.resources import scenarios_dir
from tpharness.scenario import Scenario, load_scenario


def load_builtin(scenario_id: str) -> Scenario:
    """Return a built-in scenario by its id, `theme/name`."""
    return load_scenario(scenarios_dir() / f"{scenario_id}.yaml", root=scenarios_dir())
