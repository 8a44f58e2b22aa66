"""effects: a tool runs once for each call, and the model is sent the result of each run, or that nobody knows it.

That a tool ran is known from the ledger, which has seen each run, its effect and its end; without it from the effects
command, from a result that the model was sent, or from one that the user saw. A call that its user was asked to
approve, and has not approved, is not to run: that is known from the ledger or the command alone. So is that a tool did
not run which the model has called in a turn behind one that was cut.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice

from tpharness.apps.checks.contract import AppCheck, at
from tpharness.apps.checks.cycles import complete_cycles
from tpharness.apps.checks.outcomes import DENIED, IN_DOUBT, doubtful_outcomes
from tpharness.apps.checks.trimmed import left_out
from tpharness.apps.checks.truth import args_of
from tpharness.apps.effects import ToolRunSeen
from tpharness.apps.evidence import AppEvidence, Asked, TurnSeen, shown_calls
from tpharness.findings import Finding, Kind
from tpharness.model_apis.plan import Call
from tpharness.printable import counted

__all__ = ["CHECK", "calls_after_cut", "counted_calls", "returned_calls", "runs_of_calls"]

FORGOTTEN = Kind("effect-forgotten")
REPEATED = Kind("tool-ran-twice")
HALF = Kind("half-call-ran")
UNAPPROVED = Kind("tool-ran-unapproved")
IDLE = Kind("approved-not-run")
NOT_RUN = Kind("tool-not-run")
NOT_ON_WIRE = Kind("calls-not-on-the-wire")
_NOT_APPROVED = "no run of a call that its user was asked to approve, and has not approved"
_APPROVED = "a run of each call that its user has approved"
_SAID_OF = "uncut/tool-call"
_LEAST_LETTERS = 3  # a shorter value of an argument may stand in any sentence


def find(evidence: AppEvidence) -> Iterator[Finding]:
    """Yield effects that are forgotten, and tools that ran too often, unapproved, or not although approved."""
    runs = None if evidence.tool_runs is None else runs_of_calls(evidence, evidence.tool_runs)
    yield from _counted_too_often(evidence) if runs is None else _ran_too_often(evidence, runs)
    yield from islice(_idle(evidence, runs), 1)
    yield from islice(_not_run(evidence, runs), 1)
    known: set[str] = set()
    if not evidence.shows_calls:
        yield from islice(_never_shown(evidence, runs), 1)
    for next_turn, asked in evidence.followings if evidence.shows_calls else ():
        for call, finding in _forgotten(evidence, next_turn, asked, runs):
            if call.call_id not in known:
                known.add(call.call_id)
                yield finding
    if runs is not None:
        later = chain.from_iterable(doubtful_outcomes(evidence, *one, runs) for one in evidence.followings)
        yield from islice(later, 1)


def _never_shown(evidence: AppEvidence, runs: Mapping[str, Sequence[ToolRunSeen]] | None) -> Iterator[Finding]:
    """Yield that the model is never sent a result: a property of the wire, reported once, of a run that nobody cut."""
    if evidence.case.id != _SAID_OF:
        return
    for next_turn, asked in evidence.followings:
        for call, _ in _forgotten(evidence, next_turn, asked, runs):
            got = f"{call.name} ran, and the next request does not mention it"
            yield NOT_ON_WIRE.at(at(next_turn, request=asked.number), got=got)


def _forgotten(
    evidence: AppEvidence, next_turn: TurnSeen, asked: Asked, runs: Mapping[str, Sequence[ToolRunSeen]] | None
) -> Iterator[tuple[Call, Finding]]:
    """Yield the calls of earlier turns whose tool ran, and which a request does not mention."""
    calls, results = {c.call_id for c in asked.sent_calls()}, {r.call_id for r in asked.sent_results()}
    gone = {value for _, kind, value in left_out(evidence, next_turn, asked) if kind == "call"}
    for turn in evidence.branch(next_turn)[:-1]:
        complete = {call.call_id for call, _ in complete_cycles(turn)} | gone
        for call, known in counted_calls(evidence, turn) if runs is None else _seen_runs(turn, runs):
            missing = [word for word, ids in (("call of it", calls), ("result", results)) if call.call_id not in ids]
            if missing and call.call_id not in complete and not _is_noted(call, asked, evidence):
                place = at(next_turn, request=asked.number)
                expected = f"the call of {call.name} and a result; it ran: {known}"
                yield call, FORGOTTEN.at(place, got="no " + " and no ".join(missing), expected=expected)


def _idle(evidence: AppEvidence, runs: Mapping[str, Sequence[ToolRunSeen]] | None) -> Iterator[Finding]:
    """Yield a call that its user has approved, and that did not run although nothing was cut."""
    if any(turn.cut is not None for turn in evidence.turns) or not evidence.turns:
        return
    last = evidence.turns[-1]
    approved = [call for call in shown_calls(last.screen) if call.approved]
    counted_runs = None if last.runs is None or evidence.runs_before is None else last.runs - evidence.runs_before
    for number, call in enumerate(approved, 1):
        idle = not runs.get(call.call_id) if runs is not None else counted_runs is not None and counted_runs < number
        if idle:
            got = f"no run of {call.name} ({call.call_id}), which is {call.state} on the screen"
            yield IDLE.at(at(last), got=got, expected=_APPROVED)


def calls_after_cut(evidence: AppEvidence, turn: TurnSeen) -> tuple[Call, ...]:
    """Return the calls with which the run of a turn begins, where something was cut before, and nothing in this turn.

    A stop that comes when the answer has ended is one, too.
    They are the first of the chat: an application may know a call that it has run before.
    """
    earlier = evidence.turns[: turn.number - 1]
    stopped = any(planned.stops_late for planned in evidence.case.turns[: turn.number - 1])
    if turn.cut is not None or not turn.asked or not (stopped or any(one.cut is not None for one in earlier)):
        return ()
    return () if any(asked.called for one in earlier for asked in one.asked) else turn.asked[0].complete_calls


def _not_run(evidence: AppEvidence, runs: Mapping[str, Sequence[ToolRunSeen]] | None) -> Iterator[Finding]:
    """Yield a call behind a cut whose result the model was sent, and whose tool did not run."""
    for turn, planned in zip(evidence.turns, evidence.case.turns, strict=False):
        calls = calls_after_cut(evidence, turn)
        if not evidence.goes_on or len(turn.asked) == 1 or planned.approve != (True,):
            continue
        if runs is not None:
            idle = next((call for call in calls if not runs.get(call.call_id)), None)
        else:
            before = next((one.runs for one in evidence.turns if one.number == turn.number - 1), None)
            known = turn.runs is not None and before is not None and turn.runs - before < len(calls)
            idle = calls[0] if calls and known else None
        if idle is not None:
            sent = [result.content for asked in turn.asked for result in asked.sent_results()]
            got = f"no run of {idle.name} ({idle.call_id}); the model is sent: {next(iter(sent), 'no result')}"
            if any(call.approved and call.call_id == idle.call_id for call in shown_calls(turn.screen)):
                yield IDLE.at(at(turn), got=got, expected=_APPROVED)
            else:
                yield NOT_RUN.at(at(turn), got=got, expected="a run of the tool: what was cut before is over")


def _is_noted(call: Call, asked: Asked, evidence: AppEvidence) -> bool:
    """Whether the application tells the model of a call in words of its own: they name it more often than before.

    The words stand in messages of the system or the user. What they say of the call is not interpreted.
    """
    args = args_of(call)
    values = [value for value in (args.values() if isinstance(args, dict) else ()) if isinstance(value, str)]
    terms = [call.call_id, call.name, *(value for value in values if len(value) >= _LEAST_LETTERS)]
    now = _own_words(asked, evidence)
    earlier = [_own_words(one, evidence) for _, one in evidence.asked if one.started_at < asked.started_at]
    return any(now.count(term) > max((words.count(term) for words in earlier), default=0) for term in terms)


def _own_words(asked: Asked, evidence: AppEvidence) -> str:
    """Return the texts of the system and the user in a request, without what the user has written."""
    words = "\n".join(message.text for message in asked.history if message.role in ("system", "user"))
    for turn in evidence.turns:
        words = words.replace(turn.says, "")
    return words


# ------------------------------------------------------------------------------------------------ the ledger


def runs_of_calls(evidence: AppEvidence, runs: Sequence[ToolRunSeen]) -> dict[str, list[ToolRunSeen]]:
    """Return the runs of each call of the model, by its id; under "" those that belong to no call.

    A run belongs to the call whose id it has, unless its arguments are not those of that call, and are those of another
    one: then the other call was executed. Without an id it belongs to the call with the same arguments that has the
    fewest runs; else to a call of the tool without a run, since an application may complete the arguments.
    """
    calls = [call for _, asked in evidence.asked for call in asked.called if args_of(call) is not None]
    found: dict[str, list[ToolRunSeen]] = {call.call_id: [] for call in calls}
    found[""] = []
    for run in runs:
        same = [call for call in calls if call.name == run.tool and args_of(call) == run.arguments]
        candidates = [
            *(call for call in calls if call.call_id == run.call_id and (call in same or not same)),
            *sorted(same, key=lambda call: len(found[call.call_id])),
            *(call for call in calls if call.name == run.tool and not found[call.call_id]),
        ]
        found[candidates[0].call_id if candidates else ""].append(run)
    return found


def _ran_too_often(evidence: AppEvidence, runs: Mapping[str, Sequence[ToolRunSeen]]) -> Iterator[Finding]:
    unapproved = _unapproved(evidence)
    for turn in evidence.turns:
        for call in (call for asked in turn.asked for call in asked.called):
            effects = [run for run in runs.get(call.call_id, ()) if run.effect_at is not None]
            if effects and call.call_id in unapproved:
                got = f"the call {call.call_id}: {'; '.join(map(str, effects))}"
                yield UNAPPROVED.at(at(turn), got=got, expected=_NOT_APPROVED)
            elif len(effects) > 1:
                got = f"{len(effects)} effects for the call {call.call_id}: {'; '.join(map(str, effects))}"
                yield REPEATED.at(at(turn), got=got, expected="one effect for each call")
    for run in (run for run in runs[""] if run.effect_at is not None):
        got = f"{run.tool}({json.dumps(run.arguments, ensure_ascii=False)}): {run}"
        half = next(((turn, call) for turn, call in _half_calls(evidence) if call.name == run.tool), None)
        if half is None:
            yield REPEATED.at(at(evidence.turns[0]), got=got, expected="no run that the model did not call")
        else:
            yield HALF.at(at(half[0]), got=got, expected=_not_whole(half[1]))


def _half_calls(evidence: AppEvidence) -> Iterator[tuple[TurnSeen, Call]]:
    """Yield the calls whose arguments never came to their end, each with its turn."""
    for turn in evidence.turns:
        yield from ((turn, call) for asked in turn.asked for call in asked.called if args_of(call) is None)


def _not_whole(call: Call) -> str:
    return f"no run of a call whose arguments were never whole: {call.name}({''.join(call.pieces)} (cut here)"


def _seen_runs(turn: TurnSeen, runs: Mapping[str, Sequence[ToolRunSeen]]) -> Iterator[tuple[Call, str]]:
    """Yield the calls of a turn whose tool has had its effect, with what the ledger knows of it."""
    for call in (call for asked in turn.asked for call in asked.called):
        effects = [run for run in runs.get(call.call_id, ()) if run.effect_at is not None]
        if effects:
            yield call, f"the ledger has seen it: {'; '.join(map(str, effects))}"


# ------------------------------------------------------------------------------------------------ without it


def _counted_too_often(evidence: AppEvidence) -> Iterator[Finding]:
    called = refused = 0
    before, unapproved = evidence.runs_before, _unapproved(evidence)
    for turn in evidence.turns:
        calls = [call for asked in turn.asked for call in asked.called if args_of(call) is not None]
        called += len(calls)
        refused += sum(call.call_id in unapproved for call in calls)
        runs = 0 if turn.runs is None or before is None else turn.runs - before
        half = [call for one, call in _half_calls(evidence) if one.number <= turn.number]
        if called < runs <= called + len(half):
            yield HALF.at(at(turn), got=counted(runs, "run"), expected=_not_whole(half[0]))
            return
        if runs > called:
            yield REPEATED.at(at(turn), got=counted(runs, "run"), expected=f"at most {called}, one for each call")
            return
        if runs > called - refused:
            yield UNAPPROVED.at(
                at(turn), got=f"{counted(runs, 'run')} for {counted(called - refused, 'call')}", expected=_NOT_APPROVED
            )
            return


def counted_calls(evidence: AppEvidence, turn: TurnSeen) -> Iterator[tuple[Call, str]]:
    """Yield the calls of a turn whose tool has run, with how that is known."""
    earlier = next((t.runs for t in evidence.turns if t.number == turn.number - 1), evidence.runs_before)
    if turn.runs is None or earlier is None:
        yield from returned_calls(turn)
        return
    # A tool may run as soon as its arguments are there, before the answer that calls it is complete.
    whole = [call for asked in turn.asked for call in asked.complete_calls]
    early = [c for asked in turn.asked for c in asked.called if args_of(c) is not None and c not in whole]
    for call in islice([*whole, *early], max(0, turn.runs - earlier)):
        yield call, "the effects command counts it"


def _unapproved(evidence: AppEvidence) -> set[str]:
    """Return the ids of the calls that the user was asked to approve and has not approved, denied or unanswered."""
    screen = evidence.turns[-1].screen if evidence.turns else ()
    return {call.call_id for call in shown_calls(screen) if call.approved is False}


def returned_calls(turn: TurnSeen) -> Iterator[tuple[Call, str]]:
    """Yield the calls of a turn whose result the model was sent or the user saw, with which of the two it was."""
    shown = {call.call_id for call in shown_calls(turn.screen) if call.has_result}
    for index, asked in enumerate(turn.asked):
        results = {r.call_id for later in turn.asked[index + 1 :] for r in later.sent_results()}
        for call in asked.complete_calls:
            if call.call_id in results:
                yield call, "the model was sent its result"
            elif call.call_id in shown:
                yield call, "the user saw its result"


CHECK = AppCheck(
    name="effects",
    clause="app.effects",
    kinds=(FORGOTTEN, REPEATED, UNAPPROVED, IDLE, NOT_RUN, HALF, DENIED, IN_DOUBT),
    find=find,
    applies=lambda evidence: any(asked.called for _, asked in evidence.asked),
)
