"""The scenarios that give a client streams of AG-UI: part of each run over AG-UI, and of no other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tpharness import Outcome, play
from tpharness.errors import UsageError
from tpharness.resources import scenarios_dir
from tpharness.run.select import built_in_roots
from tpharness.scenario import load_scenario
from tpharness.wires.ag_ui.carriers import KEY, PREFIX, read_facts

ROOT = built_in_roots("ag-ui")[-1]
STREAMS = sorted((ROOT / "ag-ui").glob("*.yaml"))


def test_reference_holds_what_each_stream_gives() -> None:
    """It passes every one of them, and they are selected by their theme."""
    played = play("ag-ui", wire="ag-ui")
    assert {result.id for result in played.results} == {f"ag-ui/{path.stem}" for path in STREAMS}
    assert [result.id for result in played.results if result.outcome is not Outcome.PASSED] == []


def test_run_over_another_wire_does_not_have_them() -> None:
    """Their number is not part of a run over the AI SDK's stream."""
    assert built_in_roots("vsp") == (scenarios_dir(),)
    with pytest.raises(UsageError, match="no built-in scenario is called 'ag-ui'"):
        play("ag-ui")


@pytest.mark.parametrize("path", STREAMS, ids=lambda path: path.stem)
def test_each_has_facts_that_decide(path: Any) -> None:
    """A client that does not read facts owes nothing there (R39), and is not asked."""
    scenario = load_scenario(path, root=ROOT)
    events = [event for _, run in scenario.runs if run.wire is not None for event in run.wire.chunks or ()]
    assert any(_has_facts(event) for event in events)


def _has_facts(event: Mapping[str, Any]) -> bool:
    return str(event.get("name", "")).startswith(PREFIX) or KEY in event.get("metadata", {})


@pytest.mark.parametrize(
    "fact", [{"cut": "no"}, {"json": 1}, {"step": None}, {"provider_metadata": [1]}, {"reason": 5}]
)
def test_fact_of_another_form_is_not_read(fact: dict[str, Any]) -> None:
    """It is left alone, and the others are read."""
    assert read_facts({KEY: {**fact, "input": None}}) == {"input": None}
