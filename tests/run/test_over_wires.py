"""A run over another wire: the same scenarios, and the same threads."""

from __future__ import annotations

from collections import Counter

import pytest
from tests.cli.conftest import Call, call  # noqa: F401  # a fixture

from tpharness.errors import UsageError
from tpharness.run import Outcome, run_suite
from tpharness.run.options import RunOptions
from tpharness.run.pairs import plan_runs
from tpharness.wires.ag_ui.encode import AgUiEncoder


def outcomes(*ids: str) -> Counter[Outcome]:
    """Return how the results of a run over AG-UI ended."""
    events = run_suite(RunOptions(wire="ag-ui", ids=ids))
    return Counter(result.outcome for event in events if (result := getattr(event, "result", None)) is not None)


def test_scenarios_pass_over_ag_ui() -> None:
    """Whole and swept; a stream of the other wire does not apply, and neither do findings of its order."""
    assert outcomes("basics", "approvals")[Outcome.FAILED] == 0
    assert outcomes("basics")[Outcome.PASSED] > 3
    assert outcomes("cycles/open-part-at-finish") == {Outcome.PASSED: 1}
    assert outcomes("recorded/ai-sdk/*") == {Outcome.NOT_APPLICABLE: outcomes("recorded/ai-sdk/*").total()}


def test_a_wire_that_loses_something_fails_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the wire of the run that is played."""
    monkeypatch.setitem(AgUiEncoder.HANDLERS, "text-end", lambda _self, _chunk: [])
    assert outcomes("basics")[Outcome.FAILED] > 0


def test_what_does_not_go_over_another_wire_is_refused() -> None:
    """Targets, faults and histories, and a name that is not that of a wire."""
    for options, servers in (
        (RunOptions(wire="ag-ui"), ["stdio:x"]),
        (RunOptions(wire="ag-ui", faults=("reset",)), []),
    ):
        with pytest.raises(UsageError, match="over ag-ui the reference plays both sides"):
            plan_runs(options, servers=servers, clients=[], dialects=[])
    with pytest.raises(UsageError, match="'agui' is not the name of a wire"):
        plan_runs(RunOptions(wire="agui"), servers=[], clients=[], dialects=[])


def test_the_command_names_the_wire(call: Call) -> None:  # noqa: F811  # the fixture
    """And plays over it."""
    called = call("run", "basics/tool-call-and-answer", "--wire", "ag-ui", "--no-config")
    assert (called.code, "PASSED" in called.out) == (0, True)
