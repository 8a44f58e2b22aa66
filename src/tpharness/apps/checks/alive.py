"""alive: after whatever happened, the next message of the user reaches the model.

A message that is written while a run goes on may be refused with a status that says so (`AppEvidence.turned_away`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tpharness.apps.checks.contract import AppCheck, at
from tpharness.apps.evidence import AppEvidence, ReplySeen, TurnSeen
from tpharness.findings import Finding, Kind, shorten
from tpharness.printable import counted

__all__ = ["CHECK", "describe"]

BRICKED = Kind("chat-bricked")
TURN_FAILED = Kind("next-turn-failed")
_ERROR, _LOCKED = 400, (409, 423)  # conflict, locked
_RUN_IS_ACTIVE = re.compile(
    r"\b(run|stream|generation|request|response|chat|thread|conversation)\b.{0,40}"
    r"\b(active|in progress|running|busy|locked|ongoing)\b",
    re.IGNORECASE,
)
_UNLOCK = (
    "release the lock of the run when its client leaves, when it is stopped and when it fails, as in `finally` around "
    "the run; or stop the old run when the next message comes"
)


def find(evidence: AppEvidence) -> Iterator[Finding]:
    """Yield a finding for the first later turn without a request to the model."""
    lost = [turn for turn in evidence.later_turns if not turn.asked and turn not in evidence.turned_away]
    if lost:
        kind = BRICKED if not evidence.turns[-1].asked else TURN_FAILED
        advice = _UNLOCK if _says_run_is_active(lost[0]) else ""
        yield kind.at(at(lost[0]), got=describe(lost[0].reply), expected="a request to the model", advice=advice)


def _says_run_is_active(turn: TurnSeen) -> bool:
    """Whether a message was refused since a run is said to go on, by the status or in words."""
    reply = turn.reply
    if reply is None or reply.is_stream:
        return False
    return reply.status in _LOCKED or (reply.status >= _ERROR and _RUN_IS_ACTIVE.search(reply.body) is not None)


def describe(reply: ReplySeen | None) -> str:
    """Say in one line what the application answered its client."""
    if reply is None or not reply.status:
        why = (reply.problem or "it was waited for in vain") if reply is not None else "nothing was sent"
        return f"no answer: {why}"
    if reply.refused and reply.is_stream:
        return f"the stream says: {shorten(reply.refused, 200)}"
    said = f": {shorten(reply.body, 200)}" if not reply.is_stream and reply.body else ""
    events = f" with {counted(len(reply.types), 'event')}" if reply.is_stream else ""
    return f"status {reply.status}, {reply.content_type or 'no content type'}{events}{said}"


CHECK = AppCheck(
    name="alive",
    clause="app.alive",
    kinds=(BRICKED, TURN_FAILED),
    find=find,
    applies=lambda evidence: len(evidence.turns) > 1,
)
