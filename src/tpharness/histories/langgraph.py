"""The state of a LangGraph agent with a checkpointer, as it is when a run is cut.

In: a journal. Out: the messages that the next run begins with, as `messages_to_dict` writes them. What a UI that only
reads the state shows is the same.

Driven with langgraph 1.2 and langchain 1.4 (`create_agent`): a step is kept when all of it has ended. So a response
that was cut is not there, nothing says that it was cut, and of several tools that ran together no result is there until
all have returned: those that had returned wait as pending writes, which a new input discards. The calls stay, and are
sent without results. An error leaves the same. Durability (`sync`, `async`, `exit`) makes no difference.

A tool that waits for a person (`interrupt()`) leaves the same, too: a run that ends with open calls. When the next run
resumes it, with no message of the user in between, the tool runs again from its beginning, the results that wait are
kept, and the model is asked when all are there. A new message discards them, although `get_state` has shown them.

What becomes of thinking depends on the integration of the model (Anthropic's keeps it as blocks), so a conversation
with thinking is not supported. Nor is what the agent never does: asking the model again before each call has its
result.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from tpharness.facts import parse_tool_args
from tpharness.histories.langchain import UnsupportedError
from tpharness.histories.langchain.events import json_text
from tpharness.histories.langchain.formats import FORMATS
from tpharness.histories.langchain.state import Message, ai, ai_calls, human, messages_of, tool
from tpharness.histories.projections import ApiName, CallContent, ResultContent, TurnContent, canonical_text, writer_for
from tpharness.journal import AgentTurn, Journal, Part, Prompt, Response, Return, UserTurn

__all__ = ["LANGGRAPH", "LangGraphHistory"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LangGraphHistory:
    """The messages of the checkpoint."""

    name: str = "langgraph"

    def store(self, journal: Journal) -> dict[str, Any]:
        """Return the state."""
        messages: list[Message] = []
        asked: list[str] = []
        run = _Run(messages)
        for turn in journal.turns():
            if isinstance(turn, UserTurn):
                asked.append(_prompt(turn.parts))
                run = _Run(messages)  # a new input: what waits is discarded
            else:
                messages += [human(text) for text in asked]
                asked = []
                run.write(turn)
        return {"messages": messages}

    def dumps(self, document: Any) -> str:
        """Return the state as JSON."""
        return json.dumps(document, ensure_ascii=False)

    def loads(self, text: str) -> Any:
        """Return the state of a JSON text; InputError if it is not one."""
        document = json.loads(text)
        messages_of(document)
        return document

    def replay(self, document: Any) -> list[Mapping[str, Any]]:
        """Return each message, as a UI shows it that reads the state."""
        return [{"type": message["type"], "data": message["data"]} for message in messages_of(document)]

    def model_input(self, document: Any, provider: ApiName, *, next_user: str | None = None) -> list[dict[str, Any]]:
        """Return the messages, items or contents that LangChain's integration would send."""
        more = [] if next_user is None else [human(next_user)]
        return writer_for(provider, FORMATS, self.name)([*messages_of(document), *more])

    def turn_contents(self, document: Any) -> list[TurnContent]:
        """Return what is kept of each turn: one for each user message, and one for messages before the first."""
        turns: list[list[Message]] = [[]]
        for message in messages_of(document):
            if message["type"] == "human":
                turns.append([])
            else:
                turns[-1].append(message)
        return [_turn_content(turn) for turn in (turns if turns[0] else turns[1:])]


LANGGRAPH: Mapping[str, LangGraphHistory] = {history.name: history for history in (LangGraphHistory(),)}
"""The history by name."""


class _Run:
    """Appends the steps that have ended, of a run and of those that resume it."""

    def __init__(self, messages: list[Message]) -> None:
        self._messages = messages
        self._open: list[str] = []
        """The calls of the last response, in order, while some have no result."""
        self._pending: dict[str, Message] = {}

    def write(self, turn: AgentTurn) -> None:
        """Append what the turn has."""
        answered = False
        entries = [entry for segment in (*turn.segments, turn.tail) for entry in segment.entries]
        if entries and not isinstance(entries[0], Return):  # a run of its own, which resumes nothing
            self._open, self._pending = [], {}
        for entry in entries:
            match entry:
                case Response():
                    self._respond(entry, again=answered and self._messages[-1]["type"] != "tool")
                    answered = entry.finished
                case Return():
                    self._return(entry)
                case Prompt():
                    self._messages.append(human(_prompt(entry.parts)))
                    answered = False

    def _respond(self, response: Response, *, again: bool) -> None:
        if any(part.kind == "thinking" for part in response.parts):
            raise UnsupportedError(
                "langgraph: what becomes of thinking depends on the integration of the model",
                hint="compare conversations without thinking",
            )
        if self._open or again:
            raise UnsupportedError(
                "langgraph: the model is asked again before its last request is answered",
                hint="its agent asks again when each call has its result",
            )
        if not response.finished:
            return
        text = "".join(str(part.fields.get("content") or "") for part in response.parts if part.kind == "text")
        message = ai(text)
        for part in response.parts:
            if part.kind == "tool-call":
                _add_call(message["data"], part)
        usage = response.facts.get("usage")
        message["data"]["usage_metadata"] = dict(usage) if usage else None
        self._messages.append(message)
        self._open = [str(call["id"]) for call in ai_calls(message)]
        self._pending = {}

    def _return(self, entry: Return) -> None:
        if entry.call_id not in self._open:
            raise UnsupportedError(
                f"langgraph: the result of {entry.call_id!r} does not answer the last response",
                hint="its agent runs tools when a response has ended, and goes on when all have returned",
            )
        fields = entry.fields
        content = fields["content_ref"] if fields.get("content_ref") is not None else fields.get("content")
        status: Literal["success", "error"] = "success" if fields.get("status") == "success" else "error"
        self._pending[entry.call_id] = tool(json_text(content), entry.call_id, status)
        if len(self._pending) == len(self._open):
            self._messages += [self._pending[call_id] for call_id in self._open]
            self._open = []


def _add_call(data: dict[str, Any], part: Part) -> None:
    args = parse_tool_args(part.raw) if part.raw else part.fields.get("args") or {}
    call = {"name": str(part.fields.get("tool_name") or ""), "args": args, "id": part.call_id}
    if isinstance(args, Mapping):
        data["tool_calls"].append({**call, "type": "tool_call"})
    else:
        data["invalid_tool_calls"].append({**call, "args": json_text(args), "error": None, "type": "invalid_tool_call"})


def _prompt(parts: Any) -> str:
    texts: list[str] = []
    for part in parts:
        content = part.get("content")
        texts += [
            item for item in (content if isinstance(content, list | tuple) else [content]) if isinstance(item, str)
        ]
    return "\n".join(texts)


def _turn_content(turn: list[Message]) -> TurnContent:
    said = [message["data"] for message in turn if message["type"] == "ai"]
    returned = [message["data"] for message in turn if message["type"] == "tool"]
    return TurnContent(
        texts=tuple(data["content"] for data in said if data["content"]),
        calls=tuple(
            CallContent(call_id=call["id"], name=call["name"], arguments=canonical_text(call["args"]))
            for message in turn
            for call in ai_calls(message)
        ),
        results=tuple(
            ResultContent(
                call_id=data["tool_call_id"],
                outcome="error" if data["status"] == "error" else "success",
                content=data["content"],
            )
            for data in returned
        ),
        usage=any(data["usage_metadata"] for data in said),
    )
