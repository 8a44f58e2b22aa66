"""The report for machines: one JSON object, by `conformance/schemas/report.schema.json`."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

from tpharness.output import json_text
from tpharness.report.not_judged import unjudged
from tpharness.report.summary import Report
from tpharness.verdict import Result
from tpharness.verdict.grouping import group_failures, groups_json, leading_cause_of_result
from tpharness.verdict.profile_tally import tallies_json, tally_profiles
from tpharness.verdict.tally import tally_json

__all__ = ["as_json", "render_json", "render_matrix"]


def as_json(report: Report) -> dict[str, Any]:
    """Return the report as JSON values."""
    started, finished = report.started, report.finished
    incomplete = report.incomplete
    return {
        "format": "tpharness-report/1",
        "tpharness": version("tpharness"),
        "server": started.server if started else "",
        "client": started.client if started else "",
        "versions": list(started.versions) if started else [],
        **({"wire": started.wire} if started and started.wire else {}),
        **({"order": started.order} if started and started.order else {}),
        **({"shard": dict(started.shard)} if started and started.shard else {}),
        "passed": report.passed,
        **({"incomplete": incomplete} if incomplete is not None else {}),
        "seconds": round(finished.seconds, 3) if finished else None,
        "counts": {outcome.value: count for outcome, count in report.counts.items()},
        **tally_json(report.results),
        **tallies_json(tally_profiles(report.results)),
        "causes": groups_json(group_failures(report.results)),
        "results": [_result(result) for result in report.results],
        "problems": [finding.as_json() for finding in finished.problems] if finished else [],
        "exercised": {clause: list(ids) for clause, ids in finished.exercised.items()} if finished else {},
        **({"error": why} if (why := report.error or (finished.ended if finished else "")) else {}),
    }


def render_json(report: Report) -> str:
    """Return the text of the report."""
    return json_text(as_json(report)) + "\n"


def render_matrix(reports: Mapping[str, Report]) -> str:
    """Return the reports on several pairs, by their names, as one text, by `conformance/schemas/matrix.schema.json`."""
    matrix = {
        "format": "tpharness-matrix/1",
        "tpharness": version("tpharness"),
        "passed": bool(reports) and all(report.passed for report in reports.values()),
        "reports": [as_json(report) for report in reports.values()],
    }
    return json_text(matrix) + "\n"


def _result(result: Result) -> dict[str, Any]:
    outage = result.outage
    return {
        "id": result.id,
        "outcome": result.outcome.value,
        "cases": result.cases,
        "seconds": round(result.seconds, 4),
        "reason": result.reason,
        **({"symptom": result.symptom} if result.symptom else {}),
        "played_again": result.played_again,
        **({} if result.outcome.green else {"cause": str(leading_cause_of_result(result)), "size": result.size}),
        **({} if outage is None else {"outage": {"what": outage.what, "began": outage.began}}),
        "clauses": list(result.clauses),
        "checks": {name: state.value for name, state in result.checks.items()},
        "not_judged": [one.as_json() for one in unjudged(result)],
        "findings": [finding.as_json() for finding in result.findings],
    }
