"""OpenAI's Chat Completions: reading a request, errors, models.

What the newer and the older fields say is the same: `tools` or `functions`, `tool_calls` or `function_call`, role
`developer` or `system`. Thinking is `reasoning_content`, as DeepSeek and most compatible servers write it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tpharness.findings import Finding
from tpharness.model_apis.messages import HistoryMessage, HistoryResult
from tpharness.model_apis.openai_chat.answer import ChatAnswer
from tpharness.model_apis.openai_errors import openai_error, openai_refusal
from tpharness.model_apis.plan import Plan
from tpharness.model_apis.reading import call_of_text, files_in, join_results, message_of, text_in
from tpharness.model_apis.server import (
    ApiRefusal,
    Incoming,
    Request,
    ServerOptions,
    SideAnswer,
    SideRequest,
    path_pattern,
)
from tpharness.model_apis.shape import as_list, string, value_of

__all__ = ["ChatServer", "asks_for_thoughts", "make_server"]

_MADE = 1_735_689_600  # 2025-01-01
_KNOWN_MODELS = ("gpt-4o", "gpt-4o-mini", "gpt-4.1", "gpt-5", "gpt-5-mini", "o4-mini")
_MODELS = path_pattern(r"/models(?:/([^:]+))?")
_POINTER = re.compile(r"/(\d+)")


class ChatServer:
    """Chat Completions."""

    answers = path_pattern("/chat/completions")
    failed_answer_is_status = True

    def __init__(self, options: ServerOptions) -> None:
        self._run = options.run

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

    def error(self, refusal: ApiRefusal, number: int) -> Any:  # noqa: ARG002  # the same for every request
        """Return OpenAI's error object."""
        return openai_error(refusal)

    def refuse(self, finding: Finding, request: Request) -> ApiRefusal:
        """Refuse with 400; the parameter is the role of the message, as OpenAI names it for calls and their answers."""
        if finding.code in ("chat-call-unanswered", "chat-orphan-tool-message"):
            index = int(found[1]) if (found := _POINTER.match(finding.place.pointer or "")) else 0
            after = finding.code == "chat-call-unanswered" and index + 1 < len(as_list(request.payload))
            return ApiRefusal(
                status=400, message=finding.message.partition(": ")[2], param=f"messages.[{index + after}].role"
            )
        return openai_refusal(finding, "messages")

    def serve(self, asked: SideRequest) -> SideAnswer | None:
        """Answer `GET /models`; every model that is asked for exists."""
        found = _MODELS.match(asked.path)
        if found is None or asked.method != "GET":
            return None
        if found[1]:
            return SideAnswer(value=_model(found[1]))
        names = dict.fromkeys((*_KNOWN_MODELS, *asked.models))
        return SideAnswer(value={"object": "list", "data": [_model(name) for name in names]})


make_server = ChatServer


def asks_for_thoughts(body: Any) -> bool:  # noqa: ARG001  # no option asks for them
    """OpenAI's own service shows no thoughts, and no option asks other servers of this API for them."""
    return False


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": _MADE, "owned_by": "tpharness"}


def _told(message: Mapping[str, Any]) -> HistoryMessage:
    role, content = message.get("role"), message.get("content")
    if role in ("tool", "function"):
        call_id = string(message, "tool_call_id", "name") or ""
        result = HistoryResult(call_id=call_id, content=text_in(content))
        return HistoryMessage(role="tool", results=(result,), files=files_in(content))
    read = message_of(message)
    calls = []
    for call in as_list(message.get("tool_calls")):
        function = value_of(call, "function", "custom")
        calls.append(
            call_of_text(string(call, "id"), string(function, "name"), value_of(function, "arguments", "input"))
        )
    legacy = message.get("function_call")
    if isinstance(legacy, Mapping):  # these have no ids; their results name the function
        calls.append(call_of_text(string(legacy, "name"), string(legacy, "name"), legacy.get("arguments")))
    return HistoryMessage(role=read.role, text=read.text, thinking=read.thinking, files=read.files, calls=tuple(calls))


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
