"""The runner: select, plan, play, judge."""

from tpharness.run.engine import RunOptions, play_one, run_suite
from tpharness.run.events import ResultReady, RunEvent, RunFinished, RunStarted, ScenarioFinished
from tpharness.run.judge import CheckState, Outcome, Result

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
