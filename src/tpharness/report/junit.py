"""The report for CI servers: JUnit XML. A known departure is a skipped test with its reason, never a silent pass."""

from __future__ import annotations

import re
from collections.abc import Mapping
from xml.sax.saxutils import escape, quoteattr

from tpharness.printable import make_printable
from tpharness.report.summary import Report
from tpharness.verdict import Outcome, Result
from tpharness.verdict.grouping import leading_cause_of_result
from tpharness.verdict.tally import find_played_again

__all__ = ["render_junit", "render_suites"]

_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ELEMENTS = {
    Outcome.FAILED: "failure",
    Outcome.STALE: "failure",
    Outcome.ERRORED: "error",
    Outcome.COULD_NOT_RUN: "error",
    Outcome.EXPECTED: "skipped",
    Outcome.NOT_APPLICABLE: "skipped",
    Outcome.NO_PART: "skipped",
}


def render_junit(report: Report) -> str:
    """Return the text of the report; problems of the run as a whole are one more test case, `tpharness run`."""
    return "\n".join(['<?xml version="1.0" encoding="UTF-8"?>', *_suite("tpharness", report), ""])


def render_suites(reports: Mapping[str, Report]) -> str:
    """Return several reports as one text, a suite for each, by name."""
    suites = [line for name, report in reports.items() for line in _suite(name, report)]
    return "\n".join(['<?xml version="1.0" encoding="UTF-8"?>', "<testsuites>", *suites, "</testsuites>", ""])


def _suite(name: str, report: Report) -> list[str]:
    results = report.results
    kinds = [_ELEMENTS.get(result.outcome) for result in results]
    text = _run_failure(report)
    seconds = report.finished.seconds if report.finished else 0.0
    head = (
        f'<testsuite name={_quote(name)} tests="{len(results) + 1}" '
        f'failures="{kinds.count("failure") + bool(text)}" '
        f'errors="{kinds.count("error")}" skipped="{kinds.count("skipped")}" time="{seconds:.3f}">'
    )
    again = find_played_again(results)
    properties = [
        "<properties>",
        f'<property name="played_again" value="{len(again)}"/>',
        *(f'<property name="played_again_case" value={_quote(case)}/>' for case in again),
        "</properties>",
    ]
    body = [_case(result, kind) for result, kind in zip(results, kinds, strict=True)]
    inner = f'<failure message="the run itself">{_escape_text(text)}</failure>' if text else ""
    whole = f'<testcase classname="tpharness" name="run" time="0">{inner}</testcase>'
    return [head, *properties, *body, whole, "</testsuite>"]


def _run_failure(report: Report) -> str:
    """Return what fails the run as a whole, outside its results; "" if nothing does."""
    if report.finished is None:
        why = report.error or "the run did not finish"
        started = report.started
        return why if started is None else f"{why}; {report.scenarios} of {started.scenarios} scenarios were played"
    if not report.results and not report.passed:
        return "nothing was played"
    ended = [report.finished.ended] if report.finished.ended else []
    return "\n".join([*ended, *(finding.line() for finding in report.finished.problems)])


def _case(result: Result, kind: str | None) -> str:
    theme, _, name = result.id.partition("/")
    attributes = f"classname={_quote(theme)} name={_quote(name)} time={_quote(f'{result.seconds:.3f}')}"
    if kind is None:
        return f"<testcase {attributes}/>"
    message = result.reason or (result.findings[0].message if result.findings else result.outcome.value)
    text = "\n".join(finding.line() for finding in result.findings)
    cause = "" if kind == "skipped" else f" type={_quote(str(leading_cause_of_result(result)))}"
    return f"<testcase {attributes}><{kind}{cause} message={_quote(message)}>{_escape_text(text)}</{kind}></testcase>"


def _quote(text: str) -> str:
    return quoteattr(_printable(text))


def _escape_text(text: str) -> str:
    return escape("\n".join(map(_printable, text.split("\n"))))


def _printable(text: str) -> str:
    """Return a line without what XML forbids and without what acts on who reads it: CI servers print these reports."""
    return make_printable(_FORBIDDEN.sub("?", text))
