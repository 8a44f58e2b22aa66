"""OpenAI's Chat Completions: requests and answers.

What the newer and the older fields say is the same: `tools` or `functions`, `tool_calls` or `function_call`, role
`developer` or `system`. Thinking is `reasoning_content`, as DeepSeek and most compatible servers write it.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from typing import Any

from tpharness.findings import Finding
from tpharness.model_apis.event_bytes import event
from tpharness.model_apis.messages import HistoryMessage, HistoryResult
from tpharness.model_apis.names import ApiName
from tpharness.model_apis.openai_errors import openai_error, openai_refusal
from tpharness.model_apis.plan import Call, Finish, Item, Plan, Text, Thinking, Usage
from tpharness.model_apis.reading import call_of_text, files_in, join_results, message_of, text_in
from tpharness.model_apis.server import Incoming, Refusal, Request
from tpharness.model_apis.shape import as_list, string, value_of

__all__ = ["ChatAnswer", "ChatApi"]

_REASONS: Mapping[Finish, str] = {
    Finish.STOP: "stop",
    Finish.LENGTH: "length",
    Finish.CONTENT_FILTER: "content_filter",
    Finish.TOOL_CALL: "tool_calls",
}
_POINTER = re.compile(r"/(\d+)")


class ChatApi:
    """Chat Completions."""

    api: ApiName = "openai-chat"

    def __init__(self, run: str) -> None:
        self._run = run

    def read(self, incoming: Incoming) -> Request:
        """Read `messages`, tools and options."""
        body = incoming.body
        messages = body.get("messages")
        return Request(
            model=string(body, "model") or "",
            stream=body.get("stream") is True,
            history=join_results(_told(message) for message in as_list(messages) if isinstance(message, Mapping)),
            tools=_tools(body),
            payload=messages,
            output_schema=_output_schema(body.get("response_format")),
            forced_tool=_forced(body),
        )

    def answer(self, incoming: Incoming, request: Request, plan: Plan) -> ChatAnswer:
        """Return the answer of a plan."""
        options = value_of(incoming.body, "stream_options")
        return ChatAnswer(
            plan,
            identity=f"chatcmpl-{self._run}{incoming.number:06x}",
            model=request.model,
            counted=value_of(options, "include_usage") is True,
            legacy="functions" in incoming.body and "tools" not in incoming.body,
        )

    def error(self, refusal: Refusal, number: int) -> Any:  # noqa: ARG002  # the same for every request
        """Return OpenAI's error object."""
        return openai_error(refusal)

    def refuse(self, finding: Finding, request: Request) -> Refusal:
        """Refuse with 400; the parameter is the role of the message, as OpenAI names it for calls and their answers."""
        if finding.code in ("chat-call-unanswered", "chat-orphan-tool-message"):
            index = int(found[1]) if (found := _POINTER.match(finding.place.pointer or "")) else 0
            after = finding.code == "chat-call-unanswered" and index + 1 < len(as_list(request.payload))
            return Refusal(
                status=400, message=finding.message.partition(": ")[2], param=f"messages.[{index + after}].role"
            )
        return openai_refusal(finding, "messages")


def _told(message: Mapping[str, Any]) -> HistoryMessage:
    role, content = message.get("role"), message.get("content")
    if role in ("tool", "function"):
        call_id = string(message, "tool_call_id", "name") or ""
        result = HistoryResult(call_id=call_id, content=text_in(content))
        return HistoryMessage(role="tool", results=(result,), files=files_in(content))
    told = message_of(message)
    calls = []
    for call in as_list(message.get("tool_calls")):
        function = value_of(call, "function", "custom")
        calls.append(
            call_of_text(string(call, "id"), string(function, "name"), value_of(function, "arguments", "input"))
        )
    legacy = message.get("function_call")
    if isinstance(legacy, Mapping):  # these have no ids; their results name the function
        calls.append(call_of_text(string(legacy, "name"), string(legacy, "name"), legacy.get("arguments")))
    return HistoryMessage(role=told.role, text=told.text, thinking=told.thinking, files=told.files, calls=tuple(calls))


def _tools(body: Mapping[str, Any]) -> dict[str, Any]:
    declared = [value_of(tool, "function", "custom") for tool in as_list(body.get("tools"))]
    found = [tool for tool in (*declared, *as_list(body.get("functions"))) if string(tool, "name")]
    return {tool["name"]: tool.get("parameters") or {} for tool in found}


