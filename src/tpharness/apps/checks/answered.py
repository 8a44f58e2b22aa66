"""answered: after an interruption, the answer to the next message is shown to the user.

Judged where the application was seen to show an answer of the model word for word before: the words of the next answer
are the same. A run in which nothing is cut goes on when its tool has ended, where the application was seen to do so
before; it may end with a tool that fails, if it says so. Where nobody leaves, the user sees an answer once. A run of
one chat does not end with that of another, and what was stopped stops nothing in a later turn.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from tpharness.apps.cases.case import FIRST_STOPS, CutBy
from tpharness.apps.checks.alive import describe
from tpharness.apps.checks.contract import AppCheck, at
from tpharness.apps.checks.effects import calls_after_cut, runs_of_calls
from tpharness.apps.checks.truth import is_part_of, normal
from tpharness.apps.effects import LedgerRunState
from tpharness.apps.evidence import AppEvidence, TurnSeen, shown_outputs, shown_text
from tpharness.apps.provider.exchange import ExchangeOutcome
from tpharness.findings import Finding, Kind
from tpharness.printable import counted

__all__ = ["CHECK"]

UNSEEN = Kind("answer-unseen")
BROKEN_OFF = Kind("run-broken-off")
TWICE = Kind("answer-shown-twice")
OTHER_ENDED = Kind("other-chat-ended")
_ERROR = 400
_GIVEN = (ExchangeOutcome.COMPLETED, ExchangeOutcome.DISCONNECTED)


def find(evidence: AppEvidence) -> Iterator[Finding]:
    """Yield the first later turn whose answer is not seen, run that its tool has ended, and answer seen twice."""
    yield from islice(_unseen(evidence), 1)
    yield from islice(_broken_off(evidence), 1)
    yield from islice(_shown_twice(evidence), 1)
    yield from _ended_with_another(evidence)


def _unseen(evidence: AppEvidence) -> Iterator[Finding]:
    if not evidence.shows_answers:
        return
    for turn in evidence.later_turns:
        answers = [asked for asked in turn.asked if not asked.unplanned and asked.outcome in _GIVEN]
        refused = any(asked.outcome is ExchangeOutcome.REFUSED for asked in turn.asked)
        if not answers or refused or turn.cut is not None or _is_written_meanwhile(evidence, turn):
            continue
        if not _has_answer(turn):
            place = at(turn, request=answers[-1].number)
            got = f"{describe(turn.reply)}; on the screen: {shown_text(turn.screen)!r}"
            words = answers[-1].plan.text if answers[-1].plan is not None else ""
            yield UNSEEN.at(place, got=got, expected=f"the answer of the model on the screen: {words}")


def _is_written_meanwhile(evidence: AppEvidence, turn: TurnSeen) -> bool:
    """Whether the message was written while a run went on that nobody had stopped."""
    before = [one.cut for one in evidence.turns if one.number == turn.number - 1]
    stopped = any(cut is not None and cut.cut.by is CutBy.STOP_AND_WRITE for cut in before)
    return turn in evidence.meanwhile and not stopped


def _shown_twice(evidence: AppEvidence) -> Iterator[Finding]:
    """Yield the answers that are on the screen more often than the model has given them."""
    for turn in evidence.turns:
        if turn.cut is not None and turn.cut.cut.by not in (CutBy.MODEL, CutBy.WAIT):
            return  # what an interrupted page shows of an answer that it takes up again is its own matter
        screen = normal(shown_text(turn.screen))
        given = [normal(one.said) for other in evidence.turns[: turn.number] for one in other.asked]
        for words in (normal(asked.said) for asked in turn.asked if asked.is_whole):
            count = sum(text.count(words) for text in given) if words else 0
            if words and screen.count(words) > count:
                got = f"{screen.count(words)} times: {words}"
                yield TWICE.at(at(turn, what="the screen"), got=got, expected=counted(count, "time"))


def _ended_with_another(evidence: AppEvidence) -> Iterator[Finding]:
    """Yield a run that went on while that of another chat was ended, and that came to no whole answer."""
    for turn in evidence.turns:
        if turn.cut is None or turn.cut.cut.by not in FIRST_STOPS:
            continue
        for asked in (one for one in turn.asked if (one.ended_at or 0.0) >= turn.cut.at):
            planned = asked.plan.text if asked.plan is not None else ""
            left = asked.outcome is ExchangeOutcome.DISCONNECTED and asked.said != planned
            if left or (evidence.shows_answers and not _has_answer(turn)):
                at_model = f"it left the model's answer behind {asked.said!r}" if left else "the model gave it all"
                got = f"{at_model}; {describe(turn.reply)}; on the screen: {shown_text(turn.screen)!r}"
                yield OTHER_ENDED.at(at(turn, request=asked.number), got=got, expected=planned)
                return


def _broken_off(evidence: AppEvidence) -> Iterator[Finding]:
    """Yield the runs that end with the first call of a tool: it has ended, and the model is not asked again."""
    runs = runs_of_calls(evidence, evidence.tool_runs or ())
    for turn, planned in zip(evidence.turns, evidence.case.turns, strict=False):
        calls = turn.asked[0].complete_calls if len(turn.asked) == 1 else ()
        waits = planned.approve != (True,) or turn.page is not None  # perhaps nobody could approve
        if not evidence.goes_on or not calls or planned.cut is not None or waits:
            continue
        if calls_after_cut(evidence, turn):
            expected = "a run of the tool, and a request with its result: what was cut before is over"
            yield BROKEN_OFF.at(at(turn), got=f"none; {describe(turn.reply)}", expected=expected)
            continue
        states = {call.call_id: {run.state for run in runs.get(call.call_id, ())} for call in calls}
        failed = any(LedgerRunState.FAILED in found for found in states.values())
        ended = {
            call_id for call_id, found in states.items() if found & {LedgerRunState.COMPLETED, LedgerRunState.FAILED}
        }
        ended |= shown_outputs(turn.screen).keys()
        if all(call.call_id in ended for call in calls) and not (failed and _says_so(turn)):
            expected = "a request with the result of the tool" + (", or an error to the user" if failed else "")
            yield BROKEN_OFF.at(at(turn), got=f"none; {describe(turn.reply)}", expected=expected)


def _says_so(turn: TurnSeen) -> bool:
    reply = turn.reply
    return reply is not None and (reply.reports_error or "error" in reply.types or reply.status >= _ERROR)


def _has_answer(turn: TurnSeen) -> bool:
    """Whether the user has seen a whole answer to the turn, planned or not; one without words is seen.

    An application may leave an answer at its last word, before the end of the stream.
    """
    screen = shown_text(turn.screen)
    texts = [asked.plan.text for asked in turn.asked if asked.outcome in _GIVEN and asked.plan is not None]
    return any(is_part_of(text, screen) for text in texts)


CHECK = AppCheck(
    name="answered",
    clause="app.answered",
    kinds=(UNSEEN, BROKEN_OFF, TWICE, OTHER_ENDED),
    find=find,
    applies=lambda evidence: (evidence.shows_answers or evidence.goes_on) and len(evidence.turns) > 1,
)
