"""The versions of ThreadProtocol as dialects.

A version either has complete turns only (R18), or keeps the complete cycles of an interrupted turn (R19). Versions also
name events differently (R1, R34). One renderer does the rest, with the features of its version.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from tpharness.dialects.contract import ThreadHeader
from tpharness.dialects.messages import EventNamer, messages, time_key
from tpharness.journal import AgentTurn, Completed, Entry, Journal, Log, Segment, UserTurn, survivors
from tpharness.protocol.versions import NORMATIVE_PREFIX, Version, event_name
from tpharness.readings import EmptyTurnRule, Readings

if TYPE_CHECKING:
    from tpharness.protocol import types

__all__ = ["DIALECTS", "ThreadDialect", "ThreadRenderer"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadDialect:
    """One version of ThreadProtocol, written as its features say."""

    version: Version

    @property
    def name(self) -> str:
        """The version, such as `0.0.4`."""
        return self.version.value

    def renderer(self, header: ThreadHeader, readings: Readings) -> ThreadRenderer:
        """Return a renderer for one thread."""
        return ThreadRenderer(self, header, readings)


DIALECTS: dict[Version, ThreadDialect] = {version: ThreadDialect(version=version) for version in Version}


@dataclass(slots=True)
class _Ended:
    """The turns of a log with their documents, None for a turn that is not shown; the thread of those that are."""

    log: Log[UserTurn | AgentTurn]
    rendered: list[tuple[UserTurn | AgentTurn, types.Turn | None]]
    documents: list[types.Turn]
    thread: types.Thread | None = None


@dataclass(slots=True)
class _Settled:
    """Messages of the segments rendered so far; grows with the log and is never rebuilt."""

    segments: Log[Segment]
    messages: list[types.Message]


class ThreadRenderer:
    """Renders the journal of one thread as it grows. The result depends on the journal only; the rest is a cache."""

    def __init__(self, dialect: ThreadDialect, header: ThreadHeader, readings: Readings) -> None:
        self._dialect = dialect
        self._features = dialect.version.features
        self._header = header
        self._readings = readings
        self._namer: EventNamer = lambda name: event_name(name, dialect.version)
        self._created_key = time_key(header.created_at)
        self._extra = cast("types.Thread", header.extra)
        self._agents = cast("dict[str, types.Agent]", header.agents)
        self._ended = _Ended(Log(), [], [])
        self._settled: _Settled | None = None
        self._kept: tuple[Segment, Log[Segment], bool, list[types.Message]] | None = None

    def render(self, journal: Journal) -> types.Thread:
        """Return the document; a turn that is still open does not appear (R18, SPEC: the turn is atomic)."""
        ended = self._ended_turns(journal.ended)
        last = journal.last
        if last is not None and (document := self._turn(last)) is not None:
            return self._thread([*ended.documents, document])
        if ended.thread is None:
            ended.thread = self._thread(ended.documents)
        return ended.thread

    def _thread(self, turns: list[types.Turn]) -> types.Thread:
        header = self._header
        last_time = _last_time(turns[-1]) if turns else header.created_at
        thread: types.Thread = {
            "version": self._dialect.version.value,
            "thread_id": header.thread_id,
            "created_at": header.created_at,
            "updated_at": last_time if time_key(last_time) > self._created_key else header.created_at,
            **self._extra,
            "agents": self._agents,
            "turns": turns,
        }
        return thread

    def _ended_turns(self, log: Log[UserTurn | AgentTurn]) -> _Ended:
        """Return the turns that have ended: the same record as before unless turns have been added."""
        ended = self._ended
        if log is not ended.log:
            known = 0
            for turn, (before, _) in zip(log, ended.rendered, strict=False):
                if turn is not before:
                    break
                known += 1
            rendered = [*ended.rendered[:known], *((turn, self._turn(turn)) for turn in log[known:])]
            documents = [document for _, document in rendered if document is not None]
            ended = self._ended = _Ended(log, rendered, documents)
        return ended

    def _turn(self, turn: UserTurn | AgentTurn) -> types.Turn | None:
        if isinstance(turn, UserTurn):
            return self._user_turn(turn)
        end = turn.end
        if isinstance(end, Completed):
            document = self._agent_turn(turn, self._messages(turn, cut=False))
            document["completed_at"] = end.at
            if self._features.interrupted_turns:
                document["completion_status"] = "complete"
            return document
        if end is None or not self._features.interrupted_turns:
            return None  # R18: without interrupted turns only complete ones are shown
        kept = self._messages(turn, cut=True)
        if self._readings.R24 is EmptyTurnRule.DROP and not any(map(_carries_turn, kept)):
            return None
        document = self._agent_turn(turn, kept)
        document["completion_status"] = "interrupted"
        document["interruption"] = {"reason": end.reason, "interrupted_at": end.at}
        return document

    def _user_turn(self, turn: UserTurn) -> types.UserTurnJson:
        document: types.UserTurnJson = {
            "turn_type": "user",
            "submitted_at": turn.at,
            "parts": [cast("types.Part", dict(part)) for part in turn.parts],
        }
        if turn.client_metadata is not None:
            document["client_metadata"] = dict(turn.client_metadata)
        return document

    def _agent_turn(self, turn: AgentTurn, kept: list[types.Message]) -> types.AgentTurnJson:
        document: types.AgentTurnJson = {
            "turn_type": "agent",
            "agent_id": turn.agent_id,
            "started_at": turn.started_at,
            "messages": kept,
        }
        if turn.usage:
            document["total_usage"] = cast("types.UsageJson", dict(turn.usage))
        return document

    def _messages(self, turn: AgentTurn, *, cut: bool) -> list[types.Message]:
        if self._kept is not None:
            tail, segments, was_cut, kept = self._kept
            if (
                tail is turn.tail
                and was_cut == cut
                and segments.is_prefix_of(turn.segments)
                and len(segments) == len(turn.segments)
            ):
                return kept
        tail_entries = survivors(turn.tail, self._readings) if cut else turn.tail.entries
        kept = self._settled_messages(turn.segments) + self._entries(tail_entries, turn.tail.calls)
        self._kept = (turn.tail, turn.segments, cut, kept)
        return kept

    def _entries(self, entries: Iterable[Entry], calls: Mapping[int, tuple[int, int]]) -> list[types.Message]:
        return messages(entries, calls, self._namer, content_refs=self._features.content_refs)

    def _settled_messages(self, segments: Log[Segment]) -> list[types.Message]:
        settled = self._settled
        if settled is None or not settled.segments.is_prefix_of(segments):
            settled = _Settled(Log(), [])
        for index in range(len(settled.segments), len(segments)):
            segment = segments[index]
            settled.messages.extend(self._entries(segment.entries, segment.calls))
        settled.segments = segments
        self._settled = settled
        return settled.messages


def _carries_turn(message: types.Message) -> bool:
    """R24: a request, a response or a normative event keeps an interrupted turn in the thread."""
    return message["message_type"] != "system" or message["event_type"].startswith(NORMATIVE_PREFIX)


def _last_time(turn: types.Turn) -> str:
    if turn["turn_type"] == "user":
        return turn["submitted_at"]
    interruption = turn.get("interruption")
    if interruption is not None:
        return interruption["interrupted_at"]
    return turn["completed_at"] or turn["started_at"]
