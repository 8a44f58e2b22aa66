"""Cutting one run at every place with one fold of each side.

In: a case with a sweep, and two targets that can be stepped. Out: the places that failed, and how many were tried.
Each place is judged by the same checks as any case. What a place could not have changed is not judged again: messages
that are the same objects as at the place before have been judged there, so the evidence of a place is trimmed to what
is new on either side. At places 1, 2, 4, 8, … and at the last one nothing is trimmed, which guards the trimming itself.
Between two bytes of one event nothing is rendered while both sessions say that no document could show a change.
The cost is linear in the length of the run.

Different cuts on the two sides are judged in the same pass: the client at one place, the server at the next. That the
client's thread only grows is judged at every place, and what R32 asks for is transitive, so these pairs stand for every
pair in which the server is further.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tpharness.checks import Delivery, Evidence, Side
from tpharness.checks.prefix import PREFIX
from tpharness.findings import Finding, Level
from tpharness.journal import Interrupted, UserTurn
from tpharness.protocol.versions import Version
from tpharness.run.judge import NotJudged, Outcome, Result, both_unjudged, judge
from tpharness.run.plan import Case, cut_time, place_name, script_of
from tpharness.run.sweeps.trim import same_messages, shared, stamp, trimmed, window
from tpharness.scenario.records import AgentRun, Compare, CutAt, CutSide
from tpharness.targets.contract import (
    ClientSession,
    RunScript,
    Script,
    ServerSession,
    SteppableClient,
    SteppableServer,
    StreamEnd,
)

__all__ = ["ApartPlace", "Sweep", "sweep"]

Threads = Mapping[Version, dict[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """What a sweep found: `tried` places, and a result for each that did not pass.

    `pairs` counts the pairs of different places that were judged, `apart` has those that did not pass.
    """

    tried: int
    failed: tuple[Result, ...]
    checks: Mapping[str, Any]
    not_judged: NotJudged = field(default_factory=dict)
    pairs: int = 0
    apart: tuple[tuple[ApartPlace, Result], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ApartPlace:
    """Different cuts of run `turn`: the server after `server` events, the client after it saw those of `client`."""

    turn: int
    reason: str
    server: int
    client: int


def sweep(
    case: Case,
    server: SteppableServer,
    client: SteppableClient,
    *,
    compare: Compare | None = None,
    only: str | None = None,
    apart: bool = False,
) -> Sweep:
    """Cut the runs of the case's sweep at every place, or only at the place with the id `only`.

    With `apart` the two sides are also cut at different places, the server further than the client.
    """
    judges = _Judges(case, compare, apart=apart)
    plan = case.scenario.cut
    if plan is None:
        return Sweep(tried=0, failed=(), checks={})
    script = script_of(case)
    for index, run in case.scenario.runs:
        if plan.turn is None or plan.turn == index:
            for reason in plan.reasons:
                _Pass(case, script, index, run, reason, server, client, judges, only).play()
    return Sweep(
        tried=judges.tried,
        failed=tuple(judges.failed),
        checks=judges.checks,
        not_judged=judges.not_judged,
        pairs=judges.pairs,
        apart=tuple(judges.failed_apart),
    )


class _Judges:
    """Collects verdicts; knows what was judged before."""

    def __init__(self, case: Case, compare: Compare | None, *, apart: bool) -> None:
        scenario = case.scenario
        self.case = case
        self.mode = (compare or scenario.compare) if scenario.carriers else Compare.CONTENT
        self.allowed = frozenset(scenario.expect.findings or ())
        self.tried = 0
        self.failed: list[Result] = []
        self.checks: dict[str, Any] = {}
        self.not_judged: NotJudged = {}
        self.apart = apart
        self.pairs = 0
        self.failed_apart: list[tuple[ApartPlace, Result]] = []

    def pair(self, place: ApartPlace, evidence: list[Evidence]) -> None:
        """Judge different cuts on the two sides."""
        self.pairs += 1
        found = tuple(finding for piece in evidence for finding in PREFIX.judge(piece))
        if found:
            name = f"{self.case.id}@server-event-{place.server}-client-event-{place.client}"
            result = Result(id=name, outcome=Outcome.FAILED, findings=found, clauses=self.case.scenario.clauses)
            self.failed_apart.append((place, result))

    def verdict(self, place: str, evidence: list[Evidence], extra: tuple[Finding, ...]) -> bool:
        """Judge one place; return whether it passed."""
        result = judge(place, evidence, clauses=self.case.scenario.clauses)
        for name, state in result.checks.items():
            if name not in self.checks or state.value == "failed" or self.checks[name].value == "not-applicable":
                self.checks[name] = state
        self.not_judged = both_unjudged(self.not_judged, result.not_judged)
        if result.outcome.green and not extra:
            return True
        told = (*result.findings, *(finding.with_place(case=place) for finding in extra))
        self.failed.append(replace(result, outcome=Outcome.FAILED, findings=told))
        return False


class _Pass:
    """One run cut at every place for one reason."""

    def __init__(
        self,
        case: Case,
        script: Script,
        index: int,
        run: AgentRun,
        reason: str,
        server: SteppableServer,
        client: SteppableClient,
        judges: _Judges,
        only: str | None,
    ) -> None:
        plan = case.scenario.cut
        if plan is None or run.events is None:
            raise ValueError(f"{case.id} has no sweep over server events")
        self._plan = plan
        self._run = run
        self._events = run.events
        self._reason = reason
        self._judges = judges
        self._only = only
        self._case = case
        self._script = script
        self._index = index
        self._server: ServerSession = server.server_session(script)
        self._client: ClientSession = client.client_session(script)
        self._before: dict[Version, tuple[dict[str, Any], dict[str, Any]]] = {}
        self._seen: tuple[int, int] | None = None
        self._cut: Interrupted | None = None
        self._passed = True
        self._count = 0

    def play(self) -> None:
        """Play the turns before the run, then the run itself, cutting at every place."""
        for index, turn in enumerate(self._script.turns):
            if isinstance(turn, UserTurn):
                self._server.user(turn)
                self._client.user(turn)
            elif index < self._index:
                self._whole(turn)
            else:
                self._cut_everywhere(turn)
                return

    def _whole(self, run: RunScript) -> None:
        self._client.begin(run.agent_id, run.started_at)
        at = run.started_at
        self._client.feed(self._server.begin(run), at)
        for event in run.events:
            at = str(event.get("at", at))
            self._client.feed(self._server.feed(event), at)
        cut = run.interruption
        last = self._server.close() if cut is None else self._server.interrupt(cut, abort=run.abort)
        at = at if cut is None else cut.at
        self._client.feed(last, at)
        self._client.close(StreamEnd(reason=cut.reason if cut is not None and not run.abort else None, at=at))

    def _cut_everywhere(self, run: RunScript) -> None:
        """A sweep cuts the whole run, also beyond an interruption that the scenario itself has."""
        events = self._events
        self._client.begin(run.agent_id, run.started_at)
        at = run.started_at
        self._packet(self._server.begin(run), at, 0)
        for count, event in enumerate(events, start=1):
            at = str(event.get("at", at))
            self._packet(self._server.feed(event), at, count)

    def _packet(self, data: bytes, at: str, count: int) -> None:
        """Deliver the bytes of one event, at once or byte by byte, and judge at each place."""
        cut = Interrupted(reason=self._reason, at=cut_time(self._run, count))
        if self._judges.apart and count:
            self._judge_apart(cut, count)
        if self._plan.at is CutAt.EVERY_EVENT:
            self._client.feed(data, at)
            delivery = Delivery.WHOLE if self._plan.side is CutSide.BOTH else Delivery.PART
            self._judge(cut, delivery, last=count == len(self._events))
            return
        for offset in range(len(data)):
            self._judge(cut, Delivery.PART, last=False)
            self._client.feed(data[offset : offset + 1], at)
        if count == len(self._events):
            self._judge(cut, Delivery.WHOLE, last=True)

    def _judge(self, cut: Interrupted, delivery: Delivery, *, last: bool) -> None:
        number = self._count
        self._count += 1
        if self._only is not None and place_name(self._case.scenario, self._index, self._reason, number) != self._only:
            return
        judges = self._judges
        judges.tried += 1
        seen = (self._server.version, self._client.version)
        unchanged = seen == self._seen and self._passed and not last
        power = judges.tried & (judges.tried - 1) == 0
        if unchanged and cut is self._cut and not power:
            return  # between two bytes of one event nothing has become visible
        self._cut = cut
        server, client = self._server.threads(cut), self._client.threads(cut)
        if unchanged and all(self._stamp_only(v, server[v], client[v]) for v in server):
            return
        whole = last or power or self._only is not None or not self._passed
        place = place_name(self._case.scenario, self._index, self._reason, number)
        evidence = [self._evidence(place, v, server[v], client[v], delivery, whole=whole) for v in server]
        self._passed = judges.verdict(place, evidence, self._violations())
        self._seen = seen
        self._before = {v: (server[v], client[v]) for v in server}

    def _judge_apart(self, cut: Interrupted, count: int) -> None:
        """Judge the server after `count` events and the client before it got to see the last of them."""
        judges = self._judges
        if self._seen is not None and self._seen[0] == self._server.version:
            judges.pairs += 1  # the server shows what it showed at the place before, which was judged there
            return
        server, client = self._server.threads(cut), self._client.threads(cut)
        whole = judges.pairs & (judges.pairs + 1) == 0
        evidence = [self._evidence("", v, server[v], client[v], Delivery.PART, whole=whole) for v in server]
        place = ApartPlace(turn=self._index, reason=self._reason, server=count, client=count - 1)
        judges.pair(place, evidence)

    def _violations(self) -> tuple[Finding, ...]:
        reported = (*self._server.findings(), *self._client.findings())
        return tuple(f for f in reported if f.level is Level.MUST and f.code not in self._judges.allowed)

    def _stamp_only(self, version: Version, server: dict[str, Any], client: dict[str, Any]) -> bool:
        """Whether nothing but the place of the cut is new since the place before, the same on both sides."""
        if version not in self._before:
            return False
        before_s, before_c = self._before[version]
        return (
            same_messages(before_s, server)
            and same_messages(before_c, client)
            and stamp(server) == stamp(client)
            and len(server["turns"]) == len(client["turns"])
        )

    def _evidence(
        self,
        place: str,
        version: Version,
        server: dict[str, Any],
        client: dict[str, Any],
        delivery: Delivery,
        *,
        whole: bool,
    ) -> Evidence:
        trail = []
        before = self._before.get(version)
        if before is not None:
            trail = [before[1], client]
        if not whole and before is not None:
            skip = min(shared(before[0], server), shared(before[1], client))
            skip = min(window(server, skip), window(client, skip)) if skip else 0
            if skip:
                server, client = trimmed(server, skip), trimmed(client, skip)
                trail = [trimmed(before[1], skip), client]
        return Evidence(
            case=place,
            version=version,
            mode=self._judges.mode,
            delivery=delivery,
            server=Side(name="server", thread=server),
            client=Side(name="client", thread=client),
            trail=tuple(trail),
            expectation=None,
            readings=self._script.readings,
        )
