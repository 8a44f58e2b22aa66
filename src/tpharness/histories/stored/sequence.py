"""Responses, their calls and the answers, in any format: what is wrong with them, and the least change that mends it.

In: messages in their order, each a response of the model or a request, with the parts that count. Out: the messages as
they should be, and each change with its place and kind. The rules are those of threads: a response is kept with an
answer for each of its calls, or not at all (R21, R23), answers follow their response, and nothing is there twice (R14).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from tpharness.findings import Finding, Kind, Place
from tpharness.histories.stored import problems as p

__all__ = ["Change", "Repairing", "StoredMessage", "StoredPart"]


@dataclass(slots=True, eq=False, kw_only=True)
class StoredPart:
    """A part of a message, as it was stored (`raw`).

    A call may have `half` arguments; an answer may say that the call has `failed`. `identity` is equal for parts that
    say the same.
    """

    kind: Literal["call", "answer", "prompt", "other"]
    pointer: str
    raw: Any
    call_id: str = ""
    failed: bool = False
    half: bool = False
    identity: Any = None


@dataclass(slots=True, eq=False, kw_only=True)
class StoredMessage:
    """A message. One that was `cut` had not finished; `identity` is equal for the same message stored twice.

    In one that `must_answer` every call has an answer even if nothing follows; one that is `excused` says itself that
    it was interrupted. Answers are asked for within a `turn`. One that was `made` holds what had no place elsewhere.
    """

    kind: Literal["response", "request"]
    pointer: str
    raw: Any
    parts: list[StoredPart]
    identity: Any = None
    cut: bool = False
    must_answer: bool = False
    excused: bool = False
    made: bool = False
    turn: int = 0
    was_empty: bool = field(init=False)

    def __post_init__(self) -> None:
        self.was_empty = not self.parts

    @property
    def calls(self) -> list[StoredPart]:
        """The calls of it."""
        return [part for part in self.parts if part.kind == "call"]

    @property
    def prompts(self) -> bool:
        """Whether the user says something in it."""
        return any(part.kind == "prompt" for part in self.parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What was wrong at a place, and what was done about it; `done` is "" where nothing can be done mechanically."""

    kind: Kind
    pointer: str
    done: str
    got: Any = None
    ruling: str = ""

    def finding(self) -> Finding:
        """Return it as what is wrong."""
        return self.kind.at(Place(pointer=self.pointer), got=self.got)


