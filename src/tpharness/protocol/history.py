"""Thread → the messages of the next model call, and an independent check that a model API would accept them.

In: a thread, the agent that is called, a system prompt, which threads never store (R8). Out: messages that Pydantic
AI's `ModelMessagesTypeAdapter` loads (`library_parts` has the fields). Other agents' texts are prefixed by name, system
messages are left out. A call without a return is never sent (R46), nor a return whose content is stored elsewhere and
not resolved (R6): the caller supplies them, or the calls of that response are left out, and the result says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from tpharness.findings import Finding, Kind, Place
from tpharness.protocol.canonical import canonical_time
from tpharness.protocol.library_parts import own_fields, to_library, usage_to_library
from tpharness.protocol.losses import Loss

__all__ = ["ModelHistory", "PendingCall", "check_history", "model_history", "pending_calls"]

UNANSWERED = Kind("history-call-unanswered")
ORPHAN = Kind("history-orphan-return")
EMPTY = Kind("history-empty-message")
STARTS_WRONG = Kind("history-starts-with-response")

_ANSWERS = ("tool-return", "retry-prompt")
_RESPONSE_FIELDS = ("model_name", "provider_name", "provider_response_id", "finish_reason")


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingCall:
    """A call without a return: its agent and its place (JSON pointer)."""

    agent_id: str
    tool_name: str
    tool_call_id: str
    args: Any
    pointer: str


@dataclass(frozen=True, kw_only=True)
class ModelHistory:
    """The messages for the model of a thread, and what was left out."""

    thread: Mapping[str, Any] = field(default_factory=dict, repr=False)
    messages: list[dict[str, Any]]
    left_out: tuple[Loss, ...] = ()

    @cached_property
    def pending(self) -> tuple[PendingCall, ...]:
        """The calls that wait for a return."""
        return tuple(pending_calls(self.thread))


def pending_calls(thread: Mapping[str, Any]) -> list[PendingCall]:
    """Return the calls without a later return, in order; calls that the provider executes do not need one (R42)."""
    waiting: dict[str, tuple[Mapping[str, Any], Any, tuple[int, int, int]]] = {}
    for t, turn in enumerate(thread.get("turns") or ()):
        for m, message in enumerate(turn.get("messages") or (turn,)):  # a user turn is a request, too (R57)
            for p, part in enumerate(message.get("parts") or ()):
                kind = part.get("part_kind")
                if kind == "tool-call":
                    agent = message.get("agent_id") or turn.get("agent_id")
                    waiting[str(part.get("tool_call_id"))] = part, agent, (t, m, p)
                elif kind in _ANSWERS:
                    waiting.pop(str(part.get("tool_call_id")), None)
    return [
        PendingCall(
            agent_id=str(agent),
            tool_name=str(part.get("tool_name")),
            tool_call_id=call_id,
            args=part.get("args"),
            pointer=f"/turns/{t}/messages/{m}/parts/{p}",
        )
        for call_id, (part, agent, (t, m, p)) in waiting.items()
    ]


def model_history(
    thread: Mapping[str, Any],
    *,
    viewing_agent: str | None = None,
    system_prompt: str | None = None,
    supply_returns: Mapping[str, Any] | None = None,
    resolve: Callable[[Mapping[str, Any]], Any] | None = None,
) -> ModelHistory:
    """Rebuild the history for the next model call.

    `viewing_agent` is the agent that is called, None to leave texts without prefixes; `supply_returns` maps ids of
    pending calls to the content of returns that the caller makes for them (R46). `resolve` gets a `content_ref` and
    returns the content that is stored there; LookupError if it does not have it (R6).
    """
    builder = _Builder(thread, viewing_agent, supply_returns or {}, resolve)
    for index, turn in enumerate(thread.get("turns") or ()):
        builder.turn(turn, f"/turns/{index}")
    builder.flush()
    messages = builder.messages
    if system_prompt is not None:
        prompt = {"part_kind": "system-prompt", "content": system_prompt}
        messages = [{"kind": "request", "parts": [prompt]}, *messages]
    return ModelHistory(thread=thread, messages=messages, left_out=tuple(builder.left_out))


@dataclass(slots=True)
class _Waiting:
    """A response with calls that are not all answered: it is sent with their returns or without its calls."""

    response: dict[str, Any]
    calls: dict[str, Any]
    """The name of the tool by the id of the call."""
    pointer: str
    returns: dict[str, dict[str, Any]]
    elsewhere: dict[str, str]
    """Where the content of a return is stored, by the id of the call."""

    def missing(self) -> list[str]:
        """Return the ids of the calls without a return that can be sent."""
        return [call for call in self.calls if call not in self.returns]


class _Builder:
    def __init__(
        self,
        thread: Mapping[str, Any],
        viewing: str | None,
        supplied: Mapping[str, Any],
        resolve: Callable[[Mapping[str, Any]], Any] | None,
    ) -> None:
        self._agents = thread.get("agents") or {}
        self._viewing = viewing
        self._supplied = supplied
        self._resolve = resolve
        self._waiting: _Waiting | None = None
        self.messages: list[dict[str, Any]] = []
        self.left_out: list[Loss] = []

    def turn(self, turn: Mapping[str, Any], pointer: str) -> None:
        if turn.get("turn_type") == "user":
            self._request(turn, turn.get("submitted_at"), pointer)
            return
        for index, message in enumerate(turn.get("messages") or ()):
            self._message(message, f"{pointer}/messages/{index}")

    def _message(self, message: Mapping[str, Any], pointer: str) -> None:
        match message.get("message_type"):
            case "system":
                self._leave_out(pointer, str(message.get("event_type")), "system messages are not sent to the model")
            case "response":
                self._response(message, pointer)
            case _:
                self._request(message, message.get("timestamp"), pointer)

    def _response(self, message: Mapping[str, Any], pointer: str) -> None:
        parts = list(self._parts(message, "response", pointer))
        if self._viewing is not None:
            parts = [self._prefix(part, message.get("agent_id")) for part in parts]
        sent = _message_fields("response", parts, message.get("timestamp"))
        for name in _RESPONSE_FIELDS:
            if (fact := message.get(name)) is not None:
                sent[name] = fact
        sent.update(own_fields(message))
        if usage := usage_to_library(message):
            sent["usage"] = usage
        calls = {p["tool_call_id"]: p.get("tool_name") for p in parts if p.get("part_kind") == "tool-call"}
        self.flush()
        if calls:
            self._waiting = _Waiting(response=sent, calls=calls, pointer=pointer, returns={}, elsewhere={})
        elif parts:
            self.messages.append(sent)

    def _request(self, holder: Mapping[str, Any], at: Any, pointer: str) -> None:
        """Hold returns back until every call of their response has one, because only then may both be sent."""
        others = []
        waiting = self._waiting
        for part in self._parts(holder, "request", pointer, at):
            call = part.get("tool_call_id") if part["part_kind"] in _ANSWERS else None
            if not call:
                others.append(part)
            elif waiting is not None and call in waiting.calls:
                waiting.returns[call] = {"tool_name": waiting.calls[call], **part}  # a retry prompt may lack it
            else:
                self._leave_out(pointer, f"return of {call}", "it does not answer an open call")
        sent = _message_fields("request", others, at)
        sent.update(own_fields(holder))
        if waiting is not None and not waiting.missing():
            self._add_cycle(sent)
        if others:
            self.flush()
            self.messages.append(sent)

    def _add_cycle(self, request: dict[str, Any]) -> None:
        waiting = self._waiting
        if waiting is not None:
            parts = [waiting.returns[call] for call in waiting.calls]
            self.messages += [waiting.response, {**request, "parts": parts}]
            self._waiting = None

    def _parts(self, holder: Mapping[str, Any], role: str, pointer: str, at: Any = None) -> Iterator[dict[str, Any]]:
        """Yield the parts of a turn or a message in the library's shape; parts that it cannot represent are noted."""
        time = canonical_time(at) if isinstance(at, str) else None
        for index, part in enumerate(holder.get("parts") or ()):
            given = self._with_content(part) if "content_ref" in part else part
            if given is None:
                continue
            converted, left_out = to_library(given, role=role, at=time)
            for what, why in left_out:
                self._leave_out(f"{pointer}/parts/{index}", what, why)
            if converted is not None:
                yield converted

    def _with_content(self, part: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Return a part with the content that it refers to, None if that content is not known (R6)."""
        reference = part.get("content_ref")
        if (
            part.get("part_kind") != "tool-return"
            or not isinstance(reference, Mapping)
            or part.get("content") is not None
        ):
            return part
        if self._resolve is not None:
            try:
                return {**part, "content": self._resolve(reference)}
            except LookupError:
                pass  # it is reported with its call
        call = str(part.get("tool_call_id"))
        if self._waiting is None or call not in self._waiting.calls:
            return part  # a return without its call is left out whatever it holds
        self._waiting.elsewhere[call] = str(reference.get("uri"))
        return None

    def flush(self) -> None:
        """Add a response with unanswered calls: with the supplied returns, or without its calls (R46)."""
        waiting = self._waiting
        if waiting is None:
            return
        missing = waiting.missing()
        if all(call in self._supplied for call in missing):
            for call in missing:
                waiting.returns[call] = {
                    "part_kind": "tool-return",
                    "tool_name": waiting.calls[call],
                    "tool_call_id": call,
                    "content": self._supplied[call],
                }
            self._add_cycle(_message_fields("request", [], waiting.response.get("timestamp")))
            return
        self._waiting = None
        rest = [p for p in waiting.response["parts"] if p.get("part_kind") != "tool-call"]
        why = "; ".join(
            f"the return of {call} is stored at {waiting.elsewhere[call]}, and nobody resolved it (R6)"
            if call in waiting.elsewhere
            else f"no return for {call} (R46)"
            for call in missing
        )
        answered = f", and the returns of {', '.join(waiting.returns)}" if waiting.returns else ""
        self._leave_out(waiting.pointer, f"calls {', '.join(waiting.calls)}{answered}", why)
        if rest:
            self.messages.append({**waiting.response, "parts": rest})

    def _leave_out(self, pointer: str, what: str, why: str) -> None:
        self.left_out.append(Loss(pointer=pointer, what=what, why=why))

    def _prefix(self, part: dict[str, Any], agent_id: Any) -> dict[str, Any]:
        if agent_id == self._viewing or part.get("part_kind") != "text":
            return part
        agent = self._agents.get(agent_id)
        name = agent.get("agent_name", agent_id) if isinstance(agent, Mapping) else agent_id
        return {**part, "content": f"{{agent:{name}}}: {part.get('content', '')}"}


def _message_fields(kind: str, parts: list[dict[str, Any]], at: Any) -> dict[str, Any]:
    fields = {"kind": kind, "parts": parts}
    if isinstance(at, str):
        fields["timestamp"] = canonical_time(at)
    return fields


def check_history(messages: Sequence[Mapping[str, Any]]) -> list[Finding]:
    """Report what a model API would reject: unanswered calls, orphan returns, empty messages, a response first.

    `messages` are in the format of Pydantic AI. Places are JSON pointers into the list.
    """
    return list(_find_problems(messages))


def _find_problems(messages: Sequence[Mapping[str, Any]]) -> Iterator[Finding]:
    asked: set[str] = set()
    asked_at = ""
    for index, message in enumerate(messages):
        pointer = f"/{index}"
        parts = message.get("parts") or ()
        if not parts:
            yield EMPTY.at(Place(pointer=pointer))
        if index == 0 and message.get("kind") == "response":
            yield STARTS_WRONG.at(Place(pointer=pointer))
        answered = {
            str(p.get("tool_call_id")) for p in parts if p.get("part_kind") in _ANSWERS and p.get("tool_call_id")
        }
        for call in sorted(answered - asked):
            yield ORPHAN.at(Place(pointer=pointer), f"return for {call!r}", got=call)
        asked -= answered
        if message.get("kind") == "request" and all(p.get("part_kind") in _ANSWERS for p in parts):
            continue  # returns may come in several consecutive requests
        for call in sorted(asked):
            yield UNANSWERED.at(Place(pointer=asked_at), f"no return for {call!r}", got=call)
        asked = {str(p.get("tool_call_id")) for p in parts if p.get("part_kind") == "tool-call"}
        asked_at = pointer
    for call in sorted(asked):
        yield UNANSWERED.at(Place(pointer=asked_at), f"no return for {call!r}", got=call)
