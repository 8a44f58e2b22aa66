"""Responses, their calls and the answers, in any format: what is wrong with them, and the least change that mends it.

In: messages in their order, each a response of the model or a request, with the parts that count. Out: the messages as
they should be, and each change with its place and kind. The rules are those of threads: a response is kept with an
answer for each of its calls, or not at all (R21, R23), answers follow their response, and nothing is there twice (R14).

What a tool has returned is kept: a call beside it that has no answer is closed with an error, instead of leaving the
response out. What has no place at all is left out only if the caller says so, and is named.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from tpharness.findings import Finding, Kind, Place
from tpharness.histories.stored import problems as p
from tpharness.protocol import problems as of_threads

__all__ = ["NO_RESULT", "Change", "Repairing", "StoredMessage", "StoredPart"]

NO_RESULT = "No result of this call was stored; whether the tool has run is not known."
"""The answer of a call that is closed."""


@dataclass(slots=True, eq=False, kw_only=True)
class StoredPart:
    """A part of a message, as it was stored (`raw`).

    A call may have `half` arguments; an answer may say that the call has `failed`. A part may be `unfinished`: it was
    still being written. `identity` is equal for parts that say the same; `answer` is the identity of the answer that
    stands in the part of a call. `tool` and `content` are what people know a result by, and `text` what they have read.
    """

    kind: Literal["call", "answer", "prompt", "other"]
    pointer: str
    raw: Any
    call_id: str = ""
    failed: bool = False
    half: bool = False
    unfinished: bool = False
    identity: Any = None
    answer: Any = None
    tool: str = ""
    content: Any = None
    text: str = ""
    came_at: str = ""
    """When a part that was moved came, if the message that it is in now has another time."""


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
    time: str = ""
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
    def text(self) -> str:
        """What it says to the user."""
        return "\n\n".join(part.text for part in self.parts if part.text)

    @property
    def prompts(self) -> bool:
        """Whether the user says something in it."""
        return any(part.kind == "prompt" for part in self.parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What was wrong at a place, and what was done about it; `done` is "" where nothing can be done mechanically.

    One that is about a call or its answer has its id and tool; one about an answer, also what the tool returned. `said`
    is the text that is left out with it, which somebody may have read.
    """

    kind: Kind
    pointer: str
    done: str
    got: Any = None
    ruling: str = ""
    call_id: str = ""
    tool: str = ""
    content: Any = None
    said: str = ""

    def finding(self) -> Finding:
        """Return it as what is wrong."""
        return self.kind.at(Place(pointer=self.pointer), got=self.got)


