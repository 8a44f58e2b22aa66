"""The report to look at: one HTML file with the verdict, what failed and why, and the timeline of every scenario.

In: reports. Out: the text of a page (`tpharness.picture`). Its tables need no script. The timelines are what the
embedded reference makes of the scenarios; where another target was played, the page says so, since nobody has recorded
what that one sent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from urllib.parse import quote

from tpharness.clauses import load_app_clauses
from tpharness.errors import TpharnessError
from tpharness.picture import (
    MOST_BYTES,
    PageEntry,
    PicturePage,
    application_sections,
    applications_of_trace,
    entries_of_trace,
    finding_html,
    place_number,
    render_page,
    text_html,
    timeline_of_case,
)
from tpharness.picture.rows import finding_json
from tpharness.picture.tables import json_bytes
from tpharness.printable import counted
from tpharness.report.app_verdict import app_verdict
from tpharness.report.comparison import failure_groups
from tpharness.report.html_causes import cause_cards, counts_bar
from tpharness.report.html_find import find_field, find_words, played_table, seconds_words, tools_of
from tpharness.report.html_pairs import pairs_section
from tpharness.report.html_tables import (
    advice_html,
    app_clauses_table,
    aside_html,
    clauses_table,
    comparison_html,
    expected_table,
    facts_list,
    folded_html,
    not_judged_table,
    profiles_table,
    verdict_html,
)
from tpharness.report.summary import Report
from tpharness.run.plan import base_case
from tpharness.run.select import built_in_roots
from tpharness.scenario import Scenario, load_scenario
from tpharness.scenario_files import find_files
from tpharness.trace.read import Trace, TracedCase
from tpharness.verdict import Outcome, Result
from tpharness.verdict.grouping import Group, group_advice
from tpharness.verdict.profile_tally import tally_profiles
from tpharness.verdict.tally import tally_json

__all__ = ["render_html", "render_html_of_several"]

_Turns = Mapping[str, tuple[TracedCase, str]]
"""The cases of an application, each with its turns as HTML, by their ids."""

_MOST_RESULTS = 500
_MOST_UNFOLDED = 3
_MOST_OPEN = 3
"""So few failures are all open; of more none, since the cards of their causes have what is to be read."""
_MOST_STRIPS = 2
_MOST_FINDINGS = 20
_MOST_EXPLAINED = 50
"""Of so many cases the findings have the texts of what decides them; further ones have its ids."""


def render_html(report: Report) -> str:
    """Return the page of one run."""
    started = report.started
    name = f"server {started.server}, client {started.client}" if started else "a run"
    return render_html_of_several({name: report})


def render_html_of_several(reports: Mapping[str, Report]) -> str:
    """Return one page for several runs, by the names of their pairs; each timeline stands there once."""
    several = len(reports) > 1
    traced = _read_trace(reports)
    entries, left_out = _entries(reports, traced)
    entries = _with_first(entries, reports)
    shown = {entry.id: entry for entry in entries}
    sections = [find_field([result for report in reports.values() for result in report.results])]
    sections += [pairs_section(reports, _anchor)] if several else []
    for number, (name, report) in enumerate(reports.items()):
        sections += _sections(name if several else "", report, shown, partial(_anchor, number), traced.turns)
    passing = (one for one in traced.turns.values() if one[0].about["outcome"] == "passed")
    sections += application_sections("What passed", passing)
    if left_out:
        sections.append(_left_out(left_out))
    passed = bool(reports) and all(report.passed for report in reports.values())
    lead = f'<p class="chips">{verdict_html(passed)} {text_html(", ".join(reports))}</p>'
    if entries:
        lead += '<p class="note scripts-only"><a href="#viewer">Go to the timelines</a></p>'
        lead += "<noscript><p>The timelines need scripts; the tables do not.</p></noscript>"
    return render_page(
        PicturePage(
            title="tpharness app" if _is_application(reports.values()) else "tpharness run",
            lead=lead,
            sections=sections,
            entries=entries,
        )
    )


def _with_first(entries: list[PageEntry], reports: Mapping[str, Report]) -> list[PageEntry]:
    """Return timelines with the one first of the smallest case of the first cause, which the page then opens at."""
    groups = next((found for report in reports.values() if (found := failure_groups(report))), None)
    if not groups:
        return entries
    case = groups[0][0].smallest.id
    first = case if any(entry.id == case for entry in entries) else case.partition("@")[0]
    return sorted(entries, key=lambda entry: entry.id != first)


def _is_application(reports: Iterable[Report]) -> bool:
    """Whether chat applications were played, whose clauses are others."""
    return any(clause in load_app_clauses() for one in reports for result in one.results for clause in result.clauses)


def _sections(
    name: str,
    report: Report,
    shown: Mapping[str, PageEntry],
    anchor: Callable[[str], str],
    turns: _Turns,
) -> Iterator[str]:
    """Yield the sections of one run.

    `shown` has the timelines by their ids, `turns` those of an application's cases, `anchor` names the place of a case.
    """
    prefix = f"{text_html(name)}: " if name else ""
    finished = report.finished
    facts = f"{counts_bar(report)}<details><summary>All figures</summary>{facts_list(report)}</details>"
    if finished is None:
        facts += f"<p>{text_html(report.error or 'The run did not finish.')}</p>"
    else:
        facts += "".join(finding_html(finding_json(problem)) for problem in finished.problems)
    if report.started is not None and report.started.application:
        verdict, unseen = app_verdict(report), report.started.unseen
        said = f"<p><strong>{text_html(verdict.words)}</strong>{text_html(verdict.rest)}</p>"
        facts = f'{said}{f"""<p class="note">{text_html(unseen)}</p>""" if unseen else ""}{facts}'
    yield f"<section><h2>{prefix}Overview</h2>{facts}</section>"
    groups = [group for group, _ in failure_groups(report)]
    wrong = _in_order(groups)
    if report.earlier is not None and report.started is not None:
        found, with_what = report.earlier.compare(report.results), report.earlier.words(report.started.server)
        compared = comparison_html(found, with_what, {one.id for one in wrong[:_MOST_RESULTS]}, anchor)
        yield f"<section><h2>{prefix}Since the earlier report</h2>{compared}</section>"
    if wrong:
        yield f'<section id="{anchor("")}"><h2>{prefix}Causes</h2>'
        yield f"{cause_cards(groups, report, anchor, shown)}</section>"
        failed = {result.id.partition("@")[0] for result in wrong[:_MOST_RESULTS]}
        causes = {result.id: anchor(f"cause-{n}") for n, group in enumerate(groups, 1) for result in group.results}
        tools = {name: tools_of(entry) for name, entry in shown.items() if name in failed}
        blocks = [
            _result_block(
                result,
                shown,
                anchor(result.id),
                turns,
                tools=tools.get(result.id.partition("@")[0], ()),
                cause=causes[result.id],
                opened=len(wrong) <= _MOST_OPEN,
                explained=number < _MOST_EXPLAINED,
            )
            for number, result in enumerate(wrong[:_MOST_RESULTS])
        ]
        more = len(wrong) - _MOST_RESULTS
        strips = folded_html(list(_strips(wrong, shown)), _MOST_STRIPS, "sweep", " that failed")
        cases = folded_html(blocks, _MOST_UNFOLDED, "case", " that failed")
        cases += f"<p>and {more} more: --report json:PATH has them all</p>" if more > 0 else ""
        yield f"<section><h2>{prefix}What failed</h2>{strips}{cases}</section>"
    if report.results:
        listed = played_table(report.results, shown, {result.id for result in wrong[:_MOST_RESULTS]}, anchor)
        yield aside_html(f"{prefix}Everything that was played", listed, "The slowest first", fold=True)
    tallies = tally_profiles(report.results)
    if tallies:
        yield aside_html(f"{prefix}Profiles", profiles_table(tallies), "How much of each has passed", fold=bool(wrong))
    advice = group_advice(report.results) if _is_application([report]) else []
    if advice:
        yield f"<section><h2>{prefix}SHOULD, which fails nothing</h2>{advice_html(advice)}</section>"
    expected = [result for result in report.results if result.outcome is Outcome.EXPECTED]
    if expected:
        listed = f"{len(expected)} with their reasons"
        yield aside_html(f"{prefix}Known differences", expected_table(expected), listed, fold=bool(wrong))
    if reasons := tally_json(report.results)["reasons"]:
        table = not_judged_table(reasons)
        yield aside_html(f"{prefix}Not judged", table, "Why these cases were not judged", fold=bool(wrong))
    if _is_application([report]):
        yield f"<section><h2>{prefix}Clauses</h2>{app_clauses_table(report, anchor)}</section>"
    elif any(result.clauses for result in report.results):
        table = clauses_table(report, wrong[:_MOST_RESULTS], anchor)
        yield aside_html(f"{prefix}Clauses", table, "Every clause, by version", fold=True)


def _in_order(groups: Sequence[Group]) -> list[Result]:
    """Return what failed: the smallest case of each cause first, which the tables link to, then all others."""
    return [group.smallest for group in groups] + [result for group in groups for result in group.results[1:]]


def _result_block(
    result: Result,
    shown: Mapping[str, PageEntry],
    anchor: str,
    turns: _Turns,
    *,
    tools: Iterable[str],
    cause: str,
    opened: bool,
    explained: bool,
) -> str:
    """Return one case that failed: its findings, and a link to its timeline or the turns of an application."""
    took = f' <span class="muted">{seconds_words(result.seconds)}</span>' if result.seconds else ""
    head = f'<span class="bad">{result.outcome.value}</span> {text_html(result.id)}{took}'
    reason = f"<p>{text_html(result.reason)}</p>" if result.reason else ""
    findings = map(finding_json, result.findings[:_MOST_FINDINGS])
    blocks = "".join(finding_html(finding, explained=explained) for finding in findings)
    more = len(result.findings) - _MOST_FINDINGS
    blocks += f"<p>and {counted(more, 'more finding')}</p>" if more > 0 else ""
    link, about = "", ""
    entry = shown.get(result.id.partition("@")[0])
    if result.id in turns:
        case, shown_turns = turns[result.id]
        about, link = case.about["description"], shown_turns
    if entry is not None:
        address = quote(result.id, safe="/@:", errors="backslashreplace")
        link = f'<p class="scripts-only"><a href="#view/{address}">Show the timeline</a></p>'
        about = str(entry.timeline.get("title", ""))
    state = " open" if opened else ""
    title = f"<p>{text_html(about)}</p>" if about else ""
    inner = f"<summary>{head}</summary>{title}{reason}{blocks}{link}"
    found = f'data-outcome="{result.outcome.value}" data-words="{find_words(result, tools)}" data-cause="{cause}"'
    return f'<details class="result" id="{anchor}" {found}{state}>{inner}</details>'


def _strips(wrong: Sequence[Result], shown: Mapping[str, PageEntry]) -> Iterator[str]:
    """Yield for each sweep that failed a strip of its places, those that failed in red."""
    failed: dict[str, set[int]] = {}
    for result in wrong:
        name, _, place = result.id.partition("@")
        number = place_number(shown[name].timeline, place) if name in shown else None
        if number is not None:
            failed.setdefault(name, set()).add(number)
    for name, numbers in failed.items():
        places = len(shown[name].timeline["places"])
        rects = "".join(f'<rect class="bad" x="{number}" y="0" width="1" height="1"/>' for number in sorted(numbers))
        words = text_html(f"{name}: wrong at {len(numbers)} of {places} places")
        yield (
            f'<p>{words}<svg class="strip-line" role="img" aria-label="{words}" '
            f'viewBox="0 0 {places} 1" preserveAspectRatio="none">{rects}</svg></p>'
        )


def _left_out(names: Sequence[str]) -> str:
    listed = ", ".join(names[:20]) + (f" and {len(names) - 20} more" if len(names) > 20 else "")
    words = f"{counted(len(names), 'timeline')} left out, so that this file stays below 15 MB: {listed}. "
    return f"<p class='note'>{text_html(words)}<code>tpharness view FILE</code> shows one.</p>"


def _anchor(pair: int, name: str) -> str:
    """Return the id of the element of a case that the run of that number has played."""
    return f"case-{pair}-{quote(name, safe='', errors='backslashreplace')}"


@dataclass(slots=True)
class _Seen:
    """What the runs of a page say of one scenario."""

    results: list[tuple[str, Result]] = field(default_factory=list)
    versions: list[str] = field(default_factory=list)
    notes: dict[str, None] = field(default_factory=dict)


def _entries(reports: Mapping[str, Report], traced: _Traced) -> tuple[list[PageEntry], list[str]]:
    """Return the timelines that fit, those of scenarios that failed first, and the ids of those that do not."""
    seen: dict[str, _Seen] = {}
    roots, follows = None, False
    for name, report in reports.items():
        started = report.started
        if started is None or started.roots is None:
            continue
        roots, follows = started.roots, started.follow_links
        others = [one for one in (started.server, started.client) if one != "reference"]
        for result in report.results:
            one = seen.setdefault(result.id.partition("@")[0], _Seen())
            one.results.append((name if len(reports) > 1 else "", result))
            one.versions = list(started.versions)
            if others:
                one.notes[
                    f"Played by the reference: what {' and '.join(others)} really sent is in the traced cases, "
                    "where there are some. The findings are those of the run."
                ] = None
    if roots is None:
        return [], list(traced.left_out)
    entries, left_out = list(traced.entries), list(traced.left_out)
    really = {entry.id for entry in entries}
    size = sum(json_bytes(entry.timeline) for entry in entries)
    order = sorted(seen, key=lambda name: all(result.outcome.green for _, result in seen[name].results))
    found = find_files(roots or built_in_roots(None), follow_links=follows)
    for name in order:
        if name not in found or name in really:
            continue
        try:
            scenario = load_scenario(found[name].path, root=found[name].root)
        except TpharnessError:  # the file has changed since it was played
            continue
        timeline = _timeline(scenario, seen[name])
        needs = json_bytes(timeline)
        if size + needs > MOST_BYTES:
            left_out.append(name)
            continue
        size += needs
        entries.append(_entry(timeline, seen[name]))
    return entries, left_out


@dataclass(slots=True, kw_only=True)
class _Traced:
    """What the trace of these runs has: timelines of failed cases, and the turns of an application's by their ids."""

    entries: list[PageEntry] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    turns: _Turns = field(default_factory=dict)


