"""The history of a model call → a thread log, in the form in which chimera's command line stores one.

In: messages as `model_history` gives them. Out: lines, and what they have no place for. One agent has all turns, since
a space with one agent is what the history of one model can go on in. Every turn has its finish: of an interrupted turn
a history has the complete cycles (R20), and the log has no word for the interruption.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from uuid import NAMESPACE_URL, UUID, uuid5

from tpharness.document_files import NO_TIME
from tpharness.histories.thread_log.lines import BLUEPRINT, NAME, VERSION
from tpharness.model_apis.history_parts import call_arguments, content_items, kind_of, read_tool_result, retry_text
from tpharness.protocol.history import ModelHistory
from tpharness.protocol.losses import Loss

__all__ = ["log_losses", "log_of_history"]

_NOBODY = "00000000-0000-0000-0000-000000000000"
"""The user of every turn, as chimera's command line writes it."""
_FACTS = ("model_name", "provider_name", "provider_response_id", "finish_reason")
_COUNTS: Mapping[str, str] = {"input_tokens": "inputTokens", "output_tokens": "outputTokens"}


def log_of_history(history: ModelHistory, agent_id: str | None) -> tuple[list[dict[str, Any]], list[tuple[str, str]]]:
    """Return the lines, and what is not in them: a JSON pointer into the messages, and what it is.

    `agent_id` is the agent that is called, None for the last one that answered.
    """
    writer = _Writer(history, agent_id)
    for index, message in enumerate(history.messages):
        if message["kind"] == "response":
            writer.response(message, f"/{index}")
        else:
            writer.request(message, f"/{index}")
    writer.finish()
    return writer.lines, writer.left_out


def log_losses(thread: Mapping[str, Any]) -> Iterator[Loss]:
    """Yield what a log says of no thread: places are those of the thread."""
    named = thread.get("thread_id")
    if _uuid(named) != named:
        yield Loss(pointer="/thread_id", what=str(named), why=f"{NAME} {VERSION} has a UUID, and one is made of it")
    turns = list(enumerate(thread.get("turns") or ()))
    if len({turn["agent_id"] for _, turn in turns if turn.get("turn_type") == "agent"}) > 1:
        yield Loss(pointer="/agents", what="which agent said what", why="one agent has all turns of the log")
    for index, turn in turns:
        interruption = turn.get("interruption")
        if interruption is not None:
            what = f"that the turn was cut ({interruption['reason']})"
            yield Loss(pointer=f"/turns/{index}/interruption", what=what, why=f"{NAME} {VERSION} has no word for it")