def _forced(body: Mapping[str, Any]) -> str | None:
    choice = body.get("tool_choice", body.get("function_call"))
    if choice == "required":
        return next(iter(_tools(body)), None)
    return string(value_of(choice, "function") or choice, "name")


def _output_schema(wanted: Any) -> Any:
    kind = string(wanted, "type")
    if kind == "json_schema":
        return value_of(value_of(wanted, "json_schema"), "schema") or {"type": "object"}
    return {"type": "object"} if kind == "json_object" else None


class ChatAnswer:
    """An answer as `chat.completion.chunk` objects, or as one `chat.completion`."""

    content_type = "text/event-stream; charset=utf-8"

    def __init__(self, plan: Plan, *, identity: str, model: str, counted: bool, legacy: bool) -> None:
        self._plan = plan
        self._counted = counted
        self._legacy = legacy
        self._frame = {
            "id": identity,
            "object": "chat.completion.chunk",
            "created": int(time.time()),
            "model": model,
            "service_tier": "default",
            "system_fingerprint": "fp_tpharness",
        }
        self._calls = -1
        self._item: Item | None = None

    def _chunk(self, delta: dict[str, Any], reason: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
        usage = {"usage": None} if self._counted else {}
        return event({**self._frame, "choices": [choice], **usage})

    def begin(self) -> bytes:
        """The role, with the empty text of an answer that begins with text."""
        speaks = bool(self._plan.items) and isinstance(self._plan.items[0], Text)
        return self._chunk({"role": "assistant", "content": "" if speaks else None, "refusal": None})

    def open(self, item: Item) -> bytes:
        """The id and the name of a call; nothing for others."""
        self._item = item
        if not isinstance(item, Call):
            return b""
        self._calls += 1
        function = {"name": item.name, "arguments": ""}
        if self._legacy:
            return self._chunk({"function_call": function})
        call = {"index": self._calls, "id": item.call_id, "type": "function", "function": function}
        return self._chunk({"tool_calls": [call]})

    def piece(self, text: str, *, last: bool) -> bytes:  # noqa: ARG002  # each piece is a chunk
        """A chunk with a delta."""
        match self._item:
            case Text():
                return self._chunk({"content": text})
            case Thinking():
                return self._chunk({"reasoning_content": text})
        if self._legacy:
            return self._chunk({"function_call": {"arguments": text}})
        return self._chunk({"tool_calls": [{"index": self._calls, "function": {"arguments": text}}]})

    def close(self) -> bytes:
        """Return nothing: the API does not mark the end of an item."""
        return b""

    def end(self) -> bytes:
        """The reason, then the usage if it was asked for, then `[DONE]`; an error has no reason but its event."""
        if self._plan.reason is Finish.ERROR:
            return self.failure(self._plan.error_text)
        told = self._chunk({}, self._reason())
        if self._counted:
            told += event({**self._frame, "choices": [], "usage": _usage(self._plan.usage)})
        return told + b"data: [DONE]\n\n"

    def failure(self, text: str) -> bytes:
        """An object with `error` in the place of a chunk."""
        return event({"error": {"message": text, "type": "server_error", "param": None, "code": None}})

    def whole(self) -> Any:
        """One `chat.completion`."""
        message: dict[str, Any] = {
            "role": "assistant",
            "content": "".join(_joined(self._plan, Text)) or None,
            "refusal": None,
            "annotations": [],
        }
        thinking = "".join(_joined(self._plan, Thinking))
        if thinking:
            message["reasoning_content"] = thinking
        functions = [{"name": call.name, "arguments": "".join(call.pieces)} for call in self._plan.calls]
        if functions and self._legacy:
            message["function_call"] = functions[0]
        elif functions:
            ids = [call.call_id for call in self._plan.calls]
            message["tool_calls"] = [
                {"id": i, "type": "function", "function": f} for i, f in zip(ids, functions, strict=True)
            ]
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": self._reason()}
        frame = {**self._frame, "object": "chat.completion"}
        return {**frame, "choices": [choice], "usage": _usage(self._plan.usage)}

    def over(self, *, complete: bool) -> None:
        """Nothing is kept."""

    def _reason(self) -> str:
        reason = _REASONS.get(self._plan.reason, "stop")
        return "function_call" if self._legacy and reason == "tool_calls" else reason


def _joined(plan: Plan, kind: type[Text | Thinking]) -> Iterator[str]:
    for item in plan.items:
        if isinstance(item, kind):
            yield from item.pieces


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.input + usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cached, "audio_tokens": 0},
        "completion_tokens_details": {
            "reasoning_tokens": usage.reasoning,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    }
