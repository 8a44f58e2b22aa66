"""The tables of the HTML report, which need no script: counts, causes, known departures, clauses by version."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from tpharness.causes import Cause, cause_of
from tpharness.clauses import load_clauses
from tpharness.findings import load_kinds
from tpharness.picture import table_html, text_html
from tpharness.profiles import find_profiles, load_profiles
from tpharness.protocol.versions import Version
from tpharness.report.summary import Report
from tpharness.run import Outcome, Result

__all__ = ["causes_table", "clauses_table", "expected_table", "facts_list", "profiles_table", "verdict_html"]

_MOST_EXPECTED = 300


def verdict_html(passed: bool) -> str:
    """Return the verdict as a badge."""
    return f'<span class="verdict {"good" if passed else "bad"}">{"passed" if passed else "failed"}</span>'


def facts_list(report: Report) -> str:
    """Return who was played, in which versions, and how many cases ended how."""
    started, finished = report.started, report.finished
    facts: list[tuple[str, str]] = [("verdict", verdict_html(report.passed))]
    if started is not None:
        facts += [("server", text_html(started.server)), ("client", text_html(started.client))]
        if started.versions:
            facts.append(("versions", text_html(", ".join(started.versions))))
    facts.append(("scenarios", str(report.scenarios)))
    if finished is not None:
        facts.append(("cases", str(sum(finished.counts.values()))))
        facts += [(outcome.value, _count(count, green=outcome.green)) for outcome, count in finished.counts.items()]
        if finished.clause_count:
            facts.append(("clauses exercised", f"{len(finished.exercised)} of {finished.clause_count}"))
        facts.append(("seconds", f"{finished.seconds:.1f}"))
    return f'<dl class="facts">{"".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in facts)}</dl>'


def _count(count: int, *, green: bool) -> str:
    return str(count) if green else f'<span class="bad">{count}</span>'


def causes_table(wrong: Sequence[Result], anchor: Callable[[str], str]) -> str:
    """Return the failures by cause, the one with most cases first: clauses, rulings, a case, what to do."""
    cases: Counter[Cause | None] = Counter()
    first: dict[Cause | None, Result] = {}
    for result in wrong:
        cause = cause_of(result.findings)
        cases[cause] += result.cases
        first.setdefault(cause, result)
    rows = []
    for cause, count in cases.most_common():
        result = first[cause]
        what = " + ".join(cause.codes) if cause is not None else result.reason or result.outcome.value
        remedies = [load_kinds()[code].remedy for code in cause.codes if code in load_kinds()] if cause else []
        cites = [*cause.clauses, *cause.rulings] if cause else []
        rows.append(
            (
                str(count),
                f"<strong>{text_html(what)}</strong>",
                text_html(", ".join(cites)),
                f'<a href="#{anchor(result.id)}">{text_html(result.id)}</a>',
                text_html(" ".join(dict.fromkeys(remedies))),
            )
        )
    return table_html(("cases", "cause", "clauses and rulings", "first case", "to do"), rows)


def profiles_table(results: Sequence[Result]) -> str:
    """Return for each profile how many of its cases ended how; "" if no case belongs to one."""
    passed: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    others: Counter[str] = Counter()
    for result in results:
        counted = wrong if not result.outcome.green else passed if result.outcome is Outcome.PASSED else others
        for profile in find_profiles(result.id, result.clauses):
            counted[profile.name] += result.cases
    rows = [
        (
            f"<code>{text_html(one.name)}</code> {text_html(one.title)}",
            f'<span class="good">{passed[one.name]}</span>',
            _count(wrong[one.name], green=not wrong[one.name]),
            str(others[one.name]),
        )
        for one in load_profiles().values()
        if passed[one.name] + wrong[one.name] + others[one.name]
    ]
    return table_html(("profile", "passed", "failed", "others"), rows) if rows else ""


def expected_table(expected: Sequence[Result]) -> str:
    """Return the known departures with their reasons."""
    rows = [(text_html(result.id), text_html(result.reason)) for result in expected[:_MOST_EXPECTED]]
    more = len(expected) - _MOST_EXPECTED
    return table_html(("case", "reason"), rows) + (f"<p>and {more} more</p>" if more > 0 else "")


def clauses_table(report: Report, anchor: Callable[[str], str]) -> str:
    """Return for each clause and version how many scenarios exercised it, and a link to the first that failed."""
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
                failed.setdefault((clause, version), {}).setdefault(scenario, result.id)
    columns = [version.value for version in Version]

    def cell(clause: Any, version: str) -> str:
        if version not in clause.versions:
            return '<span class="muted">–</span>'
        wrong = failed.get((clause.id, version), {})
        count = len(played.get((clause.id, version), ()))
        if wrong:
            return f'<a class="bad" href="#{anchor(next(iter(wrong.values())))}">{len(wrong)} of {count} failed</a>'
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


def _broken_clauses(result: Result) -> set[str]:
    """Return the clauses that a failed case breaks: those of its findings, else those of its scenario."""
    if result.outcome.green:
        return set()
    cited = {clause for finding in result.findings for clause in finding.kind.clauses}
    return cited or set(result.clauses)
