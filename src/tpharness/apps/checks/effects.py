"""effects: a tool runs once for a call, and the model is told of every run, or told that nobody knows.

That a tool ran is known from the effects command, from a result that the model was told, or from one that the user saw.
"""

from __future__ import annotations

from collections.abc import Iterator

from tpharness.apps.checks.contract import AppCheck, at
from tpharness.apps.checks.cycles import complete_cycles
from tpharness.apps.checks.truth import args_of
from tpharness.apps.evidence import AppEvidence, TurnSeen, shown_calls
from tpharness.findings import Finding, Kind

__all__ = ["CHECK"]

FORGOTTEN = Kind("effect-forgotten")
REPEATED = Kind("tool-ran-twice")


def find(evidence: AppEvidence) -> Iterator[Finding]:
    """Yield effects that are forgotten, and tools that ran too often."""
    called = 0
    before = evidence.runs_before
    for turn in evidence.turns:
        called += sum(args_of(call) is not None for asked in turn.asked for call in asked.called)
        if turn.runs is not None and before is not None and turn.runs - before > called:
            yield REPEATED.at(
                at(turn), got=f"{turn.runs - before} runs", expected=f"at most {called}, one for each call"
            )
            break
    if evidence.following is None:
        return
    next_turn, asked = evidence.following
    told = {r.call_id for r in asked.told_results()} & {c.call_id for c in asked.told_calls()}
    for turn in evidence.turns[: next_turn.number - 1]:
        complete = {call.call_id for call, _ in complete_cycles(turn)}
        for call_id, name, known in _ran(evidence, turn):
            if call_id not in told and call_id not in complete:
                place = at(next_turn, request=asked.number)
                yield FORGOTTEN.at(
                    place, got="no call of it", expected=f"the call of {name} and a result; it ran: {known}"
                )


def _ran(evidence: AppEvidence, turn: TurnSeen) -> Iterator[tuple[str, str, str]]:
    """Yield the calls of a turn whose tool has run: id, name, and how that is known."""
    counted = evidence.runs_before is not None and turn.runs is not None
    earlier = next((t.runs for t in evidence.turns if t.number == turn.number - 1), evidence.runs_before)
    runs = (turn.runs or 0) - (earlier or 0) if counted else 0
    shown = {call.call_id for call in shown_calls(turn.screen) if call.has_result}
    for index, asked in enumerate(turn.asked):
        results = {r.call_id for later in turn.asked[index + 1 :] for r in later.told_results()}
        for call in asked.complete_calls:
            if counted and runs > 0:
                runs -= 1
                yield call.call_id, call.name, "the effects command counts it"
            elif call.call_id in results and not counted:
                yield call.call_id, call.name, "the model was told its result"
            elif call.call_id in shown and not counted:
                yield call.call_id, call.name, "the user saw its result"


CHECK = AppCheck(
    name="effects",
    clause="app.effects",
    kinds=(FORGOTTEN, REPEATED),
    find=find,
    applies=lambda evidence: any(asked.called for _, asked in evidence.asked),
)
