"""The verdict on a chat application in words: whether it is interruption-safe, and in how many of the cases.

In: the report on a run of `tpharness app`. Out: a few words for a heading, and what stands behind them. It counts the
cases; the threads that an application writes have a verdict of their own. A broken SHOULD is counted, and leaves an
application interruption-safe.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from tpharness.findings import Level
from tpharness.printable import counted
from tpharness.report.summary import Report
from tpharness.verdict import Outcome, Result
from tpharness.verdict.result import THREAD_SUFFIX

__all__ = ["AppVerdict", "app_verdict", "part_results"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AppVerdict:
    """Whether an application is safe, None where nothing says so; `words` and `rest` are one sentence."""

    safe: bool | None
    words: str
    rest: str


def part_results(results: Sequence[Result]) -> tuple[list[Result], list[Result]]:
    """Return the verdicts on cases, and those on threads that the application wrote in them."""
    threads = [result for result in results if result.id.endswith(THREAD_SUFFIX)]
    return [result for result in results if not result.id.endswith(THREAD_SUFFIX)], threads


def app_verdict(report: Report) -> AppVerdict:
    """Return the verdict: cases that do not apply show nothing, and those that could not be judged leave it open."""
    cases, _ = part_results(report.results)
    count = Counter(result.outcome for result in cases)
    failed = sum(result.fails_now for result in cases)
    unplayed, known = count[Outcome.NOT_APPLICABLE], sum(_is_known_failure(result) for result in cases)
    of_all = f"of {counted(len(cases), 'case')}"
    left = f"; {unplayed} did not apply" if unplayed else ""
    advised = sum(bool(result.codes_at(Level.SHOULD)) for result in cases)
    advice = f" A SHOULD is broken in {advised} of them." if advised else ""
    if failed and not any(_breaks_must(result) for result in cases):
        rest = f': no MUST is broken, but a SHOULD in {failed} {of_all}{left}, and fail_on is "should".'
        return AppVerdict(safe=None, words="Interruption-safe, and failed", rest=rest)
    if failed:
        more = f"; {known} more fail as the baseline says" if known else ""
        return AppVerdict(safe=False, words="Not interruption-safe", rest=f": {failed} {of_all} failed{more}{left}.")
    if report.finished is None or report.finished.ended:
        why = report.error or (report.finished.ended if report.finished is not None else "")
        return AppVerdict(safe=None, words="Not judged", rest=f": the run did not come to its end: {why}")
    open_cases = count[Outcome.ERRORED] + count[Outcome.COULD_NOT_RUN]
    if open_cases:
        return AppVerdict(safe=None, words="Not judged", rest=f": {open_cases} {of_all} could not be judged{left}.")
    if known:
        return AppVerdict(
            safe=False, words="Not interruption-safe", rest=f": {known} {of_all} fail as the baseline says{left}."
        )
    if unplayed == len(cases):
        return AppVerdict(safe=None, words="Not judged", rest=f": none {of_all} applied.")
    played = len(cases) - unplayed
    every = f"all {played} cases that apply" if played > 1 else "the one case that applies"
    rest = f" in {every}{left}.{advice} This is not a statement about ThreadProtocol."
    return AppVerdict(safe=True, words="interruption-safe", rest=rest)


def _breaks_must(result: Result) -> bool:
    """Whether a case fails for more than what `fail_on` demands, now or as the baseline says."""
    return any(not finding.demanded and finding.fails for finding in result.findings)


def _is_known_failure(result: Result) -> bool:
    """Whether a case fails as the baseline says; an entry may also name a SHOULD, which fails nothing."""
    return result.outcome is Outcome.EXPECTED and bool(result.failing_codes)
