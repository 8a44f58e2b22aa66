"""user-turns: the model is told every message of the user exactly once, in order."""

from __future__ import annotations

from collections.abc import Iterator

from tpharness.apps.checks.contract import AppCheck, at
from tpharness.apps.evidence import AppEvidence, Asked, TurnSeen
from tpharness.findings import Finding, Kind

__all__ = ["CHECK"]

LOST = Kind("user-turn-lost")
DOUBLED = Kind("user-turn-doubled")
MISPLACED = Kind("user-turn-misplaced")


def find(evidence: AppEvidence) -> Iterator[Finding]:
    """Yield what is wrong with the user's messages in the last request of each turn that differs from the first."""
    known: set[tuple[str, int]] = set()
    for turn in evidence.turns:
        owed = [t for t in evidence.turns if t.number <= turn.number and t.asked]
        for asked in turn.asked:
            for finding, about in _wrong(turn, asked, owed):
                if (finding.code, about) not in known:
                    known.add((finding.code, about))
                    yield finding


def _wrong(turn: TurnSeen, asked: Asked, owed: list[TurnSeen]) -> Iterator[tuple[Finding, int]]:
    texts = [told.text for told in asked.history if told.role == "user"]
    joined = "\n".join(texts)
    place = at(turn, request=asked.number)
    order = []
    for earlier in owed:
        count = joined.count(earlier.says)
        if not count:
            yield (
                LOST.at(place, got=texts, expected=f"the message of turn {earlier.number}: {earlier.says}"),
                earlier.number,
            )
        elif count > 1:
            message = f"{DOUBLED.title}: {count} times"
            yield DOUBLED.at(place, message, got=texts, expected=earlier.says), earlier.number
        else:
            order.append(joined.index(earlier.says))
    if order != sorted(order):
        yield MISPLACED.at(place, got=texts, expected=[earlier.says for earlier in owed]), 0


CHECK = AppCheck(
    name="user-turns",
    clause="app.user-turns",
    kinds=(LOST, DOUBLED, MISPLACED),
    find=find,
    applies=lambda evidence: any(turn.asked for turn in evidence.turns),
)
