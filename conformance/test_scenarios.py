"""Every scenario of the suite on the embedded reference, its sweep included."""

from __future__ import annotations

import pytest

from tpharness.report import failure_lines
from tpharness.resources import scenarios_dir
from tpharness.run import RunOptions, play_one
from tpharness.run.baselines import load_baseline
from tpharness.run.select import SelectedScenario, select_scenarios
from tpharness.scenario import load_scenario

SELECTED = select_scenarios((), (scenarios_dir(),))
BASELINE = load_baseline()


@pytest.mark.parametrize("one", SELECTED, ids=lambda one: one.id)
def test_scenario(one: SelectedScenario) -> None:
    """The scenario passes, or fails just as the baseline of its implementation says."""
    results = [BASELINE.apply(result) for result in play_one(load_scenario(one.path, root=one.root), RunOptions())]
    wrong = [line for result in results if not result.outcome.green for _, line in failure_lines(result)]
    assert not wrong, "\n".join(wrong)
    assert results
