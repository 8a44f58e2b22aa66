"""answered: after an interruption, the answer to the next message is shown to the user.

Judged where the application was seen to show an answer of the model word for word before: the words of the next answer
are the same.
"""

from __future__ import annotations

from collections.abc import Iterator

from tpharness.apps.checks.alive import describe
from tpharness.apps.checks.contract import AppCheck, at
from tpharness.apps.checks.truth import is_part_of
from tpharness.apps.evidence import AppEvidence, TurnSeen, shown_text
from tpharness.apps.provider import Outcome
from tpharness.findings import Finding, Kind

__all__ = ["CHECK"]

UNSEEN = Kind("answer-unseen")
_GIVEN = (Outcome.COMPLETED, Outcome.DISCONNECTED)


def find(evidence: AppEvidence) -> Iterator[Finding]:
    """Yield the first later turn whose answer the model gave, and the user has not seen."""
    for turn in evidence.later_turns:
        answers = [asked for asked in turn.asked if not asked.unplanned and asked.outcome in _GIVEN]
        refused = any(asked.outcome is Outcome.REFUSED for asked in turn.asked)
        if not answers or refused or turn.cut is not None or turn in evidence.meanwhile:
            continue
        if not _has_answer(turn):
            place = at(turn, request=answers[-1].number)
            got = f"{describe(turn.reply)}; on the screen: {shown_text(turn.screen)!r}"
            words = answers[-1].plan.text if answers[-1].plan is not None else ""
            yield UNSEEN.at(place, got=got, expected=f"the answer of the model on the screen: {words}")
            return


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
    kinds=(UNSEEN,),
    find=find,
    applies=lambda evidence: evidence.shows_answers and len(evidence.turns) > 1,
)
