"""How far an implementation has come in each profile, and which one to take on next. Pure.

In: the results of a run. Out: a tally for each profile of which cases were played, in the order of the profiles.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tpharness.profiles import SuiteProfile, find_profiles, load_profiles
from tpharness.verdict.causes import Cause
from tpharness.verdict.grouping import leading_cause_of_result
from tpharness.verdict.result import Outcome, Result

__all__ = ["ProfileTally", "next_profile", "tallies_json", "tally_profiles"]

_UNJUDGED = (Outcome.NO_PART, Outcome.NOT_APPLICABLE)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileTally:
    """The counts of one profile. A scenario is whole if all of its cases are green and one at least was judged.

    `scenarios` and `cases` are those that were judged; `expected` counts known departures; `unjudged` the cases that do
    not apply to the target or ask nothing of it. `faults` says whether cases with faults were played, `alone` whether
    every case of the run is of the profile.
    """

    profile: SuiteProfile
    scenarios: int
    whole: int
    cases: int
    passed: int
    expected: int
    unjudged: int
    causes: tuple[Cause, ...]
    faults: bool
    alone: bool

    @property
    def failed(self) -> int:
        """How many cases are not green."""
        return self.cases - self.passed - self.expected


def tally_profiles(results: Iterable[Result]) -> list[ProfileTally]:
    """Return the tally of each profile that cases were played of."""
    played = list(results)
    members: dict[str, list[Result]] = {}
    for result in played:
        for profile in find_profiles(result.id, result.clauses):
            members.setdefault(profile.name, []).append(result)
    return [
        _tally(profile, members[name], alone=len(members[name]) == len(played))
        for name, profile in load_profiles().items()
        if name in members
    ]


def next_profile(tallies: Sequence[ProfileTally]) -> ProfileTally | None:
    """Return the first of the core profiles with failures, else the one of the others with the fewest causes.

    The first of several; None if nothing failed.
    """
    failing = [tally for tally in tallies if tally.failed]
    return min(failing, key=lambda tally: 0 if tally.profile.core else len(tally.causes), default=None)


def tallies_json(tallies: Sequence[ProfileTally]) -> dict[str, Any]:
    """Return `profiles` and `next_profile` as `conformance/schemas/report.schema.json` has them."""
    following = next_profile(tallies)
    return {
        "profiles": [
            {
                "name": tally.profile.name,
                "scenarios": tally.scenarios,
                "whole": tally.whole,
                "cases": tally.cases,
                "passed": tally.passed,
                "expected": tally.expected,
                "failed": tally.failed,
                "not_judged": tally.unjudged,
                "causes": [str(cause) for cause in tally.causes],
            }
            for tally in tallies
        ],
        "next_profile": None if following is None else following.profile.name,
    }


def _tally(profile: SuiteProfile, results: Sequence[Result], *, alone: bool) -> ProfileTally:
    judged = [result for result in results if result.outcome not in _UNJUDGED]
    scenarios = {result.id.partition("@")[0] for result in judged}
    broken = {result.id.partition("@")[0] for result in judged if not result.outcome.green}
    causes = dict.fromkeys(leading_cause_of_result(result) for result in judged if not result.outcome.green)
    return ProfileTally(
        profile=profile,
        scenarios=len(scenarios),
        whole=len(scenarios - broken),
        cases=sum(result.cases for result in judged),
        passed=_count(judged, Outcome.PASSED),
        expected=_count(judged, Outcome.EXPECTED),
        unjudged=sum(result.cases for result in results) - sum(result.cases for result in judged),
        causes=tuple(causes),
        faults=any("@fault-" in result.id for result in results),
        alone=alone,
    )


def _count(results: Iterable[Result], outcome: Outcome) -> int:
    return sum(result.cases for result in results if result.outcome is outcome)
