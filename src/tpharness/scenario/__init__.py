"""Scenarios: what a model and its tools do, what goes over the wire, and where it is interrupted."""

from tpharness.scenario.load import load_scenario, load_text
from tpharness.scenario.outline import outline
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
    Interrupt,
    Recorded,
    Scenario,
    Turn,
    UserInput,
    Wire,
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
    "Interrupt",
    "Recorded",
    "Scenario",
    "Turn",
    "UserInput",
    "Wire",
    "WireEnd",
    "dump",
    "find_scenarios",
    "load_scenario",
    "load_text",
    "outline",
    "scenario_id",
    "write",
]
