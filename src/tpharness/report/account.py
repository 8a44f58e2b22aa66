"""What a run has played over which wire, why the rest was not, what was played again, which side departs. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tpharness.printable import counted, make_printable
from tpharness.report.summary import Report
from tpharness.verdict.result import Outcome
from tpharness.verdict.tally import tally_json

__all__ = ["account_lines", "tally_lines"]

_MOST_REASONS = 12
_MOST_IDS = 5
_UNPLAYED = (Outcome.NO_PART, Outcome.NOT_APPLICABLE, Outcome.COULD_NOT_RUN)


def account_lines(report: Report, *, reasons: bool = True) -> list[str]:
    """Return how much of the run was played, and what `tally_lines` says of the rest."""
    lines = tally_lines(tally_json(report.results), reasons=reasons)
    started = report.started
    if started is None or started.roots is None or not reasons:
        return lines
    played = [result for result in report.results if result.outcome not in _UNPLAYED]
    cases, every = (sum(result.cases for result in some) for some in (played, report.results))
    if cases == every:
        return lines
    scenarios = len({result.id.partition("@")[0] for result in played})
    of = counted(report.scenarios, "scenario")
    first = f"played {scenarios} of {of}{started.over}, {cases} of {counted(every, 'case')}"
    return [f"{first}; why the others were not:", *lines]


def tally_lines(tally: Mapping[str, Any], *, reasons: bool = True) -> list[str]:
    """Return as lines what `tally_json` has: reasons for no verdict, what was played again, which side departs."""
    lines = []
    for outcome, found in tally["reasons"].items() if reasons else ():
        by_count = list(found.items())
        lines.append(f"{Outcome(outcome).counted(sum(found.values()))}, by reason:")
        lines += [f"  {cases:>5}  {make_printable(reason)}" for reason, cases in by_count[:_MOST_REASONS]]
        others = [cases for _, cases in by_count[_MOST_REASONS:]]
        if others:
            lines.append(f"  {sum(others):>5}  {counted(len(others), 'other reason')} (--report json:PATH has them)")
    ids = tally["played_again"]["ids"]
    if ids:
        some = ", ".join(ids[:_MOST_IDS]) + (f" and {len(ids) - _MOST_IDS} more" if len(ids) > _MOST_IDS else "")
        count = counted(len(ids), "case")
        lines.append(make_printable(f"played again, since this machine's own timers were late: {count} ({some})"))
    departing = [f"the {side} in {counted(cases, 'case')}" for side, cases in tally["departing"].items() if cases]
    if departing:
        lines.append(f"wrong thread (R51): {', '.join(departing)}")
    return lines
