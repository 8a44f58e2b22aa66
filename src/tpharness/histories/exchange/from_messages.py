"""Pydantic AI's messages → a thread.

In: the JSON of `ModelMessagesTypeAdapter`, of one or several runs. Out: a valid thread of the newest version, and what
it does not have. A run begins where the `run_id` changes or, without one, where the user speaks and nothing is pending.
A run with anything in another state than `complete` was interrupted: it keeps its complete cycles (R19–R21). What only
Pydantic AI has is kept in the fields of `protocol.library_parts`, so that `model_history` restores it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tpharness.errors import InputError
from tpharness.facts import are_unparsed, event_timestamp, later_time, normalize_finish_reason, normalize_usage
from tpharness.histories.exchange.imported import Imported, make_thread, require_messages
from tpharness.protocol.library_parts import OWN, from_library
from tpharness.protocol.losses import Loss
from tpharness.server_events.forms import ListOf, Record, TaggedRecord
from tpharness.server_events.shapes import ANY, OBJECT_OR_NULL, PART, PROMPT, TEXT, TEXT_OR_NULL

__all__ = ["thread_of_messages"]

_FACTS = ("model_name", "provider_name", "provider_response_id")
_COUNTED = ("input_tokens", "output_tokens", "output_reasoning_tokens")
_READ = (*_FACTS, "finish_reason", "usage", "kind", "parts", "state", "instructions")
_ANSWERS = ("tool-return", "retry-prompt")

_RETURN = Record({"tool_name": TEXT, "tool_call_id": TEXT, "outcome": TEXT_OR_NULL}, ("tool_name", "tool_call_id"))
_REQUEST_PART = TaggedRecord(
    "part_kind",
    {
        "tool-return": _RETURN,
        "retry-prompt": Record({"content": ANY, "tool_name": TEXT_OR_NULL, "tool_call_id": TEXT_OR_NULL}, ("content",)),
        "retry-feedback": Record({"content": ANY}, ("content",)),
        "user-prompt": Record({"content": PROMPT}, ("content",)),
    },
    Record({"part_kind": TEXT}),
)
_MESSAGE = TaggedRecord(
    "kind",
    {
        "request": Record({"parts": ListOf("a list of parts", _REQUEST_PART), "state": TEXT_OR_NULL}, ("parts",)),
        "response": Record(
            {
                "parts": ListOf("a list of parts", PART),
                "state": TEXT_OR_NULL,
                "usage": OBJECT_OR_NULL,
                "finish_reason": TEXT_OR_NULL,
            },
            ("parts",),
        ),
    },
    Record({}),
)
"""What this module relies on; what else a thread needs is for its rules to judge."""


def thread_of_messages(value: Any, *, agent_id: str, thread_id: str, at: str, safe: bool = False) -> Imported:
    """Return the thread of a list of messages; `at` is the time of what has none.

    `safe` says that every value in the messages is known to have a canonical form (R38).

    InputError if it is not such a list, ThreadError if its messages break rules that a thread keeps.
    """
    messages = require_messages(
        value, "Pydantic AI's messages", tag="kind", tags=("request", "response"), part_tag="part_kind"
    )
    reader = _Reader(agent_id, at)
    for index, message in enumerate(messages):
        mismatches = _MESSAGE.mismatches(message)
        if mismatches:
            expected = f"{mismatches[0].where()} has to be {mismatches[0].expected}"
            raise InputError(f"not Pydantic AI's messages: /{index}: {mismatches[0].message()}", hint=expected)
        reader.read(message, f"/{index}")
    turns = reader.finish()
    agent = {"agent_id": agent_id, "agent_name": agent_id}
    times = {"at": reader.began or at, "until": reader.now}
    thread = make_thread(turns, thread_id=thread_id, agent=agent, **times, safe=safe and not reader.parsed)
    return Imported(thread=thread, losses=tuple(sorted(reader.losses, key=lambda loss: _order(loss.pointer))))


def _order(pointer: str) -> list[tuple[int, str]]:
    return [(int(step), "") if step.isdigit() else (0, step) for step in pointer.split("/")[1:]]


@dataclass(slots=True)
class _Message:
    """A message of a thread, where it came from, and whether it was finished."""

    pointer: str
    fields: dict[str, Any]
    finished: bool = True


@dataclass(slots=True)
class _Run:
    """One agent turn in the making."""

    run_id: Any
    started_at: str
    messages: list[_Message] = field(default_factory=list)
    usage: dict[str, int] = field(default_factory=dict)
    interrupted: bool = False
    ended_at: str = ""


class _Reader:
    def __init__(self, agent_id: str, at: str) -> None:
        self._agent_id = agent_id
        self.began = ""
        """The time of the first message."""
        self.now = at
        """The time of the latest message."""
        self.parsed = False
        """Whether there are values that stood in a text, as arguments do."""
        self.losses: list[Loss] = []
        self._turns: list[dict[str, Any] | _Run] = []
        self._run: _Run | None = None
        self._calls: dict[str, _Run] = {}
        """The run of each call that has no return yet."""

    def read(self, message: Mapping[str, Any], pointer: str) -> None:
        """Read the next message."""
        self.now = later_time(self.now, _stated_time(message)) if self.began else _stated_time(message) or self.now
        self.began = self.began or self.now
        if message["kind"] == "response":
            self._response(message, pointer)
        else:
            self._request(message, pointer)

    # ---------------------------------------------------------------- messages

    def _response(self, message: Mapping[str, Any], pointer: str) -> None:
        run = self._running(message)
        counts = normalize_usage({name: (message.get("usage") or {}).get(name) for name in _COUNTED})
        for name, count in counts.items():  # R17: also of a response that is not kept
            run.usage[name] = run.usage.get(name, 0) + count
        parts = [_from_response(part, self.now) for part in message["parts"]]
        self.parsed |= any(isinstance(part.get("args"), str) for part in message["parts"])
        finished = message.get("state", "complete") == "complete"
        run.interrupted |= not finished
        facts = {name: message[name] for name in _FACTS if message.get(name) is not None}
        reason = normalize_finish_reason(message.get("finish_reason"))
        if reason is not None:
            facts["finish_reason"] = reason
        if counts:
            facts["usage"] = counts
        kept = {**self._message("response", parts), **facts, **self._own(message, _own_usage(message))}
        if not parts and finished:
            self._lose(pointer, "a response without parts", "a message has parts")
            return
        run.messages.append(_Message(pointer=pointer, fields=kept, finished=finished))
        self._calls |= {part["tool_call_id"]: run for part in parts if part["part_kind"] == "tool-call"}

    def _request(self, message: Mapping[str, Any], pointer: str) -> None:
        if message.get("instructions") is not None:
            self._lose(f"{pointer}/instructions", "instructions", "system prompts are never stored (R8)")
        parts = list(self._kept_parts(message, pointer))
        prompts = [part for part in parts if part["part_kind"] == "user-prompt"]
        if self._begins_run(message, parts):
            self._run = None
            if prompts and len(prompts) == len(parts):
                turn = {"turn_type": "user", "submitted_at": self.now, "parts": prompts}
                self._turns.append({**turn, **self._own(message)})
                return
        if message.get("state", "complete") != "complete":
            self._running(message).interrupted = True
        if parts:
            fields = {**self._message("request", parts), **self._own(message)}
            self._running(message).messages.append(_Message(pointer=pointer, fields=fields))

    def _kept_parts(self, message: Mapping[str, Any], pointer: str) -> Sequence[dict[str, Any]]:
        kept = []
        order = {call: number for number, call in enumerate(self._calls)}
        for index, part in enumerate(message["parts"]):
            place, kind, call = f"{pointer}/parts/{index}", part["part_kind"], part.get("tool_call_id")
            answers = kind == "tool-return" or (kind == "retry-prompt" and part.get("tool_name") is not None)
            if kind == "system-prompt":
                self._lose(place, "a system prompt", "system prompts are never stored (R8)")
            elif answers and call not in self._calls:
                self._lose(place, f"the return of {call}", "no call waits for it (R14, R23)")
            elif answers and part.get("outcome") == "interrupted":
                self._calls.pop(str(call)).interrupted = True
                self._lose(place, f"the return of {call}", "a tool that the interruption stopped has none (R41)")
            else:
                if answers:
                    del self._calls[str(call)]
                kept.append(from_library(part, at=self.now))
        return self._in_order(kept, order, pointer)

    def _in_order(self, parts: list[dict[str, Any]], order: Mapping[str, int], pointer: str) -> list[dict[str, Any]]:
        """R11: the returns of a request in the order of their calls; the other parts stay where they are."""
        answers = [part for part in parts if _answered_call(part) in order]
        ordered = sorted(answers, key=lambda part: order[str(_answered_call(part))])
        if ordered == answers:
            return parts
        self._lose(pointer, "the order of its returns", "they are kept in the order of their calls (R11)")
        rest = iter(ordered)
        return [next(rest) if _answered_call(part) in order else part for part in parts]

    # ------------------------------------------------------------------- turns

    def _begins_run(self, message: Mapping[str, Any], parts: Sequence[Mapping[str, Any]]) -> bool:
        run = self._run
        if run is None:
            return True
        if message.get("run_id") is not None or run.run_id is not None:
            return bool(message.get("run_id") != run.run_id)
        prompted = any(part["part_kind"] == "user-prompt" for part in parts)
        return prompted and not any(_answered_call(part) for part in parts)

    def _running(self, message: Mapping[str, Any]) -> _Run:
        run = self._run
        if run is None or (message["kind"] == "response" and message.get("run_id") not in (None, run.run_id)):
            run = self._run = _Run(run_id=message.get("run_id"), started_at=self.now)
            self._turns.append(run)
        run.ended_at = self.now
        return run

    def finish(self) -> list[dict[str, Any]]:
        """Return the turns."""
        gone: set[str] = set()
        made = [self._agent_turn(turn, gone) if isinstance(turn, _Run) else turn for turn in self._turns]
        return [turn for turn in made if turn is not None]

    def _agent_turn(self, run: _Run, gone: set[str]) -> dict[str, Any] | None:
        """Return the turn of a run; `gone` has the calls of responses that were dropped, and gets those of this run."""
        turn: dict[str, Any] = {"turn_type": "agent", "agent_id": self._agent_id, "started_at": run.started_at}
        messages = list(self._kept_messages(run, gone))
        if run.interrupted:
            if not messages:
                return None  # R24
            interruption = {"reason": "user_cancelled", "interrupted_at": run.ended_at}
            turn |= {"completion_status": "interrupted", "interruption": interruption}
        else:
            turn |= {"completion_status": "complete", "completed_at": run.ended_at}
        turn["messages"] = messages
        return {**turn, "total_usage": run.usage} if run.usage else turn

    def _kept_messages(self, run: _Run, gone: set[str]) -> Iterator[dict[str, Any]]:
        """R20, R21, R23: what was cut goes, and a response with a call that has no return, with its other returns."""
        answered = {call for message in run.messages for call in _answers(message.fields)}
        for message in run.messages:
            parts = message.fields["parts"]
            calls = {part["tool_call_id"] for part in parts if part["part_kind"] == "tool-call"}
            if run.interrupted and not (message.finished and calls <= answered):
                gone |= calls
                why = "was cut (R20)" if not message.finished else "has a call without a return (R21)"
                self._lose(message.pointer, "a response", f"it {why}, and the run was interrupted")
                continue
            gone -= calls
            rest = [part for part in parts if _answered_call(part) not in gone]
            if len(rest) < len(parts):
                self._lose(message.pointer, "returns", "their response is dropped (R23)")
            if rest:
                yield {**message.fields, "parts": rest}

    # ------------------------------------------------------------------ inside

    def _message(self, kind: str, parts: Sequence[Any]) -> dict[str, Any]:
        return {"message_type": kind, "timestamp": self.now, "agent_id": self._agent_id, "parts": list(parts)}

    def _own(self, message: Mapping[str, Any], usage: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Return the field with what only Pydantic AI has of a message; nothing if there is nothing."""
        own = {k: v for k, v in message.items() if k not in _READ and v is not None and k != "timestamp"}
        stated = message.get("timestamp")
        if stated != self.now:
            own["timestamp"] = stated
        if usage:
            own["usage"] = dict(usage)
        return {OWN: own} if own else {}

    def _lose(self, pointer: str, what: str, why: str) -> None:
        self.losses.append(Loss(pointer=pointer, what=what, why=why))


def _from_response(part: Mapping[str, Any], at: str) -> dict[str, Any]:
    """Return the part of a thread; arguments that are not JSON stay the text that they are."""
    made, arguments = from_library(part, at=at), part.get("args")
    unparsed = isinstance(arguments, str) and are_unparsed(made.get("args"))
    return {**made, "args": arguments} if unparsed else made


def _answered_call(part: Mapping[str, Any]) -> str | None:
    """Return the id of the call that a part of a thread answers, None if it answers none."""
    return part.get("tool_call_id") if part["part_kind"] in _ANSWERS else None


def _answers(message: Mapping[str, Any]) -> Iterator[str]:
    return (call for part in message["parts"] if (call := _answered_call(part)) is not None)


def _stated_time(message: Mapping[str, Any]) -> str:
    """Return the time of a message, or else of its first part that has one; an empty text if there is none."""
    for holder in (message, *message["parts"]):
        stated = event_timestamp(holder)
        if stated is not None:
            return stated
    return ""


def _own_usage(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return the counts of a response that a thread has no name for; those that are zero are the default."""
    usage = message.get("usage")
    return {k: v for k, v in usage.items() if k not in _COUNTED and v} if isinstance(usage, Mapping) else {}
