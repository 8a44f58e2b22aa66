"""Reports: consumers of the events of a run, one format each. What shows failures is imported when there is one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tpharness.lazy_names import lazy_names

if TYPE_CHECKING:
    from tpharness.report.account import account_lines, tally_lines
    from tpharness.report.comparison import failure_groups
    from tpharness.report.console import ConsoleReport
    from tpharness.report.failures import (
        failure_lines,
        first_to_read,
        group_heading,
        group_line,
        other_cases_line,
        wrap_line,
    )
    from tpharness.report.json import as_json, render_json
    from tpharness.report.matrix import print_matrix
    from tpharness.report.not_judged import brief_line, never_judged
    from tpharness.report.profiles import profile_lines
    from tpharness.report.spec import Destination, parse_reports, report_words
    from tpharness.report.summary import Report

__all__ = [
    "ConsoleReport",
    "Destination",
    "Report",
    "account_lines",
    "as_json",
    "brief_line",
    "failure_groups",
    "failure_lines",
    "first_to_read",
    "group_heading",
    "group_line",
    "never_judged",
    "other_cases_line",
    "parse_reports",
    "print_matrix",
    "profile_lines",
    "render_json",
    "report_words",
    "tally_lines",
    "wrap_line",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "tpharness.report.account": ("account_lines", "tally_lines"),
        "tpharness.report.comparison": ("failure_groups",),
        "tpharness.report.console": ("ConsoleReport",),
        "tpharness.report.failures": (
            "failure_lines",
            "first_to_read",
            "group_heading",
            "group_line",
            "other_cases_line",
            "wrap_line",
        ),
        "tpharness.report.json": ("as_json", "render_json"),
        "tpharness.report.matrix": ("print_matrix",),
        "tpharness.report.not_judged": ("brief_line", "never_judged"),
        "tpharness.report.profiles": ("profile_lines",),
        "tpharness.report.spec": ("Destination", "parse_reports", "report_words"),
        "tpharness.report.summary": ("Report",),
    },
)
