"""What the checks of a run did not judge, and why: of one result for the JSON report, of a whole run for people.

In: results. Out: records, in the order of the checks and of the versions, each with the versions that share a reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tpharness import checks
from tpharness.printable import counted
from tpharness.protocol.versions import Version, version_names
from tpharness.verdict import Result
from tpharness.verdict.result import NotApplicable

__all__ = ["Unjudged", "brief_line", "never_judged", "unjudged"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Unjudged:
    """A check that judged nothing in these versions for one reason, in so many cases."""

    check: str
    versions: tuple[Version, ...]
    why: NotApplicable
    cases: int

    def as_json(self) -> dict[str, Any]:
        """Return it as `not_judged` of a result in `conformance/schemas/report.schema.json`."""
        return {
            "check": self.check,
            "versions": [version.value for version in self.versions],
            "reason": self.why.reason,
            "because_of": "version" if self.why.by_version else "case",
        }

    def line(self) -> str:
        """Return it as a line for people."""
        cases = counted(self.cases, "case")
        return f"{self.check} checked nothing in {version_names(self.versions)} ({cases}): {self.why.reason}"


def brief_line(found: Sequence[Unjudged]) -> str:
    """Return the checks, one at least, with their versions as one line for people, without the reasons."""
    held: dict[str, set[Version]] = {}
    for one in found:
        held.setdefault(one.check, set()).update(one.versions)
    checks = [f"{check} in {version_names(v for v in Version if v in held[check])}" for check in held]
    hint = f"-v says why; tpharness explain {found[0].check} says what it checks"
    return f"not checked: {'; '.join(checks)} ({hint})"


def unjudged(result: Result) -> list[Unjudged]:
    """Return the checks that judged nothing in some version of one result."""
    return never_judged([result])


def never_judged(results: Iterable[Result]) -> list[Unjudged]:
    """Return the checks that judged nothing in some version in any of the results that were played.

    A check that had several reasons for it comes once for each.
    """
    played = [result for result in results if result.not_judged]
    return [one for check in checks.CHECKS for one in _of_check(check.name, played)]


def _of_check(check: str, played: list[Result]) -> Iterator[Unjudged]:
    silent = [version for version in Version if _is_silent(check, version, played)]
    reasons: dict[NotApplicable, list[Version]] = {}
    counts: Counter[NotApplicable] = Counter()
    for result in played:
        given = {v: result.not_judged[v][check] for v in silent if v in result.not_judged}
        for version, why in given.items():
            if version not in reasons.setdefault(why, []):
                reasons[why].append(version)
        for why in dict.fromkeys(given.values()):  # not a set: the order of equal counts is that of the versions
            counts[why] += result.cases
    for why, cases in counts.most_common():
        versions = tuple(version for version in silent if version in reasons[why])
        yield Unjudged(check=check, versions=versions, why=why, cases=cases)


def _is_silent(check: str, version: Version, played: list[Result]) -> bool:
    """Whether the version was played, and the check judged nothing in it."""
    held = [result.not_judged[version] for result in played if version in result.not_judged]
    return bool(held) and all(check in reasons for reasons in held)
