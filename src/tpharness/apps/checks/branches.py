"""branches: after an edit, or a request for another answer, the model is sent nothing of what was replaced.

After an edit everything behind the message is replaced. Another answer replaces the words of the last one; the calls
that the answer before made, and the words in front of them, may stay with their results.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tpharness.apps.checks.contract import AppCheck, at
from tpharness.apps.checks.truth import unsaid
from tpharness.apps.evidence import AppEvidence, Asked, TurnSeen
from tpharness.findings import Finding, Kind

__all__ = ["CHECK"]

REPLACED = Kind("replaced-told")


def find(evidence: AppEvidence) -> Iterator[Finding]:
    """Yield the first that was replaced and is sent all the same."""
    for turn in evidence.turns:
        replaced = evidence.replaced(turn)
        for asked in turn.asked if replaced else ():
            sent = _sent(evidence, turn, replaced, asked)
            if sent:
                expected = "nothing of what the user has replaced"
                yield REPLACED.at(at(turn, request=asked.number), got=sent, expected=expected)
                return


def _sent(evidence: AppEvidence, turn: TurnSeen, replaced: Sequence[TurnSeen], asked: Asked) -> str:
    """Return a message, a call or the words of an answer that were replaced and are sent, empty without any."""
    kept = evidence.branch(turn)
    words = "\n".join(message.text for message in asked.history if message.role == "user")
    old = [one.says for one in replaced if one.says not in {other.says for other in kept}]
    gone = next((says for says in old if says in words), "")
    before = [one for other in kept for one in other.asked if one.started_at < asked.started_at]
    stays = [one for other in replaced if other.says not in old for one in other.asked if one.called]
    said = [one.said for one in (*before, *stays)]
    every = [*said, *(one.said for other in replaced for one in other.asked)]
    texts = [message.text for message in asked.history if message.role == "assistant"]
    gone = gone or next((text for text in texts if unsaid(text, said) and not unsaid(text, every)), "")
    called = {call.call_id for other in replaced if other.says in old for one in other.asked for call in one.called}
    calls = (call for call in asked.sent_calls() if call.call_id in called)
    return gone or next((f"{call.name}({call.raw})" for call in calls), "")


CHECK = AppCheck(
    name="branches",
    clause="app.branches",
    kinds=(REPLACED,),
    find=find,
    applies=lambda evidence: any(turn.asked and evidence.replaced(turn) for turn in evidence.turns),
)
