"""Evidence: what was seen of an application in one case. Frozen; the checks read it and nothing else.

Times are seconds of one clock. The provider knows what the model has said; the client knows what the user has seen;
what the application sent to the model in between is in each request.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from tpharness.apps.cases.case import TOGETHER, AppCase, Cut
from tpharness.apps.client import End, Fetched, Reply, is_tool_part, text_of
from tpharness.apps.effects import ToolRunSeen
from tpharness.apps.provider.exchange import Exchange, ExchangeOutcome
from tpharness.findings import Finding
from tpharness.model_apis.messages import HistoryCall, HistoryMessage, HistoryResult
from tpharness.model_apis.plan import Call, Finish, Plan
from tpharness.model_apis.registry import FALLBACK

__all__ = [
    "AppEvidence",
    "Asked",
    "CutSeen",
    "ReplySeen",
    "Shown",
    "StreamSeen",
    "TurnSeen",
    "has_seen",
    "shown_calls",
    "shown_outputs",
    "shown_text",
    "shows_running",
    "streams_of",
    "with_late_requests",
]


_BUSY = (409, 423, 429)  # conflict, locked, too many requests


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request to the model, and how far it was answered. `number` counts the requests of its turn from 1."""

    number: int
    api: str = FALLBACK.name
    history: tuple[HistoryMessage, ...] = ()
    tools: Mapping[str, Any] = field(default_factory=dict)
    refusals: tuple[Finding, ...] = ()
    status: int = 200
    outcome: ExchangeOutcome = ExchangeOutcome.COMPLETED
    plan: Plan | None = None
    pieces: int = 0
    started_at: float = 0.0
    ended_at: float | None = None
    unplanned: bool = False
    is_retry: bool = False
    body: Any = None
    agent: str = ""
    content_type: str = ""
    written: tuple[bytes, ...] = ()
    held_at: int | None = None

    @classmethod
    def of(cls, exchange: Exchange, number: int) -> Asked:
        """Take what an exchange holds now."""
        return cls(
            number=number,
            api=exchange.api,
            history=exchange.history,
            tools=exchange.tools,
            refusals=exchange.refusals,
            status=exchange.status,
            outcome=exchange.outcome,
            plan=exchange.plan,
            pieces=exchange.pieces_written,
            started_at=exchange.started_at,
            ended_at=exchange.ended_at,
            unplanned=exchange.unplanned,
            is_retry=exchange.retry_of is not None,
            body=exchange.body,
            agent=exchange.agent,
            content_type=exchange.content_type,
            written=tuple(exchange.written),
            held_at=exchange.held_at,
        )

    @property
    def said(self) -> str:
        """The text that the model has said in its answer."""
        return self.plan.text_until(self.pieces) if self.plan is not None else ""

    @property
    def thought(self) -> str:
        """What the model has thought in its answer."""
        return self.plan.thinking_until(self.pieces) if self.plan is not None else ""

    @property
    def called(self) -> tuple[Call, ...]:
        """The calls of the answer, the last one perhaps cut in its arguments."""
        return self.plan.calls_until(self.pieces) if self.plan is not None else ()

    @property
    def is_whole(self) -> bool:
        """Whether the model came to the end of its answer: it was not cut, by a limit or a filter neither."""
        cut = self.plan is not None and self.plan.finish in (Finish.LENGTH, Finish.CONTENT_FILTER, Finish.ERROR)
        return self.outcome is ExchangeOutcome.COMPLETED and not cut

    @property
    def complete_calls(self) -> tuple[Call, ...]:
        """The calls that the model has made: those of a whole answer whose arguments came to their end."""
        return self.called if self.is_whole else ()

    def sent_calls(self) -> Iterator[HistoryCall]:
        """Yield the calls in the history of the request."""
        for message in self.history:
            yield from message.calls

    def sent_results(self) -> Iterator[HistoryResult]:
        """Yield the results in the history of the request."""
        for message in self.history:
            yield from message.results


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplySeen:
    """The answer that the client got; the fields are those of `Reply`, `types` are the types of its chunks.

    `is_read` says whether the client reads answers of this kind; `unread` counts the events that its profile gave no
    chunk for, by their types.
    """

    status: int = 200
    content_type: str = "text/event-stream"
    location: str = ""
    body: str = ""
    end: End = End.ENDED
    problem: str = ""
    refused: str = ""
    reports_error: bool = False
    finish_reason: str | None = None
    types: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    is_read: bool = True
    unread: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, reply: Reply) -> ReplySeen:
        """Take what a reply holds now."""
        return cls(
            status=reply.status,
            content_type=reply.content_type,
            location=reply.location,
            body=reply.body.decode("utf-8", "replace"),
            end=reply.end,
            problem=reply.problem,
            refused=reply.refused,
            reports_error=reply.reports_error,
            finish_reason=reply.finish_reason,
            types=tuple(chunk.type for chunk in reply.chunks),
            findings=tuple(reply.findings),
            is_read=reply.is_stream,
            unread=dict(reply.unread),
        )

    @property
    def is_stream(self) -> bool:
        """Whether it is a stream that the client reads, with something in it."""
        return self.status == 200 and self.is_read and bool(self.types)


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamSeen:
    """A stream as a client got it, event by event; the fields are those of `Reply`.

    `says` is the message of the user that it answers, empty where it goes on; `repeats` whether it begins again with
    the answer that the stream before it was left in. `begun`, `over` and the times of `events` are ISO 8601.
    """

    says: str
    begun: str
    over: str
    end: End
    events: tuple[tuple[str, bytes], ...] = ()
    repeats: bool = False

    @classmethod
    def of(cls, reply: Reply) -> StreamSeen:
        """Take what a reply holds now."""
        return cls(
            says=reply.says,
            begun=reply.begun,
            over=reply.over or reply.begun,
            end=reply.end,
            events=tuple(reply.events),
            repeats=reply.repeats,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CutSeen:
    """A cut as it was made: `at`, the `pieces` that the model had said, and what came after.

    `lag` is how long the client's stream took to be quiet; `left_after` the seconds until the application left the
    model's answer, None if it read on; `pieces_after` what was said to it afterwards, `asked_after` its later requests;
    `answered` is what the stop button or the reloaded page got, None without its address; `tools` says what became of
    tools that the ledger held, empty without any.
    """

    cut: Cut
    at: float = 0.0
    pieces: int = 0
    lag: float = 0.0
    left_after: float | None = None
    pieces_after: int = 0
    asked_after: int = 0
    answered: Fetched | None = None
    tools: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnSeen:
    """One turn: the user's words, the requests it led to, the answer, the screen afterwards, runs of tools so far.

    After a reload `left` is the page before it, `page` the messages of the new one where it was loaded to answer a
    request for approval, None otherwise, and `resumed` what the new page got of the answer that still streamed.
    `runs` is the count of the effects command after the turn, None without one. `view` is what the address `thread`
    answered after the turn, None without that address. `others` are requests to the model
    during the turn that could not be given to any case, `strays` those to addresses that no model API has.
    """

    number: int
    says: str
    asked: tuple[Asked, ...] = ()
    reply: ReplySeen | None = None
    cut: CutSeen | None = None
    screen: tuple[Mapping[str, Any], ...] = ()
    left: tuple[Mapping[str, Any], ...] = ()
    page: tuple[Mapping[str, Any], ...] | None = None
    resumed: ReplySeen | None = None
    runs: int | None = None
    view: Fetched | None = None
    others: int = 0
    strays: tuple[str, ...] = ()

    @property
    def is_refused_as_busy(self) -> bool:
        """Whether the application refused the message with a status that says that it is busy."""
        return not self.asked and self.reply is not None and self.reply.status in _BUSY


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What the user was shown of a call; `output` is its result, None without one.

    `approved` is what the user answered a request to approve the call, False also while there is no answer; None where
    nobody was asked.
    """

    call_id: str
    name: str
    state: str
    has_result: bool
    output: Any = None
    approved: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AppEvidence:
    """Everything that was seen in a case.

    `trims` is what the application is declared to leave out of a long chat: "messages" are the oldest ones, "tools" the
    calls of earlier turns. `runs_before` is the count of the effects command before the first turn; `tool_runs` are
    those that the ledger has seen, None without it; `streams` are those of all clients, in the order in which they
    began; `differences` says where a real client posts or holds something else than ours would; `shows_answers` is
    whether the application was seen to show its user an answer of the model word for word, before any case, and
    `goes_on` whether it was seen to ask the model again when a tool had returned, `tells_references` whether it then
    sent the model the reference of the ledger's run, `known_result` what it sent as the result, None before any run.
    `outcome_unknown` are the texts by which it says that nobody knows whether a tool has run; `beside` is another chat
    of the same user, whose answers overlap; `shows_calls` is whether the wire between page and application has calls at
    all, where the page keeps the history; `posts` are the bodies of all posts, in order, none where a real client
    posts, and `chat_id` is the chat's id in them.
    """

    case: AppCase
    turns: tuple[TurnSeen, ...]
    on_disconnect: str | None = None
    trims: tuple[str, ...] = ()
    stop_within: float = 1.0
    runs_before: int | None = None
    tool_runs: tuple[ToolRunSeen, ...] | None = None
    streams: tuple[StreamSeen, ...] = ()
    differences: tuple[str, ...] = ()
    shows_answers: bool = False
    goes_on: bool = False
    tells_references: bool = False
    known_result: str | None = None
    outcome_unknown: tuple[str, ...] = ()
    beside: AppEvidence | None = None
    shows_calls: bool = True
    posts: tuple[bytes, ...] = ()
    chat_id: str = ""

    @property
    def view(self) -> Fetched | None:
        """What the application shows after a reload when the case is over, None where that is not known."""
        return self.turns[-1].view if self.turns else None

    @property
    def trims_messages(self) -> bool:
        """Whether the model may be sent only the end of the chat."""
        return self.case.long or "messages" in self.trims

    @property
    def planned(self) -> tuple[str, ...]:
        """The texts of the model in the plans of the case."""
        return tuple(plan.text for turn in self.case.turns for plan in turn.plans if plan.text)

    @property
    def asked(self) -> Iterator[tuple[TurnSeen, Asked]]:
        """Every request to the model with its turn, in the order in which they came."""
        found = [(turn, asked) for turn in self.turns for asked in turn.asked]
        yield from sorted(found, key=lambda one: one[1].started_at)

    @property
    def following(self) -> tuple[TurnSeen, Asked] | None:
        """The first request of a later turn that came when every earlier turn was over, None where none came."""
        for turn in self.later_turns:
            earlier = [asked for one in self.turns if one.number < turn.number for asked in one.asked]
            over = max((asked.ended_at or asked.started_at for asked in earlier), default=0.0)
            for asked in turn.asked:
                if asked.started_at >= over:
                    return turn, asked
        return None

    @property
    def followings(self) -> Sequence[tuple[TurnSeen, Asked]]:
        """Where it is looked for what was kept: `following`; in a long chat and one that branches, in every turn.

        There a later turn has to know what came before, too.
        """
        first = self.following
        if first is None or not (self.case.long or any(map(self.replaced, self.turns))):
            return [] if first is None else [first]
        return [(turn, turn.asked[0]) for turn in self.later_turns if turn.asked]

    def branch(self, turn: TurnSeen) -> Sequence[TurnSeen]:
        """Return the turns that make the chat up to one of them, without those that the user has replaced."""
        kept: list[TurnSeen] = []
        for one in self.turns[: turn.number]:
            for planned in self.case.turns[one.number - 1 : one.number]:
                if planned.edits is not None:
                    kept = [other for other in kept if other.number < planned.edits]
                elif planned.again:
                    kept = kept[:-1]
            kept.append(one)
        return kept

    def replaced(self, turn: TurnSeen) -> Sequence[TurnSeen]:
        """Return the turns that the user had replaced when one was over: edited, or answered anew."""
        kept = {one.number for one in self.branch(turn)}
        return [one for one in self.turns[: turn.number] if one.number not in kept]

    @property
    def later_turns(self) -> Sequence[TurnSeen]:
        """The turns after the first."""
        return self.turns[1:]

    @property
    def meanwhile(self) -> Sequence[TurnSeen]:
        """The turns whose message was written while the run of the turn before went on."""
        pairs = pairwise(self.turns)
        return [later for earlier, later in pairs if earlier.cut is not None and earlier.cut.cut.by in TOGETHER]

    @property
    def turned_away(self) -> Sequence[TurnSeen]:
        """Those of `meanwhile` whose message the application refused with a status that says that it is busy."""
        return [one for one in self.meanwhile if one.is_refused_as_busy]

    @property
    def refused_as_busy(self) -> Sequence[TurnSeen]:
        """The turns that were refused so, also where no run should go on any more: their message is not in the chat."""
        return [one for one in self.turns if one.is_refused_as_busy]


def streams_of(replies: Iterable[Reply]) -> tuple[StreamSeen, ...]:
    """Return the streams among answers in the order in which they began."""
    ordered = sorted(replies, key=lambda reply: reply.posted_at)
    return tuple(StreamSeen.of(reply) for reply in ordered if reply.is_stream)


def shown_text(messages: Sequence[Mapping[str, Any]]) -> str:
    """Return the assistant's texts on a screen, joined."""
    return "".join(text_of(message) for message in messages if message.get("role") == "assistant")


def shown_calls(messages: Sequence[Mapping[str, Any]]) -> list[Shown]:
    """Return the calls on a screen, in order."""
    return [
        Shown(
            call_id=str(part.get("toolCallId")),
            name=str(part.get("toolName") or str(part.get("type")).removeprefix("tool-")),
            state=str(part.get("state")),
            has_result=str(part.get("state")).startswith("output-"),
            output=part.get("output"),
            approved=_approved(part.get("approval")),
        )
        for message in messages
        for part in message.get("parts", ())
        if is_tool_part(part)
    ]


def _approved(approval: Any) -> bool | None:
    """Return what the user answered a request for approval; None where the application answers it itself."""
    asked = isinstance(approval, Mapping) and approval.get("isAutomatic") is not True
    return approval.get("approved") is True if asked else None


def shown_outputs(messages: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the results on a screen by the ids of their calls, without errors."""
    return {call.call_id: call.output for call in shown_calls(messages) if call.state == "output-available"}


def has_seen(screen: Sequence[Mapping[str, Any]], asked: Asked) -> bool:
    """Whether a screen ends with all of an answer of the model: its thoughts, its text, the arguments of its calls."""
    shown, said = ("".join(text.split()) for text in (shown_text(screen), asked.said))
    thoughts, thought = ("".join(text.split()) for text in (_shown_thoughts(screen), asked.thought))
    if not shown.endswith(said) or not thoughts.endswith(thought):
        return False
    parts = {part.get("toolCallId"): part for message in screen for part in message.get("parts", ())}
    return all(_has_arguments(parts.get(call.call_id, {}), call) for call in asked.called)


def shows_running(reply: Reply, seconds: float) -> bool:
    """Whether an answer has shown a call so long before its result that it is not sent together with it."""
    times = {chunk.type: chunk.at for chunk in reversed(reply.chunks)}
    result = times.get("tool-output-available")
    return result is not None and result - times.get("tool-input-available", result) >= seconds


def _shown_thoughts(messages: Sequence[Mapping[str, Any]]) -> str:
    parts = (part for message in messages for part in message.get("parts", ()) if part.get("type") == "reasoning")
    return "".join(str(part.get("text", "")) for part in parts)


def _has_arguments(part: Mapping[str, Any], call: Call) -> bool:
    if part.get("state") == "input-streaming":
        return part.get("rawInput") == "".join(call.pieces)
    return "state" in part


def with_late_requests(turns: list[TurnSeen], new: list[TurnSeen]) -> list[TurnSeen]:
    """Append a turn; what its predecessor's run asked late, not knowing the new message, belongs to the predecessor."""
    first = new[0]
    knows = [first.says in "\n".join(t.text for t in asked.history if t.role == "user") for asked in first.asked]
    if not turns or not any(knows) or all(knows):
        return [*turns, *new]
    late = [asked for asked, known in zip(first.asked, knows, strict=True) if not known]
    own = [asked for asked, known in zip(first.asked, knows, strict=True) if known]
    before = replace(turns[-1], asked=_numbered([*turns[-1].asked, *late]))
    return [*turns[:-1], before, replace(first, asked=_numbered(own)), *new[1:]]


def _numbered(asked: list[Asked]) -> tuple[Asked, ...]:
    return tuple(replace(one, number=number) for number, one in enumerate(asked, 1))
