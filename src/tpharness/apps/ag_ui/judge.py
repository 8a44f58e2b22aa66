"""What came of a post → findings: the answer by the rules of AG-UI, and the turn after a cut. Pure.

In: answers, and what the page held. Out: findings. What a stream breaks is found by the wire (`wires.ag_ui`); here is
what only somebody sees who posts: status and head, how the body ends, and what a server does with what a page posts
that has left before: half texts, half calls, calls without a result.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tpharness.apps.ag_ui.post import AnswerEnd, PostAnswer
from tpharness.findings import Finding, Kind, Place, shorten
from tpharness.wires.ag_ui.judge import judge_stream
from tpharness.wires.ag_ui.violations import TRUNCATED, VERSION_UNKNOWN

__all__ = [
    "KINDS",
    "LeftCall",
    "asked_of",
    "declared_version",
    "fails_next",
    "judge_answer",
    "judge_busy",
    "judge_declared_version",
    "judge_next",
    "judge_rejected",
    "judge_run_error",
    "left_calls",
    "run_error_of",
    "trouble_of",
    "what_became",
]

REFUSED = Kind("endpoint-input-refused")
ABSENT_REFUSED = Kind("endpoint-absent-refused")
UNKNOWN_REFUSED = Kind("endpoint-unknown-refused")
MINOR_REFUSED = Kind("endpoint-minor-refused")
INTERRUPT_REFUSED = Kind("endpoint-interrupt-refused")
NOT_A_STREAM = Kind("endpoint-not-a-stream")
WITHOUT_END = Kind("endpoint-run-without-end")
LOST = Kind("endpoint-lost")
SILENT = Kind("endpoint-silent")
ENDLESS = Kind("endpoint-endless")
BODY_OPEN = Kind("endpoint-body-open")
BODY_TORN = Kind("endpoint-body-torn")
MALFORMED_TAKEN = Kind("endpoint-malformed-taken")
VERSION_ECHOED = Kind("endpoint-version-echoed")
RUN_FAILED = Kind("endpoint-run-failed")
NEXT_REFUSED = Kind("endpoint-next-refused")
NEXT_FAILED = Kind("endpoint-next-failed")
NEXT_BUSY = Kind("endpoint-next-busy")
CALL_RUN = Kind("endpoint-call-run-unasked")
CALL_ANSWERED = Kind("endpoint-call-answered")
ARGUMENTS_INVENTED = Kind("endpoint-arguments-invented")
MESSAGE_LOST = Kind("endpoint-message-lost")
UNREACHABLE = Kind("endpoint-unreachable")
GONE = Kind("endpoint-gone")

KINDS = (
    REFUSED,
    ABSENT_REFUSED,
    UNKNOWN_REFUSED,
    MINOR_REFUSED,
    INTERRUPT_REFUSED,
    NOT_A_STREAM,
    WITHOUT_END,
    LOST,
    SILENT,
    ENDLESS,
    BODY_OPEN,
    BODY_TORN,
    MALFORMED_TAKEN,
    VERSION_ECHOED,
    RUN_FAILED,
    NEXT_REFUSED,
    NEXT_FAILED,
    NEXT_BUSY,
    CALL_RUN,
    CALL_ANSWERED,
    ARGUMENTS_INVENTED,
    MESSAGE_LOST,
    UNREACHABLE,
    GONE,
)

_TOLD = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftCall:
    """A call of a history that does not have a result; `half` where its arguments are not whole JSON."""

    id: str
    tool: str
    arguments: str

    @property
    def half(self) -> bool:
        """Whether the page had left in its arguments."""
        return not _is_json(self.arguments)


def left_calls(messages: Iterable[Mapping[str, Any]]) -> list[LeftCall]:
    """Return the calls of messages that no message of a tool answers."""
    kept = list(messages)
    answered = {message.get("toolCallId") for message in kept if message.get("role") == "tool"}
    return [
        LeftCall(id=call["id"], tool=call["function"]["name"], arguments=call["function"]["arguments"])
        for message in kept
        for call in message.get("toolCalls") or ()
        if call["id"] not in answered
    ]


# ------------------------------------------------------------------------------------------------ any answer


def trouble_of(answer: PostAnswer) -> Finding | None:
    """Return why nothing can be learned of a case: there was no answer at all."""
    if answer.status:
        return None
    return (GONE if answer.gone else UNREACHABLE).at(Place(), got=answer.problem)


def judge_answer(answer: PostAnswer, *, refused: Kind = REFUSED, side: str = "the answer") -> list[Finding]:
    """Judge the answer to an input that keeps the rules; `refused` is what it is called where it is refused.

    `side` is what the answer is called. A rule of streams is broken in *the answer* whatever was posted, so that one
    mistake of a server is one cause.
    """
    place = Place(side=side)
    if answer.status != 200:
        return [refused.at(place, got=_described(answer))]
    if not answer.is_stream:
        return [NOT_A_STREAM.at(place, got=_described(answer))]
    found = [one for one in judge_stream(answer.data, answer.posted).findings if one.kind != TRUNCATED]
    return [*(one.with_place(side=one.place.side or "the answer") for one in found), *_judge_end(answer, place)]


def _judge_end(answer: PostAnswer, place: Place) -> Iterator[Finding]:
    if answer.end is AnswerEnd.LEFT:
        return
    if answer.end is AnswerEnd.ENDLESS:
        yield ENDLESS.at(place, got=answer.problem)
    elif answer.run_ended:
        if answer.end is not AnswerEnd.ENDED:
            yield (BODY_OPEN if answer.end is AnswerEnd.SILENT else BODY_TORN).at(place, got=answer.problem)
    elif answer.end is AnswerEnd.SILENT:
        yield SILENT.at(place, got=answer.problem)
    elif answer.end is AnswerEnd.LOST:
        yield LOST.at(place, got=answer.problem)
    else:
        last = answer.events[-1].get("type") if answer.events else "no event"
        yield WITHOUT_END.at(place, got=f"the body ends behind {last}")


def judge_rejected(answer: PostAnswer) -> list[Finding]:
    """Judge the answer to an input that is malformed: a status of HTTP refuses it, and no stream begins (rule 86)."""
    refused = 400 <= answer.status < 500
    return [] if refused else [MALFORMED_TAKEN.at(Place(side="the answer"), got=_described(answer))]


def judge_declared_version(
    found: Sequence[Finding], answer: PostAnswer, declared: str | None, asked: str
) -> list[Finding]:
    """Judge whether a server declares its own version to a client of a newer minor one (rule 104).

    `found` is what else was found: a version that is not known here is then that of the client.
    """
    said = declared_version(answer)
    if said != asked or said == declared:
        return list(found)
    message = f"the server declares {said!r} to a client of {asked!r}, and {declared!r} to one of '1.0'"
    echoed = VERSION_ECHOED.at(Place(side="the answer"), message, got=said, expected=declared)
    return [*(one for one in found if one.kind != VERSION_UNKNOWN), echoed]


def declared_version(answer: PostAnswer) -> str | None:
    """Return the version that the first RUN_STARTED of an answer declares, None where it declares none."""
    for event in answer.events:
        if event.get("type") == "RUN_STARTED":
            said = event.get("protocolVersion")
            return said if isinstance(said, str) else None
    return None


def run_error_of(answer: PostAnswer) -> str | None:
    """Return what the last RUN_ERROR says; None where the last run has not failed."""
    ends = [one for one in answer.events if one.get("type") in ("RUN_ERROR", "RUN_FINISHED")]
    return str(ends[-1].get("message", "")) if ends and ends[-1]["type"] == "RUN_ERROR" else None


def asked_of(answer: PostAnswer) -> Sequence[str]:
    """Return the ids of the interrupts with which the last run has ended; none where it does not ask."""
    ends = [one for one in answer.events if one.get("type") in ("RUN_ERROR", "RUN_FINISHED")]
    outcome = ends[-1].get("outcome") if ends else None
    asked = outcome.get("interrupts") if isinstance(outcome, dict) else None
    return [str(one.get("id")) for one in asked if isinstance(one, dict)] if isinstance(asked, list) else []


def judge_run_error(answer: PostAnswer, kind: Kind = RUN_FAILED) -> list[Finding]:
    """Find that a run has failed for which nothing was made wrong; `kind` is what that is called."""
    said = run_error_of(answer)
    return [] if said is None else [kind.at(Place(side="the answer"), got=f"RUN_ERROR: {shorten(said, _TOLD)}")]


def _described(answer: PostAnswer) -> str:
    kind = answer.content_type or "no content type"
    if answer.is_stream:
        kinds = [str(event.get("type")) for event in answer.events]
        return f"{answer.status} {kind}: {', '.join(kinds[:3]) or 'no event'}"
    return f"{answer.status} {kind}: {shorten(' '.join(answer.said.split()), _TOLD)}"


# ------------------------------------------------------------------------------------------------ the turn after


def fails_next(answer: PostAnswer) -> bool:
    """Whether the turn after a cut was refused, or has failed."""
    return bool(answer.status) and (not answer.is_stream or run_error_of(answer) is not None)


def judge_busy(first: PostAnswer) -> Finding:
    """Find that the turn after a cut has failed, and a moment later does not any more."""
    said = run_error_of(first) if first.is_stream else _described(first)
    return NEXT_BUSY.at(Place(side="the turn after"), got=shorten(str(said), _TOLD))


def judge_next(answer: PostAnswer, posted: Mapping[str, Any], returned: Mapping[str, Sequence[Any]]) -> list[Finding]:
    """Judge the turn after a cut; `returned` has what each tool has returned before, by its name."""
    side = "the turn after"
    found = judge_answer(answer, refused=NEXT_REFUSED, side=side)
    if not answer.is_stream:
        return found
    place = Place(side=side)
    said = run_error_of(answer)
    if said is not None:
        found.append(NEXT_FAILED.at(place, got=shorten(said, _TOLD)))
    snapshot = _snapshot(answer)
    for call in left_calls(posted["messages"]):
        found += _judge_left_call(call, answer, returned.get(call.tool, ()), snapshot, place)
    if snapshot is not None:
        words = [message.get("content") for message in posted["messages"] if message.get("role") == "user"]
        kept = [message.get("content") for message in snapshot if message.get("role") == "user"]
        if words and words[-1] not in kept:
            found.append(MESSAGE_LOST.at(place, got=kept, expected=words[-1]))
    return found


def _judge_left_call(
    call: LeftCall,
    answer: PostAnswer,
    returned: Sequence[Any],
    snapshot: Sequence[Mapping[str, Any]] | None,
    place: Place,
) -> Iterator[Finding]:
    for number, event in enumerate(answer.events):
        if event.get("type") == "TOOL_CALL_RESULT" and event.get("toolCallId") == call.id:
            at = Place(side=place.side, event=number)
            content = event.get("content")
            words = f"{call.tool}, which the page had left"
            if content in returned:
                yield CALL_RUN.at(at, f"the turn after runs the call {call.id!r} of {words}, unasked", got=content)
            else:
                yield CALL_ANSWERED.at(at, f"the turn after answers the call {call.id!r} of {words}", got=content)
            break
    held = _call_in(snapshot or (), call.id)
    if call.half and call.arguments and held is not None and held != call.arguments and _is_json(held):
        yield ARGUMENTS_INVENTED.at(place, got=held, expected=f"{call.arguments} (cut here)")


def what_became(answer: PostAnswer, posted: Mapping[str, Any], returned: Mapping[str, Sequence[Any]]) -> str:
    """Say in a line what the turn after makes of what the page had left, as far as the wire shows it."""
    snapshot = _snapshot(answer)
    codes = {finding.code for finding in judge_next(answer, posted, returned)}
    fates = []
    for call in left_calls(posted["messages"]):
        name = f"the {'half call' if call.half else 'call without a result'} {call.tool}({shorten(call.arguments, 60)})"
        if CALL_RUN.code in codes:
            fates.append(f"{name} is run unasked")
        elif CALL_ANSWERED.code in codes:
            fates.append(f"{name} is answered by the server")
        elif fails_next(answer):
            fates.append(f"{name} is in the way: the next run fails")
        elif snapshot is None:
            fates.append(f"{name}: the wire does not show what became of it")
        else:
            fates.append(f"{name} {_fate(call, snapshot)}")
    return "; ".join(fates)


def _fate(call: LeftCall, snapshot: Sequence[Mapping[str, Any]]) -> str:
    held = _call_in(snapshot, call.id)
    if held is None:
        return "is forgotten"
    answered = any(message.get("toolCallId") == call.id for message in snapshot)
    if held != call.arguments:
        return f"is mended to {shorten(held, 60)}"
    return "is mended: it has a made-up result" if answered else "stays as it was"


def _snapshot(answer: PostAnswer) -> Sequence[Mapping[str, Any]] | None:
    """Return the messages of the last MESSAGES_SNAPSHOT, None where there is none."""
    for event in reversed(answer.events):
        if event.get("type") == "MESSAGES_SNAPSHOT" and isinstance(event.get("messages"), list):
            return [message for message in event["messages"] if isinstance(message, dict)]
    return None


def _call_in(messages: Iterable[Mapping[str, Any]], call_id: str) -> str | None:
    """Return the arguments of a call in a snapshot, None where it does not have the call."""
    for message in messages:
        for call in message.get("toolCalls") or ():
            if isinstance(call, dict) and call.get("id") == call_id and isinstance(call.get("function"), dict):
                return str(call["function"].get("arguments", ""))
    return None


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