def _read_trace(reports: Mapping[str, Report]) -> _Traced:
    """Return what the trace has; its timelines take half of the page at most."""
    path = next((report.trace for report in reports.values() if report.trace is not None), None)
    if path is None or not path.exists():
        return _Traced()
    try:
        trace = Trace.open(path)
        entries, left_out = entries_of_trace(trace, MOST_BYTES // 2)
        turns = applications_of_trace(trace)
    except TpharnessError as error:  # the report does not depend on it
        return _Traced(left_out=[f"the trace {path.name}, which cannot be read ({error})"])
    return _Traced(entries=[entry for entry in entries if not entry.green], left_out=left_out, turns=turns)


def _timeline(scenario: Scenario, seen: _Seen) -> dict[str, Any]:
    versions = [version for version in scenario.versions if version.value in seen.versions] or list(scenario.versions)
    return timeline_of_case(base_case(scenario, versions))


def _entry(timeline: Mapping[str, Any], seen: _Seen) -> PageEntry:
    wrong = [(pair, result) for pair, result in seen.results if not result.outcome.green]
    places = dict.fromkeys(result.id.partition("@")[2] for _, result in wrong)
    worst = wrong[0][1] if wrong else max((result for _, result in seen.results), key=lambda result: result.cases)
    return PageEntry(
        timeline=timeline,
        outcome=worst.outcome.value,
        green=not wrong,
        failed=[place for place in places if place],
        results=[
            {
                "id": f"{pair}: {result.id}" if pair else result.id,
                "findings": [finding_json(finding) for finding in result.findings[:_MOST_FINDINGS]],
            }
            for pair, result in seen.results
            if result.findings
        ],
        note=" ".join(seen.notes),
    )
