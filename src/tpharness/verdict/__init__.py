"""What a verdict is: outcome and result of a case, the events of a run, baselines, groups of failures, tallies.

Below what plays. Reports, certificates, pictures and pages are made of this. What is made of failures only is imported
when there is one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tpharness.lazy_names import lazy_names

if TYPE_CHECKING:
    from tpharness.verdict.causes import leading_cause
    from tpharness.verdict.events import ResultReady, RunEvent, RunFinished, RunStarted, ScenarioFinished
    from tpharness.verdict.grouping import group_failures
    from tpharness.verdict.profile_tally import tally_profiles
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
    "group_failures",
    "leading_cause",
    "tally_profiles",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "tpharness.verdict.causes": ("leading_cause",),
        "tpharness.verdict.events": ("ResultReady", "RunEvent", "RunFinished", "RunStarted", "ScenarioFinished"),
        "tpharness.verdict.grouping": ("group_failures",),
        "tpharness.verdict.profile_tally": ("tally_profiles",),
        "tpharness.verdict.result": ("CheckState", "Outcome", "Result"),
    },
)
