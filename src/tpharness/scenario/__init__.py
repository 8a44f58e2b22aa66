"""Scenarios: what a model and its tools do, what goes over the wire, and where it is interrupted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tpharness.lazy_names import lazy_names

if TYPE_CHECKING:
    from tpharness.scenario.load import load_scenario, load_text
    from tpharness.scenario.records import (
        AgentRun,
        ClientCut,
        Clock,
        Compare,
        CutAt,
        CutPlan,
        CutSide,
        CutUnit,
        Expectation,
        GivenStream,
        Interrupt,
        Recorded,
        Scenario,
        Turn,
        UserInput,
        WireEnd,
    )
    from tpharness.scenario.save import dump, write
    from tpharness.scenario_files import find_scenarios, scenario_id

__all__ = [
    "AgentRun",
    "ClientCut",
    "Clock",
    "Compare",
    "CutAt",
    "CutPlan",
    "CutSide",
    "CutUnit",
    "Expectation",
    "GivenStream",
    "Interrupt",
    "Recorded",
    "Scenario",
    "Turn",
    "UserInput",
    "WireEnd",
    "dump",
    "find_scenarios",
    "load_scenario",
    "load_text",
    "scenario_id",
    "write",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "tpharness.scenario.load": (
            "load_scenario",
            "load_text",
        ),
        "tpharness.scenario.records": (
            "AgentRun",
            "ClientCut",
            "Clock",
            "Compare",
            "CutAt",
            "CutPlan",
            "CutSide",
            "CutUnit",
            "Expectation",
            "Interrupt",
            "Recorded",
            "Scenario",
            "Turn",
            "UserInput",
            "GivenStream",
            "WireEnd",
        ),
        "tpharness.scenario.save": (
            "dump",
            "write",
        ),
        "tpharness.scenario_files": (
            "find_scenarios",
            "scenario_id",
        ),
    },
)
