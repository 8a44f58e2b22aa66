"""The session of Google's Agent Development Kit (Python), as it is when a run is stopped, and what its next run sends.

In: a journal. Out: the events of the session; from them the contents of the next request to Gemini.

Driven with google-adk 2.13.0 (`tests/histories/google_adk` does it again): the user's message is stored when the run
begins, a response when all of it has come, and the results of its calls as one event when all of them have returned.
What streams are partial events, which are shown and not stored. How a run is stopped decides what is left of its calls:

- `google-adk/left`: the task is cancelled, or the loop is left. The calls stay without results, nothing says that the
  run was cut, and the next request leaves the calls out. What was said beside them it keeps.
- `google-adk/aborted`: `abort_signal`, which its own server sets when a client has left. Each open call gets
  the error that the client has aborted it, also one whose tool had returned; without open calls the session gets an
  event without content.

A model that fails leaves an event without content in both, with the class of the error. No request has such events, nor
those of which every part is empty or a thought without a signature. A call counts as answered if any result of the
session has its id: where a model uses an id again, the call of a run that was left is sent without a result.

What a tool does that raises is not held: it ends the run, after the results of the tools that had returned. Nor are
tools and files of a provider, files and words of the user inside of a run, and several agents in one session, which
were not played; arguments that are not an object, which Gemini cannot send; a run without a message of the user, and a
result in a later run than its call, which the SDK takes as such a message; and what its loop never does: asking the
model again before each call has its result, or after an answer without calls.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tpharness.facts import parse_tool_args
from tpharness.histories.list_history import ListHistory
from tpharness.histories.projections import ApiName, CallContent, ResultContent, TurnContent, canonical_text, writer_for
from tpharness.histories.steps import LoopStep, asked_texts, steps_of, unsupported
from tpharness.journal import AgentTurn, Interrupted, Journal, Part, Response, Return, UserTurn

__all__ = ["ABORT_MESSAGE", "GOOGLE_ADK", "GoogleAdkHistory"]

Event = dict[str, Any]

ABORT_MESSAGE = "Invocation was aborted by client."
"""What a call is answered with that was running when its run was aborted."""
_FAMILY = "google-adk"
_ABORTED = "INVOCATION_ABORTED"
_ENDED_BY_ITSELF = {"error": "ConnectionError", "safety_halt": "SAFETY"}
"""The error of a run that nobody has stopped; for one of the model the class of what its client has raised.

Which class that is a journal does not say: here that of a lost connection.
"""
_LIMIT = "MAX_TOKENS"
_FINISHES = {"length": _LIMIT, "content_filter": "SAFETY"}


@dataclass(frozen=True, slots=True, kw_only=True)
class GoogleAdkHistory(ListHistory):
    """The events of a session; `aborts` if a stop is an abort of the invocation."""

    name: str
    aborts: bool

    def store(self, journal: Journal) -> list[Event]:
        """Return the events, with the names of their JSON form."""
        events: list[Event] = []
        agents: set[str] = set()
        asked = False
        for turn in journal.turns():
            if isinstance(turn, UserTurn):
                if len(turn.parts) > 1:
                    raise unsupported(_FAMILY, "what a user sends in several parts was not played")
                events += [_user(text) for text in asked_texts(turn, _FAMILY)]
                asked = True
                continue
            agents.add(turn.agent_id)
            if len(agents) > 1:
                raise unsupported(_FAMILY, "several agents in one session were not played")
            if not asked:
                raise unsupported(_FAMILY, "a run begins with a message of the user")
            asked = False
            events += self._run(turn)
        return events

    def _run(self, turn: AgentTurn) -> Iterator[Event]:
        steps = steps_of(turn, _FAMILY)
        for step in steps:
            yield from _said(step.response)
            results = {call_id: _returned(entry) for call_id, entry in step.returns.items()}
            if step.calls and step.done:
                yield _answers(step, results)
        last = steps[-1] if steps else None
        answered = last is not None and last.done and not last.calls
        if not isinstance(turn.end, Interrupted) or answered:
            return
        if turn.end.reason in _ENDED_BY_ITSELF:
            yield {"author": "agent", "errorCode": _ENDED_BY_ITSELF[turn.end.reason]}
        elif self.aborts:
            sealed = {"author": "agent", "errorCode": _ABORTED, "errorMessage": ABORT_MESSAGE}
            if last is None or last.done or not last.calls:
                yield sealed
            else:
                yield {**_answers(last, {call_id: {"error": ABORT_MESSAGE} for call_id in last.calls}), **sealed}

    def model_input(self, document: Any, provider: ApiName, *, next_user: str | None = None) -> Any:
        """Return the contents of the next request; UsageError for another API than Gemini's."""
        more = [] if next_user is None else [_user(next_user)]
        return writer_for(provider, {"gemini": _contents}, self.name)([*document, *more])

    def turn_contents(self, document: Any) -> list[TurnContent]:
        """Return what is kept of each run: one for each message of the user."""
        turns: list[list[Event]] = [[]]
        for event in document:
            if event["author"] == "user":
                turns.append([])
            else:
                turns[-1].append(event)
        return [_turn_content(turn) for turn in (turns if turns[0] else turns[1:])]


GOOGLE_ADK: Mapping[str, GoogleAdkHistory] = {
    history.name: history
    for history in (
        GoogleAdkHistory(name="google-adk/left", aborts=False),
        GoogleAdkHistory(name="google-adk/aborted", aborts=True),
    )
}
"""The histories by name."""


# ------------------------------------------------------------------------------------------------ the session


