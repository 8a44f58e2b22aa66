"""The report for GitHub's pull requests: what failed, as annotations of a file and line.

A failure stands at its scenario, that of an application at its table in `tpharness.toml`, an entry that is outdated at
its line of the baseline. Each cause is one annotation, at its smallest case, and what is new comes first, since GitHub
shows ten errors and ten warnings of a step: the tenth counts the rest. The lines are commands that the runner obeys
(`::error …::`), so this is the one report whose own lines are not made harmless; what others wrote in them is escaped
as the runner wants it, and printable.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import yaml

from tpharness.errors import TpharnessError
from tpharness.findings import Finding, Place
from tpharness.printable import counted, make_printable
from tpharness.report.comparison import failure_groups
from tpharness.report.failures import failure_lines
from tpharness.report.summary import Report
from tpharness.scenario_files import find_files
from tpharness.verdict.baseline import OUTDATED
from tpharness.verdict.finding_lines import finding_lines
from tpharness.verdict.grouping import Advice, Group, group_advice

__all__ = ["render_github", "render_github_of_several"]

_MOST = 10
"""How many errors of a step GitHub shows, and how many warnings."""
_EXPECTATIONS = ("outline-differs", "expected-thread-differs", "expected-findings-differ", "unexpected-finding")
"""Findings of what a scenario expects: they stand at its `expect`, all others at its first line."""


def render_github(report: Report) -> str:
    """Return the annotations of a run, "" for one that has passed."""
    return _limited(_annotations(report, ""))


def render_github_of_several(reports: Mapping[str, Report]) -> str:
    """Return the annotations of several runs, each with the names of its server and client."""
    return _limited([line for name, report in reports.items() for line in _annotations(report, name)])


def _limited(lines: Sequence[str]) -> str:
    """Return the first errors and warnings, as many as GitHub shows, and how many more there are."""
    errors = [line for line in lines if line.startswith("::error ")]
    warnings = [line for line in lines if not line.startswith("::error ")]
    shown = []
    for level, some in (("error", errors), ("warning", warnings)):
        shown += some if len(some) <= _MOST else some[: _MOST - 1]
        if len(some) > _MOST:
            more = counted(len(some) - _MOST + 1, "more cause")
            text = f"{more}: GitHub shows {_MOST} {level}s of a step; the other reports have them all"
            shown.append(_command(text, title=f"and {more}", level=level))
    return "".join(f"{line}\n" for line in shown)


def _annotations(report: Report, name: str) -> list[str]:
    roots = report.started.roots if report.started is not None else None
    files = _files(roots or ())
    words = report.started.target_words if report.started is not None else ()
    described = report.started.described if report.started is not None else None
    lines = [_of_group(group, name, roots, words, files, described, new=new) for group, new in failure_groups(report)]
    lines += [_of_problem(finding, name) for finding in _problems(report)]
    if report.finished is None or report.finished.ended:
        why = report.finished.ended if report.finished is not None else report.error
        lines.append(_command(why or "the run did not finish", title=f"tpharness run {name}".strip()))
    elif not report.passed and not lines:
        lines.append(_command(f"nothing was judged: {report.words}", title=f"tpharness run {name}".strip()))
    if report.started is not None and report.started.application:
        compared = None if report.earlier is None else report.earlier.compare(report.results)
        for advice in group_advice(report.results):
            new = compared is not None and compared.is_new(advice.results, [advice.finding.code])
            lines.append(_of_advice(advice, name, described, new=new))
    return lines


def _of_advice(advice: Advice, name: str, described: Place | None, *, new: bool) -> str:
    more = len(advice.results) - 1
    first = "NEW SHOULD" if new else "SHOULD"
    title = f"{first} {advice.results[0].id}{f' and {more} more' if more else ''}{f', {name}' if name else ''}"
    text = "\n".join(make_printable(line) for _, line in finding_lines(advice.finding))
    return _command(text, place=described, title=title, level="warning")


def _of_problem(finding: Finding, name: str) -> str:
    return _command(finding.line(), place=finding.place, title=f"tpharness run {name}".strip())


def _problems(report: Report) -> Sequence[Finding]:
    return report.finished.problems if report.finished is not None else ()


def _of_group(
    group: Group,
    name: str,
    roots: Sequence[Path] | None,
    words: Sequence[str],
    files: Mapping[str, Path],
    described: Place | None,
    *,
    new: bool,
) -> str:
    result = group.smallest
    more = group.cases - result.cases
    word = "failed" if result.fails_now else result.outcome.value
    word = f"NEW {word}" if new else word
    title = f"{word} {result.id}{f' and {more} more' if more else ''}{f', {name}' if name else ''}"
    played = roots is not None  # an application's cases are not replayed
    text = "\n".join(line for _, line in failure_lines(result, roots=roots or (), played_on=words, hint=played))
    # A scenario that does not load, or an entry of a baseline, which is not about what fails now.
    about = [finding for finding in result.findings if not (result.fails_now and finding.kind in OUTDATED)]
    place = next((finding.place for finding in about if finding.place.file is not None), described)
    path = files.get(result.id.partition("@")[0])
    if place is None and path is not None:  # a built-in scenario is not in the repository that is annotated
        place = Place(file=str(path), line=_line(path, result.findings))
    return _command(text, place=place, title=title)


def _files(roots: Sequence[Path]) -> Mapping[str, Path]:
    """Return the files of the user's own scenarios by their ids."""
    try:
        return {id_: one.path for id_, one in find_files(roots, follow_links=True).items()} if roots else {}
    except TpharnessError:  # the files have changed since they were played
        return {}


def _line(path: Path, findings: Sequence[Finding]) -> int:
    """Return the line that a failure is about, counted from 1."""
    if not any(finding.code in _EXPECTATIONS for finding in findings):
        return 1
    try:
        document = yaml.compose(path.read_text("utf-8"), Loader=yaml.SafeLoader)
    except (OSError, UnicodeDecodeError, yaml.YAMLError):
        return 1
    keys = document.value if isinstance(document, yaml.MappingNode) else []
    return next((key.start_mark.line + 1 for key, _ in keys if key.value == "expect"), 1)


def _command(text: str, *, place: Place | None = None, title: str = "", level: str = "error") -> str:
    file = _in_repository(place.file) if place is not None and place.file is not None else ""
    line = str(place.line or 1) if place is not None and file else ""
    properties = {"file": file, "line": line, "title": title}
    shown = ",".join(f"{name}={_escaped(value, more=True)}" for name, value in properties.items() if value)
    return f"::{level} {shown}::{_escaped(text)}"


def _in_repository(file: str) -> str:
    """Return a path from the top of the repository, as GitHub wants it, also where a step runs in a folder of it.

    "" for a file elsewhere, such as one of an installation.
    """
    path = Path(file).resolve()
    for top in (os.environ.get("GITHUB_WORKSPACE"), os.path.curdir):
        if top and path.is_relative_to(Path(top).resolve()):
            return path.relative_to(Path(top).resolve()).as_posix()
    return ""


def _escaped(text: str, *, more: bool = False) -> str:
    """Return a text as the runner reads it back: line ends as %0A; in a property also what ends one."""
    lines = [make_printable(line).replace("%", "%25") for line in text.split("\n")]
    joined = "%0A".join(lines)
    return joined.replace(":", "%3A").replace(",", "%2C") if more else joined
