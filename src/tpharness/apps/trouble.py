"""Trouble: why an application cannot be judged. Each reason has its own outcome and remedy.

In: evidence of a case. Out: one finding that says what the application did instead of asking its model, or what makes
its requests unreadable; None if it can be judged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from tpharness.apps.cases.case import CutBy
from tpharness.apps.checks.after_leaving import STOP_REFUSED
from tpharness.apps.checks.alive import describe
from tpharness.apps.checks.contract import at
from tpharness.apps.checks.truth import args_of
from tpharness.apps.checks.view import unreadable_view
from tpharness.apps.client import End
from tpharness.apps.evidence import AppEvidence, ReplySeen, TurnSeen, shown_text
from tpharness.apps.marks import marks_in
from tpharness.findings import Finding, Kind, shorten
from tpharness.model_apis.plan import Call
from tpharness.printable import counted

__all__ = ["KINDS", "find_trouble", "misread_run", "turn_trouble", "unread_answer"]

_OK = 200
_NO_SUCH_ADDRESS = (404, 405)

UNREACHABLE = Kind("app-unreachable")
SILENT = Kind("app-silent")
ENDLESS = Kind("app-endless")
UNAUTHORISED = Kind("app-unauthorised")
REDIRECTED = Kind("app-redirects")
NOT_FOUND = Kind("app-not-found")
NOT_A_STREAM = Kind("answer-not-a-stream")
REQUEST_REFUSED = Kind("request-refused")
APP_FAILED = Kind("app-failed")
NEVER_ASKED = Kind("model-never-asked")
ASKED_ELSEWHERE = Kind("model-asked-elsewhere")
CACHED = Kind("answer-cached")
MARK_STRIPPED = Kind("mark-stripped")
UNKNOWN_API = Kind("model-api-unknown")
CHATS_MIXED = Kind("chats-mixed")
IDS_CHANGED = Kind("call-ids-changed")
MISREAD = Kind("profile-misreads")
KINDS = (
    UNREACHABLE,
    SILENT,
    ENDLESS,
    UNAUTHORISED,
    REDIRECTED,
    NOT_FOUND,
    NOT_A_STREAM,
    REQUEST_REFUSED,
    APP_FAILED,
    NEVER_ASKED,
    ASKED_ELSEWHERE,
    CACHED,
    MARK_STRIPPED,
    UNKNOWN_API,
    CHATS_MIXED,
    IDS_CHANGED,
    MISREAD,
)


def find_trouble(evidence: AppEvidence) -> Finding | None:
    """Return why a case could not be judged, None if it could.

    The first turn has to reach the model. Of later turns a check judges it, unless something else has answered them.
    """
    for turn in evidence.turns:
        if turn.reply is not None and turn.reply.end in (End.OPEN, End.ENDLESS) and turn.asked:
            return ENDLESS.at(at(turn), got=describe(turn.reply), expected="the end of the stream")
    if not evidence.turns:
        return None
    if not evidence.turns[0].asked:
        return turn_trouble(evidence.turns[0], earlier=evidence.planned)
    cut = evidence.turns[-1].cut
    if len(evidence.turns) < len(evidence.case.turns) and cut is not None and cut.answered is not None:
        return unreadable_view(cut.answered)  # it is not known which messages the user would continue
    unreadable = _wrong_address(evidence) or _mixed_chats(evidence) or _changed_ids(evidence)
    return unreadable or next(filter(None, (_other_answer(turn, evidence) for turn in evidence.later_turns)), None)


def _wrong_address(evidence: AppEvidence) -> Finding | None:
    """Return a finding where the address of the stop button or of the reloaded page does not exist: nothing was cut."""
    for turn in evidence.turns:
        answered = turn.cut.answered if turn.cut is not None else None
        if turn.cut is None or answered is None or answered.status not in _NO_SUCH_ADDRESS:
            continue
        if turn.cut.cut.by in (CutBy.STOP, CutBy.STOP_AND_WRITE, CutBy.STOP_FIRST):
            got = f"status {answered.status}: {shorten(answered.text, 200)}"
            return STOP_REFUSED.at(at(turn), got=got, expected="an address that exists")
        return unreadable_view(answered)
    return None


def _mixed_chats(evidence: AppEvidence) -> Finding | None:
    """Return a finding for the first request that mixes messages of several cases: each case is a separate chat."""
    for turn, asked in evidence.asked:
        texts = [message.text for message in asked.history if message.role == "user"]
        if len(marks_in("\n".join(texts))) > 1:
            place = at(turn, request=asked.number)
            return CHATS_MIXED.at(place, got=texts, expected="the messages of one chat")
    return None


def _changed_ids(evidence: AppEvidence) -> Finding | None:
    """Return a finding for the first call that is sent back under another id, with the same tool and arguments."""
    made: dict[str, Call] = {}
    for turn, asked in evidence.asked:
        sent_ids = {call.call_id for call in asked.sent_calls()}
        missing = [call for call_id, call in made.items() if call_id not in sent_ids and args_of(call) is not None]
        made |= {call.call_id: call for call in asked.called}
        for sent in (sent for sent in asked.sent_calls() if sent.call_id not in made):
            for call in missing:
                if (call.name, args_of(call)) == (sent.name, sent.args):
                    place = at(turn, request=asked.number)
                    return IDS_CHANGED.at(place, got=sent.call_id, expected=call.call_id)
    return None


def _other_answer(turn: TurnSeen, evidence: AppEvidence) -> Finding | None:
    """Return why a later turn was answered, and well, without a request of the case; None where it simply failed."""
    reply = turn.reply
    if turn.asked or reply is None or not reply.is_stream or "error" in reply.types or not _answer(turn):
        return None
    trouble = turn_trouble(turn, earlier=evidence.planned)
    return trouble if trouble.kind in (MARK_STRIPPED, UNKNOWN_API, CACHED) else None


def _answer(turn: TurnSeen) -> str:
    """Return the text on the screen that answers the last message of the user."""
    users = [index for index, message in enumerate(turn.screen) if message.get("role") == "user"]
    return shown_text(turn.screen[users[-1] :] if users else turn.screen).strip()


def turn_trouble(turn: TurnSeen, *, earlier: tuple[str, ...] = ()) -> Finding:
    """Return what an application did in a turn that did not reach the model; `earlier` is what the model has said."""
    reply = turn.reply
    if turn.others:
        return MARK_STRIPPED.at(at(turn), got=f"{counted(turn.others, 'request')} without the token")
    if turn.strays:
        return UNKNOWN_API.at(at(turn), got=", ".join(turn.strays[:3]), expected="such as POST /v1/chat/completions")
    if reply is None or not reply.status:
        silent = reply is not None and (reply.end is End.OPEN or reply.problem.startswith("no answer"))
        return (SILENT if silent else UNREACHABLE).at(at(turn), got=describe(reply))
    kind = _by_status(reply) or _by_answer(turn, reply, earlier)
    return kind.at(at(turn), got=describe(reply), expected="a request to the model")


def unread_answer(turn: TurnSeen) -> Finding | None:
    """Return that an answer which reached the model is not a stream that the client reads; None if it is one.

    Nothing could be said of what its user sees.
    """
    reply = turn.reply
    if reply is None or reply.status != _OK or reply.is_read:
        return None
    text = ', or history = "ai-sdk-text", which reads plain text' if reply.content_type == "text/plain" else ""
    return NOT_A_STREAM.at(at(turn), got=describe(reply), expected=f"text/event-stream{text}")


def misread_run(evidence: AppEvidence, codes: Iterable[str]) -> Finding:
    """Return that a run which nobody cut fails under a request profile of the user: what the profile left unread."""
    unread: Counter[str] = Counter()
    for turn in evidence.turns:
        unread.update(turn.reply.unread if turn.reply is not None else {})
    left = ", ".join(f"{count} {name}" for name, count in unread.most_common(8)) or "no event"
    got = f"{', '.join(sorted(codes))} where nothing was cut; the profile left unread: {left}"
    return MISREAD.at(at(evidence.turns[0]), got=got, expected="an uncut run without a finding")


def _by_status(reply: ReplySeen) -> Kind | None:
    if reply.status in (401, 403):
        return UNAUTHORISED
    if 300 <= reply.status < 400:
        return REDIRECTED
    if reply.status in (404, 405):
        return NOT_FOUND
    if 400 <= reply.status < 500:
        return REQUEST_REFUSED
    return APP_FAILED if reply.status >= 500 else None


def _by_answer(turn: TurnSeen, reply: ReplySeen, earlier: tuple[str, ...]) -> Kind:
    if not reply.is_read:
        return NOT_A_STREAM
    text = _answer(turn)
    if text and any(text in said or said in text for said in earlier if said):
        return CACHED
    if reply.end in (End.OPEN, End.ENDLESS):
        return ENDLESS if text else SILENT
    if text and "error" not in reply.types:
        return ASKED_ELSEWHERE
    return APP_FAILED if shorten(reply.refused) else NEVER_ASKED
