"""The session of OpenAI's Agents SDK (Python), as it is when a run is stopped.

In: a journal. Out: the items of the session, which the next run sends before the user's next message.

Driven with openai-agents 0.24.0 (`scripts/openai_agents.py` does it again): the user's message is stored when the run
begins, and a step when all of it has ended: what the model said, its calls, and a result for each, in the order of the
calls; the last answer when it is whole. So of a step that was cut nothing is there: neither what was said, nor a call,
nor the result of a tool that had returned while another one ran. `cancel()`, the task that is cancelled when a client
has left, and an error of the model all leave the same, and nothing says that the run was cut. A tool that runs then
goes on to its end, and its result is lost. `cancel(mode="after_turn")` lets the step end, and stores it.

What a tool does that raises is not held: the SDK stores the results of the tools beside it then, and no words of the
model. Nor are thinking, tools and files of a provider, files of the user and words of the user inside of a run, which
were not played; a result in a later run than its call, for which the SDK has the state of the run and not its session;
and what its loop never does: asking the model again before each call has its result, or after an answer without calls.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tpharness.histories.list_history import ListHistory
from tpharness.histories.projections import ApiName, CallContent, ResultContent, TurnContent, canonical_text, writer_for
from tpharness.histories.steps import add_chat_call, asked_texts, runs_of, steps_of, unsupported
from tpharness.journal import AgentTurn, Journal, Part, Return, UserTurn

__all__ = ["OPENAI_AGENTS", "OpenAiAgentsHistory"]

Item = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenAiAgentsHistory(ListHistory):
    """The items of a session."""

    name: str = "openai-agents"

    def store(self, journal: Journal) -> list[Item]:
        """Return the items."""
        items: list[Item] = []
        for turn in journal.turns():
            if isinstance(turn, UserTurn):
                items += [_user(text) for text in asked_texts(turn, self.name)]
            else:
                items += _steps(turn)
        return items

    def model_input(self, document: Any, provider: ApiName, *, next_user: str | None = None) -> Any:
        """Return the input of the next run over one of OpenAI's APIs; UsageError for another one."""
        more = [] if next_user is None else [_user(next_user)]
        return writer_for(provider, _WRITERS, self.name)([*document, *more])

    def turn_contents(self, document: Any) -> list[TurnContent]:
        """Return what is kept of each run: one for each message of the user."""
        return [_turn_content(run) for run in runs_of(document)]


OPENAI_AGENTS: Mapping[str, OpenAiAgentsHistory] = {history.name: history for history in (OpenAiAgentsHistory(),)}
"""The history by name."""


def _user(text: str) -> Item:
    return {"role": "user", "content": text}


def _steps(turn: AgentTurn) -> Iterator[Item]:
    """Yield the items of the steps that have ended."""
    for step in steps_of(turn, "openai-agents"):
        items = [_item(part) for part in step.response.parts if part.complete and step.response.finished]
        outputs = {call_id: _output(entry) for call_id, entry in step.returns.items()}
        if step.done:
            yield from items
            yield from (outputs[call_id] for call_id in step.calls)


def _item(part: Part) -> Item:
    if part.kind == "text":
        text: Item = {"annotations": [], "text": part.fields.get("content") or "", "type": "output_text"}
        return {"content": [text], "role": "assistant", "status": "completed", "type": "message"}
    if part.kind != "tool-call":
        raise unsupported("openai-agents", "thinking, and tools and files of a provider, were not played")
    args = part.raw if part.raw is not None else canonical_text(part.fields.get("args") or {})
    names = {"call_id": str(part.call_id), "name": str(part.fields.get("tool_name") or "")}
    return {"arguments": args or "{}", **names, "type": "function_call"}


def _output(entry: Return) -> Item:
    if entry.kind != "tool-return" or entry.fields.get("status") != "success":
        raise unsupported("openai-agents", "a tool that fails says so in words of its own")
    content = entry.fields.get("content")
    if content is None:
        raise unsupported(
            "openai-agents", "a result without content, or with one that is stored elsewhere, was not played"
        )
    output = content if isinstance(content, str) else json.dumps(content)
    return {"call_id": entry.call_id, "output": output, "type": "function_call_output"}


# ------------------------------------------------------------------------------------------------ requests


def _chat(items: Sequence[Item]) -> list[dict[str, Any]]:
    """Return the messages of Chat Completions: a text and the calls after it are one message, as the SDK joins them."""
    messages: list[dict[str, Any]] = []
    for item in items:
        match item.get("type"):
            case "message":
                text = "".join(part["text"] for part in item["content"])
                messages.append({"role": "assistant", "content": text})
            case "function_call":
                add_chat_call(messages, item["call_id"], item["name"], item["arguments"])
            case "function_call_output":
                messages.append({"role": "tool", "tool_call_id": item["call_id"], "content": item["output"]})
            case _:
                messages.append({"role": item["role"], "content": item["content"]})
    return messages


_WRITERS: Mapping[str, Callable[[Sequence[Item]], Any]] = {"openai-responses": list, "openai-chat": _chat}


# ------------------------------------------------------------------------------------------------ what is kept


def _turn_content(turn: Sequence[Item]) -> TurnContent:
    return TurnContent(
        texts=tuple(
            text for item in turn if item["type"] == "message" for text in [item["content"][0]["text"]] if text
        ),
        calls=tuple(
            CallContent(call_id=item["call_id"], name=item["name"] or None, arguments=item["arguments"])
            for item in turn
            if item["type"] == "function_call"
        ),
        results=tuple(
            ResultContent(call_id=item["call_id"], outcome="success", content=item["output"])
            for item in turn
            if item["type"] == "function_call_output"
        ),
    )
