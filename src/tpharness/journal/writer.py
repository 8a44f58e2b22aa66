"""The writer of a journal: the one mutable object of a fold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from tpharness.facts import join_text, new_prompts, recorded_reason
from tpharness.journal import keep
from tpharness.journal.log import Log
from tpharness.journal.opened import OpenPart, OpenResponse, make_segment
from tpharness.journal.provider_calls import ProviderCalls
from tpharness.journal.records import (
    AgentTurn,
    Completed,
    Entry,
    Event,
    Interrupted,
    Journal,
    Prompt,
    Return,
    Running,
    Segment,
    UserTurn,
)

__all__ = ["JournalWriter"]


class JournalWriter:
    """Writes the journal of one thread. It only records; the caller decides what is legal.

    Methods that need an open agent turn raise `RuntimeError` if there is none: a mistake in the caller's tables.
    """

    def __init__(self) -> None:
        self._turns: Log[UserTurn | AgentTurn] = Log()
        self.running = False
        """Whether an agent turn is open."""
        self._calls: dict[str, int] = {}
        self._call_names: dict[int | None, str] = {}
        self._answered: set[int] = set()
        self.provider_calls = ProviderCalls()
        """The calls of the thread that the provider executes (R42)."""
        self._unanswered: dict[str, int] = {}  # those of the calls that have no return
        self._next_call = 0
        self._response_number = 0
        self._user_parts: Sequence[Mapping[str, Any]] = ()
        self.version = 0
        """Incremented when something changes that a document may show, so not by the deltas of an open part."""

    # ------------------------------------------------------------------ turns

    def add_user_turn(self, turn: UserTurn) -> None:
        """Append a user turn."""
        self._turns = self._turns.append(turn)
        self._user_parts = turn.parts
        self.version += 1

    def begin_turn(self, agent_id: str, at: str) -> None:
        """Open an agent turn."""
        if self.running:
            raise RuntimeError("an agent turn is open")
        self.running = True
        self._agent_id, self._started_at = agent_id, at
        self._segments: Log[Segment] = Log()
        self._entries: list[OpenResponse | Entry] = []
        self._settled_count = self._not_events = 0
        self._first_key, self._has_late_return = self._next_call, False
        self._first_response = self._response_number + 1
        self._open_keys: dict[int, str] = {}
        self.provider_calls.begin_turn()
        self._held_in: dict[int | None, tuple[OpenResponse, OpenPart]] = {}  # where each call of the tail is
        self._response: OpenResponse | None = None
        self._said = self._said_before_response = False  # whether a complete part or a prompt has come (R9)
        self._usage: dict[str, int] = {}
        self._held: AgentTurn | None = None
        self._cached: tuple[int, AgentTurn] | None = None
        self.version += 1

    def name_agent(self, agent_id: str, started_at: str | None = None) -> None:
        """Set the agent of the open turn, and its start if `started_at` is given."""
        self._need_turn()
        self._agent_id = agent_id
        self._started_at = started_at or self._started_at
        self.version += 1

    def start_time(self, started_at: str) -> None:
        """Set the time at which the open turn began."""
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

    def complete_turn(self, at: str) -> int:
        """Complete the turn; return the number of open parts that are discarded (R28)."""
        self._need_turn()
        opened = self.finish_response()
        self._held = None
        self._close(Completed(at=at))
        return opened

    def interrupt_turn(self, reason: str, at: str) -> None:
        """Interrupt the turn: nothing in it can finish after this (R40). The first interruption stands (R26).

        Its calls without a return are forgotten (R21, R30): a later turn cannot answer them and may reuse their ids.
        """
        self._need_turn()
        self.provider_calls.cut_turn(self._first_response, self._unsettled())
        if self._held is not None:  # R27: what came after the error does not count, so its returns answered nothing
            self._unanswered, self._open_keys = self._waiting_held
            self._answered.difference_update(self._unanswered.values())
            for call_id, before in self._calls_before.items():
                if before is None:
                    self._calls.pop(call_id, None)
                else:
                    self._calls[call_id] = before
        for key, call_id in self._open_keys.items():
            if self._calls.get(call_id) == key:
                self._forget_call(call_id)
        self._close(Interrupted(reason=recorded_reason(reason), at=at))

    def hold_interruption(self, reason: str, at: str) -> None:
        """Remember the turn as interrupted here, in case it does not complete after all (R27)."""
        self._need_turn()
        if self._held is None:
            self._waiting_held = dict(self._unanswered), dict(self._open_keys)
            self.provider_calls.hold_cut(self._unsettled())
            self._calls_before: dict[str, int | None] = {}  # what ids named that were given to other calls since
            self._held = replace(self._turn(partial=True), end=Interrupted(reason=reason, at=at))
            self.version += 1

    @property
    def interruption_held(self) -> bool:
        """Whether an interruption is held (see `hold_interruption`)."""
        return self._held is not None

    @property
    def only_events(self) -> bool:
        """Whether the open turn has only events so far."""
        return not self._segments and not self._not_events

    # -------------------------------------------------------------- responses

    @property
    def response_open(self) -> bool:
        """Whether a response is streaming."""
        return self.running and self._response is not None and not self._response.finished

    @property
    def has_response(self) -> bool:
        """Whether the open turn has a latest response, streaming or finished, which facts can be added to."""
        return self.running and self._response is not None

    @property
    def response_settled(self) -> bool:
        """Whether the latest response is settled: no interruption can take any of it back."""
        return self._response is not None and self._is_settled(self._response)

    def is_streaming(self, part: OpenPart) -> bool:
        """Whether a part, complete or not, is one of the response that is streaming."""
        return self.response_open and part.response == self._response_number

    def begin_response(self, at: str, facts: Mapping[str, Any] | None = None) -> None:
        """Open a response, finishing one that is open (R40)."""
        self._need_turn()
        self.finish_response()
        self._settle()
        self._said_before_response = self._said
        self._response = OpenResponse(self._agent_id, at, [], dict(facts or {}), {})
        self._response_number += 1
        self._append(self._response)

    def open_part(self, kind: str, fields: dict[str, Any], text_field: str | None) -> OpenPart:
        """Start a part in the open response; its joined pieces become the field `text_field`."""
        part = OpenPart(kind, fields, [], text_field, response=self._response_number)
        part.append = part.pieces.append
        if kind == "tool-call":
            part.number = self._take_number()
        self._need_response().parts.append(part)
        self.version += 1
        return part

    def close_part(self, part: OpenPart, **fields: Any) -> None:
        """Complete a part (R10): join its text, and add the `fields` that are not None; arguments may be null (R12)."""
        if part.text_field is not None and part.text_field not in fields:
            part.fields[part.text_field] = join_text(part.pieces)
        for name, value in fields.items():
            if value is not None or name == "args":
                part.fields[name] = value
        part.complete = True
        self._note_completed(part)

    def amend_part(self, part: OpenPart, **fields: Any) -> None:
        """Change fields of a complete call that has no return, as its tool-call event may have the arguments (R10)."""
        part.fields = {**part.fields, **fields}
        if part.call_key in self._held_in:
            self._held_in[part.call_key][0].frozen = None
        self.version += 1

    def add_part(self, kind: str, fields: Mapping[str, Any]) -> None:
        """Add a part that is complete at once, such as a file."""
        part = OpenPart(kind, dict(fields), [], None, complete=True, response=self._response_number)
        self._need_response().parts.append(part)
        self._note_completed(part)

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

    def take_total_usage(self, usage: Mapping[str, int]) -> None:
        """Take the usage of the whole turn, unless its responses have given theirs (R17)."""
        if not self._usage:
            self.add_usage(usage)

    def add_usage(self, usage: Mapping[str, int]) -> None:
        """Add to the turn's usage (R17)."""
        for key, value in usage.items():
            if isinstance(value, int):
                self._usage[key] = self._usage.get(key, 0) + value
        self.version += 1

    def note_failure(self, *, failed: bool = True) -> None:
        """Keep the parts of the open response at a server's error; `failed=False` if its end came after all."""
        if self.response_open:
            response = self._need_response()
            response.failed = tuple(part.part() for part in response.parts) if failed else None
            response.frozen = None

    def finish_response(self) -> int:
        """Finish the open response, if any (R40); return the number of its open parts, which are discarded."""
        response = self._response
        if response is None or response.finished:
            return 0
        complete = [part for part in response.parts if part.complete]
        opened = len(response.parts) - len(complete)
        response.parts = complete
        response.finished = True
        response.frozen = None
        self.version += 1
        return opened

    def reset_response(self) -> None:
        """Drop the parts of the open response, the returns of its calls and the events bound to it (R44)."""
        response = self._need_response()
        for part in response.parts:
            if part.complete and part.kind == "tool-call":
                self._forget_call(part.fields["tool_call_id"])
        self.provider_calls.drop(response.parts)
        index = next(i for i in reversed(range(len(self._entries))) if self._entries[i] is response)  # among the last
        kept = [e for e in self._entries[index + 1 :] if not (isinstance(e, Event) and e.bound)]
        kept = [e for e in kept if not (isinstance(e, Return) and e.call_key in response.calls)]
        self._not_events -= sum(not isinstance(e, Event) for e in self._entries[index:])
        self._entries[index:] = kept
        self._not_events += sum(not isinstance(e, Event) for e in kept)
        self._said = self._said_before_response or any(isinstance(e, Return) for e in kept)
        self._settled_count = min(self._settled_count, index)
        self._response = None
        self.version += 1

    # ------------------------------------------------- returns, events, prompts

    def call_key(self, call_id: str) -> int | None:
        """Return the number of the latest call with this id in the thread, None when there is none."""
        return self._calls.get(call_id)

    def has_return(self, call_id: str) -> bool:
        """Whether the latest call with this id has its return."""
        return self._calls.get(call_id) in self._answered

    @property
    def waiting_calls(self) -> frozenset[str]:
        """The ids of the calls that have no return."""
        return frozenset(self._unanswered)

    def tool_name(self, call_id: str) -> str | None:
        """Return the tool's name of the latest call with this id."""
        return self._call_names.get(self._calls.get(call_id))

    def in_open_response(self, call_id: str) -> bool:
        """Whether the latest call with this id is in the response that is streaming."""
        response = self._response
        return response is not None and not response.finished and self._calls.get(call_id) in response.calls

    def note_running(self, call_id: str, at: str, output: Any = None) -> None:
        """Record that the tool of a complete call runs at a time, with its output so far, if there is any."""
        key = self._calls.get(call_id)
        if key in self._held_in:
            response, part = self._held_in[key]
            since = part.running.started_at if part.running is not None else at
            part.running = Running(started_at=since, output=output)
            response.frozen = None

    def add_return(self, call_id: str, kind: str, fields: Mapping[str, Any], at: str) -> None:
        """Record the return of a known call. The first return stands (R14); the caller reports a second one."""
        self._need_turn()
        key = self._calls[call_id]
        self._answered.add(key)
        self._unanswered.pop(call_id, None)
        self._open_keys.pop(key, None)
        self._said = True
        self._has_late_return = self._has_late_return or key < self._first_key
        entry = Return(call_id=call_id, agent_id=self._agent_id, at=at, kind=kind, fields=fields, call_key=key)
        self._append(entry)

    def add_event(self, event: Event) -> None:
        """Record an event."""
        self._need_turn()
        self._entries.append(event)
        self.version += 1

    def add_prompt(self, parts: Sequence[Mapping[str, Any]], at: str) -> None:
        """Record each prompt of a request inside the turn; the caller has finished the response before it (R44).

        What repeats the user's input, with no message before it, is left out, since that is stored once (R9).
        """
        self._need_turn()
        parts = list(parts) if self._said else new_prompts(parts, self._user_parts)
        if not parts:
            return
        self._said = True
        self._settle()
        self._response = None
        for part in parts:
            self._append(Prompt(agent_id=self._agent_id, at=at, parts=(part,)))

    # ------------------------------------------------------------------ reading

    def journal(self, cut: Interrupted | None = None, *, partial: bool = False) -> Journal:
        """Return the current journal. An open turn stays open, or ends with `cut` if given and not interrupted before.

        `partial` includes open parts with the text so far, which only some readings of R20 need.
        """
        if not self.running:
            return Journal(ended=self._turns)
        turn = self._held or self._turn(partial=partial)
        if cut is not None and turn.end is None:
            turn = replace(turn, end=replace(cut, reason=recorded_reason(cut.reason)))
        return Journal(ended=self._turns, last=turn)

    @property
    def written(self) -> Sequence[OpenResponse | Entry]:
        """The tail's entries as they are written, one for each of a journal's; none while an interruption is held."""
        return self._entries if self.running and self._held is None else ()

    # ------------------------------------------------------------------ inside

    def _need_turn(self) -> None:
        if not self.running:
            raise RuntimeError("no agent turn is open")

    def _need_response(self) -> OpenResponse:
        if not self.running or self._response is None:
            raise RuntimeError("no response is open")
        return self._response

    def _note_completed(self, part: OpenPart) -> None:
        response = self._need_response()
        response.frozen = None
        self._said = True
        self.version += 1
        self.provider_calls.note(part)
        if part.kind == "tool-call":
            key = self._take_number() if part.number is None else part.number
            self._note_change(part.fields["tool_call_id"])
            self._calls[part.fields["tool_call_id"]] = self._unanswered[part.fields["tool_call_id"]] = key
            self._call_names[key] = part.fields.get("tool_name", "")
            part.call_key = key
            response.calls[key] = None
            self._open_keys[key] = part.fields["tool_call_id"]
            self._held_in[key] = response, part

    def _take_number(self) -> int:
        """Return the number of the next call: they are numbered as they start, whichever is complete first (R11)."""
        self._next_call += 1
        return self._next_call - 1

    def _note_change(self, call_id: str) -> None:
        if self._held is not None:
            self._calls_before.setdefault(call_id, self._calls.get(call_id))

    def _forget_call(self, call_id: str) -> None:
        self._note_change(call_id)
        self._calls.pop(call_id, None)
        self._unanswered.pop(call_id, None)

    def _settle(self) -> None:
        """Close the tail into a segment if no interruption can take any of it back (`keep`).

        Every entry follows its response, so it is enough to ask about those. A response that has settled stays so, and
        is not asked again.
        """
        if not self._entries or self._held is not None:
            return
        if self._late_returns_may_grow():
            return
        while self._settled_count < len(self._entries):
            entry = self._entries[self._settled_count]
            if isinstance(entry, OpenResponse) and not self._is_settled(entry):
                return
            self._settled_count += 1
        self._segments = self._segments.append(make_segment(self._entries, partial=False))
        self._entries = []
        self._held_in = {}
        self._settled_count = self._not_events = 0
        self._has_late_return = False

    def _late_returns_may_grow(self) -> bool:
        """Whether the tail has a return to a call of an earlier turn, and another such call has none yet.

        They stand in one request, whatever comes between them (R61), so the tail stays open for them.
        """
        return self._has_late_return and any(key < self._first_key for key in self._unanswered.values())

    def _append(self, entry: OpenResponse | Return | Prompt) -> None:
        self._entries.append(entry)
        self._not_events += 1
        self.version += 1

    def _is_settled(self, response: OpenResponse) -> bool:
        if not response.finished:  # keep would say so too, but of a record of all its parts, made at each question
            return False
        return keep.is_settled(response.response(partial=False), response.calls, self._answered)

    def _unsettled(self) -> Iterator[list[OpenPart]]:
        """Yield the parts of the responses that go if the turn is cut here (`keep`)."""
        return (e.parts for e in self._entries if isinstance(e, OpenResponse) and not self._is_settled(e))

    def _turn(self, *, partial: bool = False) -> AgentTurn:
        if not partial and self._cached is not None and self._cached[0] == self.version:
            return self._cached[1]
        turn = AgentTurn(
            agent_id=self._agent_id,
            started_at=self._started_at,
            segments=self._segments,
            tail=make_segment(self._entries, partial=partial),
            end=None,
            usage=dict(self._usage),
        )
        if not partial:
            self._cached = (self.version, turn)
        return turn

    def _close(self, end: Completed | Interrupted) -> None:
        turn = self._held or replace(self._turn(partial=True), end=end)
        self._turns = self._turns.append(turn)
        self.running = False
        self._held = None
        self._held_in = {}
        self._response = None
        self.version += 1
