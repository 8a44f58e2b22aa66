"""The tables of the HTML report, which need no script: counts, causes, known differences, clauses by version."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from tpharness.clauses import load_app_clauses, load_clauses
from tpharness.findings import Level
from tpharness.picture import finding_html, table_html, text_html
from tpharness.picture.rows import finding_json
from tpharness.printable import counted
from tpharness.protocol.versions import Version
from tpharness.report.comparison import Comparison, is_advice
from tpharness.report.summary import Report
from tpharness.verdict import Outcome, Result
from tpharness.verdict.grouping import Advice
from tpharness.verdict.profile_tally import ProfileTally, next_profile

__all__ = [
    "advice_html",
    "app_clauses_table",
    "aside_html",
    "clauses_table",
    "comparison_html",
    "expected_table",
    "facts_list",
    "folded_html",
    "not_judged_table",
    "profiles_table",
    "verdict_html",
]

_MOST_EXPECTED = 300
_MOST_COMPARED = 20


def verdict_html(passed: bool) -> str:
    """Return the verdict as a badge."""
    return f'<span class="verdict {"good" if passed else "bad"}">{"passed" if passed else "failed"}</span>'


def facts_list(report: Report) -> str:
    """Return who was played, in which versions, and how many cases ended how."""
    started, finished = report.started, report.finished
    facts: list[tuple[str, str]] = [("verdict", verdict_html(report.passed))]
    if started is not None:
        facts += [("server", text_html(started.server)), ("client", text_html(started.client))]
        if started.wire:
            facts.append(("wire", text_html(started.wire)))
        if started.versions:
            facts.append(("versions", text_html(", ".join(started.versions))))
    facts.append(("scenarios", str(report.scenarios)))
    if finished is not None:
        facts.append(("cases", str(sum(finished.counts.values()))))
        facts += [(outcome.value, _count(count, green=outcome.green)) for outcome, count in finished.counts.items()]
        if finished.clause_count:
            facts.append(("rules tested", f"{len(finished.exercised)} of {finished.clause_count}"))
        facts.append(("seconds", f"{finished.seconds:.1f}"))
    return f'<dl class="facts">{"".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in facts)}</dl>'


def _count(count: int, *, green: bool) -> str:
    return str(count) if green else f'<span class="bad">{count}</span>'


def profiles_table(tallies: Sequence[ProfileTally]) -> str:
    """Return how much of each profile has passed, and which one to take on next."""
    rows = [
        (
            f"<code>{text_html(tally.profile.name)}</code> {text_html(tally.profile.title)}",
            f"{tally.whole} of {tally.scenarios}",
            f"{tally.passed} of {tally.cases}",
            _count(tally.failed, green=not tally.failed),
            str(tally.expected),
            str(tally.unjudged),
        )
        for tally in tallies
    ]
    heads = ("profile", "whole scenarios", "cases passed", "failed", "known", "not judged")
    following = next_profile(tallies)
    to_do = ""
    if following is not None and not following.alone:
        name = text_html(following.profile.name)
        to_do = f"<p>Take on <strong>{name}</strong> next: <code>tpharness run --profile {name}</code></p>"
    return table_html(heads, rows) + to_do


def aside_html(title: str, table: str, summary: str, *, fold: bool) -> str:
    """Return a section that is not about what failed: folded where something did."""
    if not fold:
        return f"<section><h2>{title}</h2>{table}</section>"
    head = f'<h2>{title}</h2> <span class="muted">{text_html(summary)}</span>'
    return f'<section class="aside"><details><summary>{head}</summary>{table}</details></section>'


def folded_html(pieces: Sequence[str], most: int, what: str, then: str = "") -> str:
    """Return pieces of a page, those beyond the first ones in a fold, which a link to one of them opens.

    `what` and `then` name them in the line that opens it: "3 more cases that failed".
    """
    first, others = pieces[:most], pieces[most:]
    if not others:
        return "".join(first)
    title = text_html(f"{counted(len(others), f'more {what}')}{then}")
    return f"{''.join(first)}<details class='fold'><summary>{title}</summary>{''.join(others)}</details>"


def not_judged_table(reasons: Mapping[str, Mapping[str, int]]) -> str:
    """Return how many cases were not judged, and why; `reasons` are those of a tally."""
    rows = [
        (text_html(Outcome(outcome).counted(cases)), text_html(reason))
        for outcome, counts in reasons.items()
        for reason, cases in counts.items()
    ]
    return table_html(("cases", "reason"), rows)


def expected_table(expected: Sequence[Result]) -> str:
    """Return the known differences with their reasons."""
    rows = [(text_html(result.id), text_html(result.reason)) for result in expected[:_MOST_EXPECTED]]
    more = len(expected) - _MOST_EXPECTED
    return table_html(("case", "reason"), rows) + (f"<p>and {more} more</p>" if more > 0 else "")


def comparison_html(found: Comparison, with_what: str, listed: Collection[str], anchor: Callable[[str], str]) -> str:
    """Return what is new, gone and still there since an earlier report; `listed` cases have a place on the page."""

    def case(name: str) -> str:
        return f'<a href="#{anchor(name)}">{text_html(name)}</a>' if name in listed else text_html(name)

    rows = []
    for word, colour, kind in (("new", "bad", found.new), ("gone", "good", found.gone), ("still", "warn", found.still)):
        for code, ids in kind.items():
            more = len(ids) - _MOST_COMPARED
            cases = ", ".join(map(case, ids[:_MOST_COMPARED])) + (f" and {more} more" if more > 0 else "")
            level = ", SHOULD" if is_advice(code) else ""
            rows.append((f'<span class="{colour}">{word}</span>{level}', f"<code>{text_html(code)}</code>", cases))
    lead = f"<p>Compared with {text_html(with_what)}: {text_html(found.line)}.</p>"
    return lead + (table_html(("", "finding", "cases"), rows) if rows else "")


def clauses_table(report: Report, listed: Sequence[Result], anchor: Callable[[str], str]) -> str:
    """Return for each clause and version how many scenarios exercised it, and a link to one that failed.

    `listed` are the cases that failed and have a place on the page.
    """
    shown = {result.id for result in listed}
    played: dict[tuple[str, str], set[str]] = {}
    failed: dict[tuple[str, str], dict[str, str]] = {}
    for result in report.results:
        versions = [version.value for version in result.not_judged] or (
            report.started.versions if report.started else ()
        )
        scenario = result.id.partition("@")[0]
        broken = _broken_clauses(result)
        for version in versions:
            for clause in {*result.clauses, *broken}:
                played.setdefault((clause, version), set()).add(scenario)
            for clause in broken:
                ids = failed.setdefault((clause, version), {})
                if ids.get(scenario) not in shown:
                    ids[scenario] = result.id
    columns = [version.value for version in Version]

    def cell(clause: Any, version: str) -> str:
        if version not in clause.versions:
            return '<span class="muted">–</span>'
        wrong = failed.get((clause.id, version), {})
        count = len(played.get((clause.id, version), ()))
        if wrong:
            words = f"{len(wrong)} of {count} failed"
            link = next((one for one in wrong.values() if one in shown), None)
            target = "" if link is None else f' href="#{anchor(link)}"'
            return f'<a class="bad"{target}>{words}</a>'
        return f'<span class="good">{count} passed</span>' if count else '<span class="muted">not played</span>'

    rows = [
        (
            f"<code>{text_html(clause.id)}</code><br>{text_html(clause.text)}",
            text_html(clause.level),
            *(cell(clause, v) for v in columns),
        )
        for clause in load_clauses().values()
    ]
    caption = "scenarios that cite or break the clause; one that failed counts in every version that it was judged in"
    return table_html(("clause", "level", *columns), rows, caption=caption)


def app_clauses_table(report: Report, anchor: Callable[[str], str]) -> str:
    """Return for each clause of applications how many cases were judged by it, and a link to the first that failed."""
    rows = []
    for clause in load_app_clauses().values():
        cell = _app_cell(clause.id, [result for result in report.results if clause.id in result.clauses], anchor)
        rows.append((f"<code>{text_html(clause.id)}</code><br>{text_html(clause.text)}", text_html(clause.level), cell))
    return table_html(("clause", "level", "cases"), rows)


def _app_cell(clause: str, judged: Sequence[Result], anchor: Callable[[str], str]) -> str:
    """Return of the cases that were judged by a clause how many failed, break a SHOULD, are known to, and passed."""
    if not judged:
        return '<span class="muted">not judged</span>'
    failed: list[Result] = []
    known: list[Result] = []
    found: list[Result] = []
    for result in judged:
        of_clause = [one for one in result.findings if clause in one.kind.clauses and one.level is not Level.MAY]
        unexplained = result.outcome is Outcome.FAILED and not result.findings
        if not of_clause and not unexplained:
            continue
        fails = unexplained or any(finding.fails for finding in of_clause)
        (known if result.outcome is Outcome.EXPECTED else failed if fails else found).append(result)
    words = (
        [f'<a class="bad" href="#{anchor(failed[0].id)}">{len(failed)} of {len(judged)} failed</a>'] if failed else []
    )
    words += [f'<span class="warn">{len(found)} of {len(judged)} found</span>'] if found else []
    words += [f"{len(known)} known"] if known else []
    passed = len(judged) - len(failed) - len(found) - len(known)
    words += [f'<span class="good">{passed} passed</span>'] if passed else []
    return ", ".join(words)


def advice_html(found: Sequence[Advice]) -> str:
    """Return what breaks a SHOULD and fails nothing: each code once, with its cases."""
    blocks = []
    for advice in found:
        ids = ", ".join(result.id for result in advice.results)
        cases = f"<p>{text_html(counted(len(advice.results), 'case'))}: {text_html(ids)}</p>"
        blocks.append(finding_html(finding_json(advice.finding)) + cases)
    return "".join(blocks)


def _broken_clauses(result: Result) -> set[str]:
    """Return the clauses that a failed case breaks: those of its findings, else those of its scenario."""
    if result.outcome.green:
        return set()
    cited = {clause for finding in result.findings for clause in finding.kind.clauses}
    return cited or set(result.clauses)
