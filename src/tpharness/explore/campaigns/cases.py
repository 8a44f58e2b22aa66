"""The cases of a campaign, one by one or a range of them in another process.

In: an opened session or the words that name its targets, kinds, a seed, numbers. Out: how many cases were judged and
what failed, with everything that shrinking needs. Case N of a seed is the same whenever and wherever it is made.

Cases are drawn from a random source of our own, since Hypothesis takes 6 to 70 times as long to make one.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

from tpharness.explore.campaigns.fold import passes
from tpharness.explore.campaigns.judging import CampaignJudge, time_limit
from tpharness.explore.generate.kinds import GENERATORS, FuzzKind, Subject, subjects
from tpharness.explore.generate.programs import GeneratedProgram
from tpharness.explore.generate.source import Chance
from tpharness.findings import Finding
from tpharness.run.session import Session
from tpharness.targets.contract import SteppableClient, SteppableServer
from tpharness.verdict.causes import Cause, causes_of

__all__ = ["CaseRange", "GeneratedFailure", "Judged", "RangeJudged", "case_source", "judge_case", "judge_range"]

_THOROUGH = {
    **dict.fromkeys(FuzzKind, 1),
    FuzzKind.PROGRAMS: 128,
    FuzzKind.SCENARIOS: 8,
}
"""Of so many cases of a kind one is also played in other reads and deltas, and twice; streams are about little else."""
_IDEMPOTENCE_EVERY = 8
_SEED_BITS = 48


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratedFailure:
    """A failure of `cause`: the subject, and what is wrong with it; `beside` has the keys of all causes that it shows.

    `subject` is None where the same range has reported a failure of the same causes already.
    """

    kind: FuzzKind
    subject: Subject | None
    findings: tuple[Finding, ...]
    cause: Cause
    beside: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """Case `number`: it stood for `cases`, and has one failure for each cause and what it comes with."""

    number: int
    cases: int
    failures: tuple[GeneratedFailure, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseRange:
    """The cases `first` to `first + count - 1` of a seed, on the targets with these names, over a wire."""

    seed: int
    kinds: tuple[FuzzKind, ...]
    first: int
    count: int
    server: str
    client: str
    wire: str

    def __str__(self) -> str:
        return f"cases {self.first} to {self.first + self.count - 1} of seed {self.seed}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeJudged:
    """The cases of a range, in order, and how many seconds they took."""

    cases: tuple[Judged, ...]
    seconds: float


def case_source(seed: int, number: int) -> Chance:
    """Return where case `number` of a seed gets its choices from."""
    return Chance((seed << _SEED_BITS) + number)


def judge_case(session: Session, kinds: tuple[FuzzKind, ...], seed: int, number: int) -> Judged:
    """Make a case and judge it. TargetError when a target cannot be played at all."""
    kind = kinds[number % len(kinds)]
    turn = number // len(kinds)
    made = GENERATORS[kind](case_source(seed, number))
    thorough = turn % _THOROUGH[kind] == 0
    quick = not thorough and isinstance(made, GeneratedProgram)
    if quick and _passes(made, session, idempotence=turn % _IDEMPOTENCE_EVERY == 0):
        return Judged(number=number, cases=len(made.cuts) + 1)
    judge = CampaignJudge(session, thorough=thorough)
    failing: dict[tuple[str, frozenset[str]], GeneratedFailure] = {}
    every = subjects(made)
    for subject in every:
        findings = judge.findings(kind, subject)
        causes = causes_of(findings)
        beside = frozenset(cause.key for cause in causes)
        for cause in causes:
            found = GeneratedFailure(kind=kind, subject=subject, findings=findings, cause=cause, beside=beside)
            failing.setdefault((cause.key, beside), found)
    return Judged(number=number, cases=len(every), failures=tuple(failing.values()))


def judge_range(cases: CaseRange) -> RangeJudged:
    """Judge a range of cases on a session of its own."""
    begun = time.monotonic()
    reported: set[tuple[str, frozenset[str]]] = set()
    judged = []
    with Session(server=cases.server, client=cases.client, wire=cases.wire) as session:
        for number in range(cases.first, cases.first + cases.count):
            one = judge_case(session, cases.kinds, cases.seed, number)
            brief = tuple(
                replace(found, subject=None, findings=()) if (found.cause.key, found.beside) in reported else found
                for found in one.failures
            )
            reported |= {(found.cause.key, found.beside) for found in one.failures}
            judged.append(replace(one, failures=brief))
    return RangeJudged(cases=tuple(judged), seconds=time.monotonic() - begun)


def _passes(made: GeneratedProgram, session: Session, *, idempotence: bool) -> bool:
    """Whether a program passes on targets that can be stepped; whatever raises is for the judge to name."""
    server, client = session.players.server, session.players.client
    if not (isinstance(server, SteppableServer) and isinstance(client, SteppableClient)):
        return False
    try:
        with time_limit():
            return passes(made, server, client, idempotence=idempotence, wire=session.wire)
    except Exception:  # noqa: BLE001  # the judge says what it was, and where
        return False