class Repairing:
    """Mends the messages that it is given.

    `close` returns the stored form of an answer that says that there is none. `unique_ids` says that no two calls may
    have the same id at all. With `drop_results` a result that has no place is left out; else it stays.
    """

    def __init__(
        self,
        messages: Sequence[StoredMessage],
        *,
        close: Callable[[StoredPart], Any],
        unique_ids: bool = False,
        drop_results: bool = False,
    ) -> None:
        self.messages = list(messages)
        self.changes: list[Change] = []
        self._close, self._unique_ids, self._drop_results = close, unique_ids, drop_results
        self._gone: set[StoredPart | StoredMessage] = set()
        self._drop_doubled_messages()
        self._drop_doubled_calls()
        self._answer_of = self._match()
        self._sweep()
        self._holder = {part: message for message in self.messages for part in message.parts}
        self._at = {message: number for number, message in enumerate(self.messages)}
        self._next_response = self._find_next_responses()
        self._made: dict[StoredMessage, StoredMessage] = {}
        """The request that was made behind a response."""
        self._move_misplaced()
        self._mend_incomplete()
        self.messages = [one for message in self.messages for one in (message, self._made.get(message)) if one]
        self._sweep()
        self._order_answers()
        self._drop_empty()

    def _note(
        self,
        kind: Kind,
        at: StoredMessage | StoredPart,
        done: str,
        ruling: str,
        *,
        answer: StoredPart | None = None,
        said: str = "",
    ) -> None:
        """Note a change; one about a call or an answer names the result, that of `answer` or of the part."""
        if isinstance(at, StoredMessage):
            got = at.identity if kind is p.MESSAGE_TWICE else None
            self.changes.append(Change(kind=kind, pointer=at.pointer, done=done, got=got, ruling=ruling, said=said))
            return
        result = answer or at
        named = {"call_id": at.call_id, "tool": at.tool or result.tool, "content": result.content, "said": said}
        self.changes.append(Change(kind=kind, pointer=at.pointer, done=done, got=at.call_id, ruling=ruling, **named))

    def _sweep(self) -> None:
        """Remove the messages and parts that are gone."""
        gone = self._gone
        if gone:
            self.messages = [message for message in self.messages if message not in gone]
            for message in self.messages:
                message.parts = [part for part in message.parts if part not in gone]
            gone.clear()

    # ------------------------------------------------------------------ what is there twice

    def _drop_doubled_messages(self) -> None:
        """Leave out a message that is equal to the one directly before it, its time too.

        Somebody may say the same thing twice within a second, but not without an answer between.
        """
        before: StoredMessage | None = None
        for message in self.messages:
            if message.identity is not None and before is not None and before.identity == message.identity:
                self._gone.add(message)
                self._note(p.MESSAGE_TWICE, message, "left out", "R14")
            else:
                before = message
        self._sweep()

    def _drop_doubled_calls(self) -> None:
        open_calls: dict[str, tuple[StoredPart, StoredMessage]] = {}
        for message in self.messages:
            for part in message.parts:
                if part.kind == "answer" and not self._unique_ids:
                    open_calls.pop(part.call_id, None)
                elif part.kind == "call":
                    other, holder = open_calls.setdefault(part.call_id, (part, message))
                    if other is part:
                        continue
                    agree = other.answer is None or part.answer is None or other.answer == part.answer
                    near = not self._unique_ids or holder.raw is message.raw
                    if other.identity == part.identity and agree and near:
                        self._gone.add(part)
                        self._note(p.CALL_TWICE, part, "left out", "R14")
                    else:
                        self._note(p.CALL_TWICE, part, "", "R14")
        self._sweep()

    # ------------------------------------------------------------------ calls and answers

    def _match(self) -> dict[StoredPart, StoredPart]:
        """Return the answer of each call; what answers none, or again, is left out if it may be."""
        waiting: dict[str, deque[StoredPart]] = {}
        answered: dict[StoredPart, StoredPart] = {}
        late: list[StoredPart] = []
        last: dict[str, tuple[StoredPart, StoredPart]] = {}
        for message in self.messages:
            for part in message.parts:
                if part.kind == "call":
                    waiting.setdefault(part.call_id, deque()).append(part)
                elif part.kind == "answer":
                    if waiting.get(part.call_id):
                        call = waiting[part.call_id].popleft()
                        answered[call] = part
                        last[part.call_id] = (call, part)
                        self._note_other_tool(call, part)
                    elif part.call_id in last:
                        call, first = last[part.call_id]
                        part.tool = part.tool or call.tool
                        self._leave_out(p.ANSWER_TWICE, part, "R14", may=part.identity == first.identity)
                    else:
                        late.append(part)
        for part in late:  # a call may come after its answer
            if waiting.get(part.call_id):
                call = waiting[part.call_id].popleft()
                answered[call] = part
                self._note_other_tool(call, part)
            else:
                # No format has a place for an answer without its call, and to make up a call would be an invention.
                # What a tool returned is not forgotten: it stands in the way. A failure returned nothing that could
                # be forgotten, and a model is asked again; so it goes, and the change names it with what it says.
                self._leave_out(p.ORPHAN, part, "R23", may=part.failed)
        return answered

    def _note_other_tool(self, call: StoredPart, answer: StoredPart) -> None:
        """Note that an answer names another tool than its call: which of the two ran is for a person to find out."""
        if answer.tool and answer.tool != call.tool:
            named = {"call_id": answer.call_id, "tool": answer.tool, "content": answer.content}
            got = f"{answer.tool} for a call of {call.tool}"
            self.changes.append(Change(kind=of_threads.OTHER_TOOL, pointer=answer.pointer, done="", got=got, **named))

    def _leave_out(self, kind: Kind, answer: StoredPart, ruling: str, *, may: bool) -> None:
        if may or self._drop_results:
            self._gone.add(answer)
            self._note(kind, answer, "left out", ruling)
        else:
            self._note(kind, answer, "", ruling)

    def _find_next_responses(self) -> list[int]:
        """Return for each place the next one behind it that has a response."""
        found, after = [0] * len(self.messages), len(self.messages)
        for number in range(len(self.messages) - 1, -1, -1):
            found[number] = after
            if self.messages[number].kind == "response":
                after = number
        return found

    def _move_misplaced(self) -> None:
        """Put answers directly behind their response: before the next response or prompt of the same turn."""
        for response in self.messages:
            near = set(self._answering(response)) if response.calls else ()
            for call in response.calls:
                part = self._answer_of.get(call)
                if part is None or self._holder[part] in near or self._answers_a_waiting_call(response, part):
                    continue
                holder = self._holder[part]
                holder.parts = [one for one in holder.parts if one is not part]
                self._insert(response, part, holder)
                came = f"; it came at {part.came_at}" if part.came_at else ""
                self._note(p.MISPLACED, part, f"put behind its call{came}", "R25")

    def _answering(self, response: StoredMessage) -> Iterator[StoredMessage]:
        """Yield the requests that follow a response up to the next response or prompt, and the one with the prompt."""
        if response in self._made:
            yield self._made[response]
        at = self._at[response]
        for number in range(at + 1, self._next_response[at]):
            message = self.messages[number]
            if message.turn != response.turn:
                return
            yield message
            if message.prompts:
                return

    def _answers_a_waiting_call(self, response: StoredMessage, part: StoredPart) -> bool:
        """Whether an answer in a later turn comes before that turn's first response (R25): the call has waited."""
        at, holder = self._at[response], self._holder[part]
        return at < self._at[holder] < self._next_response[at] and holder.turn != response.turn

    def _insert(self, response: StoredMessage, part: StoredPart, holder: StoredMessage) -> None:
        """Put an answer behind a response: with its other answers, or in a request that is made of the `holder`."""
        for message in self._answering(response):
            if any(one.kind == "answer" for one in message.parts):
                message.parts.insert(self._place_in(message, response, part), part)
                break
        else:
            message = self._made[response] = StoredMessage(
                kind="request", pointer=holder.pointer, raw=holder.raw, parts=[part], turn=response.turn, made=True
            )
            behind = self._at[response] + 1
            after = self.messages[behind].time if behind < len(self.messages) else ""
            in_order = response.time <= holder.time and not (after and after < holder.time)
            message.time = holder.time if in_order else response.time
        self._holder[part] = message
        part.came_at = holder.time if holder is not response and holder.time != message.time else ""

    def _place_in(self, message: StoredMessage, response: StoredMessage, part: StoredPart) -> int:
        """Return where an answer goes among the others: behind those of the calls before its own."""
        number = {self._answer_of[call]: n for n, call in enumerate(response.calls) if call in self._answer_of}
        answers = [(n, one) for n, one in enumerate(message.parts) if one.kind == "answer"]
        before = [n + 1 for n, one in answers if number.get(one, -1) < number[part]]
        return before[-1] if before else answers[0][0]

    def _mend_incomplete(self) -> None:
        """R21: close the calls without an answer beside one that has its answer; else leave the response out."""
        ends = {m.turn: number for number, m in enumerate(self.messages) if m.kind == "response" or m.prompts}
        for number, response in enumerate(self.messages):
            if response.kind != "response" or response.excused:
                continue
            calls = response.calls
            half = [call for call in calls if call.half]
            ran = [call for call in half if call in self._answer_of and not self._answer_of[call].failed]
            for call in ran:  # what the tool was asked is not known, and that it ran is not forgotten
                self._note(p.HALF_ARGUMENTS, call, "", "R60", answer=self._answer_of[call])
            must = response.must_answer or ends[response.turn] > number
            without = [call for call in calls if call not in self._answer_of and not call.half] if must else []
            if ran or not (half or response.cut or without):
                continue
            if any(call in self._answer_of and not call.half for call in calls):
                self._keep_answered(response, half, without)
            else:
                self._drop(response, half, without)

    def _keep_answered(self, response: StoredMessage, half: list[StoredPart], without: list[StoredPart]) -> None:
        for call in half:
            self._note(p.HALF_ARGUMENTS, call, "left out", "R60", answer=self._answer_of.get(call))
            self._gone |= {call, self._answer_of.get(call, call)}
        for part in response.parts if response.cut else ():
            if part.unfinished and part not in without:
                self._note(p.STREAMING, part, "left out", "R20", said=part.text)
                self._gone.add(part)
        for call in without:
            if call.unfinished:
                self._note(p.UNANSWERED, call, "left out: it was not finished", "R20")
                self._gone.add(call)
                continue
            closing = StoredPart(kind="answer", pointer=call.pointer, raw=self._close(call), call_id=call.call_id)
            self._answer_of[call] = closing
            self._insert(response, closing, response)
            self._note(p.UNANSWERED, call, "closed with an error, since other calls of its response have run", "R21")

    def _drop(self, response: StoredMessage, half: list[StoredPart], without: list[StoredPart]) -> None:
        done, said = "left out with its response", response.text
        for call in half:
            self._note(p.HALF_ARGUMENTS, call, done, "R60", answer=self._answer_of.get(call), said=said)
        for call in without if not response.cut else ():
            self._note(p.UNANSWERED, call, done, "R21", said=said)
        if response.cut:
            self._note(p.STREAMING, response, "left out", "R20", said=said)
        self._gone.add(response)
        self._gone |= {self._answer_of[call] for call in response.calls if call in self._answer_of}

    def _order_answers(self) -> None:
        calls = (call for message in self.messages for call in message.calls)
        place = {self._answer_of[call]: n for n, call in enumerate(calls) if call in self._answer_of}
        for message in self.messages:
            answers = [part for part in message.parts if part in place]
            right = sorted(answers, key=place.__getitem__)
            if right != answers:
                self._note(p.UNORDERED, message, "its answers put in the order of their calls", "R11")
                ordered = iter(right)
                message.parts = [next(ordered) if part in place else part for part in message.parts]

    def _drop_empty(self) -> None:
        for message in self.messages:
            if not message.parts:
                self._gone.add(message)
                if message.was_empty:
                    self._note(p.EMPTY, message, "left out", "R24")
        self._sweep()
