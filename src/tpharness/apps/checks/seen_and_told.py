"""seen-and-told: whether the user has seen what the model is sent. A policy, not a mistake: shown, and never failed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from tpharness.apps.checks.contract import AppCheck, at
from tpharness.apps.checks.effects import counted_calls
from tpharness.apps.checks.outcomes import UNPROVEN, unproven_outcomes
from tpharness.apps.checks.trimmed import left_out
from tpharness.apps.checks.truth import letters, normal, same_result, unsaid
from tpharness.apps.evidence import AppEvidence, Asked, TurnSeen, shown_outputs
from tpharness.findings import Finding, Kind
from tpharness.printable import counted

__all__ = ["CHECK"]

TOLD_MORE = Kind("told-more-than-seen")
TOLD_LESS = Kind("told-less-than-seen")
TOLD_OTHERWISE = Kind("result-told-otherwise")
TRIMMED = Kind("history-trimmed")


def find(evidence: AppEvidence) -> Iterator[Finding]:
    """Yield the first difference, for the turn that was cut, and the first result that was shown otherwise."""
    if evidence.following is None:
        return
    if evidence.case.long:
        yield from islice(_trimmed(evidence), 1)
    yield from _told_otherwise(*evidence.following)
    following, asked = evidence.following
    if evidence.tool_runs is None:
        before = evidence.branch(following)[:-1]
        ran = [(turn, call) for turn in before for call, _ in counted_calls(evidence, turn)]
        yield from islice(unproven_outcomes(evidence, following, asked, ran), 1)
    if left_out(evidence, following, asked):
        return  # that the model is sent less is meant
    if evidence.replaced(following):
        return  # the user has taken back a part of what is on the screen before
    if following in evidence.meanwhile:
        return  # the screen is known when both answers had ended, and has more than the user had seen at the request
    earlier = evidence.turns[: following.number - 1]
    answers = [one for one in earlier[-1].screen if one.get("role") == "assistant"] if earlier else []
    seen = [str(part.get("text", "")) for one in answers for part in one.get("parts", ()) if part.get("type") == "text"]
    texts = [message.text for message in asked.history if message.role == "assistant"]
    screen, sent = letters(*seen), letters(*texts)
    place = at(following, request=asked.number)
    if len(sent) > len(screen) and unsaid(sent, [screen]):
        yield TOLD_MORE.at(place, got=_words(texts), expected=_words(seen))
    elif len(screen) > len(sent) and unsaid(screen, [sent]):
        yield TOLD_LESS.at(place, got=_words(texts), expected=_words(seen))


def _trimmed(evidence: AppEvidence) -> Iterator[Finding]:
    """Yield the requests of a long chat that tell only its end."""
    for turn in evidence.turns:
        for asked in turn.asked:
            gone = sorted({number for number, _, _ in left_out(evidence, turn, asked)})
            if gone:
                got = f"{counted(len(gone), 'turn')} left out, or the beginning of one: {', '.join(map(str, gone))}"
                yield TRIMMED.at(at(turn, request=asked.number), got=got, expected="the whole chat, or its end")


def _told_otherwise(turn: TurnSeen, asked: Asked) -> Iterator[Finding]:
    shown = shown_outputs(turn.screen)
    for result in asked.sent_results():
        if result.call_id in shown and not same_result(result.content, shown[result.call_id]):
            place = at(turn, request=asked.number)
            yield TOLD_OTHERWISE.at(place, got=result.content, expected=shown[result.call_id])
            return


def _words(texts: Sequence[str]) -> str:
    """Return texts to be read, a space between two."""
    return normal(" ".join(texts))


CHECK = AppCheck(
    name="seen-and-told",
    clause="app.seen-and-told",
    kinds=(TOLD_MORE, TOLD_LESS, TOLD_OTHERWISE, UNPROVEN, TRIMMED),
    find=find,
    applies=lambda evidence: evidence.following is not None,
)
