"""Agno's own runs (AgentOS): a page that posts a form with one message, and reads Agno's events.

The server keeps the history under the session's id, which is the page's. A run that was cancelled says so, and that it
is completed all the same; only the first is true.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tpharness.apps.client.around import AppHttp
from tpharness.apps.client.foreign import dict_of, load_event, require_new_message
from tpharness.apps.client.own_code import StreamRefusedError
from tpharness.apps.client.profile import Chat, Trigger, text_of
from tpharness.apps.client.routes import Fetched

__all__ = ["AgnoPage", "AgnoStream"]

Json = dict[str, Any]
Chunks = Iterator[Json]
_OK = range(200, 300)


class AgnoRefusedError(StreamRefusedError):
    """A page cannot read on from this event; the text says why."""


class AgnoPage:
    """A page of AgentOS: a run of one agent, which Stop cancels."""

    keeps_history = False
    posts_form = True
    chat_path = "/agents/{agent}/runs"
    paths: Mapping[str, str] = {"stop": "POST /agents/{agent}/runs/{run_id}/cancel"}

    def __init__(self) -> None:
        self._agent = ""
        self._readers: dict[str, AgnoStream] = {}

    def body(self, chat: Chat, trigger: Trigger) -> Mapping[str, Any]:
        """Return the fields of a form."""
        require_new_message(chat, trigger)
        return {"message": text_of(chat.last), "stream": "true", "session_id": chat.id}

    def translator(self) -> AgnoStream:
        """Read one answer."""
        return AgnoStream()

    def address_names(self, chat: Chat) -> Mapping[str, str]:
        """Return what the addresses may name beside the chat: the agent, and the last run."""
        reader = self._readers.get(chat.id)
        return {"agent": self._agent, "run_id": reader.run_id if reader is not None else ""}

    async def begin(self, chat: Chat, http: AppHttp) -> Fetched | None:  # noqa: ARG002  # a session needs no request
        """Find the first agent of the server; an address that names its agent has no use for it."""
        if not self._agent:
            listed = await http.ask("GET", "/agents")
            first = listed.value[0] if isinstance(listed.value, list) and listed.value else None
            if listed.status not in _OK or not isinstance(first, dict) or not first.get("id"):
                return listed
            self._agent = str(first["id"])
        return None

    def take_headers(self, chat: Chat, reader: AgnoStream, headers: Mapping[str, str]) -> None:  # noqa: ARG002
        """Remember who reads the last run, which its first event names."""
        self._readers[chat.id] = reader


class AgnoStream:
    """One answer. `run_id` is the run that it streams."""

    def __init__(self) -> None:
        self.run_id = ""
        self._step = 0
        self._in_step = self._in_text = self._is_over = False
        self._calls: set[str] = set()

    def feed(self, data: bytes) -> Chunks:
        """Yield the chunks that an event comes to; its data has its name."""
        event = dict_of(load_event(data, AgnoRefusedError))
        tool = dict_of(event.get("tool"))
        match event.get("event"):
            case "RunStarted":
                self.run_id = str(event.get("run_id"))
                yield {"type": "start", "messageId": self.run_id}
            case "RunContent":
                yield from self._say(event.get("content"))
            case "ModelRequestStarted":
                yield from self._end_step()
            case "ToolCallStarted":
                yield from self._call(tool)
            case "ToolCallCompleted" | "ToolCallError":
                yield from self._call(tool)
                call_id, result = tool.get("tool_call_id"), tool.get("result")
                if tool.get("tool_call_error"):
                    yield {"type": "tool-output-error", "toolCallId": call_id, "errorText": str(result)}
                else:
                    yield {"type": "tool-output-available", "toolCallId": call_id, "output": result}
            case "RunError" if not self._is_over:
                self._is_over = True
                yield {"type": "error", "errorText": str(event.get("content") or "An error occurred")}
            case "RunCancelled" if not self._is_over:
                self._is_over = True
                yield {"type": "abort"}
            case "RunCompleted" if not self._is_over:
                self._is_over = True
                yield from self._end_step()
                yield {"type": "finish", "finishReason": "stop"}

    def _say(self, text: Any) -> Chunks:
        if not isinstance(text, str) or not text:
            return
        yield from self._begin_step()
        if not self._in_text:
            self._in_text = True
            yield {"type": "text-start", "id": f"text-{self._step}"}
        yield {"type": "text-delta", "id": f"text-{self._step}", "delta": text}

    def _call(self, tool: Mapping[str, Any]) -> Chunks:
        """Take a call, which comes whole."""
        call_id, name = tool.get("tool_call_id"), tool.get("tool_name")
        if isinstance(call_id, str) and isinstance(name, str) and call_id not in self._calls:
            yield from self._begin_step()
            self._calls.add(call_id)
            known = {"toolCallId": call_id, "toolName": name}
            yield {"type": "tool-input-start", **known}
            yield {"type": "tool-input-available", **known, "input": tool.get("tool_args") or {}}

    def _begin_step(self) -> Chunks:
        if not self._in_step:
            self._in_step = True
            self._step += 1
            yield {"type": "start-step"}

    def _end_step(self) -> Chunks:
        if self._in_text:
            yield {"type": "text-end", "id": f"text-{self._step}"}
        if self._in_step:
            yield {"type": "finish-step"}
        self._in_text = self._in_step = False
