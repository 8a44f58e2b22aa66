"""Pydantic AI's messages as a history: what an application that uses it can store after an interruption.

In: a journal. Out: `ModelMessage`s as JSON, as `ModelMessagesTypeAdapter` writes them: what `capture_run_messages`
holds. An application that stores `result.all_messages()` alone keeps nothing of a run that was cut, because only a run
that ends returns them.

Driven with pydantic-ai 2.68: a cancelled task and an error leave the same messages. A response that was cut has all of
its parts, calls with half arguments among them, and the state `interrupted`; before the first delta it has no parts. A
request whose tools were still running has the returns that had come, in the order of the calls, and the same state.
The next run gives each call without a return one that says so, and keeps it. A cut after the last answer leaves no
trace. Calls that wait for an approval have no return either; with a prompt in place of it the next run is an error of
Pydantic AI's own.

What its agent never does is not supported: asking the model again before each call has its return, or twice in a row
(for which it has a retry prompt between the two, which a journal does not).

Choice: between two steps the next model call has begun, as it has wherever an application waits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tpharness.histories.langchain import UnsupportedError
from tpharness.histories.list_history import ListHistory
from tpharness.histories.projections import ApiName, CallContent, ResultContent, TurnContent, canonical_text
from tpharness.journal import AgentTurn, Interrupted, Journal, Part, Prompt, Response, Return, UserTurn
from tpharness.model_apis.payloads import payload_of

__all__ = ["INTERRUPTED_RETURN", "PYDANTIC_AI", "PydanticAiHistory", "with_returns"]

INTERRUPTED_RETURN = "The tool call was interrupted before a result was produced."
"""What Pydantic AI tells the model of a call that has no return."""

_CUT = "interrupted"


@dataclass(frozen=True, slots=True, kw_only=True)
class PydanticAiHistory(ListHistory):
    """The messages of `capture_run_messages`, kept from run to run."""

    name: str = "pydantic-ai"

    def store(self, journal: Journal) -> list[dict[str, Any]]:
        """Return the messages; of a turn that still runs, what it has finished."""
        messages: list[dict[str, Any]] = []
        prompts: list[Mapping[str, Any]] = []
        for turn in journal.turns():
            if isinstance(turn, UserTurn):
                prompts += turn.parts
                continue
            run = _Run(with_returns(messages), turn, prompts)
            run.write()
            messages, prompts = run.messages, []
        return messages

    def replay(self, document: Any) -> list[Mapping[str, Any]]:
        """Return each part, and an interruption after each message that was cut."""
        events: list[Mapping[str, Any]] = []
        for message in document:
            events += [{"event": part["part_kind"], "part": part} for part in message["parts"]]
            if message["state"] == _CUT:
                events.append({"event": "interruption"})
        return events

    def model_input(self, document: Any, provider: ApiName, *, next_user: str | None = None) -> Any:
        """Return the provider's payload, with the returns that the next run makes."""
        return payload_of(provider, with_returns(document), next_user=next_user)

    def turn_contents(self, document: Any) -> list[TurnContent]:
        """Return what is kept of each run: one for each request with a user's prompt."""
        turns: list[list[Mapping[str, Any]]] = [[]]
        for message in document:
            if any(part["part_kind"] == "user-prompt" for part in message["parts"]):
                turns.append([])
            turns[-1].append(message)
        return [_turn_content(turn) for turn in turns if turn]


PYDANTIC_AI: Mapping[str, PydanticAiHistory] = {history.name: history for history in (PydanticAiHistory(),)}
"""The history by name."""


class _Run:
    """Appends the messages of one run."""

    def __init__(self, messages: list[dict[str, Any]], turn: AgentTurn, prompts: Sequence[Mapping[str, Any]]) -> None:
        self.messages = messages
        self._turn = turn
        if prompts:
            self._request(turn.started_at, [dict(part) for part in prompts])

    def write(self) -> None:
        """Append what the turn has."""
        cut = isinstance(self._turn.end, Interrupted)
        open_response = False
        for segment in (*self._turn.segments, self._turn.tail):
            for entry in segment.entries:
                match entry:
                    case Response():
                        self._check_order()
                match entry:
                    case Response() if entry.finished:
                        self._respond(entry, entry.parts, "complete")
                    case Response() if cut:
                        self._respond(entry, entry.parts if entry.failed is None else entry.failed, _CUT)
                        open_response = True
                    case Return():
                        self._return(entry)
                    case Prompt():
                        self._request(entry.at, [dict(part) for part in entry.parts])
        if cut and not open_response:
            self._interrupt()

    def _interrupt(self) -> None:
        last = self.messages[-1] if self.messages else None
        if last is None or (last["kind"] == "request" and not _open_calls(self.messages)):
            self.messages.append({"kind": "response", "parts": [], "state": _CUT, "timestamp": self._turn.started_at})
        elif last["kind"] == "request":
            last["state"] = _CUT
        elif _open_calls(self.messages):
            self._request(last["timestamp"], [])["state"] = _CUT

    def _check_order(self) -> None:
        last = self.messages[-1] if self.messages else None
        if _open_calls(self.messages) or (last is not None and last["kind"] == "response"):
            raise UnsupportedError(
                "pydantic-ai: the model is asked again before its last request is answered",
                hint="its agent asks again when each call has its return",
            )

    def _respond(self, response: Response, parts: Sequence[Part], state: str) -> None:
        facts = response.facts
        known = {name: facts[name] for name in ("usage", "model_name", "finish_reason") if facts.get(name)}
        written = [_part(part) for part in parts]
        self.messages.append({"kind": "response", "parts": written, "state": state, "timestamp": response.at, **known})

    def _return(self, entry: Return) -> None:
        if all(call["tool_call_id"] != entry.call_id for call in _open_calls(self.messages)):
            raise UnsupportedError(
                f"pydantic-ai: the return of {entry.call_id!r} does not answer the last response",
                hint="its agent runs tools when a response has ended, and goes on when all have returned",
            )
        last = self.messages[-1]
        if last["kind"] != "request":
            last = self._request(entry.at, [])
        content = entry.fields["content_ref"] if entry.fields.get("content_ref") else entry.fields.get("content")
        part = {
            "part_kind": entry.kind,
            "tool_name": entry.fields.get("tool_name"),
            "tool_call_id": entry.call_id,
            "content": content,
            "timestamp": entry.at,
        }
        if entry.kind == "tool-return":
            part["outcome"] = "success" if entry.fields.get("status") == "success" else "failed"
        last["parts"] = _in_order_of_calls([*last["parts"], part], self.messages[-2])

    def _request(self, at: str, parts: list[dict[str, Any]]) -> dict[str, Any]:
        message = {"kind": "request", "parts": parts, "state": "complete", "timestamp": at}
        self.messages.append(message)
        return message


