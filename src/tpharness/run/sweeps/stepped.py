"""Cutting one case at every place of its runs, with one fold of each side.

In: a case with a sweep, and two targets that can be stepped. Out: the places that failed, and how many were tried.
Each place is judged by the same checks as any case. What a place has not changed is not judged again (`evidence`): it
is compared with the place before, and if the time of the cut is all that is new in any document, it is as good as that
one. At places 1, 2, 4, 8, … with something new and at the last one everything is judged, which guards that. Between
two bytes of one event nothing is rendered while both sessions say that no document could show a change; the reference
is believed between two events as well. The cost is linear in the length of the run.

Different cuts on the two sides are judged in the same pass: the client at one place, the server at the next. That the
client's thread only grows is judged at every place, and what R32 asks for is transitive, so these pairs stand for every
pair in which the server is further.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from tpharness.checks import Delivery, Evidence
from tpharness.checks.prefix import PREFIX
from tpharness.findings import Finding, Level
from tpharness.journal import Interrupted, needs_partial
from tpharness.run import sweeps, tracing
from tpharness.run.judge import judge
from tpharness.run.plan import Case, cut_time, make_script, place_name
from tpharness.run.sweeps.evidence import ThreadsByVersion, is_unchanged, only_the_cut_moved, place_evidence
from tpharness.run.sweeps.pair import SessionPair
from tpharness.scenario.records import AgentRun, ClientCut, Compare, CutAt, CutPlan, CutSide, CutUnit, WireEnd
from tpharness.targets.contract import RunScript, SteppableClient, SteppableServer
from tpharness.verdict.result import CheckState, NotJudged, Outcome, Result, merge_not_judged

if TYPE_CHECKING:
    from tpharness.run.sweeps.places import CutPlace

__all__ = ["Sweep", "sweep"]


@dataclass(slots=True, kw_only=True)
class Sweep:
    """How many places were tried, and those that failed, each with its result.

    `pairs` counts the pairs of different places that were judged, `apart` holds those that failed.
    """

    tried: int = 0
    failed: list[tuple[CutPlace, Result]] = field(default_factory=list)
    checks: dict[str, CheckState] = field(default_factory=dict)
    not_judged: NotJudged = field(default_factory=dict)
    pairs: int = 0
    apart: list[tuple[CutPlace, Result]] = field(default_factory=list)


def sweep(
    case: Case,
    server: SteppableServer,
    client: SteppableClient,
    *,
    compare: Compare | None = None,
    only: str | None = None,
    apart: bool = False,
    record: tracing.PlaceRecorder | None = None,
) -> Sweep:
    """Cut the runs of the case's sweep at every place, or only at the place with the id `only`.

    With `apart` the two sides are also cut at different places, the server further than the client. `record` makes the
    records of places that fail, for a trace.
    """
    found = Sweep()
    plan = case.scenario.cut
    for index, run in case.scenario.runs if plan is not None else ():
        if plan is not None and plan.turn in (None, index):
            for reason in plan.reasons:
                _Pass(case, plan, index, run, reason, server, client, found, compare, only, apart, record).play()
    return found


class _Pass:
    """One run cut at every place for one reason."""

    def __init__(
        self,
        case: Case,
        plan: CutPlan,
        index: int,
        run: AgentRun,
        reason: str,
        server: SteppableServer,
        client: SteppableClient,
        found: Sweep,
        compare: Compare | None,
        only: str | None,
        apart: bool,
        record: tracing.PlaceRecorder | None,
    ) -> None:
        if run.events is None:
            raise ValueError(f"{case.id} has no server events to cut")
        scenario = case.scenario
        self._case = case
        self._plan = plan
        self._index = index
        self._run = run
        self._reason = reason
        self._found = found
        self._only = only
        self._apart = apart
        self._record = record
        self._mode = (compare or scenario.compare) if scenario.carriers else Compare.CONTENT
        self._allowed = frozenset(scenario.expect.findings or ())
        self._script = make_script(case)
        self._pair = SessionPair(self._script, server, client)
        self._before: ThreadsByVersion = {}
        self._seen: tuple[int, int] | None = None
        self._judged = -1  # after so many events
        self._open_judged = False  # whether a place inside of arguments was
        self._passed = True
        self._count = 0
        self._last = len(run.events)
        self._says_all = not self._pair.foreign and not needs_partial(self._script.readings)  # when a document changes

    def play(self) -> None:
        """Play the turns before the run, then the run itself, cutting at every place."""
        for turn in self._script.turns[: self._index]:
            self._pair.play(turn)
        run = self._script.turns[self._index]
        if isinstance(run, RunScript):
            self._cut_everywhere(run)

    def _cut_everywhere(self, run: RunScript) -> None:
        """A sweep cuts the whole run, also beyond an interruption that the scenario itself has."""
        self._packet(self._pair.begin(run), 0)
        for count, event in enumerate(self._run.events or (), start=1):
            self._packet(self._pair.write(event), count)

    def _packet(self, data: bytes, count: int) -> None:
        """Deliver the bytes of one event, at once or byte by byte, and judge at each place."""
        client, at = self._pair.client, self._pair.at
        if self._apart and count:
            self._judge_apart(count)
        if self._plan.at is CutAt.EVERY_EVENT:
            client.feed(data, at)
            both = self._plan.side is CutSide.BOTH
            self._judge(Delivery.WHOLE if both else Delivery.PART, count, None if both else CutUnit.EVENT)
            return
        for offset in range(len(data)):
            self._judge(Delivery.PART, count, CutUnit.BYTE)
            client.feed(data[offset : offset + 1], at)
        if count == self._last:
            self._judge(Delivery.WHOLE, count, None)

    def _cut(self, count: int) -> Interrupted:
        return Interrupted(reason=self._reason, at=cut_time(self._run, count))

    def _judge(self, expected_delivery: Delivery, count: int, unit: CutUnit | None) -> None:
        """Judge one place: the server after `count` events, the client as well or, with a unit, where it is now."""
        number = self._count
        self._count += 1
        if self._only is not None and self._only != self._name(number):
            return
        found, pair = self._found, self._pair
        found.tried += 1
        last = count == self._last and unit is not CutUnit.BYTE
        seen = (pair.server.version, pair.client.version)
        open_calls = pair.open_calls()
        looks_whole = any(one.given is not None for one in open_calls)  # no thread shows it (R60)
        sure = self._passed and not last and not looks_whole
        power = found.tried & (found.tried - 1) == 0
        if sure and seen == self._seen and not power and (count == self._judged or self._says_all):
            return  # nothing has become visible since the place before
        self._judged = count
        cut = self._cut(count)
        now = pair.threads(cut)
        comparable = not (power or pair.foreign)  # others may change what they have shown
        known = self._open_judged or not open_calls
        if sure and (seen == self._seen or (comparable and known)) and self._is_nothing_new(now, cut):
            self._seen = seen
            return
        whole = last or power or looks_whole or self._only is not None or not self._passed
        name = self._name(number)
        evidence = self._evidence(name, self._new(now, whole=whole), expected_delivery, whole=whole)
        self._open_judged |= any(piece.open_calls for piece in evidence)
        failed = self._failure(name, evidence)
        if failed is not None:
            place = self._place(count, None if unit is None else ClientCut(unit=unit, count=number))
            if self._record is not None and len(found.failed) < tracing.MOST_RECORDED:
                read = number if unit is CutUnit.BYTE else None
                failed = replace(failed, record=self._record(self._case, place, cut, failed.id, now, pair.sent, read))
            found.failed.append((place, failed))
        self._passed = failed is None
        self._seen = seen
        self._before = now

    def _is_nothing_new(self, now: ThreadsByVersion, cut: Interrupted) -> bool:
        """Whether no document has changed since the place before but for the time of the cut, and no fold complains."""
        same = all(v in self._before and only_the_cut_moved(self._before[v], now[v], cut.at) for v in now)
        return same and not any(map(self._unexpected, self._pair.findings()))

    def _new(self, now: ThreadsByVersion, *, whole: bool) -> ThreadsByVersion:
        """Return the threads that were not judged at the place before; all of them if `whole`."""
        if whole or self._pair.foreign:
            return now
        return {v: threads for v, threads in now.items() if not is_unchanged(self._before.get(v, ()), threads)}

    def _place(self, server: int, client: ClientCut | None) -> CutPlace:
        return sweeps.CutPlace(turn=self._index, reason=self._reason, wire=WireEnd.CUT, server=server, client=client)

    def _name(self, number: int) -> str:
        return place_name(self._case.scenario, self._index, self._reason, number)

    def _failure(self, name: str, evidence: list[Evidence]) -> Result | None:
        """Judge one place; return its result if it failed."""
        found = self._found
        result = judge(name, evidence, clauses=self._case.scenario.clauses)
        for check, state in result.checks.items():
            if state is CheckState.FAILED or found.checks.get(check) in (None, CheckState.NOT_APPLICABLE):
                found.checks[check] = state
        found.not_judged = merge_not_judged(found.not_judged, result.not_judged)
        reported = tuple(f.with_place(case=name) for f in self._pair.findings() if self._unexpected(f))
        if result.outcome.green and not reported:
            return None
        return replace(result, outcome=Outcome.FAILED, findings=(*result.findings, *reported))

    def _unexpected(self, finding: Finding) -> bool:
        return finding.level is Level.MUST and finding.code not in self._allowed

    def _judge_apart(self, count: int) -> None:
        """Judge the server after `count` events and the client before it got to see the last of them."""
        found = self._found
        found.pairs += 1
        if self._seen is not None and self._seen[0] == self._pair.server.version:
            return  # the server shows what it showed at the place before, which was judged there
        cut = self._cut(count)
        now = self._pair.threads(cut)
        whole = found.pairs & (found.pairs - 1) == 0
        if self._passed and not (whole or self._pair.foreign) and self._is_nothing_new(now, cut):
            return
        evidence = self._evidence("", self._new(now, whole=whole), Delivery.PART, whole=whole)
        broken = tuple(finding for piece in evidence for finding in PREFIX.judge(piece))
        if broken:
            name = f"{self._case.id}@server-event-{count}-client-event-{count - 1}"
            result = Result(id=name, outcome=Outcome.FAILED, findings=broken, clauses=self._case.scenario.clauses)
            seen = ClientCut(unit=CutUnit.EVENT, count=count - 1)
            found.apart.append((self._place(count, seen), result))

    def _evidence(
        self, place: str, now: ThreadsByVersion, expected_delivery: Delivery, *, whole: bool
    ) -> list[Evidence]:
        readings = self._script.readings
        return place_evidence(
            place,
            now,
            self._before,
            mode=self._mode,
            delivery=expected_delivery,
            readings=readings,
            whole=whole,
            open_calls=self._pair.open_calls(),
        )
