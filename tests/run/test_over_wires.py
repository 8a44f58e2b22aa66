"""A run over another wire: the same scenarios, and the same threads."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Call, call  # noqa: F401  # a fixture
from tests.scenarios import load_builtin

from tpharness.errors import UsageError
from tpharness.run import Outcome, run_suite
from tpharness.run.options import RunOptions
from tpharness.run.pairs import plan_runs
from tpharness.run.play import PlayedCase
from tpharness.run.session import Session
from tpharness.verdict import Result, ResultReady
from tpharness.wires.ag_ui.encode import AgUiEncoder
from tpharness.wires.registry import name_wire


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
    """Faults and histories, and a name that is not that of a wire."""
    for wire in ("ag-ui", "all"):
        with pytest.raises(UsageError, match="over ag-ui the reference plays both sides"):
            plan_runs(RunOptions(wire=wire, faults=("reset",)), servers=[], clients=[], dialects=[])
    with pytest.raises(UsageError, match="'agui' is not the name of a wire"):
        plan_runs(RunOptions(wire="agui"), servers=[], clients=[], dialects=[])


def test_the_command_names_the_wire(call: Call) -> None:  # noqa: F811  # the fixture
    """And plays over it."""
    called = call("run", "basics/tool-call-and-answer", "--wire", "ag-ui", "--no-config")
    assert (called.code, "PASSED" in called.out) == (0, True)


def test_all_wires_are_a_run_each(call: Call) -> None:  # noqa: F811  # the fixture
    """With a verdict on each; what was found over one of them fails the whole."""
    called = call("run", "basics/tool-call-and-answer", "--wire", "all", "--no-config")
    assert (called.code, "PASSED 2 of 2 pairs" in called.out) == (0, True), called.out
    assert "over ag-ui" in called.out


# ------------------------------------------------------------ targets (contract 1.2)

BOTH = f"stdio:{sys.executable} {Path(__file__).parent / 'reference_over_stdio.py'}"
OLD = f"{BOTH} --old"
IDS = ("basics/tool-call-and-answer", "interruptions/complete-text-then-call-cut", "approvals/denied-in-a-later-turn")


def results_over_ag_ui(**options: Any) -> list[Result]:
    """Return the results of scenarios over AG-UI on these targets."""
    events = run_suite(RunOptions(wire="ag-ui", **{"ids": IDS, **options}))
    return [result for event in events if (result := getattr(event, "result", None)) is not None]


@pytest.mark.parametrize("target", ["peer:serve", BOTH])
def test_a_target_that_declares_a_wire_is_played_over_it(target: str) -> None:
    """As a server, as a client and as both; over HTTP with live cancels and marks, and over stdio."""
    for sides in ({"server": target}, {"client": target}, {"server": target, "client": target}):
        found = results_over_ag_ui(**sides)
        assert {result.outcome for result in found} == {Outcome.PASSED}, found


@pytest.mark.parametrize("target", ["peer:serve", BOTH])
def test_its_streams_are_those_of_the_wire(target: str) -> None:
    """And not of the default one, which would pass as well."""
    scenario = load_builtin(IDS[0])
    seen: list[PlayedCase] = []
    with Session(server=target, wire="ag-ui") as session:
        case, reason = session.run(session.adapt(scenario))
        assert reason == ""
        session.run(session.play_case(case, observe=seen.append))
    assert seen[0].served is not None
    data = b"".join(packet.data for packet in seen[0].served.streams[0])
    assert name_wire(data) == "ag-ui"
    assert b"RUN_FINISHED" in data


def test_a_target_of_an_older_contract_is_played_over_the_default_wire_alone() -> None:
    """It declares no wires, and gets no member that it does not know."""
    found = results_over_ag_ui(server=OLD)
    assert {(result.outcome, result.reason) for result in found} == {
        (Outcome.NOT_APPLICABLE, "the server does not declare the wire ag-ui")
    }
    events = run_suite(RunOptions(server=OLD, ids=IDS))
    assert {event.result.outcome for event in events if isinstance(event, ResultReady)} == {Outcome.PASSED}