def _part(part: Part) -> dict[str, Any]:
    fields = {name: value for name, value in part.fields.items() if value is not None}
    written = {"part_kind": part.kind, **fields}
    if part.kind == "tool-call":
        written |= {"args": part.raw if part.raw is not None else fields.get("args"), "tool_call_id": part.call_id}
    return written


def _calls(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [part for part in message["parts"] if part["part_kind"] == "tool-call"]


def _open_calls(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the calls of the last response that have no return after it."""
    answered: set[str] = set()
    for message in reversed(messages):
        if message["kind"] == "response":
            return [call for call in _calls(message) if call["tool_call_id"] not in answered]
        answered |= {part["tool_call_id"] for part in message["parts"] if part.get("tool_call_id")}
    return []


def _in_order_of_calls(parts: Sequence[dict[str, Any]], response: Mapping[str, Any]) -> list[dict[str, Any]]:
    order = {call["tool_call_id"]: index for index, call in enumerate(_calls(response))}
    return sorted(parts, key=lambda part: order.get(part.get("tool_call_id") or "", len(order)))


def with_returns(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the messages as the next run keeps them: each call of the last response has a return if it was cut."""
    kept = [{**message, "parts": list(message["parts"])} for message in messages]
    if not kept or kept[-1]["state"] != _CUT:
        return kept
    made = [
        {
            "part_kind": "tool-return",
            "tool_name": call.get("tool_name"),
            "tool_call_id": call["tool_call_id"],
            "content": INTERRUPTED_RETURN,
            "outcome": _CUT,
            "timestamp": kept[-1]["timestamp"],
        }
        for call in _open_calls(kept)
    ]
    if made and kept[-1]["kind"] == "request":
        kept[-1]["parts"] = _in_order_of_calls([*kept[-1]["parts"], *made], kept[-2])
    elif made:
        kept.append({"kind": "request", "parts": made, "state": "complete", "timestamp": kept[-1]["timestamp"]})
    return kept


def _turn_content(turn: Sequence[Mapping[str, Any]]) -> TurnContent:
    responses = [message for message in turn if message["kind"] == "response"]
    parts = [part for message in responses for part in message["parts"]]
    requested = [part for message in turn if message["kind"] == "request" for part in message["parts"]]
    return TurnContent(
        texts=_contents(responses, "text"),
        thinking=_contents(responses, "thinking"),
        signatures=tuple(str(p["signature"]) for p in parts if p["part_kind"] == "thinking" and p.get("signature")),
        calls=tuple(
            CallContent(
                call_id=p["tool_call_id"], name=p.get("tool_name"), arguments=canonical_text(p.get("args") or {})
            )
            for p in parts
            if p["part_kind"] == "tool-call"
        ),
        results=tuple(_results(requested)),
        interrupted=any(message["state"] == _CUT for message in turn),
        usage=any(message.get("usage") for message in responses),
    )


def _contents(responses: Sequence[Mapping[str, Any]], kind: str) -> tuple[str, ...]:
    said = ("".join(p.get("content") or "" for p in one["parts"] if p["part_kind"] == kind) for one in responses)
    return tuple(text for text in said if text)


def _results(parts: Sequence[Mapping[str, Any]]) -> Iterator[ResultContent]:
    for part in parts:
        if part["part_kind"] not in ("tool-return", "retry-prompt") or not part.get("tool_call_id"):
            continue
        outcome: Literal["success", "error", "aborted"] = "error"
        if part["part_kind"] == "tool-return":
            outcome = {"success": "success", _CUT: "aborted"}.get(part["outcome"], "error")  # type: ignore[assignment]
        content = "" if part["content"] is None else canonical_text(part["content"])
        yield ResultContent(call_id=part["tool_call_id"], outcome=outcome, content=content)
