"""The session of an agent of Microsoft's Agent Framework, as it is when a run is stopped.

In: a journal. Out: the messages that its history provider has, which the next run sends before the user's next message.

Driven with agent-framework-core 1.23.0 (`tests/histories/agent_framework/oracle_agent_framework.py` does it again). An
agent stores its messages in one of two ways:

- `agent-framework/run`, unless something else is said: the question and all of the answer when the run has ended. So of
  a run that was left, or whose model has failed, nothing is kept: neither the question nor what its tools have done.
- `agent-framework/call`, with `require_per_service_call_history_persistence=True`: when a response is whole, what the
  model was sent since the last one, and the response. So a run that is cut while its tools run leaves the calls without
  results, also of tools that have returned, and one that is cut in its first response not even the question.

Nothing says that a run was cut. Not held, as it was not played: thinking, tools and files of a provider, files of the
user, words of the user inside of a run, tools that fail, and results without content; arguments that are not an object,
which its loop answers itself; nor what the loop never does: asking the model again before each call has its result, or
after an answer without calls. Requests are written for Chat Completions.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tpharness.histories.list_history import ListHistory
from tpharness.histories.projections import ApiName, CallContent, ResultContent, TurnContent, canonical_text, writer_for
from tpharness.histories.steps import LoopStep, asked_texts, is_answered, steps_of, unsupported
from tpharness.journal import AgentTurn, Completed, Journal, Part, Return, UserTurn

__all__ = ["AGENT_FRAMEWORK", "AgentFrameworkHistory"]

Message = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentFrameworkHistory(ListHistory):
    """The messages of a session; `each_call` if they are stored when a response is whole, and not when the run is."""

    name: str
    each_call: bool

    def store(self, journal: Journal) -> list[Message]:
        """Return the messages."""
        messages: list[Message] = []
        asked: list[Message] = []
        for turn in journal.turns():
            if isinstance(turn, UserTurn):
                asked += [_message("user", [_text(text)]) for text in asked_texts(turn, self.name)]
            else:
                messages += self._run(turn, asked)
                asked = []
        return messages

    def _run(self, turn: AgentTurn, asked: Sequence[Message]) -> list[Message]:
        steps = steps_of(turn, self.name)
        kept: list[Message] = []
        sent = list(asked)
        for step in steps:
            said, results = list(self._said(step)), self._results(step)
            if step.response.finished:
                kept += [*sent, *said]
                sent = results
        if isinstance(turn.end, Completed) and not is_answered(steps):
            raise unsupported(self.name, "a run that ends with open calls was not played")
        return kept if is_answered(steps) or self.each_call else []

    def _said(self, step: LoopStep) -> Iterator[Message]:
        parts = [part for part in step.response.parts if part.complete and step.response.finished]
        contents = [content for part in parts for content in self._contents(part)]
        if contents:
            yield _message("assistant", contents)

    def _contents(self, part: Part) -> Iterator[Message]:
        if part.kind == "text":
            yield _text(str(part.fields.get("content") or ""))
        elif part.kind == "tool-call":
            raw = part.raw if part.raw is not None else canonical_text(part.fields.get("args") or {})
            if not _is_object(raw):
                raise unsupported(self.name, "its loop answers a call itself whose arguments are not an object")
            called = {"call_id": part.call_id, "name": str(part.fields.get("tool_name") or ""), "arguments": raw}
            yield {"type": "function_call", **called}
        else:
            raise unsupported(self.name, "thinking, and tools and files of a provider, were not played")

    def _results(self, step: LoopStep) -> list[Message]:
        results = {call_id: self._result(entry) for call_id, entry in step.returns.items()}
        if not (step.done and step.calls):
            return []
        return [_message("tool", [results[call_id] for call_id in step.calls])]

    def _result(self, entry: Return) -> Message:
        if entry.kind != "tool-return" or entry.fields.get("status") != "success":
            raise unsupported(self.name, "tools that fail were not played")
        content = entry.fields.get("content")
        if content is None:
            why = "a result without content, or with one that is stored elsewhere, was not played"
            raise unsupported(self.name, why)
        text = content if isinstance(content, str) else json.dumps(content)
        return {"type": "function_result", "call_id": entry.call_id, "result": text}

    def model_input(self, document: Any, provider: ApiName, *, next_user: str | None = None) -> Any:
        """Return what the next run sends over an API; UsageError for one that is not written."""
        more = [] if next_user is None else [_message("user", [_text(next_user)])]
        return writer_for(provider, _WRITERS, self.name)([*document, *more])

    def turn_contents(self, document: Any) -> list[TurnContent]:
        """Return what is kept of each run: one for each message of the user."""
        turns: list[list[Message]] = [[]]
        for message in document:
            if message["role"] == "user":
                turns.append([])
            else:
                turns[-1].append(message)
        return [_turn_content(turn) for turn in (turns if turns[0] else turns[1:])]


AGENT_FRAMEWORK: Mapping[str, AgentFrameworkHistory] = {
    history.name: history
    for history in (
        AgentFrameworkHistory(name="agent-framework/run", each_call=False),
        AgentFrameworkHistory(name="agent-framework/call", each_call=True),
    )
}
"""The histories by name."""


def _message(role: str, contents: Sequence[Message]) -> Message:
    return {"type": "message", "role": role, "contents": list(contents)}


def _text(text: str) -> Message:
    return {"type": "text", "text": text}


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text or "{}"), dict)
    except ValueError:
        return False


def _chat(messages: Sequence[Message]) -> list[Message]:
    """Return the messages of Chat Completions."""
    return [made for message in messages for made in _chat_messages(message)]


def _chat_messages(message: Message) -> Iterator[Message]:
    for result in _of_type(message, "function_result"):
        yield {"role": "tool", "tool_call_id": result["call_id"], "content": result["result"]}
    text = "".join(content["text"] for content in _of_type(message, "text"))
    calls = [
        {"id": call["call_id"], "type": "function", "function": {name: call[name] for name in ("name", "arguments")}}
        for call in _of_type(message, "function_call")
    ]
    if text or calls:
        both = {**({"content": text} if text else {}), **({"tool_calls": calls} if calls else {})}
        yield {"role": message["role"], **both}


def _of_type(message: Message, kind: str) -> list[Message]:
    return [content for content in message["contents"] if content["type"] == kind]


_WRITERS: Mapping[str, Callable[[Sequence[Message]], Any]] = {"openai-chat": _chat}


def _turn_content(turn: Sequence[Message]) -> TurnContent:
    texts = ("".join(content["text"] for content in _of_type(message, "text")) for message in turn)
    return TurnContent(
        texts=tuple(text for text in texts if text),
        calls=tuple(
            CallContent(call_id=call["call_id"], name=call["name"] or None, arguments=call["arguments"])
            for message in turn
            for call in _of_type(message, "function_call")
        ),
        results=tuple(
            ResultContent(call_id=result["call_id"], outcome="success", content=result["result"])
            for message in turn
            for result in _of_type(message, "function_result")
        ),
    )
