"""The report on several pairs of servers and clients: a table of them, each with its verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tpharness.findings import shorten
from tpharness.printable import make_printable, without_credentials
from tpharness.report.summary import Report
from tpharness.verdict import Outcome
from tpharness.verdict.pair import Pair
from tpharness.verdict.tally import count_departing

__all__ = ["matrix_table", "print_matrix"]


def matrix_table(reports: Mapping[Pair, Report]) -> Table:
    """Return servers as rows and clients as columns, by the names that they declare if these are unique."""
    servers = list(dict.fromkeys(pair.server for pair in reports))
    clients = list(dict.fromkeys(pair.client for pair in reports))
    columns = list(dict.fromkeys((pair.client, pair.wire) for pair in reports))
    table = Table(title="server × client", title_justify="left")
    table.add_column("server", overflow="fold")
    started = [(pair, report.started) for pair, report in reports.items() if report.started is not None]
    server_names = _name_specs(servers, {pair.server: event.server for pair, event in started})
    client_names = _name_specs(clients, {pair.client: event.client for pair, event in started})
    for client, wire in columns:
        over = f" over {wire}" if wire else ""
        table.add_column(escape(make_printable(client_names[client] + over)), overflow="fold")
    for server in servers:
        pairs = [Pair(server=server, client=client, wire=wire) for client, wire in columns]
        cells = [_render_cell(reports[pair]) for pair in pairs]
        table.add_row(escape(make_printable(server_names[server])), *cells)
    return table


def _name_specs(specs: Sequence[str], declared: Mapping[str, str]) -> dict[str, str]:
    """Return a name for each spec: the name that its target declares if it is unique, else the spec."""
    shown = [without_credentials(spec) for spec in specs]
    found = [declared.get(spec, one) for spec, one in zip(specs, shown, strict=True)]
    return {spec: name if found.count(name) == 1 else one for spec, name, one in zip(specs, found, shown, strict=True)}


def print_matrix(console: Console, reports: Mapping[Pair, Report]) -> None:
    """Show the table, and the verdict on all pairs in one line."""
    console.print()
    console.print(matrix_table(reports))
    good = sum(report.passed for report in reports.values())
    signal = next((report.signal for report in reports.values() if report.signal), "")
    if signal:
        done = sum(report.finished is not None for report in reports.values())
        console.print(f"[bold red]INCOMPLETE[/] {done} of {len(reports)} pairs, interrupted by {signal}")
        return
    word = "[bold green]PASSED[/]" if good == len(reports) else "[bold red]FAILED[/]"
    console.print(f"{word} {good} of {len(reports)} pairs")


def _render_cell(report: Report) -> str:
    if report.finished is None:
        return "[red]incomplete[/]" if report.signal else "[red]could not run[/]"
    counts = report.finished.counts
    played = sum(counts.values())
    bad = {outcome: count for outcome, count in counts.items() if not outcome.green}
    if report.passed:
        return f"[green]passed[/] {_count_passed(counts)}"
    if not bad:
        why = [problem.code for problem in report.finished.problems] or [
            "nothing judged" if played else "nothing played"
        ]
        return f"[red]failed[/] {shorten(why[0], 60)}"
    words = ", ".join(outcome.counted(count) for outcome, count in bad.items())
    departing = [f"{side} {count}" for side, count in count_departing(report.results).items() if count]
    who = f" (departing: {', '.join(departing)})" if departing else ""
    return f"[red]failed[/] {words} of {played}{who}"


def _count_passed(counts: Mapping[Outcome, int]) -> str:
    words: Sequence[str] = [o.counted(count) for o, count in counts.items() if o is not Outcome.PASSED]
    return " + ".join([str(counts.get(Outcome.PASSED, 0)), *words])