class _Writer:
    def __init__(self, history: ModelHistory, agent_id: str | None) -> None:
        thread = history.thread
        answered = [turn["agent_id"] for turn in thread.get("turns") or () if turn.get("turn_type") == "agent"]
        agent = str(agent_id or (answered[-1] if answered else next(iter(thread.get("agents") or ()), "assistant")))
        known = (thread.get("agents") or {}).get(agent) or {}
        self.left_out: list[tuple[str, str]] = []
        self._thread = _uuid(thread.get("thread_id"))
        self._agent = {"agentId": re.sub(r"[^A-Za-z0-9_-]", "-", agent) or "assistant"}
        self._agent["agentName"] = str(known.get("agent_name") or agent)
        self._at = str(thread.get("created_at") or NO_TIME)
        self._in_turn = False
        self._number = 0
        self.lines: list[dict[str, Any]] = [self._blueprint(_system_prompt(history.messages))]

    def _blueprint(self, prompt: str) -> dict[str, Any]:
        ident, name = self._agent["agentId"], self._agent["agentName"]
        agent = {"type": "inline", "id": ident, "name": name, "description": name, "basePrompt": prompt, "widgets": []}
        space = {"type": "reference", "className": "chimera_core.spaces.GenericSpace", "version": "1.0.0"}
        return {
            "type": BLUEPRINT,
            "timestamp": self._at,
            "threadId": self._thread,
            "threadProtocolVersion": VERSION,
            "blueprintVersion": VERSION,
            "blueprint": {"space": {**space, "agents": [agent], "config": {}, "widgets": []}},
        }

    def _add(self, kind: str, **fields: Any) -> None:
        self.lines.append({"type": kind, **fields, "threadId": self._thread, "timestamp": self._at})

    @property
    def _message(self) -> str:
        return f"msg_{uuid5(UUID(self._thread), str(self._number)).hex}"

    # --------------------------------------------------------------- messages

    def request(self, message: Mapping[str, Any], pointer: str) -> None:
        """Write the results of a request, and then what the user says in it."""
        self._at = str(message.get("timestamp") or self._at)
        said: list[str] = []
        for index, part in enumerate(message["parts"]):
            place, kind = f"{pointer}/parts/{index}", kind_of(part)
            result = read_tool_result(part)
            if result is not None:
                self._begin()
                output = result.text() if result.failed or result.retried else part.get("content")
                self._add("tool-output-available", toolCallId=result.call_id, toolName=result.name, output=output)
                if result.failed or result.retried:
                    self.left_out.append((place, "that the call has failed"))
            elif kind == "user-prompt":
                said += self._texts(part["content"], place)
            elif kind in ("retry-prompt", "retry-feedback"):
                said.append(retry_text(part))
            elif kind != "system-prompt":
                self.left_out.append((place, str(kind)))
        if said:
            self.finish()
            self._add("data-user-turn-start", data={"userId": _NOBODY})
            self._add("data-user-message", data={"content": "\n\n".join(said)})
            self._add("data-user-turn-end")

    def _texts(self, content: Any, place: str) -> list[str]:
        items = [content] if isinstance(content, str) else list(content)
        texts = [item for item in content_items(content) if isinstance(item, str)]
        if len(texts) < len(items):
            self.left_out.append((place, f"{len(items) - len(texts)} of {len(items)} contents"))
        return texts

    def response(self, message: Mapping[str, Any], pointer: str) -> None:
        """Write what a model has said, and its calls behind the end of the step."""
        self._at = str(message.get("timestamp") or self._at)
        self._begin()
        calls: list[Mapping[str, Any]] = []
        for index, part in enumerate(message["parts"]):
            place = f"{pointer}/parts/{index}"
            match kind_of(part):
                case "text":
                    self._add("text-complete", id=f"{self._message}_text_{index}", content=part["content"])
                    if calls:
                        self.left_out.append((place, "that it stands behind a call"))
                case "thinking":
                    ident = f"{self._message}_thinking_{index}"
                    self._add("reasoning-complete", id=ident, content=part["content"])
                    if part.get("signature"):
                        self.left_out.append((f"{place}/signature", "signature"))
                case "tool-call":
                    calls.append(part)
                case kind:
                    self.left_out.append((place, str(kind)))
        self._usage(message, pointer)
        self._add("finish-step")
        self._add("start-step")
        for part in calls:
            names = {"toolCallId": part["tool_call_id"], "toolName": part["tool_name"]}
            self._add("tool-input-available", **names, input=call_arguments(part))

    def _usage(self, message: Mapping[str, Any], pointer: str) -> None:
        self.left_out += [(f"{pointer}/{name}", name) for name in _FACTS if message.get(name) is not None]
        usage = message.get("usage") or {}
        self.left_out += [(f"{pointer}/usage/{name}", name) for name in usage if name not in _COUNTS]
        counts = {word: usage.get(name, 0) for name, word in _COUNTS.items()}
        if any(counts.values()):
            cached = {"cacheWriteTokens": 0, "cacheReadTokens": 0, "totalTokens": sum(counts.values())}
            self._add("chimera-app-usage", messageId=self._message, **counts, **cached)

    def _begin(self) -> None:
        if not self._in_turn:
            self._number += 1
            self._in_turn = True
            self._add("data-agent-start", data={**self._agent, "messageId": self._message})

    def finish(self) -> None:
        """Finish the turn of the agent, if one is open."""
        if self._in_turn:
            self._add("data-agent-finish", data={**self._agent, "messageId": self._message})
            self._in_turn = False


def _system_prompt(messages: Sequence[Mapping[str, Any]]) -> str:
    parts = [part for message in messages for part in message["parts"] if kind_of(part) == "system-prompt"]
    return "\n\n".join(str(part["content"]) for part in parts)


def _uuid(thread_id: Any) -> str:
    """Return the id of a thread if it is a UUID, else one that is made of it."""
    text = str(thread_id)
    try:
        return text if str(UUID(text)) == text.lower() else str(uuid5(NAMESPACE_URL, text))
    except ValueError:
        return str(uuid5(NAMESPACE_URL, text))
