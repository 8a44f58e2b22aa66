"""The summary of a chat application's run, as a comment on a pull request: at most 60 lines, what is new first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from tpharness.findings import Level
from tpharness.printable import counted
from tpharness.report.app_verdict import app_verdict, part_results
from tpharness.report.comparison import Comparison, failure_groups, is_advice
from tpharness.report.summary import Report
from tpharness.verdict import Outcome, Result
from tpharness.verdict.baseline import OUTDATED
from tpharness.verdict.grouping import Group, group_advice

__all__ = ["app_markdown_lines"]

_MOST_FAILED, _MOST_ADVICE, _MOST_KNOWN, _MOST_CHANGED, _MOST_PROBLEMS = 5, 3, 3, 3, 2
_MOST_IDS = 3


def app_markdown_lines(report: Report, text: Callable[[str], str]) -> list[str]:
    """Return the lines; `text` makes what others wrote harmless to Markdown."""
    started = report.started
    name = started.application if started is not None else ""
    verdict = app_verdict(report)
    lines = [f"## {text(f'tpharness app {name}')}", "", f"**{text(verdict.words)}**{text(verdict.rest)}", ""]
    if started is not None:
        lines += [text(f"{started.server}, client {started.client}; {report.words}"), ""]
        lines += [text(started.unseen), ""] if started.unseen else []
    cases, threads = part_results(report.results)
    if report.earlier is not None and started is not None:
        lines += _compared(report.earlier.compare(report.results), report.earlier.words(started.server), text)
    lines += _failed([one for one, _ in failure_groups(report) if _is_wrong(one.smallest)], text)
    lines += _advice(report.results, text)
    lines += _known([one for one in report.results if one.outcome is Outcome.EXPECTED], text)
    lines += _outdated(report, [*cases, *threads], text)
    if threads:
        wrong = sum(one.outcome is not Outcome.PASSED for one in threads)
        lines += [f"ThreadProtocol: the thread is wrong in {wrong} of {counted(len(threads), 'case')}.", ""]
    return lines[:-1]


_OF_A_BASELINE = [kind.code for kind in OUTDATED]
_UNJUDGED = (Outcome.ERRORED, Outcome.COULD_NOT_RUN)


def _compared(found: Comparison, with_what: str, text: Callable[[str], str]) -> list[str]:
    lines = [text(f"Compared with {with_what}: {found.line}."), ""]
    rows = [
        *_change_rows("**new**", found.new, text),
        *_change_rows("gone", found.gone, text),
        *_change_rows("still", found.still, text),
    ]
    return [*lines, *_table(("", "finding", "cases"), rows)] if rows else lines


def _change_rows(word: str, found: Mapping[str, Sequence[str]], text: Callable[[str], str]) -> Iterator[Sequence[str]]:
    for code, ids in list(found.items())[:_MOST_CHANGED]:
        yield f"{word}, SHOULD" if is_advice(code) else word, text(code), text(_some(ids))
    if len(found) > _MOST_CHANGED:
        yield word, f"{len(found) - _MOST_CHANGED} more", ""


def _is_wrong(result: Result) -> bool:
    return result.fails_now or result.outcome in _UNJUDGED


def _failed(groups: Sequence[Group], text: Callable[[str], str]) -> list[str]:
    """Return what fails or could not be judged, and no baseline expects, by its cause, with what to do."""
    rows: list[Sequence[str]] = []
    for group in groups[:_MOST_FAILED]:
        finding = next((f for f in group.smallest.findings if f.code in group.cause.codes), None)
        what = f"{finding.code}: {finding.message}" if finding is not None else group.smallest.reason
        others = sorted(group.smallest.failing_codes.difference(group.cause.codes, _OF_A_BASELINE))
        what += f"; also {', '.join(others)}" if finding is not None and others else ""
        ids = text(_some([result.id for result in group.results]))
        rows.append((ids, text(what), text(finding.remedy) if finding is not None else ""))
    if len(groups) > _MOST_FAILED:
        rows.append(("", f"and {counted(len(groups) - _MOST_FAILED, 'more cause')}", ""))
    return ["### Failed", "", *_table(("cases", "what is wrong", "to do"), rows)] if rows else []


def _advice(results: Sequence[Result], text: Callable[[str], str]) -> list[str]:
    """Return what breaks a SHOULD and fails nothing, by its code, with what to do."""
    found = group_advice(results)
    rows = [
        (
            text(_some([result.id for result in one.results])),
            text(f"{one.finding.code}: {one.finding.message}"),
            text(one.finding.remedy),
        )
        for one in found[:_MOST_ADVICE]
    ]
    if len(found) > _MOST_ADVICE:
        rows.append(("", f"and {len(found) - _MOST_ADVICE} more", ""))
    heading = "### SHOULD, which fails nothing"
    return [heading, "", *_table(("cases", "what is wrong", "to do"), rows)] if rows else []


def _known_codes(result: Result) -> set[str]:
    """Return what the baseline expects of a case: all that fails it, else the SHOULD that it has."""
    advised = {finding.code for finding in result.findings if finding.level is Level.SHOULD}
    return set(result.failing_codes) or advised


def _known(results: Sequence[Result], text: Callable[[str], str]) -> list[str]:
    """Return what fails as the baseline says, by its reason."""
    by_reason: dict[str, list[Result]] = {}
    for result in results:
        by_reason.setdefault(result.reason, []).append(result)
    rows = [
        (
            text(_some([result.id for result in found])),
            text(", ".join(sorted({code for result in found for code in _known_codes(result)}))),
            text(" ".join(reason.split())),
        )
        for reason, found in list(by_reason.items())[:_MOST_KNOWN]
    ]
    if len(by_reason) > _MOST_KNOWN:
        rows.append(("", "", f"and {counted(len(by_reason) - _MOST_KNOWN, 'more reason')}"))
    return ["### Expected to fail", "", *_table(("cases", "findings", "reason"), rows)] if rows else []


def _outdated(report: Report, results: Sequence[Result], text: Callable[[str], str]) -> list[str]:
    """Return the entries of the baseline that explain nothing any more, which come last: nothing is wrong with them."""
    passed = [one.id for one in results if one.outcome is Outcome.STALE and not one.fails_otherwise]
    problems = report.finished.problems if report.finished is not None else ()
    lines = [text(line) for line in _otherwise(results)]
    lines += [text(f"Passes now, take it out of the baseline: {_some(passed)}")] if passed else []
    lines += [text(finding.line()) for finding in problems[:_MOST_PROBLEMS]]
    if len(problems) > _MOST_PROBLEMS:
        lines.append(f"and {counted(len(problems) - _MOST_PROBLEMS, 'more problem')} of the run")
    return [*(f"- {line}" for line in lines), ""] if lines else []


def _otherwise(results: Sequence[Result]) -> Iterator[str]:
    """Yield the entries of cases that fail otherwise than they say, by what they say."""
    entries: dict[str, list[str]] = {}
    for result in results:
        if result.fails_otherwise:
            said = next(str(finding.expected) for finding in result.findings if finding.kind in OUTDATED)
            entries.setdefault(said, []).append(result.id)
    for said, ids in list(entries.items())[:_MOST_CHANGED]:
        what = f"The baseline expects {said} of {_some(ids)}, which fail otherwise now"
        yield f"{what}: correct that, or write their entries anew with --write-baseline"


def _some(ids: Sequence[str]) -> str:
    more = f" and {len(ids) - _MOST_IDS} more" if len(ids) > _MOST_IDS else ""
    return ", ".join(ids[:_MOST_IDS]) + more


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [f"| {' | '.join(heads)} |", f"| {' | '.join('---' for _ in heads)} |"]
    return [*lines, *(f"| {' | '.join(row)} |" for row in rows), ""]
