"""The reference's server ends a run whose events end without a result and without an interruption (R27)."""

from __future__ import annotations

from tpharness.run import RunOptions, play_one
from tpharness.scenario import load_text

SCENARIO = """
description: Two runs end without a result.
clauses: [interrupt.network-failure]
turns:
  - user: Go
  - steps:
      - {response: [{call: look, id: c1, args: {}}]}
      - {returns: {c1: 1}}
      - {response: [{text: It is, unfinished: true}]}
    finish: false
  - user: Go on
  - {steps: [{response: [{text: It is 1.}]}], finish: false}
expect:
  outline:
    0.0.4:
      - user
      - "agent interrupted network_failure: response(tool-call:c1) request(tool-return:c1)"
      - user
      - "agent interrupted network_failure: response(text)"
"""


def test_only_a_result_ends_a_run_well() -> None:
    """The turn is interrupted where its events end, and the next run can begin."""
    results = play_one(load_text(SCENARIO, id="runs/without-a-result"), RunOptions())
    assert [result.outcome.green for result in results] == [True], results
