"""Evidence by hand: an uncut run with one call, a turn after it, and what a check finds of them."""

from __future__ import annotations

from typing import Any

from tpharness.apps.cases.case import AppCase
from tpharness.apps.checks import APP_CHECKS
from tpharness.apps.evidence import AppEvidence, Asked, ReplySeen, TurnSeen
from tpharness.model_apis.messages import HistoryCall, HistoryMessage, HistoryResult
from tpharness.model_apis.plan import Call, Plan, Text

CHECKS = {check.name: check for check in APP_CHECKS}
PIECES = ('{"city":"Pa', 'ris"}')
CALL = Call(call_id="c1", name="book", pieces=PIECES)
FIRST = Plan(items=(Text(pieces=("Let me ", "see.")), CALL))
SECOND = Plan(items=(Text(pieces=("It is ", "done.")),))
TOLD_CALL = HistoryCall(call_id="c1", name="book", args={"city": "Paris"}, raw='{"city": "Paris"}')
HISTORY = (
    HistoryMessage(role="user", text="(1) Do it."),
    HistoryMessage(role="assistant", text="Let me see.", calls=(TOLD_CALL,)),
    HistoryMessage(role="tool", results=(HistoryResult(call_id="c1", content="booked"),)),
)
PART = {"type": "tool-book", "toolCallId": "c1", "state": "output-available", "output": "booked"}
SCREEN = (
    {"role": "user", "parts": [{"type": "text", "text": "(1) Do it."}]},
    {
        "role": "assistant",
        "parts": [{"type": "text", "text": "Let me see."}, PART, {"type": "text", "text": "It is done."}],
    },
)
TYPES = ("start", "finish", "[DONE]")


def asked(number: int, plan: Plan, *history: HistoryMessage, **more: Any) -> Asked:
    """A request that was answered to its end, one second after the one before."""
    return Asked(number=number, history=history, plan=plan, pieces=plan.piece_count, **more)


def evidence(*later: HistoryMessage, **changes: Any) -> AppEvidence:
    """An uncut run with one call, then a turn in which the model is told this after the history."""
    first = TurnSeen(
        number=1,
        says="(1) Do it.",
        asked=(
            asked(1, FIRST, HISTORY[0], started_at=1.0, ended_at=2.0),
            asked(2, SECOND, *HISTORY, started_at=3.0, ended_at=4.0),
        ),
        reply=ReplySeen(types=TYPES),
        screen=SCREEN,
        **changes,
    )
    second = TurnSeen(
        number=2,
        says="(2) And?",
        asked=(asked(1, Plan(), *later, started_at=5.0, ended_at=6.0),),
        reply=ReplySeen(types=TYPES),
        screen=SCREEN,
    )
    return AppEvidence(case=AppCase(id="a/b", title="t", turns=()), turns=(first, second))


def found(check: str, seen: AppEvidence) -> list[str]:
    """Return the codes that a check finds."""
    assert CHECKS[check].applies(seen)
    return [finding.code for finding in CHECKS[check].find(seen)]


DONE = HistoryMessage(role="assistant", text="It is done.")
ASKS = HistoryMessage(role="user", text="(2) And?")
WHOLE = (*HISTORY, DONE, ASKS)
