"""Trouble: an application that cannot be judged, each way with an outcome and a remedy of its own.

In: evidence of a first turn. Out: one finding that says what the application did instead of asking its model, or None.
"""

from __future__ import annotations

from tpharness.apps.checks.alive import describe
from tpharness.apps.checks.contract import at
from tpharness.apps.client import End
from tpharness.apps.evidence import AppEvidence, ReplySeen, TurnSeen, shown_text
from tpharness.findings import Finding, Kind, shorten

__all__ = ["KINDS", "find_trouble", "turn_trouble"]

_VARIABLES = (
    "is OPENAI_BASE_URL (or ANTHROPIC_BASE_URL, GOOGLE_GEMINI_BASE_URL) read where the model is made, and no gateway"
    " between?"
)

UNREACHABLE = Kind("app-unreachable")
SILENT = Kind("app-silent")
ENDLESS = Kind("app-endless")
UNAUTHORISED = Kind("app-unauthorised")
REDIRECTED = Kind("app-redirects")
NOT_A_STREAM = Kind("answer-not-a-stream")
REQUEST_REFUSED = Kind("request-refused")
APP_FAILED = Kind("app-failed")
NEVER_ASKED = Kind("model-never-asked")
ASKED_ELSEWHERE = Kind("model-asked-elsewhere")
CACHED = Kind("answer-cached")
MARK_STRIPPED = Kind("mark-stripped")
UNKNOWN_API = Kind("model-api-unknown")
KINDS = (
    UNREACHABLE,
    SILENT,
    ENDLESS,
    UNAUTHORISED,
    REDIRECTED,
    NOT_A_STREAM,
    REQUEST_REFUSED,
    APP_FAILED,
    NEVER_ASKED,
    ASKED_ELSEWHERE,
    CACHED,
    MARK_STRIPPED,
    UNKNOWN_API,
)


def find_trouble(evidence: AppEvidence) -> Finding | None:
    """Return why a case could not be judged: its first turn never reached the model, or a stream does not end."""
    for turn in evidence.turns:
        if turn.reply is not None and turn.reply.end in (End.OPEN, End.ENDLESS) and turn.asked:
            return ENDLESS.at(at(turn), got=describe(turn.reply), expected="the end of the stream")
    if not evidence.turns or evidence.turns[0].asked:
        return None
    return turn_trouble(evidence.turns[0], earlier=evidence.planned)


def turn_trouble(turn: TurnSeen, *, earlier: tuple[str, ...] = ()) -> Finding:
    """Return what an application did in a turn that did not reach the model; `earlier` is what the model has said."""
    reply = turn.reply
    if turn.others:
        return MARK_STRIPPED.at(at(turn), got=f"{turn.others} requests without the token")
    if turn.strays:
        return UNKNOWN_API.at(at(turn), got=", ".join(turn.strays[:3]), expected="such as POST /v1/chat/completions")
    if reply is None or not reply.status:
        silent = reply is not None and (reply.end is End.OPEN or reply.problem.startswith("no answer"))
        return (SILENT if silent else UNREACHABLE).at(at(turn), got=describe(reply))
    kind = _by_status(reply) or _by_answer(turn, reply, earlier)
    return kind.at(at(turn), got=describe(reply), expected="a request to the model")


def _by_status(reply: ReplySeen) -> Kind | None:
    if reply.status in (401, 403):
        return UNAUTHORISED
    if 300 <= reply.status < 400:
        return REDIRECTED
    if 400 <= reply.status < 500:
        return REQUEST_REFUSED
    return APP_FAILED if reply.status >= 500 else None


def _by_answer(turn: TurnSeen, reply: ReplySeen, earlier: tuple[str, ...]) -> Kind:
    if reply.content_type != "text/event-stream":
        return NOT_A_STREAM
    text = shown_text(turn.screen).strip()
    if text and any(text in said or said in text for said in earlier if said):
        return CACHED
    if text and "error" not in reply.types:
        return ASKED_ELSEWHERE
    if reply.end in (End.OPEN, End.ENDLESS):
        return SILENT
    return APP_FAILED if shorten(reply.refused) else NEVER_ASKED