class Repairing:
    """Mends the messages that it is given. `unique_ids` says that no two calls may have the same id at all."""

    def __init__(self, messages: Sequence[StoredMessage], *, unique_ids: bool = False) -> None:
        self.messages = list(messages)
        self.changes: list[Change] = []
        self._unique_ids = unique_ids
        self._drop_doubled_messages()
        self._drop_doubled_calls()
        answered = self._match()
        self._move_misplaced(answered)
        self._drop_incomplete(answered)
        self._order_answers()
        self._drop_empty()

    def _note(self, kind: Kind, at: StoredMessage | StoredPart, done: str, ruling: str, got: Any = None) -> None:
        self.changes.append(Change(kind=kind, pointer=at.pointer, done=done, got=got, ruling=ruling))

    # ------------------------------------------------------------------ what is there twice

    def _drop_doubled_messages(self) -> None:
        seen: dict[str, Any] = {}
        kept = []
        for message in self.messages:
            same = repr(message.identity)
            if message.identity is not None and same in seen:
                if seen[same] == message.raw:
                    self._note(p.MESSAGE_TWICE, message, "left out", "R14")
                    continue
                self._note(p.MESSAGE_TWICE, message, "", "R14", message.identity)
            seen.setdefault(same, message.raw)
            kept.append(message)
        self.messages = kept

    def _drop_doubled_calls(self) -> None:
        open_calls: dict[str, StoredPart] = {}
        for message in self.messages:
            for part in list(message.parts):
                if part.kind == "answer" and not self._unique_ids:
                    open_calls.pop(part.call_id, None)
                elif part.kind == "call":
                    other = open_calls.get(part.call_id)
                    if other is None:
                        open_calls[part.call_id] = part
                    elif other.identity == part.identity:
                        message.parts.remove(part)
                        self._note(p.CALL_TWICE, part, "left out", "R14", part.call_id)
                    else:
                        self._note(p.CALL_TWICE, part, "", "R14", part.call_id)

    # ------------------------------------------------------------------ calls and answers

    def _match(self) -> dict[StoredPart, StoredPart]:
        """Return the answer of each call; answers that have none are left out, and second ones."""
        waiting: dict[str, list[StoredPart]] = {}
        answered: dict[StoredPart, StoredPart] = {}
        late: list[tuple[StoredMessage, StoredPart]] = []
        done: set[str] = set()
        for message in self.messages:
            for part in list(message.parts):
                if part.kind == "call":
                    waiting.setdefault(part.call_id, []).append(part)
                elif part.kind == "answer":
                    if waiting.get(part.call_id):
                        answered[waiting[part.call_id].pop(0)] = part
                        done.add(part.call_id)
                    elif part.call_id in done:
                        message.parts.remove(part)
                        self._note(p.ANSWER_TWICE, part, "left out", "R14", part.call_id)
                    else:
                        late.append((message, part))
        for message, part in late:  # a call may come after its answer
            if waiting.get(part.call_id):
                answered[waiting[part.call_id].pop(0)] = part
            else:
                message.parts.remove(part)
                self._note(p.ORPHAN, part, "left out", "R23", part.call_id)
        return answered

    def _move_misplaced(self, answered: dict[StoredPart, StoredPart]) -> None:
        """Put answers directly behind their response: before the next response or prompt of the same turn."""
        for response in [message for message in self.messages if message.calls]:
            near = list(self._answering(response))
            there = {id(part) for message in near for part in message.parts}
            away = [answered[call] for call in response.calls if call in answered and id(answered[call]) not in there]
            away = [part for part in away if not self._answers_a_waiting_call(response, part)]
            for part in away:
                holder = next(message for message in self.messages if part in message.parts)
                holder.parts.remove(part)
                self._insert(response, near, part, holder)
                self._note(p.MISPLACED, part, "put behind its call", "R25", part.call_id)

    def _answering(self, response: StoredMessage) -> Iterator[StoredMessage]:
        """Yield the requests that follow a response up to the next response or prompt, and the one with the prompt."""
        for message in self.messages[self.messages.index(response) + 1 :]:
            if message.kind == "response" or message.turn != response.turn:
                return
            yield message
            if message.prompts:
                return

    def _answers_a_waiting_call(self, response: StoredMessage, part: StoredPart) -> bool:
        """Whether an answer in a later turn comes before that turn's first response (R25): the call has waited."""
        for message in self.messages[self.messages.index(response) + 1 :]:
            if part in message.parts:
                return message.turn != response.turn
            if message.kind == "response":
                return False
        return False

    def _insert(
        self, response: StoredMessage, near: list[StoredMessage], part: StoredPart, holder: StoredMessage
    ) -> None:
        for message in near:
            if any(one.kind == "answer" for one in message.parts):
                message.parts.append(part)
                return
        raw = holder.raw
        made = StoredMessage(
            kind="request", pointer=holder.pointer, raw=raw, parts=[part], turn=response.turn, made=True
        )
        self.messages.insert(self.messages.index(response) + 1, made)
        near.insert(0, made)

    def _drop_incomplete(self, answered: dict[StoredPart, StoredPart]) -> None:
        for response in [message for message in self.messages if message.kind == "response"]:
            without = [call for call in response.calls if call not in answered]
            half = [call for call in response.calls if call.half]
            if response.excused:
                continue
            ran = [call for call in half if call in answered and not answered[call].failed]
            if ran:  # the tool has run: what it was asked is not known, and that it ran is not forgotten
                for call in ran:
                    self._note(p.HALF_ARGUMENTS, call, "", "R60", call.call_id)
                continue
            if half or response.cut or (without and (response.must_answer or self._goes_on(response))):
                for call in half:
                    self._note(p.HALF_ARGUMENTS, call, "left out with its response", "R60", call.call_id)
                for call in without if not response.cut else ():
                    if call not in half:
                        self._note(p.UNANSWERED, call, "left out with its response", "R21", call.call_id)
                if response.cut:
                    self._note(p.STREAMING, response, "left out", "R20")
                self._drop(response, [answered[call] for call in response.calls if call in answered])

    def _order_answers(self) -> None:
        calls = [call for message in self.messages for call in message.calls]
        place = {call.call_id: number for number, call in enumerate(calls)}
        for message in self.messages:
            answers = [part for part in message.parts if part.kind == "answer"]
            right = sorted(answers, key=lambda part: place.get(part.call_id, -1))
            if [id(part) for part in right] != [id(part) for part in answers]:
                self._note(p.UNORDERED, message, "its answers put in the order of their calls", "R11")
                ordered = iter(right)
                message.parts = [next(ordered) if part.kind == "answer" else part for part in message.parts]

    def _goes_on(self, response: StoredMessage) -> bool:
        later = self.messages[self.messages.index(response) + 1 :]
        return any(m.turn == response.turn and (m.kind == "response" or m.prompts) for m in later)

    def _drop(self, response: StoredMessage, answers: Iterable[StoredPart]) -> None:
        gone = {id(part) for part in answers}
        self.messages.remove(response)
        for message in self.messages:
            message.parts = [part for part in message.parts if id(part) not in gone]

    def _drop_empty(self) -> None:
        for message in [message for message in self.messages if not message.parts]:
            self.messages.remove(message)
            if message.was_empty:
                self._note(p.EMPTY, message, "left out", "R24")
