"""seen-and-told: whether the user has seen what the model is told. A policy, not a mistake: shown, and never failed."""

from __future__ import annotations

from collections.abc import Iterator

from tpharness.apps.checks.contract import AppCheck, at
from tpharness.apps.checks.truth import unsaid
from tpharness.apps.evidence import AppEvidence, shown_text
from tpharness.findings import Finding, Kind

__all__ = ["CHECK"]

TOLD_MORE = Kind("told-more-than-seen")
TOLD_LESS = Kind("told-less-than-seen")


def find(evidence: AppEvidence) -> Iterator[Finding]:
    """Yield the first difference, for the turn that was cut."""
    if evidence.following is None:
        return
    following, asked = evidence.following
    earlier = evidence.turns[: following.number - 1]
    screen = _letters(shown_text(earlier[-1].screen) if earlier else "")
    told = _letters("".join(t.text for t in asked.history if t.role == "assistant"))
    place = at(following, request=asked.number)
    if len(told) > len(screen) and unsaid(told, [screen]):
        yield TOLD_MORE.at(place, got=told, expected=screen)
    elif len(screen) > len(told) and unsaid(screen, [told]):
        yield TOLD_LESS.at(place, got=told, expected=screen)


def _letters(text: str) -> str:
    """Return a text without any space: parts are joined with and without."""
    return "".join(text.split())


CHECK = AppCheck(
    name="seen-and-told",
    clause="app.seen-and-told",
    kinds=(TOLD_MORE, TOLD_LESS),
    find=find,
    applies=lambda evidence: evidence.following is not None,
)
