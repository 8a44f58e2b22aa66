"""Writing a journal: the one mutable object of a fold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from tpharness.facts import join_text
from tpharness.journal import keep
from tpharness.journal.log import Log
from tpharness.journal.opened import OpenPart, OpenResponse, segment
from tpharness.journal.records import (
    AgentTurn,
    Completed,
    Entry,
    Event,
    Interrupted,
    Journal,
    Prompt,
    Return,
    Segment,
    UserTurn,
)

__all__ = ["JournalWriter"]


class JournalWriter:
    """Writes one thread's journal. One mutable object per fold; the caller judges what is legal, this only records.

    Methods that need a running agent turn raise `RuntimeError` without one: that is a mistake of the caller's tables.
    """

    def __init__(self) -> None:
        self._turns: Log[UserTurn | AgentTurn] = Log()
        self._running = False
        self._calls: dict[str, int] = {}
        self._call_names: dict[int, str] = {}
        self._answered: set[int] = set()
        self._returns: dict[int, Return] = {}
        self._next_call = 0
        self._asked: list[Any] = []
        self.version = 0
        """Grows whenever something that a document could show has changed; the deltas of an open part do not."""

    # ------------------------------------------------------------------ turns

    @property
    def running(self) -> bool:
        """Whether an agent turn is open."""
        return self._running

    def add_user_turn(self, turn: UserTurn) -> None:
        """Append a user turn."""
        self._turns = self._turns.extended(turn)
        self._asked = _contents(turn.parts)
        self.version += 1

    def begin_turn(self, agent_id: str, at: str) -> None:
        """Open an agent turn."""
        if self._running:
            raise RuntimeError("an agent turn is open")
        self._running = True
        self._agent_id, self._started_at = agent_id, at
        self._segments: Log[Segment] = Log()
        self._entries: list[OpenResponse | Entry] = []
        self._certain = 0
        self._open_keys: set[int] = set()
        self._response: OpenResponse | None = None
        self._usage: dict[str, int] = {}
        self._held: AgentTurn | None = None
        self._cached: tuple[int, AgentTurn] | None = None
        self.version += 1

    def name_agent(self, agent_id: str, started_at: str | None = None) -> None:
        """Give the open turn its agent, learnt after it began; `started_at` too when it is known."""
        self._need_turn()
        self._agent_id = agent_id
        self._started_at = started_at or self._started_at
        self.version += 1

    def start_time(self, started_at: str) -> None:
        """Give the open turn the time it began, learnt after it began."""
        self._need_turn()
        self._started_at = started_at
        self.version += 1

    @property
    def agent_id(self) -> str:
        """The agent of the open turn."""
        self._need_turn()
        return self._agent_id

    @property
    def turn_is_empty(self) -> bool:
        """Whether nothing has been recorded in the open turn yet."""
        return not self._entries and not self._segments

    def complete_turn(self, at: str, usage: Mapping[str, int] | None = None) -> int:
        """End the turn regularly; return how many parts were still open and are discarded (R28)."""
        self._need_turn()
        opened = self.finish_response()
        self._held = None
        if usage and not self._usage:
            self._usage = dict(usage)
        self._close(Completed(at=at))
        return opened

    def interrupt_turn(self, reason: str, at: str) -> None:
        """End the turn as interrupted: nothing finishes any more (R40); the first interruption stands (R26).

        Its unanswered calls go (R21, R30): nothing answers them in a later turn, and a later call may have their id.
        """
        self._need_turn()
        self._calls = {call_id: key for call_id, key in self._calls.items() if key not in self._open_keys}
        self._close(Interrupted(reason=reason, at=at))

    def hold(self, reason: str, at: str) -> None:
        """Remember this place as the interruption, unless the turn is completed after all (R27)."""
        self._need_turn()
        if self._held is None:
            self._held = replace(self._turn(partial=True), end=Interrupted(reason=reason, at=at))
            self.version += 1

    @property
    def held(self) -> bool:
        """Whether an interruption is held (see `hold`)."""
        return self._running and self._held is not None

    @property
    def only_events(self) -> bool:
        """Whether the open turn holds nothing but events so far."""
        return not self._segments and all(isinstance(entry, Event) for entry in self._entries)

    # -------------------------------------------------------------- responses

    @property
    def response_open(self) -> bool:
        """Whether a response is streaming."""
        return self._running and self._response is not None and not self._response.finished

    @property
    def has_response(self) -> bool:
        """Whether there is a latest response to give facts to, streaming or finished."""
        return self._running and self._response is not None

    @property
    def response_settled(self) -> bool:
        """Whether no interruption can take the latest response back, so that nothing of it changes any more."""
        response = self._response if self._running else None
        return response is not None and self._is_settled(response)

    def begin_response(self, at: str, facts: Mapping[str, Any] | None = None) -> None:
        """Open a response, finishing one that is open (R40)."""
        self._need_turn()
        if self.response_open:
            self.finish_response()
        self._settle()
        self._response = OpenResponse(self._agent_id, at, [], dict(facts or {}))
        self._entries.append(self._response)
        self.version += 1

    def open_part(self, kind: str, fields: dict[str, Any], text_field: str | None) -> OpenPart:
        """Start a part in the open response; `text_field` is the field that its joined pieces become."""
        part = OpenPart(kind, fields, [], text_field)
        part.more = part.pieces.append
        self._need_response().parts.append(part)
        self.version += 1
        return part

    def close_part(self, part: OpenPart, **fields: Any) -> None:
        """Complete a part (R10): its text is the joined pieces; `fields` are added, those that are None left out."""
        if part.text_field is not None and part.text_field not in fields:
            part.fields[part.text_field] = join_text(part.pieces)
        for name, value in fields.items():
            if value is not None:
                part.fields[name] = value
        part.complete = True
        self._completed(part)

    def amend_part(self, part: OpenPart, **fields: Any) -> None:
        """Change fields of a complete call without a return: its tool-call event may give the arguments (R10)."""
        part.fields = {**part.fields, **fields}
        for entry in self._entries:
            if isinstance(entry, OpenResponse) and part in entry.parts:
                entry.frozen = None
        self.version += 1

    def add_part(self, kind: str, fields: Mapping[str, Any]) -> None:
        """Add a part that is complete at once, such as a file."""
        part = OpenPart(kind, dict(fields), [], None, complete=True)
        self._need_response().parts.append(part)
        self._completed(part)

    def set_facts(self, facts: Mapping[str, Any]) -> None:
        """Add facts to the latest response: model_name, provider_name, provider_response_id, usage, finish_reason."""
        response = self._need_response()
        fresh = {k: v for k, v in facts.items() if v is not None and k != "usage"}
        usage = facts.get("usage")
        if usage and "usage" not in response.facts:
            fresh["usage"] = dict(usage)
            self.add_usage(usage)
        if fresh:
            response.facts = {**response.facts, **fresh}
            response.frozen = None
            self.version += 1

    def add_usage(self, usage: Mapping[str, int]) -> None:
        """Add to the turn's usage (R17)."""
        for key, value in usage.items():
            if isinstance(value, int):
                self._usage[key] = self._usage.get(key, 0) + value
        self.version += 1

    def fail_response(self, *, failed: bool = True) -> None:
        """Note what the open response had when the server told an error; `failed=False` that its end came after all."""
        if self.response_open:
            response = self._need_response()
            response.failed = tuple(part.part() for part in response.parts) if failed else None
            response.frozen = None

    def finish_response(self) -> int:
        """Finish the open response if there is one (R40); return how many of its parts were open and are discarded."""
        response = self._response
        if response is None or response.finished:
            return 0
        opened = sum(1 for p in response.parts if not p.complete)
        if opened:
            response.parts = [p for p in response.parts if p.complete]
        response.finished = True
        response.frozen = None
        self.version += 1
        return opened

    def reset_response(self) -> None:
        """Drop the parts of the open response and the events bound to it (R44)."""
        response = self._need_response()
        for part in response.parts:
            if part.complete and part.kind == "tool-call":
                self._forget(part.fields["tool_call_id"])
        index = self._entries.index(response)
        kept = [e for e in self._entries[index + 1 :] if not (isinstance(e, Event) and e.bound)]
        kept = [e for e in kept if not isinstance(e, Return)]
        self._entries[index:] = kept
        self._certain = min(self._certain, index)
        self._response = None
        self.version += 1

    # ------------------------------------------------- returns, events, prompts

    def call_key(self, call_id: str) -> int | None:
        """Return the number of the latest call with this id in the thread, None when there is none."""
        return self._calls.get(call_id)

    def answered(self, call_id: str) -> bool:
        """Whether the latest call with this id has its return."""
        return self._calls.get(call_id) in self._answered

    def tool_name(self, call_id: str) -> str | None:
        """Return the tool's name of the latest call with this id."""
        key = self._calls.get(call_id)
        return None if key is None else self._call_names.get(key)

    def in_open_response(self, call_id: str) -> bool:
        """Whether the latest call with this id stands in the response that is streaming."""
        key = self._calls.get(call_id)
        response = self._response
        if key is None or response is None or response.finished:
            return False
        return any(part.call_key == key for part in response.parts)

    def add_return(self, call_id: str, kind: str, fields: Mapping[str, Any], at: str) -> None:
        """Record the return of a known call; the first one stands (R14), the caller reports a second."""
        self._need_turn()
        key = self._calls[call_id]
        self._answered.add(key)
        self._open_keys.discard(key)
        entry = Return(call_id=call_id, agent_id=self._agent_id, at=at, kind=kind, fields=fields, call_key=key)
        self._entries.append(entry)
        self.version += 1

    def add_event(self, event: Event) -> None:
        """Record an event."""
        self._need_turn()
        self._entries.append(event)
        self.version += 1

    def add_prompt(self, parts: Sequence[Mapping[str, Any]], at: str) -> None:
        """Record a request with prompts inside the turn, finishing the response before it.

        One that begins the turn and repeats what the user has asked is nothing: that is stored once (R9).
        """
        self._need_turn()
        self.finish_response()
        if _contents(parts) == self._asked and not self._segments and not any(map(_is_message, self._entries)):
            return
        self._settle()
        self._response = None
        self._entries.append(Prompt(agent_id=self._agent_id, at=at, parts=tuple(parts)))
        self.version += 1

    # ------------------------------------------------------------------ reading

    def journal(self, cut: Interrupted | None = None, *, partial: bool = False) -> Journal:
        """Return the journal as of now; an open turn stays open, or ends with `cut` if given and no other end stands.

        `partial` fills in the text so far of parts that are still open, which only some readings of R20 look at.
        """
        if not self._running:
            return Journal(ended=self._turns)
        turn = self._held or self._turn(partial=partial)
        if cut is not None and turn.end is None:
            turn = replace(turn, end=cut)
        return Journal(ended=self._turns, last=turn)

    # ------------------------------------------------------------------ inside

    def _need_turn(self) -> None:
        if not self._running:
            raise RuntimeError("no agent turn is open")

    def _need_response(self) -> OpenResponse:
        if not self._running or self._response is None:
            raise RuntimeError("no response is open")
        return self._response

    def _completed(self, part: OpenPart) -> None:
        response = self._need_response()
        response.frozen = None
        self.version += 1
        if part.kind == "tool-call":
            key, self._next_call = self._next_call, self._next_call + 1
            self._calls[part.fields["tool_call_id"]] = key
            self._call_names[key] = part.fields.get("tool_name", "")
            part.call_key = key
            self._open_keys.add(key)

    def _forget(self, call_id: str) -> None:
        key = self._calls.pop(call_id, None)
        if key is not None:
            self._open_keys.discard(key)

    def _settle(self) -> None:
        """Close the tail into a segment if no interruption can take any of it back (`keep`).

        A response that has settled stays so, which saves looking at a tail again that waits for one of its calls.
        """
        if not self._entries or self._held is not None:
            return
        while self._certain < len(self._entries):
            entry = self._entries[self._certain]
            if isinstance(entry, OpenResponse) and not self._is_settled(entry):
                return
            self._certain += 1
        tail = segment(self._entries, partial=False)
        if not keep.all_survives(tail):
            return
        self._segments = self._segments.extended(tail)
        self._entries = []
        self._certain = 0
        self._response = None

    def _is_settled(self, response: OpenResponse) -> bool:
        calls = [part.call_key for part in response.parts if part.call_key is not None]
        return keep.is_settled(response.response(partial=False), calls, self._answered)

    def _turn(self, *, partial: bool = False) -> AgentTurn:
        if not partial and self._cached is not None and self._cached[0] == self.version:
            return self._cached[1]
        turn = AgentTurn(
            agent_id=self._agent_id,
            started_at=self._started_at,
            segments=self._segments,
            tail=segment(self._entries, partial=partial),
            end=None,
            usage=dict(self._usage),
        )
        if not partial:
            self._cached = (self.version, turn)
        return turn

    def _close(self, end: Completed | Interrupted) -> None:
        turn = self._held or replace(self._turn(partial=True), end=end)
        self._turns = self._turns.extended(turn)
        self._running = False
        self._held = None
        self._response = None
        self.version += 1


def _is_message(entry: OpenResponse | Entry) -> bool:
    """Whether an entry stands in the thread as what somebody said."""
    return not isinstance(entry, Event) and not (isinstance(entry, OpenResponse) and not entry.parts)


def _contents(parts: Sequence[Mapping[str, Any]]) -> list[Any]:
    return [part.get("content") for part in parts]
