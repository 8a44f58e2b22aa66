"""stream-valid: the client's stream keeps its order and form, and neither a failure nor a stop looks like an end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tpharness.apps.cases.case import CutBy
from tpharness.apps.checks.contract import AppCheck, at
from tpharness.apps.client import End
from tpharness.apps.evidence import AppEvidence, ReplySeen, TurnSeen
from tpharness.apps.provider.exchange import ExchangeOutcome
from tpharness.findings import Finding, Kind, Level
from tpharness.printable import counted

__all__ = ["CHECK"]

REFUSED = Kind("stream-refused")
IRREGULAR = Kind("stream-irregular")
FAILURE_AS_FINISH = Kind("failure-as-finish")
FAILURE_UNSAID = Kind("failure-unsaid")
STOP_AS_FINISH = Kind("stop-as-finish")
_ERROR_REASONS = ("error", "other", "interrupted")


def find(evidence: AppEvidence) -> Iterator[Finding]:
    """Yield what is wrong with the streams, and failures that the client is not sent."""
    for turn in evidence.turns:
        taken_up = turn.resumed
        if taken_up is not None and taken_up.is_stream and taken_up.refused and not taken_up.reports_error:
            yield REFUSED.at(at(turn, what="the stream that the reloaded page takes up"), got=taken_up.refused)
        reply = turn.reply
        if reply is None:
            continue
        place = at(turn, what="the client's stream")
        if reply.refused and not reply.reports_error:
            yield REFUSED.at(place, got=reply.refused)
        else:
            irregular = {f.code: f for f in reversed(reply.findings) if f.level is not Level.MAY}
            for code, finding in reversed(irregular.items()):
                where = replace(place, event=finding.place.event)
                said, to_do = f"{code}: {finding.message}", f"{finding.remedy} (`tpharness explain {code}`)"
                yield IRREGULAR.at(where, said, got=finding.got, expected=finding.expected, advice=to_do)
        yield from _failure(turn)
        yield from _stopped(turn)


def _failure(turn: TurnSeen) -> Iterator[Finding]:
    reply = turn.reply
    last = turn.asked[-1] if turn.asked else None
    if reply is None or last is None or last.outcome is not ExchangeOutcome.BROKEN or reply.end is End.LEFT:
        return
    interrupted = _says_interrupted(reply)
    if not reply.is_stream:
        failed = reply.status >= 400 or reply.end is not End.ENDED
        if not failed:
            yield FAILURE_UNSAID.at(at(turn), got=f"status {reply.status}, {reply.content_type}", expected="an error")
    elif "finish" in reply.types and not interrupted:  # it completes the answer, also behind an error chunk (R27)
        reason = reply.finish_reason
        got = "a finish without a reason" if reason is None else f"a finish with the reason {reason}"
        expected = "an error chunk and no finish, or a finish with the reason error"
        yield FAILURE_AS_FINISH.at(at(turn), got=got, expected=expected)
    elif "error" not in reply.types and not interrupted and reply.end is not End.REFUSED:
        yield FAILURE_UNSAID.at(
            at(turn), got=f"{counted(len(reply.types), 'chunk')}, then the end", expected="an error chunk"
        )


def _stopped(turn: TurnSeen) -> Iterator[Finding]:
    """Yield an ordinary finish of a run that the stop button has ended: its model or its tools were held meanwhile."""
    reply, cut = turn.reply, turn.cut
    if reply is None or cut is None or cut.cut.by is not CutBy.STOP or cut.asked_after:
        return
    if reply.is_stream and "finish" in reply.types and not _says_interrupted(reply):
        reason = "without a reason" if reply.finish_reason is None else f"with the reason {reply.finish_reason}"
        expected = "an abort chunk and no finish, or the end of the stream"
        yield STOP_AS_FINISH.at(at(turn, what="the client's stream"), got=f"a finish {reason}", expected=expected)


def _says_interrupted(reply: ReplySeen) -> bool:
    return "abort" in reply.types or reply.finish_reason in _ERROR_REASONS


CHECK = AppCheck(
    name="stream-valid",
    clause="app.stream-valid",
    kinds=(REFUSED, IRREGULAR, FAILURE_AS_FINISH, FAILURE_UNSAID, STOP_AS_FINISH),
    find=find,
    applies=lambda evidence: any(turn.reply is not None and turn.reply.status for turn in evidence.turns),
)
