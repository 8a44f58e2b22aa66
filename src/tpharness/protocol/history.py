"""Thread → the messages of the next model call, and an independent check that a model API would accept them.

In: a thread, the agent that is called, a system prompt, which threads never store (R8). Out: messages in the format of
Pydantic AI (`kind`, `parts`, `timestamp`). Other agents' texts are prefixed by name, system messages are left out. A
call without a return is never sent (R46): the caller supplies returns, or the calls of that response are left out, and
the result says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tpharness.findings import Finding, Kind, Place

__all__ = ["LeftOut", "ModelHistory", "PendingCall", "check_history", "model_history", "pending_calls"]

UNANSWERED = Kind("history-call-unanswered")
ORPHAN = Kind("history-orphan-return")
EMPTY = Kind("history-empty-message")
STARTS_WRONG = Kind("history-starts-with-response")

_ANSWERS = ("tool-return", "retry-prompt")
_RESPONSE_FIELDS = ("model_name", "provider_name", "provider_response_id", "usage", "finish_reason")


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingCall:
    """A call without a return: its agent and its place (JSON pointer)."""

    agent_id: str
    tool_name: str
    tool_call_id: str
    args: Any
    pointer: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """Something in the thread that is not in the history, and why."""

    pointer: str
    what: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelHistory:
    """The messages for the model, what was left out, and the calls that wait for a return."""

    messages: list[dict[str, Any]]
    left_out: tuple[LeftOut, ...] = ()
    pending: tuple[PendingCall, ...] = ()


def pending_calls(thread: Mapping[str, Any]) -> list[PendingCall]:
    """Return the calls without a later return, in order; calls that the provider executes do not need one (R42)."""
    waiting: dict[str, PendingCall] = {}
    for t, turn in enumerate(thread.get("turns") or ()):
        for m, message in enumerate(turn.get("messages") or ()):
            for p, part in enumerate(message.get("parts") or ()):
                call_id = str(part.get("tool_call_id"))
                if part.get("part_kind") == "tool-call":
                    waiting[call_id] = PendingCall(
                        agent_id=str(message.get("agent_id") or turn.get("agent_id")),
                        tool_name=str(part.get("tool_name")),
                        tool_call_id=call_id,
                        args=part.get("args"),
                        pointer=f"/turns/{t}/messages/{m}/parts/{p}",
                    )
                elif part.get("part_kind") in _ANSWERS:
                    waiting.pop(call_id, None)
    return list(waiting.values())


def model_history(
    thread: Mapping[str, Any],
    *,
    viewing_agent: str | None = None,
    system_prompt: str | None = None,
    supply_returns: Mapping[str, Any] | None = None,
) -> ModelHistory:
    """Rebuild the history for the next model call.

    `viewing_agent` is the agent that is called, None to leave texts without prefixes; `supply_returns` maps ids of
    pending calls to the content of returns that the caller makes for them (R46).
    """
    builder = _Builder(thread, viewing_agent, supply_returns or {})
    for index, turn in enumerate(thread.get("turns") or ()):
        builder.turn(turn, f"/turns/{index}")
    builder.flush()
    messages = builder.messages
    if system_prompt is not None:
        prompt = {"part_kind": "system-prompt", "content": system_prompt}
        messages = [{"kind": "request", "parts": [prompt]}, *messages]
    return ModelHistory(messages=messages, left_out=tuple(builder.left_out), pending=tuple(pending_calls(thread)))


class _Builder:
    def __init__(self, thread: Mapping[str, Any], viewing: str | None, supplied: Mapping[str, Any]) -> None:
        self._names = {
            k: a.get("agent_name", k) for k, a in (thread.get("agents") or {}).items() if isinstance(a, Mapping)
        }
        self._viewing = viewing
        self._supplied = supplied
        self._waiting: tuple[dict[str, Any], list[str], str] | None = None
        self._returns: dict[str, dict[str, Any]] = {}
        self.messages: list[dict[str, Any]] = []
        self.left_out: list[LeftOut] = []

    def turn(self, turn: Mapping[str, Any], pointer: str) -> None:
        if turn.get("turn_type") == "user":
            parts = list(turn.get("parts") or ())
            self._request({"kind": "request", "parts": parts, "timestamp": turn.get("submitted_at")}, pointer)
            return
        for index, message in enumerate(turn.get("messages") or ()):
            self._message(message, f"{pointer}/messages/{index}")

    def _message(self, message: Mapping[str, Any], pointer: str) -> None:
        kind = message.get("message_type")
        if kind == "system":
            self.left_out.append(
                LeftOut(
                    pointer=pointer,
                    what=str(message.get("event_type")),
                    why="system messages are not sent to the model",
                )
            )
            return
        parts = [p for p in message.get("parts") or () if not str(p.get("part_kind", "")).startswith("meta:")]
        parts = [self._prefix(p, message.get("agent_id")) for p in parts]
        sent = {"kind": kind, "parts": parts, "timestamp": message.get("timestamp")}
        if kind == "response":
            sent.update((k, message[k]) for k in _RESPONSE_FIELDS if k in message)
            calls = [p["tool_call_id"] for p in parts if p.get("part_kind") == "tool-call"]
            self._send(sent)
            if calls:
                self._waiting = (sent, calls, pointer)
                self.messages.pop()
        else:
            self._request(sent, pointer)

    def _request(self, sent: dict[str, Any], pointer: str) -> None:
        """Hold returns back until every call of their response has one, because only then may both be sent."""
        answers = [p for p in sent["parts"] if p.get("part_kind") in _ANSWERS and p.get("tool_call_id")]
        others = [p for p in sent["parts"] if p not in answers]
        for part in answers:
            if self._waiting is not None and part["tool_call_id"] in self._waiting[1]:
                self._returns[part["tool_call_id"]] = part
            else:
                why = "it does not answer an open call"
                self.left_out.append(LeftOut(pointer=pointer, what=f"return of {part['tool_call_id']}", why=why))
        if self._waiting is not None and all(call in self._returns for call in self._waiting[1]):
            self._add_cycle(sent.get("timestamp"))
        if others:
            self._send({**sent, "parts": others})

    def _add_cycle(self, timestamp: Any) -> None:
        if self._waiting is None:
            return
        response, calls, _ = self._waiting
        parts = [self._returns[call] for call in calls]
        self.messages += [response, {"kind": "request", "parts": parts, "timestamp": timestamp}]
        self._waiting, self._returns = None, {}

    def _send(self, message: dict[str, Any]) -> None:
        self.flush()
        if message["parts"]:
            self.messages.append(message)

    def flush(self) -> None:
        """Add a response with unanswered calls: with the supplied returns, or without its calls (R46)."""
        if self._waiting is None:
            return
        response, calls, pointer = self._waiting
        missing = [call for call in calls if call not in self._returns]
        if all(call in self._supplied for call in missing):
            for call in missing:
                part = next(p for p in response["parts"] if p.get("tool_call_id") == call)
                self._returns[call] = {
                    "part_kind": "tool-return",
                    "tool_name": part.get("tool_name"),
                    "tool_call_id": call,
                    "content": self._supplied[call],
                }
            self._add_cycle(response.get("timestamp"))
            return
        self._waiting, self._returns = None, {}
        rest = [p for p in response["parts"] if p.get("part_kind") != "tool-call"]
        what = f"calls {', '.join(calls)}"
        self.left_out.append(LeftOut(pointer=pointer, what=what, why=f"no return for {', '.join(missing)} (R46)"))
        if rest:
            self.messages.append({**response, "parts": rest})

    def _prefix(self, part: Mapping[str, Any], agent_id: Any) -> dict[str, Any]:
        if self._viewing is None or agent_id == self._viewing or part.get("part_kind") != "text":
            return dict(part)
        return {**part, "content": f"{{agent:{self._names.get(agent_id, agent_id)}}}: {part.get('content', '')}"}


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
