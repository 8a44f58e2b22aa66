"""A campaign: generated cases, judged one after the other, until time or count is over, and gone on with later.

In: an opened stage, kinds, a seed, a folder. Out: causes of failure, each shrunk and saved once. Case N of a seed is
the same whenever and wherever it is made, so the folder needs to hold no more than the number of the next one; what was
found is written down when it is found, the rest every second. Whoever kills a campaign loses a second of it.

Cases come from a generator with chance of its own, since Hypothesis takes longer for a case than judging it does.
Hypothesis takes over where a case fails: the choices go into its example database in the folder, and it shrinks them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tpharness.errors import UsageError
from tpharness.findings import Finding
from tpharness.fuzz.causes import Cause, cause_of
from tpharness.fuzz.fast import look
from tpharness.fuzz.generators import GENERATORS, subjects
from tpharness.fuzz.judging import FuzzKind, Judge, Subject, limited
from tpharness.fuzz.keeping import save_subject
from tpharness.fuzz.programs import Program
from tpharness.fuzz.saved import folder_for
from tpharness.fuzz.shrink import shrink_choices, smaller
from tpharness.fuzz.source import Chance
from tpharness.fuzz.state import CampaignState, FoundFailure, load_state, save_state
from tpharness.fuzz.units import legal
from tpharness.run.stage import Stage
from tpharness.scenario import Scenario
from tpharness.targets import Reference
from tpharness.targets.contract import SteppableClient, SteppableServer

__all__ = ["Campaign", "CampaignOptions", "case_source"]

_CHECKPOINT = 1.0
_SHRINK_SECONDS = 10.0
_THOROUGH = {
    **dict.fromkeys(FuzzKind, 1),
    FuzzKind.PROGRAMS: 128,
    FuzzKind.SCENARIOS: 8,
}
"""Every how manieth case of a kind is also told in other reads and deltas, and twice; streams are about little else."""
_DEEP_EVERY = 8
_SEED_BITS = 48


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignOptions:
    """What to generate, for how long, and where to keep it.

    `seconds` and `cases` bound this sitting, not the campaign. `seed` None means the one of the folder, 0 in a new one.
    `sides` are the command line's options that name the targets, for the commands that replay.
    """

    kinds: tuple[FuzzKind, ...] = tuple(FuzzKind)
    seconds: float | None = None
    cases: int | None = None
    seed: int | None = None
    db: Path = Path("tpharness-fuzz")
    sides: tuple[str, ...] = ()
    shrink_seconds: float = _SHRINK_SECONDS


def case_source(seed: int, number: int) -> Chance:
    """Return where case `number` of a seed gets its choices from."""
    return Chance((seed << _SEED_BITS) + number)


@dataclass(slots=True)
class Campaign:
    """A campaign in a folder. `state` is what it has done, `new` what this sitting found."""

    stage: Stage
    options: CampaignOptions
    state: CampaignState = field(init=False)
    new: list[FoundFailure] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Open the folder, or make it. UsageError when it holds a campaign with another seed or other kinds."""
        options = self.options
        folder_for(options.db)
        kinds = tuple(kind.value for kind in options.kinds)
        held = load_state(options.db)
        if held is None:
            self.state = CampaignState(seed=options.seed or 0, kinds=kinds, sides=options.sides)
            return
        hint = "give another --db, or leave the option away to go on with this one"
        if options.seed not in (None, held.seed):
            raise UsageError(f"the campaign in {options.db} has the seed {held.seed}, not {options.seed}", hint=hint)
        if kinds != held.kinds:
            raise UsageError(f"the campaign in {options.db} is one of {', '.join(held.kinds)}", hint=hint)
        if options.sides != held.sides:
            other = " ".join(held.sides) or "the reference"
            raise UsageError(f"the campaign in {options.db} plays {other}", hint=hint)
        self.state = held

    def run(self, progress: Callable[[CampaignState], None] = lambda _: None) -> CampaignState:
        """Go on until this sitting is over; what was done is kept whatever ends it."""
        begun = saved = time.monotonic()
        spent, done = self.state.seconds, self.state.cases
        try:
            while not self._over(time.monotonic() - begun, self.state.cases - done):
                self._case()
                now = time.monotonic()
                if now - saved >= _CHECKPOINT:
                    saved = now
                    self.state.seconds = spent + now - begun
                    save_state(self.options.db, self.state)
                    progress(self.state)
        finally:
            self.state.seconds = spent + time.monotonic() - begun
            save_state(self.options.db, self.state)
        return self.state

    def _over(self, seconds: float, cases: int) -> bool:
        options = self.options
        late = options.seconds is not None and seconds >= options.seconds
        return late or (options.cases is not None and cases >= options.cases)

    # ---------------------------------------------------------------- one case

    def _case(self) -> None:
        number = self.state.next
        kind = self.options.kinds[number % len(self.options.kinds)]
        turn = number // len(self.options.kinds)
        source = case_source(self.state.seed, number)
        made = GENERATORS[kind](source)
        judge = Judge(self.stage, thorough=turn % _THOROUGH[kind] == 0)
        judged, failing = self._judged(kind, made, judge, turn)
        for subject, findings, cause in failing:
            known = self.state.failures.get(str(cause))
            if known is not None:
                known.count += 1
            else:
                self._found(kind, number, source.choices, subject, findings, cause)
        self.state.next = number + 1
        self.state.cases += judged

    def _judged(
        self, kind: FuzzKind, made: Any, judge: Judge, turn: int
    ) -> tuple[int, list[tuple[Subject, tuple[Finding, ...], Cause]]]:
        """Return how many cases were judged, and those that fail, one of each cause."""
        server, client = self.stage.players.server, self.stage.players.client
        if (
            isinstance(made, Program)
            and isinstance(server, SteppableServer)
            and isinstance(client, SteppableClient)
            and turn % _THOROUGH[kind]
        ):
            count, good = _quick(made, server, client, deep=turn % _DEEP_EVERY == 0)
            if good:
                return count, []
        failing: dict[Cause, tuple[Subject, tuple[Finding, ...], Cause]] = {}
        every = subjects(made)
        for subject in every:
            findings = judge.findings(kind, subject)
            cause = cause_of(findings)
            if cause is not None:
                failing.setdefault(cause, (subject, findings, cause))
        return len(every), list(failing.values())

    # ---------------------------------------------------------------- a failure

    def _apt(self, kind: FuzzKind, subject: Subject) -> bool:
        """Whether a smaller subject still asks the same: it is legal, and the reference passes what a target fails."""
        if kind is FuzzKind.PROGRAMS and isinstance(subject, Scenario) and not legal(subject):
            return False
        players = self.stage.players
        if type(players.server) is Reference and type(players.client) is Reference:
            return True
        with Stage() as stage:
            return not Judge(stage, thorough=False).findings(kind, subject)

    def _found(
        self,
        kind: FuzzKind,
        number: int,
        choices: Sequence[int],
        subject: Subject,
        findings: tuple[Finding, ...],
        cause: Cause,
    ) -> None:
        """Shrink a failure of a new cause, write it down, and remember it."""
        judge = Judge(self.stage, thorough=False)
        if cause_of(judge.findings(kind, subject)) != cause:
            judge = Judge(self.stage)
        until = time.monotonic() + self.options.shrink_seconds / 2

        def late() -> bool:
            return time.monotonic() >= until

        def fails(other: Subject) -> bool:
            return self._apt(kind, other) and cause_of(judge.findings(kind, other)) == cause

        def some(made: Any) -> bool:
            return any(map(fails, subjects(made)))

        examples = self.options.db / "examples"
        small = shrink_choices(GENERATORS[kind], choices, some, examples, f"{kind.value}:{cause.slug}", late)
        until = time.monotonic() + self.options.shrink_seconds / 2
        if small is not None:
            subject = next(filter(fails, subjects(small)), subject)
        subject = smaller(subject, lambda other: not late() and fails(other))
        left = judge.findings(kind, subject)
        folder = folder_for(self.options.db / "failures")
        found_by = f"tpharness fuzz --seed {self.state.seed}, case {number}"
        findings = left if cause_of(left) == cause else findings
        file, command = save_subject(
            subject, kind, cause, findings, folder, found_by=found_by, sides=self.options.sides, stage=self.stage
        )
        failure = FoundFailure(
            cause=str(cause),
            codes=cause.codes,
            clauses=cause.clauses,
            rulings=cause.rulings,
            kind=kind.value,
            case=number,
            count=1,
            file=str(file),
            command=command,
            message=findings[0].message,
        )
        self.state.failures[str(cause)] = failure
        self.new.append(failure)
        save_state(self.options.db, self.state)


def _quick(made: Program, server: SteppableServer, client: SteppableClient, *, deep: bool) -> tuple[int, bool]:
    """Look at a program; whatever raises there is looked at again by the judge."""
    try:
        with limited():
            return look(made, server, client, deep=deep)
    except Exception:  # noqa: BLE001  # the judge says what it was, and where
        return len(made.cuts) + 1, False
