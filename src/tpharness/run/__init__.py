"""The runner: select, plan, play, judge."""

from tpharness.run.dispatch import play_one
from tpharness.run.engine import run_suite
from tpharness.run.options import RunOptions
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
    "play_one",
    "run_suite",
]
