"""The table of servers and clients on the page of several runs.

In: the reports by the names of their pairs. Out: a section of HTML, which needs no script.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tpharness.picture import table_html, text_html
from tpharness.printable import counted
from tpharness.report.summary import Report
from tpharness.verdict import Outcome
from tpharness.verdict.grouping import group_failures

__all__ = ["pairs_section"]


def pairs_section(reports: Mapping[str, Report], anchor: Callable[[int, str], str]) -> str:
    """Return the table of servers and clients, each cell with a link to its causes; `anchor` names a place of a run."""
    started = {name: report.started for name, report in reports.items()}
    servers = list(dict.fromkeys(one.server if one else name for name, one in started.items()))
    clients = list(dict.fromkeys(one.client if one else "" for one in started.values()))
    cells: dict[tuple[str, str], list[str]] = {}
    for number, (name, report) in enumerate(reports.items()):
        one = started[name]
        place = (one.server, one.client) if one else (name, "")
        cells.setdefault(place, []).append(_pair_cell(report, anchor(number, "")))
    rows = [(text_html(s), *("<br>".join(cells.get((s, c), ["–"])) for c in clients)) for s in servers]
    return f"<section><h2>Servers and clients</h2>{table_html(('server', *map(text_html, clients)), rows)}</section>"


def _pair_cell(report: Report, causes: str) -> str:
    """Return how much of what was judged has passed, with a link to the causes of the rest."""
    if report.finished is None:
        return f'<span class="bad">could not run</span> {text_html(report.error)}'
    counts = report.finished.counts
    passed = counts.get(Outcome.PASSED, 0)
    judged = sum(cases for outcome, cases in counts.items() if outcome not in (Outcome.NO_PART, Outcome.NOT_APPLICABLE))
    others = [outcome.counted(cases) for outcome, cases in counts.items() if outcome is not Outcome.PASSED and cases]
    share = f"{passed * 1000 // judged / 10:g} %" if judged else "nothing"  # never rounded up to all of them
    words = ", ".join((f"of {counted(judged, 'judged case')}" if judged else "was judged", *others))
    if group_failures(report.results):
        return f'<a class="bad" href="#{causes}">{share}</a> {words}'
    colour = "bad" if not report.passed else "good" if passed == judged else "warn"
    return f'<span class="{colour}">{share}</span> {words}'
