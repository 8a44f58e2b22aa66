"""Several servers and clients in one run: a table, one report for each pair, and one verdict on all."""

from __future__ import annotations

import io
import json
from typing import Any
from xml.etree import ElementTree as ET

import jsonschema_rs
from rich.console import Console

from tpharness.report import Report, parse_reports, print_matrix
from tpharness.report.json import render_matrix
from tpharness.report.junit import render_suites
from tpharness.resources import schema_path
from tpharness.verdict import Outcome, Result, ResultReady, RunFinished, RunStarted, ScenarioFinished
from tpharness.verdict.pair import Pair


def report_of(*outcomes: Outcome, server: str = "s") -> Report:
    """Return the report on a run with these outcomes."""
    report = Report()
    report.feed(RunStarted(scenarios=len(outcomes), server=server, client="[acme] 1.0", versions=("0.0.4",)))
    for index, outcome in enumerate(outcomes):
        report.feed(ResultReady(result=Result(id=f"theme/case-{index}", outcome=outcome)))
        report.feed(ScenarioFinished(id=f"theme/case-{index}"))
    counts = {outcome: outcomes.count(outcome) for outcome in outcomes}
    report.feed(RunFinished(passed=all(o.green for o in outcomes), counts=counts, seconds=1.0))
    return report


GOOD = Pair(server="reference", client="stdio:[mine]")
BAD = Pair(server="http://x", client="stdio:[mine]")
GONE = Pair(server="http://y", client="stdio:[mine]")
REPORTS = {
    GOOD: report_of(Outcome.PASSED, Outcome.EXPECTED),
    BAD: report_of(Outcome.PASSED, Outcome.FAILED, Outcome.STALE),
    GONE: Report(error="nothing listens there"),
}


def test_the_table_shows_each_pair_once_with_its_verdict() -> None:
    """Servers are rows, clients columns, by the names that they declare; a spec where two declare the same."""
    out = io.StringIO()
    print_matrix(Console(file=out, width=120, highlight=False), REPORTS)
    lines = out.getvalue().splitlines()
    (head,) = [line for line in lines if "[acme] 1.0" in line]
    assert "server" in head
    cells = {line.split("│")[1].strip(): line.split("│")[2].strip() for line in lines if line.count("│") == 3}
    assert cells == {
        "reference": "passed 1 + 1 known difference",
        "http://x": "failed 1 failed, 1 stale of 3",
        "http://y": "could not run",
    }
    assert lines[-1] == "FAILED 1 of 3 pairs"


def test_the_json_of_a_matrix_fits_its_schema() -> None:
    """Every report is whole; one that did not come to its end says why, and fails the matrix."""
    schemas = [json.loads(schema_path(name).read_text("utf-8")) for name in ("matrix", "report")]
    registry = jsonschema_rs.Registry([(schema["$id"], schema) for schema in schemas])
    document = json.loads(render_matrix({str(pair): report for pair, report in REPORTS.items()}))
    jsonschema_rs.Draft202012Validator(schemas[0], registry=registry).validate(document)
    assert document["passed"] is False
    assert [report["passed"] for report in document["reports"]] == [True, False, False]
    assert document["reports"][2]["error"] == "nothing listens there"
    assert json.loads(render_matrix({str(GOOD): REPORTS[GOOD]}))["passed"] is True


def test_the_junit_of_a_matrix_has_a_suite_for_each_pair() -> None:
    """CI servers show them side by side; a pair that could not run is a failure of its own."""
    suites = ET.fromstring(render_suites({str(p): r for p, r in REPORTS.items()}).encode())  # noqa: S314  # our own
    assert suites.tag == "testsuites"
    assert [suite.get("name") for suite in suites] == [str(pair) for pair in REPORTS]
    assert [suite.get("failures") for suite in suites] == ["0", "2", "1"]
    failure = suites[2].find("testcase/failure")
    assert failure is not None
    assert failure.text == "nothing listens there"


def test_reports_on_pairs_are_written_where_they_were_asked_for(tmp_path: Any) -> None:
    """The same destinations as for one pair."""
    _, destinations = parse_reports([f"json:{tmp_path}/m.json", f"junit:{tmp_path}/m.xml"])
    for destination in destinations:
        destination.write_matrix({str(pair): report for pair, report in REPORTS.items()})
    assert json.loads((tmp_path / "m.json").read_text("utf-8"))["format"] == "tpharness-matrix/1"
    assert (tmp_path / "m.xml").read_text("utf-8").count("<testsuite ") == 3
