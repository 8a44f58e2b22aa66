"""What OpenAI's Agents SDK for JavaScript keeps of a run that was stopped: its session, and the list of a run.

In: a journal. Out: items as the SDK names their fields, which the next run sends before the user's next message.

Driven with @openai/agents 0.20.0 (`tests/histories/openai_agents_js` does it again), over Responses and Chat
Completions: an aborted `signal`, a loop that is left and an error of the model leave the same.

- `openai-agents-js/session`: a run is stored when it has its answer, all of it at once, and the user's message before.
  So of a run that was stopped nothing is there, not even its steps that had ended: Python's SDK stores those.
- `openai-agents-js/list`: `result.history`, which an application stores itself, has the steps that have ended: what the
  model said, its calls, and a result for each. Where a tool works, the step comes when all tools have ended, which
  a stop does not hinder: read after `completed`, the list has it.

Neither says that a run was cut. What is not held is what the history of Python's SDK does not hold, and a result in the
SDK's own form for texts, images and files.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tpharness.histories.list_history import ListHistory
from tpharness.histories.projections import ApiName, CallContent, ResultContent, TurnContent, canonical_text, writer_for
from tpharness.histories.steps import add_chat_call, asked_texts, runs_of, steps_of, unsupported
from tpharness.journal import AgentTurn, Journal, Part, Return, UserTurn

__all__ = ["OPENAI_AGENTS_JS", "OpenAiAgentsJsHistory"]

Item = dict[str, Any]

_CONTENTS = ("text", "image", "file")


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenAiAgentsJsHistory(ListHistory):
    """The items; `whole_runs` if a run is stored when it has its answer, and not step by step."""

    name: str
    whole_runs: bool

    def store(self, journal: Journal) -> list[Item]:
        """Return the items."""
        items: list[Item] = []
        for turn in journal.turns():
            if isinstance(turn, UserTurn):
                items += [_user(text) for text in asked_texts(turn, self.name)]
            else:
                items += self._run(turn)
        return items

    def _run(self, turn: AgentTurn) -> list[Item]:
        items: list[Item] = []
        answered = False
        for step in steps_of(turn, self.name):
            said = [self._said(part) for part in step.response.parts if part.complete and step.response.finished]
            results = {call_id: self._returned(entry) for call_id, entry in step.returns.items()}
            if step.done:
                items += [*said, *(results[call_id] for call_id in step.calls)]
                answered = not step.calls
        return items if answered or not self.whole_runs else []

    def _said(self, part: Part) -> Item:
        if part.kind == "text":
            said = part.fields.get("content") or ""
            text: Item = {"type": "output_text", "text": said, "providerData": {"annotations": []}}
            return {"type": "message", "role": "assistant", "status": "completed", "content": [text]}
        if part.kind != "tool-call":
            raise unsupported(self.name, "thinking, and tools and files of a provider, were not played")
        args = part.raw if part.raw is not None else canonical_text(part.fields.get("args") or {})
        names = {"callId": str(part.call_id), "name": str(part.fields.get("tool_name") or "")}
        return {"type": "function_call", **names, "arguments": args or "{}"}

    def _returned(self, entry: Return) -> Item:
        if entry.kind != "tool-return" or entry.fields.get("status") != "success":
            raise unsupported(self.name, "a tool that fails says so in words of its own")
        content = entry.fields.get("content")
        if content is None:
            raise unsupported(self.name, "a result without content, or one that is stored elsewhere, was not played")
        if any(isinstance(one, Mapping) and one.get("type") in _CONTENTS for one in _listed(content)):
            raise unsupported(self.name, "a result in the SDK's own form for texts, images and files was not played")
        text = content if isinstance(content, str) else _json(content)
        names = {"callId": entry.call_id, "name": str(entry.fields.get("tool_name") or ""), "status": "completed"}
        return {"type": "function_call_result", **names, "output": {"type": "text", "text": text}}

    def model_input(self, document: Any, provider: ApiName, *, next_user: str | None = None) -> Any:
        """Return the input of the next run over one of OpenAI's APIs; UsageError for another one."""
        more = [] if next_user is None else [_user(next_user)]
        return writer_for(provider, _WRITERS, self.name)([*document, *more])

    def turn_contents(self, document: Any) -> list[TurnContent]:
        """Return what is kept of each run: one for each message of the user."""
        return [_turn_content(run) for run in runs_of(document)]


OPENAI_AGENTS_JS: Mapping[str, OpenAiAgentsJsHistory] = {
    history.name: history
    for history in (
        OpenAiAgentsJsHistory(name="openai-agents-js/session", whole_runs=True),
        OpenAiAgentsJsHistory(name="openai-agents-js/list", whole_runs=False),
    )
}
"""The histories by name."""


def _user(text: str) -> Item:
    return {"type": "message", "role": "user", "content": text}


def _listed(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else [value]


def _json(value: Any) -> str:
    """Return a result as `JSON.stringify` writes it."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


# ------------------------------------------------------------------------------------------------ requests


def _responses(items: Sequence[Item]) -> list[Item]:
    return [_responses_item(item) for item in items]


def _responses_item(item: Item) -> Item:
    match item["type"]:
        case "function_call":
            return {
                "type": "function_call",
                "call_id": item["callId"],
                "name": item["name"],
                "arguments": item["arguments"],
            }
        case "function_call_result":
            return {"type": "function_call_output", "call_id": item["callId"], "output": item["output"]["text"]}
        case _ if item["role"] == "user":
            return {"role": "user", "content": item["content"]}
    parts = [{"type": "output_text", "text": part["text"], **part["providerData"]} for part in item["content"]]
    return {"type": "message", "role": "assistant", "status": item["status"], "content": parts}


def _chat(items: Sequence[Item]) -> list[Item]:
    """Return the messages of Chat Completions: a text and the calls beside it are one, as the SDK joins them."""
    messages: list[Item] = []
    for item in items:
        last = messages[-1] if messages and messages[-1]["role"] == "assistant" else None
        match item["type"]:
            case "function_call":
                add_chat_call(messages, item["callId"], item["name"], item["arguments"])
            case "function_call_result":
                messages.append({"role": "tool", "tool_call_id": item["callId"], "content": item["output"]["text"]})
            case _ if item["role"] == "user":
                messages.append({"role": "user", "content": item["content"]})
            case _:
                content = [{"type": "text", "text": part["text"], **part["providerData"]} for part in item["content"]]
                if last is not None and last["content"] is None:
                    last["content"] = content
                else:
                    messages.append({"role": "assistant", "content": content})
    return messages


_WRITERS: Mapping[str, Callable[[Sequence[Item]], Any]] = {"openai-responses": _responses, "openai-chat": _chat}


# ------------------------------------------------------------------------------------------------ what is kept


def _turn_content(turn: Sequence[Item]) -> TurnContent:
    return TurnContent(
        texts=tuple(
            text for item in turn if item["type"] == "message" for text in [item["content"][0]["text"]] if text
        ),
        calls=tuple(
            CallContent(call_id=item["callId"], name=item["name"] or None, arguments=item["arguments"])
            for item in turn
            if item["type"] == "function_call"
        ),
        results=tuple(
            ResultContent(call_id=item["callId"], outcome="success", content=item["output"]["text"])
            for item in turn
            if item["type"] == "function_call_result"
        ),
    )
