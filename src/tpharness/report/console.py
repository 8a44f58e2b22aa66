"""The report for people: progress while it runs, failures by their cause, the profiles, a verdict in one line."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.markup import escape

from tpharness import report as reports
from tpharness import verdict
from tpharness.findings import Level, load_kinds
from tpharness.printable import counted, make_printable
from tpharness.report.progress import RunProgress
from tpharness.report.summary import Report
from tpharness.report.terminal import make_console
from tpharness.verdict import Outcome, Result, ResultReady, RunEvent, RunFinished, RunStarted, ScenarioFinished

if TYPE_CHECKING:
    from tpharness.report.comparison import Earlier
    from tpharness.verdict.grouping import Group

__all__ = ["ConsoleReport"]

_COLOURS = {"must": "red", "should": "yellow", "may": "dim"}
_MOST_BLOCKS = 8
_MOST_CAUSES = 30
_REFERENCE = "reference"


class ConsoleReport:
    """Writes to standard output, or to standard error when another report has standard output for itself.

    Progress goes to standard error. `roots` are the folders of scenarios that are not built in, and `played_on` the
    options that name the targets: suggested commands have both. `one_of_several` is for a run whose verdict is one line
    among others': known differences are counted and not listed. With `verbosity` 1 every case is shown as it ends and
    every failure in full; with -1 a cause is one line; otherwise its smallest case stands for all. `again` is the
    command that plays one case alone, with `{id}` for its id, where that is not `tpharness replay`. Causes that an
    `earlier` report does not have come first.
    """

    def __init__(
        self,
        *,
        verbosity: int = 0,
        stderr: bool = False,
        roots: Sequence[Path] = (),
        played_on: Sequence[str] = (),
        one_of_several: bool = False,
        again: str = "",
        earlier: Earlier | None = None,
    ) -> None:
        self._out = make_console(soft_wrap=True, stderr=stderr)
        self._roots = roots
        self._played_on = played_on
        self._one_of_several = one_of_several
        self._again = again
        self._verbosity = verbosity
        self._by_cause = verbosity < 1
        self._progress = RunProgress()
        self._failures_told = False
        self._report = Report(earlier=earlier)

    def feed(self, event: RunEvent) -> None:
        """Process one event and print what it reports."""
        self._report.feed(event)
        match event:
            case RunStarted():
                sides = escape(make_printable(f"server {event.server}, client {event.client}"))
                versions = f", versions {', '.join(event.versions)}" if event.versions else ""
                count = f"{counted(event.scenarios, 'scenario')}{event.over}"
                self._out.print(f"{count}, {sides}{escape(make_printable(versions))}")
                if event.order:
                    self._out.print(escape(make_printable(f"order {event.order}")))
                self._progress.start(event.scenarios)
            case ResultReady(result=result):
                self._print_result(result)
            case ScenarioFinished():
                self._progress.advance()
            case RunFinished():
                self._print_verdict(event)

    def stop(self, report: Report) -> None:
        """Print the verdict on a run that ended early, if it has begun."""
        if report.started is None or report.finished is not None:
            return
        self.close()
        self._print_dim(_account(report))
        counts = ", ".join(outcome.counted(count) for outcome, count in report.counts.items()) or "nothing played"
        cases = counted(sum(report.counts.values()), "case")
        of = counted(report.started.scenarios, "scenario")
        words = f"{report.scenarios} of {of}, {cases} ({counts}), {report.error}"
        self._out.print(f"\n[bold red]INCOMPLETE[/] {escape(make_printable(words))}")

    def close(self) -> None:
        """End the progress, and print the failures so far if the run ends before its verdict, as after an error."""
        self._progress.stop()
        self._print_causes()

    def _print_result(self, result: Result) -> None:
        if not result.outcome.green:
            self._progress.count_failures(result.cases)
            if not self._by_cause:
                self._print_failure(result, result.id)
        elif self._verbosity > 0:
            cases = f" ({counted(result.cases, 'case')})" if result.cases != 1 else ""
            advice = ", ".join(_advice(result))
            advised = f", but SHOULD {advice}: " if advice else " "
            self._out.print(escape(make_printable(f"{result.outcome.value}{advised}{result.id}{cases}")))

    def _print_causes(self) -> None:
        """Print what failed by its cause, once."""
        if self._failures_told or not self._by_cause or not _has_failures(self._report):
            return
        self._failures_told = True
        groups, new = self._groups()
        if len(groups) > 1:
            cases = counted(sum(group.cases for group in groups), "case")
            of_app = self._report.started is not None and self._report.started.application
            first = "the one that concerns most of them"
            if new:
                first = f"what is new, {counted(new, 'cause')}"
            elif of_app:
                first = "the one that harms the user most"
            elif groups[0].cases < max(group.cases for group in groups):
                first = "the one whose correction turns most of them green"
            self._out.print(f"\n{cases} failed for {len(groups)} causes; first {first}")
        blocks = [] if self._verbosity < 0 else groups[:_MOST_BLOCKS]
        for number, group in enumerate(blocks):
            self._print_failure(group.smallest, reports.group_heading(group), group, new=number < new)
        self._print_short(groups[len(blocks) :], after=bool(blocks))

    def _print_short(self, groups: Sequence[Group], *, after: bool) -> None:
        """Print causes as a line each, and count those that are too many for it."""
        if groups:
            self._out.print("\nother causes:" if after else "\ncauses:")
        for group in groups[:_MOST_CAUSES]:
            self._print_line(f"  {reports.group_line(group)}", "red")
        others = groups[_MOST_CAUSES:]
        if others:
            cases = counted(sum(group.cases for group in others), "case")
            self._out.print(
                f"  and {counted(len(others), 'more cause')} with {cases} (--report json:PATH has them all)"
            )

    def _groups(self) -> tuple[list[Group], int]:
        """Return what failed by its cause, and how many causes are new, which come first."""
        if self._report.earlier is None:
            return verdict.group_failures(self._report.results), 0
        found = reports.failure_groups(self._report)
        return [group for group, _ in found], sum(new for _, new in found)

    def _print_failure(self, result: Result, heading: str, group: Group | None = None, *, new: bool = False) -> None:
        started = self._report.started
        history = started.history if started is not None else ""
        lines = reports.failure_lines(
            result, roots=self._roots, played_on=self._played_on, history=history, again=self._again
        )
        word = Outcome.FAILED if result.fails_now else result.outcome
        first = "NEW " if new else ""
        self._out.print(f"\n[bold red]{first}{word.value.upper()}[/] [bold]{escape(make_printable(heading))}[/]")
        for level, line in lines:
            style = _COLOURS.get(level, "")
            self._print_line(f"  {line}", style)
        if group is not None and len(group.results) > 1:
            verbose = {"verbose": ""} if self._again else {}  # a command of its own has no -v
            self._print_line(f"  {reports.other_cases_line(group, **verbose)}", "dim")

    def _print_dim(self, lines: Sequence[str]) -> None:
        if lines:
            self._out.print()
        for line in lines:
            self._print_line(make_printable(line), "dim")

    def _print_verdict(self, event: RunFinished) -> None:
        """Print the details, then the failures, whose first one is what to change, and the verdict as the last line."""
        self._progress.stop()
        report = self._report
        if self._verbosity >= 0:
            self._print_details(report)
        self.close()
        for problem in event.problems:
            self._out.print(f"\n[bold red]RUN[/] {escape(make_printable(problem.line()))}\n  {escape(problem.remedy)}")
        if not any(event.counts.values()):
            shard = report.started.shard if report.started is not None else None
            why = "places of a sweep are called ID@event-12 or ID@byte-340"
            if shard is not None and report.passed:
                why = f"this shard has no scenario, the run has {shard['scenarios']}"
            self._out.print(f"\nnothing was played: {why}")
        word, style = ("PASSED", "green") if report.passed else ("FAILED", "red")
        if report.started is not None and report.started.order and not report.passed:
            again = f"in this order again: --order {shlex.quote(report.started.order)}"
            self._out.print()
            self._out.print(escape(make_printable(f"{again}; a case that passes alone was spoilt by one before it")))
        if event.ended:
            self._out.print(f"\n{escape(event.ended)}")
        self._print_first(report)
        self._out.print()
        self._print_line(f"{word} {report.words}", style)

    def _print_first(self, report: Report) -> None:
        """Print again what to correct first, where so much stands behind it that it may have left the screen."""
        groups = self._groups()[0] if _has_failures(report) else []
        first = reports.first_to_read(groups[0]) if len(groups) > 1 else None
        if first is None:
            return
        self._out.print()
        self._print_line(f"correct first: {reports.group_line(groups[0]).strip()}")
        self._print_line(f"  {make_printable(first.remedy)}", "bold")

    def _print_line(self, line: str, style: str = "") -> None:
        """Print a line; in a terminal with its words whole, and what follows the first line below its beginning."""
        for piece in reports.wrap_line(line, self._out.width) if self._out.is_terminal else [line]:
            self._out.print(f"[{style}]{escape(piece)}[/]" if style else escape(piece))

    def _print_details(self, report: Report) -> None:
        """Print what is not about a failure; why cases were not judged, unless something failed and -v does not ask."""
        expected = [r for r in report.results if r.outcome is Outcome.EXPECTED]
        listed = not _has_failures(report) or self._verbosity > 0
        if expected and not self._one_of_several:
            self._out.print(f"\nknown differences ({len(expected)}), each with its reason in the baseline:")
            for name, reason in _group_by_reason(expected):
                self._print_line(f"  {make_printable(name)}: {make_printable(reason)}", "yellow")
        self._print_advice(report)
        if listed and report.scenarios > 1 and not self._one_of_several:
            found = reports.never_judged(report.results)
            if found:
                self._print_dim([one.line() for one in found] if self._verbosity > 0 else [reports.brief_line(found)])
        self._print_dim(_account(report, reasons=listed))
        if report.scenarios > 1 and not self._one_of_several and not (report.started and report.started.history):
            self._print_dim(reports.profile_lines(verdict.tally_profiles(report.results)))

    def _print_advice(self, report: Report) -> None:
        """Print each kind of finding at SHOULD with the number of its cases, unless the reference alone has played."""
        started = report.started
        if started is None or started.roots is None or {started.server, started.client} == {_REFERENCE}:
            return
        counts: Counter[str] = Counter()
        for result in report.results:
            for code in _advice(result):
                counts[code] += result.cases
        if counts:
            self._out.print()
        for code, cases in counts.most_common():
            what = f"{load_kinds()[code].title} (tpharness explain {code})"
            self._out.print(f"[yellow]SHOULD[/] {code} in {counted(cases, 'case')}: {escape(what)}")


def _has_failures(report: Report) -> bool:
    """Whether something failed, which has to be grouped and described."""
    return not all(result.outcome.green for result in report.results)


def _account(report: Report, *, reasons: bool = True) -> list[str]:
    """Return what was played and why the rest was not; nothing is imported where every case has passed once."""
    plain = all(result.outcome is Outcome.PASSED and not result.played_again for result in report.results)
    return [] if plain else reports.account_lines(report, reasons=reasons)


def _advice(result: Result) -> list[str]:
    """Return the codes of the findings at SHOULD of a result, each once."""
    return list(dict.fromkeys(finding.code for finding in result.findings if finding.level is Level.SHOULD))


def _group_by_reason(results: Sequence[Result]) -> list[tuple[str, str]]:
    """Return each reason once with its cases: the id of the first, and the number of the others."""
    by_reason: dict[str, list[str]] = {}
    for result in results:
        by_reason.setdefault(result.reason, []).append(result.id)
    return [
        (ids[0] + (f" and {len(ids) - 1} more" if len(ids) > 1 else ""), reason) for reason, ids in by_reason.items()
    ]
