"""Reports: consumers of the events of a run, one format each."""

from tpharness.report.console import ConsoleReport, tally_lines
from tpharness.report.failures import failure_lines
from tpharness.report.json import as_json, render_json
from tpharness.report.matrix import print_matrix
from tpharness.report.spec import Destination, parse_reports, report_words
from tpharness.report.summary import Report

__all__ = [
    "ConsoleReport",
    "Destination",
    "Report",
    "as_json",
    "failure_lines",
    "parse_reports",
    "print_matrix",
    "render_json",
    "report_words",
    "tally_lines",
]
