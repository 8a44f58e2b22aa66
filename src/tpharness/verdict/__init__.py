"""What a verdict is: outcome and result of a case, the events of a run, baselines, groups of failures, tallies.

Below what plays. Reports, certificates, pictures and pages are made of this.
"""

from tpharness.verdict.events import ResultReady, RunEvent, RunFinished, RunStarted, ScenarioFinished
from tpharness.verdict.result import CheckState, Outcome, Result

__all__ = [
    "CheckState",
    "Outcome",
    "Result",
    "ResultReady",
    "RunEvent",
    "RunFinished",
    "RunStarted",
    "ScenarioFinished",
]
