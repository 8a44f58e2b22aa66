"""The cases of a campaign, one by one or a range of them in another process.

In: an opened session or the words that name its targets, kinds, a seed, numbers. Out: how many cases were judged and
what failed, with everything that shrinking needs. Case N of a seed is the same whenever and wherever it is made.

Cases come from a generator with chance of its own, since Hypothesis takes longer for a case than judging it does.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

from tpharness.causes import Cause, cause_of
from tpharness.explore.campaigns.fast import look
from tpharness.explore.campaigns.judging import FuzzKind, Judge, Subject, limited
from tpharness.explore.generate.programs import Program
from tpharness.explore.generate.registry import GENERATORS, subjects
from tpharness.explore.generate.source import Chance
from tpharness.findings import Finding
from tpharness.run.session import Session
from tpharness.targets.contract import SteppableClient, SteppableServer

__all__ = ["CaseRange", "Found", "Judged", "RangeJudged", "case_source", "judge_case", "judge_range"]

_THOROUGH = {
    **dict.fromkeys(FuzzKind, 1),
    FuzzKind.PROGRAMS: 128,
    FuzzKind.SCENARIOS: 8,
}
"""Every how manieth case of a kind is also told in other reads and deltas, and twice; streams are about little else."""
_DEEP_EVERY = 8
_SEED_BITS = 48


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A failure of `cause`: the subject, what is wrong with it, and the choices that it was generated from.

    `subject` is None where the same range has told of a failure of this cause already.
    """

    kind: FuzzKind
    choices: tuple[int, ...]
    subject: Subject | None
    findings: tuple[Finding, ...]
    cause: Cause


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """Case `number`: it stood for `cases`, and has one failure for each cause."""

    number: int
    cases: int
    failures: tuple[Found, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseRange:
    """The cases `first` to `first + count - 1` of a seed, on the targets with these names."""

    seed: int
    kinds: tuple[FuzzKind, ...]
    first: int
    count: int
    server: str
    client: str

    def __str__(self) -> str:
        return f"cases {self.first} to {self.first + self.count - 1} of seed {self.seed}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeJudged:
    """What came of a range, in order, and how many seconds it took."""

    cases: tuple[Judged, ...]
    seconds: float


def case_source(seed: int, number: int) -> Chance:
    """Return where case `number` of a seed gets its choices from."""
    return Chance((seed << _SEED_BITS) + number)


def judge_case(session: Session, kinds: tuple[FuzzKind, ...], seed: int, number: int) -> Judged:
    """Make a case and judge it. TargetError when a target cannot be played at all."""
    kind = kinds[number % len(kinds)]
    turn = number // len(kinds)
    source = case_source(seed, number)
    made = GENERATORS[kind](source)
    thorough = turn % _THOROUGH[kind] == 0
    if not thorough:
        count, good = _quick(made, session, deep=turn % _DEEP_EVERY == 0)
        if good:
            return Judged(number=number, cases=count)
    judge = Judge(session, thorough=thorough)
    failing: dict[Cause, Found] = {}
    every = subjects(made)
    for subject in every:
        findings = judge.findings(kind, subject)
        cause = cause_of(findings)
        if cause is not None and cause not in failing:
            failing[cause] = Found(
                kind=kind, choices=tuple(source.choices), subject=subject, findings=findings, cause=cause
            )
    return Judged(number=number, cases=len(every), failures=tuple(failing.values()))


def judge_range(cases: CaseRange) -> RangeJudged:
    """Judge a range of cases on a session of its own."""
    begun = time.monotonic()
    told: set[Cause] = set()
    judged = []
    with Session(server=cases.server, client=cases.client) as session:
        for number in range(cases.first, cases.first + cases.count):
            one = judge_case(session, cases.kinds, cases.seed, number)
            brief = tuple(
                replace(found, subject=None, choices=(), findings=()) if found.cause in told else found
                for found in one.failures
            )
            told |= {found.cause for found in one.failures}
            judged.append(replace(one, failures=brief))
    return RangeJudged(cases=tuple(judged), seconds=time.monotonic() - begun)


def _quick(made: Any, session: Session, *, deep: bool) -> tuple[int, bool]:
    """Look at a program that targets in this process can step through; whatever raises is the judge's to look at."""
    server, client = session.players.server, session.players.client
    if not (isinstance(made, Program) and isinstance(server, SteppableServer) and isinstance(client, SteppableClient)):
        return 0, False
    try:
        with limited():
            return look(made, server, client, deep=deep)
    except Exception:  # noqa: BLE001  # the judge says what it was, and where
        return 0, False
