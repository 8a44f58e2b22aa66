"""The report for a page that shows Markdown, such as the summary of a step: verdict, causes, profiles."""

from __future__ import annotations

import re
from collections.abc import Mapping

from tpharness.printable import counted, make_printable
from tpharness.report.app_markdown import app_markdown_lines
from tpharness.report.failures import group_line
from tpharness.report.profiles import profile_lines
from tpharness.report.summary import Report
from tpharness.verdict.grouping import group_failures
from tpharness.verdict.profile_tally import tally_profiles

__all__ = ["render_markdown", "render_markdown_of_several"]

_MOST_CAUSES = 20
_MARKS = re.compile(r"([\\`*_{}\[\]<>#|~!&@])")
"""What Markdown or HTML would obey, and names that somebody would be notified of."""


def render_markdown(report: Report) -> str:
    """Return the report on one run; one that has no version of ThreadProtocol posts to a server of AG-UI."""
    posts = report.started is not None and not report.started.versions
    return "\n".join([*_section(report, "AG-UI" if posts else "ThreadProtocol"), ""])


def render_markdown_of_several(reports: Mapping[str, Report]) -> str:
    """Return the reports on several runs, one below the other."""
    return "\n".join([*(line for name, report in reports.items() for line in _section(report, name)), ""])


def _section(report: Report, name: str) -> list[str]:
    if report.started is not None and report.started.application:
        return app_markdown_lines(report, _text)
    lines = [f"## {_text(name)}", "", f"**{'PASSED' if report.passed else 'FAILED'}** {_text(report.words)}", ""]
    if report.started is not None:
        played = f"server {report.started.server}, client {report.started.client}"
        versions = f", versions {', '.join(report.started.versions)}" if report.started.versions else ""
        lines += [_text(f"{played}{report.started.over}{versions}"), ""]
    if report.finished is None:
        lines += [_text(f"The run did not come to its end: {report.error}"), ""]
    elif report.finished.ended:
        lines += [_text(report.finished.ended), ""]
    groups = group_failures(report.results)
    if groups:
        lines += ["| cases | cause |", "| --: | --- |"]
        for group in groups[:_MOST_CAUSES]:
            cases, _, cause = group_line(group).strip().partition(" ")
            lines.append(f"| {cases} | {_text(cause.strip())} |")
        if len(groups) > _MOST_CAUSES:
            lines.append(f"| | and {counted(len(groups) - _MOST_CAUSES, 'more cause')} |")
        lines.append("")
    for finding in report.finished.problems if report.finished is not None else ():
        lines += [f"- {_text(finding.line())}"]
    profiles = profile_lines(tally_profiles(report.results)) if report.scenarios > 1 else []
    if profiles:
        lines += ["", "```text", *(make_printable(line) for line in profiles), "```", ""]
    return lines


def _text(text: str) -> str:
    """Return one line that says what it says, and nothing to Markdown."""
    return _MARKS.sub(r"\\\1", make_printable(text))
