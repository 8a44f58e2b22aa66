"""Cutting one run at every place with one fold of each side.

In: a case with a sweep, and two targets that can be stepped. Out: the places that failed, and how many were tried.
Each place is judged by the same checks as any case. What a place could not have changed is not judged again: messages
that are the same objects as at the place before have been judged there, so the evidence of a place is trimmed to what
is new on either side. At places 1, 2, 4, 8, … and at the last one nothing is trimmed, which guards the trimming itself.
The cost is linear in the length of the run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from tpharness.checks import Delivery, Evidence, Side
from tpharness.findings import Finding, Level
from tpharness.journal import Interrupted, UserTurn
from tpharness.protocol.versions import Version
from tpharness.run.judge import Outcome, Result, judge
from tpharness.run.plan import Case, cut_time, place_name, script_of
from tpharness.scenario.model import AgentRun, Compare, CutAt, CutSide
from tpharness.targets.contract import (
    ClientSession,
    Observed,
    RunScript,
    Script,
    ServerSession,
    SteppableClient,
    SteppableServer,
)

__all__ = ["Sweep", "sweep"]

Threads = Mapping[Version, dict[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """What a sweep found: `tried` places, and a result for each that did not pass."""

    tried: int
    failed: tuple[Result, ...]
    checks: Mapping[str, Any]


def sweep(
    case: Case,
    server: SteppableServer,
    client: SteppableClient,
    *,
    compare: Compare | None = None,
    only: str | None = None,
) -> Sweep:
    """Cut the runs of the case's sweep at every place, or only at the place with the id `only`."""
    judges = _Judges(case, compare)
    plan = case.scenario.cut
    if plan is None:
        return Sweep(tried=0, failed=(), checks={})
    script = script_of(case)
    for index, run in case.scenario.runs:
        if plan.turn is None or plan.turn == index:
            for reason in plan.reasons:
                _Pass(case, script, index, run, reason, server, client, judges, only).play()
    return Sweep(tried=judges.tried, failed=tuple(judges.failed), checks=judges.checks)


class _Judges:
    """Collects verdicts; knows what was judged before."""

    def __init__(self, case: Case, compare: Compare | None) -> None:
        scenario = case.scenario
        self.case = case
        self.mode = (compare or scenario.compare) if scenario.carriers else Compare.CONTENT
        self.allowed = frozenset(scenario.expect.findings or ())
        self.tried = 0
        self.failed: list[Result] = []
        self.checks: dict[str, Any] = {}

    def verdict(self, place: str, evidence: list[Evidence], extra: tuple[Finding, ...]) -> bool:
        """Judge one place; return whether it passed."""
        result = judge(place, evidence, clauses=self.case.scenario.clauses)
        for name, state in result.checks.items():
            if name not in self.checks or state.value == "failed" or self.checks[name].value == "not-applicable":
                self.checks[name] = state
        if result.outcome.green and not extra:
            return True
        if extra:  # what the fold reported against the peer fails the place, whatever the threads say
            result = replace(result, outcome=Outcome.FAILED, findings=(*result.findings, *extra))
        self.failed.append(result)
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
        self._client.close(Observed(reason=cut.reason if cut is not None and not run.abort else None, at=at))

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
        place = place_name(self._case.scenario, self._index, self._reason, self._count)
        self._count += 1
        if self._only is not None and place != self._only:
            return
        judges = self._judges
        judges.tried += 1
        seen = (self._server.version, self._client.version)
        unchanged = seen == self._seen and self._passed and not last
        server, client = self._server.threads(cut), self._client.threads(cut)
        if unchanged and all(self._stamp_only(v, server[v], client[v]) for v in server):
            return
        whole = last or judges.tried & (judges.tried - 1) == 0 or self._only is not None or not self._passed
        evidence = [self._evidence(place, v, server[v], client[v], delivery, whole=whole) for v in server]
        self._passed = judges.verdict(place, evidence, self._violations())
        self._seen = seen
        self._before = {v: (server[v], client[v]) for v in server}

    def _violations(self) -> tuple[Finding, ...]:
        reported = (*self._server.findings(), *self._client.findings())
        return tuple(f for f in reported if f.level is Level.MUST and f.code not in self._judges.allowed)

    def _stamp_only(self, version: Version, server: dict[str, Any], client: dict[str, Any]) -> bool:
        """Whether nothing but the place of the cut is new since the place before, the same on both sides."""
        if version not in self._before:
            return False
        before_s, before_c = self._before[version]
        return (
            _same_messages(before_s, server)
            and _same_messages(before_c, client)
            and _stamp(server) == _stamp(client)
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
            skip = min(_shared(before[0], server), _shared(before[1], client))
            skip = min(_window(server, skip), _window(client, skip)) if skip else 0
            if skip:
                server, client = _trimmed(server, skip), _trimmed(client, skip)
                trail = [_trimmed(before[1], skip), client]
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


def _last_messages(thread: dict[str, Any]) -> list[Any] | None:
    turns = thread["turns"]
    if not turns or turns[-1]["turn_type"] != "agent":
        return None
    messages: list[Any] = turns[-1]["messages"]
    return messages


def _same_messages(before: dict[str, Any], now: dict[str, Any]) -> bool:
    one, two = _last_messages(before), _last_messages(now)
    return one is two and len(before["turns"]) == len(now["turns"])


def _stamp(thread: dict[str, Any]) -> Any:
    turns = thread["turns"]
    return turns[-1].get("interruption") if turns else None


def _shared(before: dict[str, Any], now: dict[str, Any]) -> int:
    """Return how many messages of the last turn are the same as before, from the front; 0 when turns were added."""
    one, two = _last_messages(before), _last_messages(now)
    if one is None or two is None or len(before["turns"]) != len(now["turns"]):
        return 0
    count = min(len(one), len(two))
    while count and one[:count] != two[:count]:  # the same objects compare at once; only the newest few can differ
        count -= 1
    return count


def _window(thread: dict[str, Any], skip: int) -> int:
    """Return where a window over the last turn may begin, at most at message `skip`; 0 when nothing can be left out.

    It begins with the last whole cycle that was there before, so that it is a turn that could stand by itself.
    """
    messages = thread["turns"][-1]["messages"]
    start = skip - 1
    while start > 0 and messages[start]["message_type"] != "response":
        start -= 1
    if start <= 0:
        return 0
    parts = [part for message in messages[start:] for part in message.get("parts") or ()]
    calls = {part["tool_call_id"] for part in parts if part["part_kind"] == "tool-call"}
    answers = (part for part in parts if part["part_kind"] in ("tool-return", "retry-prompt"))
    return start if all(part.get("tool_call_id") in calls for part in answers) else 0


def _trimmed(thread: dict[str, Any], skip: int) -> dict[str, Any]:
    """Return the thread with its last turn only, without the first `skip` messages of it, and the user turn before it.

    The turn then starts when the last message left out was written, so that the order in time is still judged.
    """
    turn = thread["turns"][-1]
    messages = turn["messages"]
    shorter = {**turn, "started_at": messages[skip - 1]["timestamp"], "messages": messages[skip:]}
    before = [t for t in thread["turns"][-2:-1] if t["turn_type"] == "user"]
    return {**thread, "turns": [*before, shorter]}
