"""Evidence → result. Pure: the checks find, this counts and names the outcome."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tpharness.apps.cases.case import CutBy
from tpharness.apps.checks import APP_CHECKS
from tpharness.apps.evidence import AppEvidence, CutSeen
from tpharness.apps.trouble import find_trouble
from tpharness.findings import Finding, Kind, Level, Place
from tpharness.printable import counted
from tpharness.verdict import CheckState, Outcome, Result

__all__ = ["demand_should", "describe_cuts", "judge_app", "size_of", "state_of"]

CLIENT_DIFFERS = Kind("client-differs")
_STATES = (CheckState.NOT_APPLICABLE, CheckState.PASSED, CheckState.SHOULD, CheckState.FAILED)
"""From the mildest to the worst."""
_MOST_TURNS = 100  # one cut weighs more than all turns of a case
_UNCUT = "the run ended before the place of the cut: the application did not ask the model as often as the case plans"


def judge_app(evidence: AppEvidence, *, seconds: float = 0.0) -> Result:
    """Judge a case; the result is errored, with the trouble as its finding, where the application did not play it."""
    case = evidence.case.id
    states = {check.name: CheckState.NOT_APPLICABLE for check in APP_CHECKS}
    chats = [evidence] if evidence.beside is None else [evidence, evidence.beside]
    trouble = next(filter(None, map(find_trouble, chats)), None)
    if trouble is not None:
        findings = (trouble.with_place(case=case),)
        return Result(id=case, outcome=Outcome.ERRORED, checks=states, findings=findings, seconds=seconds)
    found = []
    for check, chat in ((check, chat) for check in APP_CHECKS for chat in chats):
        if check.applies(chat):
            own = [finding.with_place(case=case) for finding in check.find(chat)]
            states[check.name] = _worse(states[check.name], state_of(own))
            found += own if chat is evidence else [_in_the_other_chat(finding) for finding in own]
    found += [_difference(case, words) for chat in chats for words in chat.differences]
    failed = CheckState.FAILED in states.values()
    if not failed and _is_uncut(evidence):
        return Result(id=case, outcome=Outcome.NOT_APPLICABLE, checks=states, reason=_UNCUT, seconds=seconds)
    return Result(
        id=case,
        reason=describe_cuts(evidence),
        outcome=Outcome.FAILED if failed else Outcome.PASSED,
        checks=states,
        findings=tuple(found),
        seconds=seconds,
        size=size_of(evidence),
        clauses=tuple(check.clause for check in APP_CHECKS if states[check.name] is not CheckState.NOT_APPLICABLE),
    )


def state_of(findings: Iterable[Finding]) -> CheckState:
    """Return the verdict of a check that has found this."""
    levels = {finding.level for finding in findings}
    if Level.MUST in levels:
        return CheckState.FAILED
    return CheckState.SHOULD if Level.SHOULD in levels else CheckState.PASSED


def _worse(one: CheckState, other: CheckState) -> CheckState:
    return max(one, other, key=_STATES.index)


def size_of(evidence: AppEvidence) -> int:
    """Return how much happens in a case: of those that show one mistake, the one with the fewest cuts is read first."""
    cuts = sum(turn.cut is not None for turn in evidence.turns)
    return cuts * _MOST_TURNS + len(evidence.turns)


def demand_should(result: Result) -> Result:
    """Return a result in which a SHOULD fails the case as a MUST does: what `fail_on = "should"` asks for."""
    if result.outcome not in (Outcome.PASSED, Outcome.FAILED):
        return result
    findings = tuple(replace(one, demanded=True) if one.level is Level.SHOULD else one for one in result.findings)
    failed = any(finding.fails for finding in findings)
    failing = {CheckState.SHOULD: CheckState.FAILED}
    return replace(
        result,
        outcome=Outcome.FAILED if failed else result.outcome,
        checks={name: failing.get(state, state) for name, state in result.checks.items()},
        findings=findings,
    )


def _in_the_other_chat(finding: Finding) -> Finding:
    return finding.with_place(side=f"the other chat, {finding.place.side or 'all of it'}")


def _difference(case: str, words: str) -> Finding:
    """Return that the real client did something else than ours would. The verdict holds; ours is to be looked at."""
    return CLIENT_DIFFERS.at(Place(case=case, side="the real client"), got=words)


def _is_uncut(evidence: AppEvidence) -> bool:
    """Whether a cut of the case was not made."""
    wanted = sum(turn.cut is not None for turn in evidence.case.turns)
    return sum(turn.cut is not None for turn in evidence.turns) < wanted


def describe_cuts(evidence: AppEvidence) -> str:
    """Say in a line where a case was cut and what the application did then; empty for a case without a cut."""
    cuts = [_describe(turn.cut) for turn in evidence.turns if turn.cut is not None]
    cuts += [
        f"the message that was written meanwhile was refused with status {turn.reply.status}"
        for turn in evidence.turned_away
        if turn.reply is not None
    ]
    return "; ".join(cuts)


def _describe(cut: CutSeen) -> str:
    place = "when one of two tools had ended" if cut.cut.one_ends else "while the tools ran"
    place = place if cut.cut.in_tool else f"after {counted(cut.pieces, 'piece')} of the model's answer"
    words = f"cut {place}, {cut.lag * 1000:.0f} ms after the model held"
    if cut.cut.by not in (CutBy.LEAVE, CutBy.STOP, CutBy.RELOAD):
        return words
    if cut.tools:
        words = f"{words}; {cut.tools}"
    if cut.left_after is not None:
        return f"{words}; the application left the model {cut.left_after * 1000:.0f} ms later"
    after = [counted(cut.pieces_after, "more piece")] if cut.pieces_after else []
    after += [counted(cut.asked_after, "more request")] if cut.asked_after else []
    return f"{words}; afterwards {' and '.join(after) or 'nothing more was asked of the model'}"
