"""The runner: select, plan, play, judge."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tpharness.lazy_names import lazy_names

if TYPE_CHECKING:
    from tpharness.run.answers import make_answer, results_of
    from tpharness.run.case_ids import cases_of
    from tpharness.run.cluster import check_address, run_on_cluster
    from tpharness.run.dispatch import play_one
    from tpharness.run.engine import run_suite
    from tpharness.run.fault_cases import find_obstacle, for_each_fault, plan_faults, play_fault, unplayed_result
    from tpharness.run.options import RunOptions
    from tpharness.run.other_wires import cite_any_wire
    from tpharness.run.questions import ask_sides
    from tpharness.run.sent_runs import read_sent_runs
    from tpharness.run.splits import find_event_split, find_packet_split, find_read_split
    from tpharness.run.workers import Workers, started
    from tpharness.verdict.events import ResultReady, RunEvent, RunFinished, RunStarted, ScenarioFinished
    from tpharness.verdict.result import CheckState, Outcome, Result

__all__ = [
    "CheckState",
    "Outcome",
    "Result",
    "ResultReady",
    "RunEvent",
    "RunFinished",
    "RunOptions",
    "RunStarted",
    "ScenarioFinished",
    "Workers",
    "ask_sides",
    "cases_of",
    "check_address",
    "cite_any_wire",
    "find_event_split",
    "find_obstacle",
    "find_packet_split",
    "find_read_split",
    "for_each_fault",
    "make_answer",
    "plan_faults",
    "play_fault",
    "play_one",
    "read_sent_runs",
    "results_of",
    "run_on_cluster",
    "run_suite",
    "started",
    "unplayed_result",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "tpharness.run.answers": ("make_answer", "results_of"),
        "tpharness.run.case_ids": ("cases_of",),
        "tpharness.run.cluster": ("check_address", "run_on_cluster"),
        "tpharness.run.fault_cases": (
            "find_obstacle",
            "for_each_fault",
            "plan_faults",
            "play_fault",
            "unplayed_result",
        ),
        "tpharness.run.dispatch": ("play_one",),
        "tpharness.run.engine": ("run_suite",),
        "tpharness.run.options": ("RunOptions",),
        "tpharness.run.other_wires": ("cite_any_wire",),
        "tpharness.run.questions": ("ask_sides",),
        "tpharness.run.sent_runs": ("read_sent_runs",),
        "tpharness.run.splits": ("find_event_split", "find_packet_split", "find_read_split"),
        "tpharness.run.workers": ("Workers", "started"),
        "tpharness.verdict.events": (
            "ResultReady",
            "RunEvent",
            "RunFinished",
            "RunStarted",
            "ScenarioFinished",
        ),
        "tpharness.verdict.result": (
            "CheckState",
            "Outcome",
            "Result",
        ),
    },
)
