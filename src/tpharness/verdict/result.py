"""The verdict on one case: its outcome, what was found, and why something was not judged.

Nothing here plays or judges. Whoever writes a report or reads one needs no more than this package.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Protocol

from tpharness.findings import Finding, Level

if TYPE_CHECKING:
    from tpharness.protocol.versions import Version
    from tpharness.trace.secrets import Secrets
    from tpharness.trace.write import CaseFiles

__all__ = [
    "THREAD_SUFFIX",
    "CheckState",
    "NotApplicable",
    "NotJudged",
    "Outage",
    "Outcome",
    "RecordedCase",
    "Result",
    "merge_not_judged",
]

THREAD_SUFFIX = "@thread-protocol"
"""Appended to the id of a case of an application in the verdict on the thread that the application wrote."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotApplicable:
    """Why a check has nothing to judge in the evidence of a case.

    `by_version` says that it never has in this version of the protocol, because of what the version can say.
    """

    reason: str
    by_version: bool = False


NotJudged = Mapping["Version", Mapping[str, NotApplicable]]
"""By version, the names of the checks that had nothing to judge in it, each with its reason."""


class Outcome(Enum):
    """How a case ended. Only `PASSED`, `EXPECTED`, `NO_PART` and `NOT_APPLICABLE` are green."""

    PASSED = "passed"
    FAILED = "failed"
    EXPECTED = "expected"
    STALE = "stale"
    ERRORED = "errored"
    NOT_APPLICABLE = "not-applicable"
    NO_PART = "no-part"
    COULD_NOT_RUN = "could-not-run"

    @property
    def green(self) -> bool:
        """Whether a run with this outcome may pass."""
        return self in (Outcome.PASSED, Outcome.EXPECTED, Outcome.NO_PART, Outcome.NOT_APPLICABLE)

    @property
    def meaning(self) -> str:
        """What the outcome says of a case, as a phrase."""
        return _MEANINGS[self]

    def counted(self, cases: int) -> str:
        """Return so many cases of this outcome in words, such as `7 known differences`."""
        one, more = _COUNTED.get(self, (self.value, self.value))
        return f"{cases} {one if cases == 1 else more}"


_COUNTED = {
    Outcome.EXPECTED: ("known difference", "known differences"),
    Outcome.NOT_APPLICABLE: ("not applicable", "not applicable"),
    Outcome.NO_PART: ("does not use the target", "do not use the target"),
    Outcome.COULD_NOT_RUN: ("could not run", "could not run"),
}

_MEANINGS = {
    Outcome.PASSED: "no check that had something to judge found anything wrong",
    Outcome.FAILED: "the implementation is wrong, or a promise was not kept; the findings say how",
    Outcome.EXPECTED: "failed exactly as the baseline says",
    Outcome.STALE: "the baseline expects a failure, but the case passes or has other findings",
    Outcome.ERRORED: "the target, the harness or the set-up broke, so nothing was learned about the case",
    Outcome.NOT_APPLICABLE: "cannot be played on these targets over this wire; the reason beside it says why",
    Outcome.NO_PART: "asks nothing of the target under test, so nothing was learned about it",
    Outcome.COULD_NOT_RUN: "something that the case needs is missing",
}


class CheckState(Enum):
    """The verdict of one check on a case. `SHOULD`: an application breaks a SHOULD, which does not fail the case."""

    PASSED = "passed"
    SHOULD = "should"
    FAILED = "failed"
    NOT_APPLICABLE = "not-applicable"


class RecordedCase(Protocol):
    """What was recorded of a case while it was played."""

    def files(self, result: Result, secrets: Secrets) -> CaseFiles:
        """Return what a trace says of the case, whose verdict is `result`."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Outage:
    """A time without an answer from a target: `what` is known of it, and whether it `began` with this case.

    All cases of one outage have the same `what`. `gone`: nothing listens any more, so that no delay was the cause.
    """

    what: str
    began: bool = False
    gone: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The verdict on one case. `cases` counts the places of a sweep that this result stands for.

    `played_again` counts the playings that were discarded because this machine had stood still.
    `size` is how many events a case that is not green plays, 0 where that is not known; of a case of an application how
    much happens in it, in one that is cut more than in one that is not; of posts how many were played before it.
    `outage` is set if a target had stopped answering. `symptom` is what of the reason is the same wherever one mistake
    shows, "" for all of it.
    `checks` has the state of each check over all versions; `not_judged` says where a check had nothing to judge, and
    why. `record` is what a trace needs, which no verdict depends on.
    """

    id: str
    outcome: Outcome
    checks: Mapping[str, CheckState] = field(default_factory=dict)
    not_judged: NotJudged = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    cases: int = 1
    reason: str = ""
    symptom: str = ""
    seconds: float = 0.0
    played_again: int = 0
    size: int = 0
    outage: Outage | None = None
    clauses: tuple[str, ...] = ()
    record: RecordedCase | None = field(default=None, compare=False, repr=False)

    @property
    def fails_otherwise(self) -> bool:
        """Whether a case whose entry in the baseline is stale fails in another way, and has not passed."""
        return self.outcome is Outcome.STALE and bool(self.failing_codes - {"baseline-stale", "baseline-unmatched"})

    @property
    def fails_now(self) -> bool:
        """Whether a case fails in a way that no baseline expects."""
        return self.outcome is Outcome.FAILED or self.fails_otherwise

    @property
    def failing_codes(self) -> frozenset[str]:
        """The codes of the findings that fail the case: those at MUST, and those that `fail_on` demands."""
        return frozenset(f.code for f in self.findings if f.fails)

    def codes_at(self, level: Level) -> tuple[str, ...]:
        """Return the codes of a level that do not fail the case, each once; what a baseline expects is none."""
        if self.outcome is Outcome.EXPECTED:
            return ()
        return tuple(dict.fromkeys(f.code for f in self.findings if f.level is level and not f.fails))


def merge_not_judged(one: NotJudged, other: NotJudged) -> dict[Version, Mapping[str, NotApplicable]]:
    """Return, by version, the checks that neither of the two judged. A version that only one of them has is copied."""
    both = {**one, **other}
    for version in one.keys() & other.keys():
        mine, theirs = one[version], other[version]
        both[version] = mine if mine.keys() <= theirs.keys() else {k: v for k, v in mine.items() if k in theirs}
    return both