def _user(text: str) -> Event:
    return {"author": "user", "content": {"role": "user", "parts": [{"text": text}]}}


def _said(response: Response) -> Iterator[Event]:
    """Yield the event of a response that has come whole, if it has a part."""
    parts = list(_parts([part for part in response.parts if part.complete or response.finished]))
    if parts and response.finished:
        error = _FINISHES.get(response.facts.get("finish_reason") or "")
        more: Event = {"errorCode": error} if error else {}
        if response.facts.get("usage"):
            more["usageMetadata"] = dict(response.facts["usage"])
        yield {"author": "agent", "content": {"role": "model", "parts": parts}, **more}


def _answers(step: LoopStep, results: Mapping[str, Mapping[str, Any]]) -> Event:
    """Return the event with an answer to each call, in the order of the calls."""
    names = {part.call_id: str(part.fields.get("tool_name") or "") for part in step.response.parts}
    answers = [
        {"functionResponse": {"id": call_id, "name": names[call_id], "response": results[call_id]}}
        for call_id in step.calls
    ]
    return {"author": "agent", "content": {"role": "user", "parts": answers}}


def _parts(parts: Sequence[Part]) -> Iterator[Event]:
    """Yield the parts as the SDK joins those of a stream: texts of one kind one after the other are one."""
    joined: Event | None = None
    for part in parts:
        written = _part(part)
        signature = written.pop("signature", None)
        if "functionCall" in written:
            if joined is not None:
                yield joined
            joined = None
            yield written
            continue
        if joined is not None and joined.get("thought") == written.get("thought"):
            joined["text"] += written["text"]
        elif written["text"]:
            if joined is not None:
                yield joined
            joined = written
        if signature is not None:
            if joined is not None:
                yield joined
            joined = None
            yield {"text": "", "thought": True, "thoughtSignature": signature}
    if joined is not None:
        yield joined


def _part(part: Part) -> Event:
    content = part.fields.get("content") or ""
    if part.kind == "text":
        return {"text": content}
    if part.kind == "thinking":
        signature = part.fields.get("signature")
        return {"text": content, "thought": True, **({"signature": signature} if signature else {})}
    if part.kind != "tool-call":
        raise unsupported(_FAMILY, "tools and files of a provider were not played")
    args = parse_tool_args(part.raw) if part.raw else part.fields.get("args") or {}
    if not isinstance(args, Mapping):
        raise unsupported(_FAMILY, "Gemini sends no arguments that are not an object")
    return {"functionCall": {"id": str(part.call_id), "name": str(part.fields.get("tool_name") or ""), "args": args}}


def _returned(entry: Return) -> Mapping[str, Any]:
    if entry.kind != "tool-return" or entry.fields.get("status") != "success":
        raise unsupported(_FAMILY, "a tool that raises ends the run")
    content = entry.fields.get("content")
    if content is None:
        raise unsupported(_FAMILY, "a result without content, or with one that is stored elsewhere, was not played")
    return content if isinstance(content, Mapping) else {"result": content}


# ------------------------------------------------------------------------------------------------ requests


def _contents(events: Sequence[Event]) -> list[Event]:
    """Return the contents: without events that have nothing to say, and without calls whose id no answer has.

    What the model has said last may still be answered, while nothing follows it.
    """
    contents = [event["content"] for event in events if "content" in event]
    contents = [content for content in contents if any(map(_is_visible, content["parts"]))]
    answered = {part["functionResponse"]["id"] for content in contents for part in content["parts"] if _is_answer(part)}
    sent: list[Event] = []
    for content in contents[:-1]:
        parts = [part for part in content["parts"] if part.get("functionCall", {"id": None})["id"] in (None, *answered)]
        if parts:
            sent.append({**content, "parts": parts})
    return [*sent, *contents[-1:]]


def _is_answer(part: Event) -> bool:
    return "functionResponse" in part


def _is_visible(part: Event) -> bool:
    return bool({"functionCall", "functionResponse", "thoughtSignature"} & set(part)) or (
        bool(part["text"]) and not part.get("thought")
    )


# ------------------------------------------------------------------------------------------------ what is kept


def _turn_content(turn: Sequence[Event]) -> TurnContent:
    said = [event["content"]["parts"] for event in turn if event.get("content", {}).get("role") == "model"]
    parts = [part for event in turn for part in event.get("content", {}).get("parts", ())]
    return TurnContent(
        texts=_texts(said, thought=False),
        thinking=_texts(said, thought=True),
        signatures=tuple(part["thoughtSignature"] for part in parts if "thoughtSignature" in part),
        calls=tuple(
            CallContent(call_id=call["id"], name=call["name"] or None, arguments=canonical_text(call["args"]))
            for call in (part["functionCall"] for part in parts if "functionCall" in part)
        ),
        results=tuple(_result(part["functionResponse"]) for part in parts if _is_answer(part)),
        interrupted=any(event.get("errorCode", _LIMIT) != _LIMIT for event in turn),
        usage=any(event.get("usageMetadata") for event in turn),
    )


def _texts(said: Sequence[Sequence[Event]], *, thought: bool) -> tuple[str, ...]:
    texts = (
        "".join(part["text"] for part in parts if "text" in part and bool(part.get("thought")) is thought)
        for parts in said
    )
    return tuple(text for text in texts if text)


def _result(answer: Mapping[str, Any]) -> ResultContent:
    response = answer["response"]
    aborted = response == {"error": ABORT_MESSAGE}
    content = response["result"] if set(response) == {"result"} else response
    return ResultContent(
        call_id=answer["id"], outcome="aborted" if aborted else "success", content=canonical_text(content)
    )
