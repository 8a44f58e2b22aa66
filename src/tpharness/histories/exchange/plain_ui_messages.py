"""The turns of UI messages in which nothing has to be decided: texts, thoughts, and calls that have their outputs.

In: messages with roles and parts. Out: the turns that folding their chunks makes of them, key by key, or None where any
part asks for more: then the stream decides (`from_ui_messages`). Nearly every stored conversation is plain, and this
takes a tenth of the time. A test holds the two to each other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tpharness.wires.vsp.parts import steering_prompt
from tpharness.wires.vsp.records import SteeringMessageChunk

__all__ = ["plain_turns"]


def plain_turns(messages: Sequence[Mapping[str, Any]], *, agent_id: str, at: str) -> list[dict[str, Any]] | None:
    """Return the turns of messages, None if one of them is not plain. System prompts are left out (R8)."""
    turns: list[dict[str, Any]] = []
    calls: set[str] = set()
    for message in messages:
        if message["role"] == "user":
            prompt = steering_prompt(SteeringMessageChunk(id="", parts=message["parts"]))
            turns.append({"turn_type": "user", "submitted_at": at, "parts": [prompt]})
        elif message["role"] == "assistant":
            answer = _Answer({"timestamp": at, "agent_id": agent_id}, calls)
            if not all(map(answer.take, message["parts"])):
                return None
            turns.append(
                {
                    "turn_type": "agent",
                    "agent_id": agent_id,
                    "started_at": at,
                    "messages": answer.finish(),
                    "completed_at": at,
                    "completion_status": "complete",
                }
            )
    return turns


class _Answer:
    """The messages of one answer; `calls` are the ids of the conversation's calls, which grow with it."""

    def __init__(self, head: Mapping[str, Any], calls: set[str]) -> None:
        self._head = head
        self._calls = calls
        self._messages: list[dict[str, Any]] = []
        self._said: list[dict[str, Any]] = []
        self._returns: list[dict[str, Any]] = []

    def take(self, part: Mapping[str, Any]) -> bool:
        """Take the next part; return whether it is plain."""
        kind = part["type"]
        if kind == "step-start":
            self._end_step()
            return True
        if kind in ("text", "reasoning"):
            return self._take_text(kind, part)
        return (kind.startswith("tool-") or kind == "dynamic-tool") and self._take_call(kind, part)

    def finish(self) -> list[dict[str, Any]]:
        """Return the messages."""
        self._end_step()
        return self._messages

    def _end_step(self) -> None:
        """R40: tools run after their response, so its returns follow it."""
        if self._said:
            self._messages.append({"message_type": "response", **self._head, "parts": self._said})
            self._said = []
        if self._returns:
            self._messages.append({"message_type": "request", **self._head, "parts": self._returns})
            self._returns = []

    def _take_text(self, kind: str, part: Mapping[str, Any]) -> bool:
        text = part.get("text")
        if type(text) is not str or not text or part.get("providerMetadata") is not None:
            return False
        if part.get("state", "done") != "done":
            return False
        if kind == "text":
            self._said.append({"part_kind": "text", "content": text})
        else:  # R15: nobody says who thought it
            self._said.append({"part_kind": "thinking", "provider_name": "unknown", "content": text})
        return True

    def _take_call(self, kind: str, part: Mapping[str, Any]) -> bool:
        name = part.get("toolName") if kind == "dynamic-tool" else kind[5:]
        call, output = part.get("toolCallId"), part.get("output")
        if type(name) is not str or not name or type(call) is not str or not call or call in self._calls:
            return False
        if part.get("state") != "output-available" or type(part.get("input")) is not dict or output is None:
            return False
        if any(part.get(field) is not None for field in ("callProviderMetadata", "providerExecuted", "preliminary")):
            return False
        self._calls.add(call)
        named = {"tool_name": name, "tool_call_id": call}
        self._said.append({"part_kind": "tool-call", **named, "args": part["input"]})
        self._returns.append({"part_kind": "tool-return", **named, "status": "success", "content": output})
        return True
