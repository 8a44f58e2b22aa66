"""A campaign: generated cases, judged one after the other until its time or count is over, and continued later.

In: an opened session, kinds, a seed, a folder. Out: causes of failure, each shrunk and saved once. Case N of a seed is
the same whenever and wherever it is made, so the folder needs to hold no more than the number of the next one; what was
found is written when it is found, the rest every second: a campaign that is killed loses at most a second.

With workers, ranges of cases are judged elsewhere and taken in order here, so the folder is the same after as many
cases.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path

from tpharness.errors import UsageError
from tpharness.explore.campaigns.cases import CaseRange, GeneratedFailure, Judged, judge_case, judge_range
from tpharness.explore.campaigns.judging import CampaignJudge
from tpharness.explore.campaigns.state import CampaignState, FoundFailure, load_state, save_state
from tpharness.explore.campaigns.subject_files import save_subject
from tpharness.explore.generate.kinds import FuzzKind, Subject
from tpharness.explore.shrinking.events import is_legal
from tpharness.explore.shrinking.shrink import shrink
from tpharness.file_lock import hold_lock
from tpharness.run.session import Session
from tpharness.run.sweeps.failures import make_folder
from tpharness.run.workers import THIS_PROCESS, Workers, map_in_order
from tpharness.scenario import Scenario
from tpharness.targets import Reference
from tpharness.verdict.causes import Cause, causes_of

__all__ = ["Campaign", "CampaignOptions"]

_CHECKPOINT = 1.0
_SHRINK_SECONDS = 10.0
_RANGE_SECONDS = 0.5
"""How long a worker is given cases for: long against handing them over, short against waiting for the last ones."""
_FIRST_RANGE = 48


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignOptions:
    """What to generate, for how long, and where to keep it.

    `seconds` and `cases` bound this sitting, not the campaign. `seed` None means the one of the folder, 0 in a new one.
    `workers` says who judges; what is found is the same. `sides` are the command line's options that name the targets,
    for the commands that replay. `clock` tells the seconds that every limit is measured in.
    """

    kinds: tuple[FuzzKind, ...] = tuple(FuzzKind)
    seconds: float | None = None
    cases: int | None = None
    seed: int | None = None
    db: Path = Path("tpharness-fuzz")
    workers: Workers = THIS_PROCESS
    sides: tuple[str, ...] = ()
    shrink_seconds: float = _SHRINK_SECONDS
    clock: Callable[[], float] = time.monotonic


@dataclass(slots=True)
class Campaign:
    """A campaign in a folder. `state` is what it has done, `new` what this sitting found."""

    session: Session
    options: CampaignOptions
    state: CampaignState = field(init=False)
    new: list[FoundFailure] = field(default_factory=list)
    _range: int = field(init=False, default=_FIRST_RANGE)

    def __post_init__(self) -> None:
        """Open the folder, or make it. UsageError when it holds a campaign with another seed or other kinds."""
        options = self.options
        make_folder(options.db)
        kinds = tuple(kind.value for kind in options.kinds)
        held = load_state(options.db)
        if held is None:
            self.state = CampaignState(seed=options.seed or 0, kinds=kinds, sides=options.sides)
            return
        hint = "give another --db, or leave the option out to continue this one"
        if options.seed not in (None, held.seed):
            raise UsageError(f"the campaign in {options.db} has the seed {held.seed}, not {options.seed}", hint=hint)
        if kinds != held.kinds:
            raise UsageError(f"the campaign in {options.db} is one of {', '.join(held.kinds)}", hint=hint)
        if options.sides != held.sides:
            other = " ".join(held.sides) or "the reference"
            raise UsageError(f"the campaign in {options.db} plays {other}", hint=hint)
        self.state = held

    def run(self, progress: Callable[[CampaignState], None] = lambda _: None) -> CampaignState:
        """Continue until this sitting is over; what was done is kept however it ends.

        UsageError while another process continues the campaign, or when it has since this one was opened.
        """
        folder = self.options.db
        with hold_lock(folder / "campaign.lock", seconds=0) as held:
            if not held or (load_state(folder) or self.state).next != self.state.next:
                hint = "wait for its end, or give another --db with another --seed"
                raise UsageError(f"another process continues the campaign in {folder}", hint=hint)
            return self._run(progress)

    def _run(self, progress: Callable[[CampaignState], None]) -> CampaignState:
        clock = self.options.clock
        begun = saved = clock()
        spent, done = self.state.seconds, self.state.cases
        cases = self._cases()
        try:
            while not self._over(clock() - begun, self.state.cases - done):
                self._take(next(cases))
                now = clock()
                if now - saved >= _CHECKPOINT:
                    saved = now
                    self.state.seconds = spent + now - begun
                    save_state(self.options.db, self.state)
                    progress(self.state)
        finally:
            cases.close()
            self.state.seconds = spent + clock() - begun
            save_state(self.options.db, self.state)
        return self.state

    def _over(self, seconds: float, cases: int) -> bool:
        options = self.options
        late = options.seconds is not None and seconds >= options.seconds
        return late or (options.cases is not None and cases >= options.cases)

    # ---------------------------------------------------------------- cases

    def _cases(self) -> Generator[Judged]:
        """Yield the cases from the next one on, in order and without end."""
        options = self.options
        if not options.workers:
            for number in count(self.state.next):
                yield judge_case(self.session, options.kinds, self.state.seed, number)
        for judged in map_in_order(judge_range, self._ranges(), options.workers):
            done = len(judged.cases)
            self._range = max(1, min(4 * done, int(done * _RANGE_SECONDS / max(judged.seconds, 0.001))))
            yield from judged.cases

    def _ranges(self) -> Iterator[CaseRange]:
        """Yield ranges that take about as long as `_RANGE_SECONDS` each."""
        first = self.state.next
        server, client = self.session.specs
        while True:
            size = self._range  # which changes before the next one is asked for
            yield CaseRange(
                seed=self.state.seed,
                kinds=self.options.kinds,
                first=first,
                count=size,
                server=server,
                client=client,
                wire=self.session.wire,
            )
            first += size

    def _take(self, one: Judged) -> None:
        if one.number != self.state.next:
            raise RuntimeError(f"case {one.number} was judged, and {self.state.next} is the next one")
        shown: dict[str, FoundFailure] = {}
        for found in one.failures:
            known = self._known(found)
            if known is not None:
                shown[known.cause] = known
            elif found.subject is not None:
                self._found(one.number, found, found.subject)
        for failure in shown.values():
            failure.count += failure not in self.new or failure.case != one.number
        self.state.next = one.number + 1
        self.state.cases += one.cases

    def _known(self, found: GeneratedFailure) -> FoundFailure | None:
        """Return the failure that a case shows again: the one of its cause, or one whose smallest case has this too."""
        failures = self.state.failures
        covering = (f for f in failures.values() if found.cause.key in f.beside and found.beside.issuperset(f.beside))
        return failures.get(found.cause.key) or next(covering, None)

    # ---------------------------------------------------------------- a failure

    def _apt(self, kind: FuzzKind, subject: Subject) -> bool:
        """Whether a smaller subject still asks the same: it is legal, and the reference passes what a target fails."""
        if kind is FuzzKind.PROGRAMS and isinstance(subject, Scenario) and not is_legal(subject):
            return False
        players = self.session.players
        if type(players.server) is Reference and type(players.client) is Reference:
            return True
        with Session(wire=self.session.wire) as session:
            return not CampaignJudge(session, thorough=False).findings(kind, subject)

    def _found(self, number: int, found: GeneratedFailure, subject: Subject) -> None:
        """Shrink a failure of a new cause, write it down, and remember it."""
        kind, findings, key = found.kind, found.findings, found.cause.key
        judge, versions = CampaignJudge(self.session, thorough=False), getattr(subject, "versions", ())

        def shown(other: Subject) -> dict[str, Cause]:
            return {cause.key: cause for cause in causes_of(judge.findings(kind, other))}

        if key not in shown(subject):
            judge = CampaignJudge(self.session)
        clock = self.options.clock
        until = clock() + self.options.shrink_seconds

        def fails(other: Subject) -> bool:
            in_time = clock() < until
            return in_time and self._apt(kind, other) and key in shown(other)

        subject = shrink(subject, fails)
        left = judge.findings(kind, subject)
        folder = make_folder(self.options.db / "failures")
        found_by = f"tpharness fuzz --seed {self.state.seed}, case {number}"
        findings = left if key in {cause.key for cause in causes_of(left)} else findings
        findings = tuple(sorted(findings, key=lambda one: key not in {cause.key for cause in causes_of([one])}))
        cause = next(cause for cause in causes_of(findings) if cause.key == key)
        whole = replace(subject, versions=versions) if isinstance(subject, Scenario) else subject
        file, command = save_subject(
            subject, kind, cause, findings, folder, found_by=found_by, sides=self.options.sides, session=self.session
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
            beside=tuple(sorted({key, *shown(whole)})),
        )
        self.state.failures[key] = failure
        self.new.append(failure)
        save_state(self.options.db, self.state)
