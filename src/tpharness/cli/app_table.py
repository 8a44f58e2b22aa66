"""What `tpharness app` prints behind the failures: advice, a line for each case, the verdict, what has changed."""

from __future__ import annotations

from collections import Counter

from rich.console import Console
from rich.markup import escape

from tpharness.findings import Level
from tpharness.printable import counted, make_printable
from tpharness.report import Report
from tpharness.report.app_verdict import app_verdict, part_results
from tpharness.report.comparison import Comparison, is_advice
from tpharness.verdict import Outcome, Result
from tpharness.verdict.finding_lines import finding_lines
from tpharness.verdict.grouping import group_advice

__all__ = ["print_table"]

_MOST_IDS = 3


def print_table(out: Console, model: Report) -> None:
    """Print a line for each case: the verdict, and what is worth knowing."""
    cases, threads = part_results(model.results)
    if not cases:
        return
    _print_advice(out, cases)
    out.print("")
    width = max(len(result.id) for result in cases)
    for result in cases:
        word, colour = _verdict(result)
        notes = ", ".join(f"{code}" + (f" ×{count}" if count > 1 else "") for code, count in _codes(result).items())
        judged = result.outcome in (Outcome.PASSED, Outcome.FAILED)
        said = escape(make_printable(notes or ("" if judged else result.reason)))
        out.print(f"  {escape(make_printable(result.id)):<{width}}  [{colour}]{word:<14}[/] {said}".rstrip())
    verdict = app_verdict(model)
    style = {True: "bold green", False: "bold red", None: "bold"}[verdict.safe]
    out.print(f"\n[{style}]{verdict.words}[/]{escape(make_printable(verdict.rest))}")
    if model.started is not None and model.started.unseen:
        out.print(f"[yellow]{escape(make_printable(model.started.unseen))}[/]")
    if model.earlier is not None and model.started is not None:
        _print_comparison(out, model.earlier.compare(model.results), model.earlier.words(model.started.server))
    if threads:
        _print_threads(out, threads)


def _print_comparison(out: Console, found: Comparison, with_what: str) -> None:
    out.print()
    out.print(escape(make_printable(f"Compared with {with_what}: {found.line}.")))
    for word, kind in (("new", found.new), ("gone", found.gone)):
        for code, ids in kind.items():
            some = ", ".join(ids[:_MOST_IDS]) + (f" and {len(ids) - _MOST_IDS} more" if len(ids) > _MOST_IDS else "")
            level = "SHOULD " if is_advice(code) else ""
            out.print(escape(make_printable(f"  {word:<5} {level}{code} in {some}")))


def _print_advice(out: Console, cases: list[Result]) -> None:
    """Print each kind of finding below MUST once: a case that passes with one has no block of its own."""
    found = [("[bold yellow]SHOULD[/]", one) for one in group_advice(cases)]
    found += [("[bold cyan]policy[/]", one) for one in group_advice(cases, Level.MAY)]
    for word, advice in found:
        more = f" and {len(advice.results) - 1} more" if len(advice.results) > 1 else ""
        out.print(f"\n{word} in [bold]{escape(make_printable(advice.results[0].id))}[/]{more}")
        for _, line in finding_lines(advice.finding):
            out.print(f"  {escape(make_printable(line))}")


def _print_threads(out: Console, threads: list[Result]) -> None:
    """Print the verdict on the threads that the application wrote, apart from the one on its cases."""
    wrong = [result for result in threads if result.outcome is not Outcome.PASSED]
    if not wrong:
        out.print(f"\nThreadProtocol: the thread is [bold green]right[/] in {counted(len(threads), 'case')}.")
        return
    codes = Counter(code for result in wrong for code in result.failing_codes)
    causes = ", ".join(f"{code} in {count}" for code, count in codes.most_common())
    known = sum(result.outcome is Outcome.EXPECTED for result in wrong)
    as_known = f" ({known} as the baseline says)" if known else ""
    out.print(
        f"\nThreadProtocol: the thread is [bold red]wrong[/] in {len(wrong)} of {len(threads)} cases{as_known}: "
        f"{causes}"
    )


def _verdict(result: Result) -> tuple[str, str]:
    if result.outcome is Outcome.PASSED:
        levels = {finding.level for finding in result.findings}
        if Level.SHOULD in levels:
            return "passed, but", "yellow"
        return ("policy", "cyan") if levels else ("passed", "green")
    if result.fails_now:
        return Outcome.FAILED.value, "red"
    known = {Outcome.NOT_APPLICABLE: "dim", Outcome.EXPECTED: "yellow"}
    return result.outcome.value, known.get(result.outcome, "red")


def _codes(result: Result) -> dict[str, int]:
    return Counter(finding.code for finding in result.findings)
