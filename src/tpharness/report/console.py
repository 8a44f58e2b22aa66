"""The report for people: progress while it runs, each failure as a block, a verdict in one line."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from tpharness.clauses import clause_texts
from tpharness.findings import Finding
from tpharness.printable import make_printable
from tpharness.report.not_judged import never_judged
from tpharness.report.summary import Report
from tpharness.run import Outcome, Result, ResultReady, RunEvent, RunFinished, RunStarted, ScenarioFinished
from tpharness.run.tally import tally_json

__all__ = ["ConsoleReport", "failure_lines", "finding_lines", "tally_lines"]

_COLOURS = {"must": "red", "should": "yellow", "may": "dim"}
_MOST_FINDINGS = 6
_MOST_REASONS = 12
_MOST_IDS = 5


class ConsoleReport:
    """Writes to standard output, or to standard error when another report has standard output for itself.

    The progress bar goes to standard error, and only when that is a terminal. `roots` are the folders that scenarios
    were found in when they are not the built-in ones, and `played_on` the options that name the targets: the commands
    that are suggested have both. `one_of_several` is for a run whose verdict is one line among others': known
    departures are counted but not listed. `again` is the command that plays one case alone, with `{id}` for its id,
    where that is not `tpharness replay`.
    """

    def __init__(
        self,
        *,
        quiet: bool = False,
        stderr: bool = False,
        roots: Sequence[Path] = (),
        played_on: Sequence[str] = (),
        one_of_several: bool = False,
        again: str = "",
    ) -> None:
        self._out = Console(highlight=False, soft_wrap=True, stderr=stderr)
        self._roots = roots
        self._played_on = played_on
        self._one_of_several = one_of_several
        self._again = again
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._show_bar = self._bar.console.is_terminal and not quiet
        self._task: TaskID | None = None
        self._report = Report()

    def feed(self, event: RunEvent) -> None:
        """Process one event and print what it reports."""
        self._report.feed(event)
        match event:
            case RunStarted():
                sides = escape(make_printable(f"server {event.server}, client {event.client}"))
                versions = f", versions {', '.join(event.versions)}" if event.versions else ""
                self._out.print(
                    f"{_count_words(event.scenarios, 'scenario')}, {sides}{escape(make_printable(versions))}"
                )
                if event.order:
                    self._out.print(escape(make_printable(f"order {event.order}")))
                if self._show_bar:
                    self._bar.start()
                    self._task = self._bar.add_task("playing", total=event.scenarios)
            case ResultReady(result=result) if not result.outcome.green:
                self._print_failure(result)
            case ScenarioFinished() if self._task is not None:
                self._bar.advance(self._task)
            case RunFinished():
                self._print_verdict(event)
            case _:
                pass

    def stop(self, report: Report) -> None:
        """Print the verdict on a run that ended early, if it has begun."""
        if report.started is None or report.finished is not None:
            return
        self.close()
        self._print_tally(report.results)
        counts = ", ".join(f"{count} {outcome.value}" for outcome, count in report.counts.items()) or "nothing played"
        cases = _count_words(sum(report.counts.values()), "case")
        of = _count_words(report.started.scenarios, "scenario")
        words = f"{report.scenarios} of {of}, {cases} ({counts}), {report.error}"
        self._out.print(f"\n[bold red]INCOMPLETE[/] {escape(make_printable(words))}")

    def close(self) -> None:
        """Remove the progress bar, also after an error."""
        if self._show_bar:
            self._bar.stop()

    def _print_failure(self, result: Result) -> None:
        started = self._report.started
        history = started.history if started is not None else ""
        lines = failure_lines(result, roots=self._roots, played_on=self._played_on, history=history, again=self._again)
        self._out.print(f"\n[bold red]{result.outcome.value.upper()}[/] [bold]{escape(make_printable(result.id))}[/]")
        for level, line in lines:
            style = _COLOURS.get(level, "")
            self._out.print(f"  [{style}]{escape(line)}[/]" if style else f"  {escape(line)}")

    def _print_tally(self, results: Sequence[Result]) -> None:
        lines = tally_lines(tally_json(results))
        if lines:
            self._out.print()
        for line in lines:
            self._out.print(f"[dim]{escape(line)}[/]")

    def _print_verdict(self, event: RunFinished) -> None:
        self.close()
        report = self._report
        expected = [r for r in report.results if r.outcome is Outcome.EXPECTED]
        if expected and not self._one_of_several:
            self._out.print(f"\nknown departures ({len(expected)}), each with its reason in the baseline:")
            for name, reason in _group_by_reason(expected):
                self._out.print(f"  [yellow]{escape(make_printable(name))}[/]: {escape(make_printable(reason))}")
        if report.scenarios > 1 and not self._one_of_several:
            lines = [one.line() for one in never_judged(report.results)]
            if lines:
                self._out.print()
            for line in lines:
                self._out.print(f"[dim]{escape(make_printable(line))}[/]")
        self._print_tally(report.results)
        for problem in event.problems:
            self._out.print(
                f"\n[bold red]RUN[/] {escape(make_printable(problem.line()))}\n  {escape(problem.kind.remedy)}"
            )
        if not any(event.counts.values()):
            self._out.print("\nnothing was played: places of a sweep are called ID@event-12 or ID@byte-340")
        counts = ", ".join(f"{count} {outcome.value}" for outcome, count in event.counts.items()) or "nothing played"
        cases = _count_words(sum(event.counts.values()), "case")
        word = "[bold green]PASSED[/]" if report.passed else "[bold red]FAILED[/]"
        clauses = f"{len(event.exercised)} of {event.clause_count} clauses exercised, " if event.clause_count else ""
        if report.started is not None and report.started.order and not report.passed:
            again = f"in this order again: --order {shlex.quote(report.started.order)}"
            self._out.print()
            self._out.print(escape(make_printable(f"{again}; a case that passes alone was spoilt by one before it")))
        self._out.print(
            f"\n{word} {_count_words(report.scenarios, 'scenario')}, {cases} ({counts}), {clauses}{event.seconds:.1f} s"
        )


def tally_lines(tally: Mapping[str, Any]) -> list[str]:
    """Return as lines what `tally_json` has: reasons for no verdict, what was played again, which side departs."""
    lines = []
    for outcome, reasons in tally["reasons"].items():
        counted = list(reasons.items())
        lines.append(f"{outcome} ({sum(reasons.values())}), by reason:")
        lines += [f"  {cases:>5}  {make_printable(reason)}" for reason, cases in counted[:_MOST_REASONS]]
        others = [cases for _, cases in counted[_MOST_REASONS:]]
        if others:
            lines.append(f"  {sum(others):>5}  {len(others)} other reasons (--report json:PATH has them)")
    ids = tally["played_again"]["ids"]
    if ids:
        some = ", ".join(ids[:_MOST_IDS]) + (f" and {len(ids) - _MOST_IDS} more" if len(ids) > _MOST_IDS else "")
        count = _count_words(len(ids), "case")
        lines.append(make_printable(f"played again, since this machine had stood still: {count} ({some})"))
    departing = [f"the {side} in {_count_words(cases, 'case')}" for side, cases in tally["departing"].items() if cases]
    if departing:
        lines.append(f"departs from the right thread (R51): {', '.join(departing)}")
    return lines


def failure_lines(
    result: Result,
    *,
    roots: Sequence[Path] = (),
    played_on: Sequence[str] = (),
    history: str = "",
    again: str = "",
    hint: bool = True,
) -> list[tuple[str, str]]:
    """Return what went wrong as lines with a level: what, where, got and expected, why, what to do.

    `roots` are the folders of scenarios that are not built in; `played_on` are the options that name the targets;
    `history` is the history that was played, if one was; `again` is the command that plays the case alone, with `{id}`
    for its id, where that is not `tpharness run`. `hint` adds the command that shows more.
    """
    lines: list[tuple[str, str]] = []
    if result.reason and not (result.findings and result.outcome is Outcome.ERRORED):  # the findings say it better
        lines.append(("", result.reason))
    for finding in result.findings[:_MOST_FINDINGS]:
        lines += finding_lines(finding)
    if len(result.findings) > _MOST_FINDINGS:
        lines.append(
            ("", f"… and {len(result.findings) - _MOST_FINDINGS} more findings (--report json:PATH has them all)")
        )
    lines += _about_lines(result) if hint and not (history or again) else []
    options = [*played_on, *(word for root in roots for word in ("--scenarios", str(root)))]
    _, fault, name = result.id.partition("@fault-")
    if not hint:
        pass
    elif again:
        lines.append(("may", f"alone: {again.replace('{id}', shlex.quote(result.id))}"))
    elif fault:
        alone = shlex.join(["tpharness", "run", result.id, *options])
        lines.append(("may", f"what the fault does: tpharness explain {name}; alone: {alone}"))
    elif history:
        alone = shlex.join(["tpharness", "run", result.id, "--dialect", history, *options])
        lines.append(("may", f"alone: {alone}"))
    elif result.outcome is not Outcome.ERRORED:
        steps = shlex.join(["tpharness", "replay", result.id, *options])
        lines.append(("may", f"see both sides step by step: {steps}"))
    return [(level, make_printable(line)) for level, line in lines]


def _about_lines(result: Result) -> list[tuple[str, str]]:
    """Return what the scenario is about, if no finding cites a clause: its clauses are then what is broken."""
    if not result.clauses or not result.findings or any(finding.kind.clauses for finding in result.findings):
        return []
    return [("", f"the scenario is about {', '.join(result.clauses)} (tpharness explain {result.clauses[0]})")]


def _group_by_reason(results: Sequence[Result]) -> list[tuple[str, str]]:
    """Return each reason once with its cases: the id of the first, and the number of the others."""
    by_reason: dict[str, list[str]] = {}
    for result in results:
        by_reason.setdefault(result.reason, []).append(result.id)
    return [
        (ids[0] + (f" and {len(ids) - 1} more" if len(ids) > 1 else ""), reason) for reason, ids in by_reason.items()
    ]


def _count_words(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def finding_lines(finding: Finding) -> list[tuple[str, str]]:
    """Return a finding as lines with a level: its code, the place, got and expected, what decides, what to do."""
    level = finding.level.value
    where = str(finding.with_place(case=None).place)
    lines = [(level, f"{finding.code}: {finding.message}")]
    if where:
        lines.append(("", f"  at        {where}"))
    lines += [("", f"  {word:<10}{text}") for word, text in finding.shown(300).items()]
    known = clause_texts()
    lines += [("", f"  because   {c}: {known[c]}") for c in finding.kind.clauses if c in known]
    if finding.kind.rulings:
        lines.append(
            ("", f"  decided   by {', '.join(finding.kind.rulings)} (tpharness explain {finding.kind.rulings[0]})")
        )
    lines.append(("", f"  to do     {finding.kind.remedy}"))
    return lines
