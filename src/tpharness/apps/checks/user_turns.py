"""user-turns: the model is sent every message of the user exactly once, in order, and each before its answers."""

from __future__ import annotations

from collections.abc import Iterator

from tpharness.apps.checks.contract import AppCheck, at
from tpharness.apps.checks.trimmed import left_out
from tpharness.apps.checks.truth import unsaid
from tpharness.apps.evidence import AppEvidence, Asked, TurnSeen
from tpharness.findings import Finding, Kind, Place
from tpharness.ordinals import nth

__all__ = ["CHECK"]

LOST = Kind("user-turn-lost")
DOUBLED = Kind("user-turn-doubled")
MISPLACED = Kind("user-turn-misplaced")
ANSWER_MISPLACED = Kind("answer-misplaced")


def find(evidence: AppEvidence) -> Iterator[Finding]:
    """Yield what is wrong with the user's messages in the last request of each turn that differs from the first."""
    known: set[tuple[str, int]] = set()
    # A message that was written while the run before it went on may stand before what came of that run.
    meanwhile = bool(evidence.meanwhile)
    for turn in evidence.turns:
        # A turn that asks for another answer has the message of the turn before.
        reached = {t.says for t in evidence.turns if t.number <= turn.number and t.asked}
        owed = [t for t in evidence.branch(turn) if t.says in reached]
        for asked in turn.asked:
            gone = {number for number, kind, _ in left_out(evidence, turn, asked) if kind == "message"}
            due = [one for one in owed if one.number not in gone]
            for finding, about in _wrong(turn, asked, due, meanwhile=meanwhile):
                if (finding.code, about) not in known:
                    known.add((finding.code, about))
                    yield finding


def _wrong(turn: TurnSeen, asked: Asked, owed: list[TurnSeen], *, meanwhile: bool) -> Iterator[tuple[Finding, int]]:
    texts = [message.text for message in asked.history if message.role == "user"]
    joined = "\n".join(texts)
    place = at(turn, request=asked.number)
    order = []
    for earlier in owed:
        count = joined.count(earlier.says)
        if not count:
            yield (
                LOST.at(place, got=texts, expected=f"the message of {nth(earlier.number - 1, 'turn')}: {earlier.says}"),
                earlier.number,
            )
        elif count > 1:
            message = f"{DOUBLED.title}: {count} times"
            yield DOUBLED.at(place, message, got=texts, expected=earlier.says), earlier.number
        else:
            order.append(joined.index(earlier.says))
    if order != sorted(order):
        yield MISPLACED.at(place, got=texts, expected=[earlier.says for earlier in owed]), 0
    elif not meanwhile:
        yield from _late_answers(asked, owed, place)


def _late_answers(asked: Asked, owed: list[TurnSeen], place: Place) -> Iterator[tuple[Finding, int]]:
    """Yield answers that stand behind a message of the user that was written after them."""
    latest = 0
    for message in asked.history:
        if message.role == "user":
            latest = max([latest, *(t.number for t in owed if t.says in message.text)])
        elif message.role == "assistant" and message.text.strip():
            speakers = [t.number for t in owed if not unsaid(message.text, [one.said for one in t.asked])]
            if speakers and speakers[-1] < latest:
                answered, written = (nth(number - 1, "turn") for number in (speakers[-1], latest))
                expected = f"the answer of {answered} before the message of {written}"
                yield ANSWER_MISPLACED.at(place, got=message.text, expected=expected), speakers[-1]


CHECK = AppCheck(
    name="user-turns",
    clause="app.user-turns",
    kinds=(LOST, DOUBLED, MISPLACED, ANSWER_MISPLACED),
    find=find,
    applies=lambda evidence: any(turn.asked for turn in evidence.turns),
)
