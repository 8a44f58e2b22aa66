"""Bedrock's Converse and ConverseStream: reading a request, errors."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from tpharness.findings import Finding
from tpharness.model_apis.bedrock.answer import BedrockAnswer
from tpharness.model_apis.messages import HistoryMessage, HistoryResult
from tpharness.model_apis.plan import Plan
from tpharness.model_apis.reading import call_of_object, join_results
from tpharness.model_apis.server import (
    ApiRefusal,
    Incoming,
    Request,
    ServerOptions,
    SideAnswer,
    SideRequest,
    path_pattern,
)
from tpharness.model_apis.shape import as_list, objects, string, value_of
from tpharness.output import json_bytes

__all__ = ["BedrockServer", "asks_for_thoughts", "make_server"]

_PATH = r"/model/(.+)/(converse|converse-stream)"  # the id of a model may be an ARN, with slashes
_MODEL = re.compile(f"{_PATH}$")
_KINDS = {
    403: "AccessDeniedException",
    404: "ResourceNotFoundException",
    408: "ModelTimeoutException",
    424: "ModelErrorException",
    429: "ThrottlingException",
    503: "ServiceUnavailableException",
}
_FILES = ("image", "document", "video", "audio")


class BedrockServer:
    """Converse, streamed and as a whole; it keeps nothing."""

    answers = path_pattern(_PATH)
    failed_answer_is_status = True

    def __init__(self, options: ServerOptions) -> None:
        del options  # nothing in an answer has an id of its own

    def read(self, incoming: Incoming) -> Request:
        """Read `system`, `messages` and the tools; the model stands in the path, and whether the answer is streamed."""
        body = incoming.body
        found = _MODEL.search(incoming.path)
        tools = {spec["name"]: value_of(spec.get("inputSchema"), "json") or {} for spec in _declared(body)}
        return Request(
            model=found[1] if found else "",
            stream=found is not None and found[2] == "converse-stream",
            history=join_results(_history(body)),
            tools=tools,
            # That a whole request has no tools is a fact, too (B8).
            payload={"messages": body.get("messages"), "toolConfig": body.get("toolConfig")},
            forced_tool=_forced(body, tools),
        )

    def answer(self, incoming: Incoming, request: Request, plan: Plan) -> BedrockAnswer:  # noqa: ARG002  # the plan says all
        """Return the answer of a plan."""
        return BedrockAnswer(plan)

    def error(self, refusal: ApiRefusal, number: int) -> Any:  # noqa: ARG002  # the same for every request
        """Return AWS's error object; a header names its kind."""
        return {"message": refusal.message}

    def error_headers(self, refusal: ApiRefusal) -> Mapping[str, str]:
        """Return the header that names the kind of an error."""
        other = "ValidationException" if refusal.status < 500 else "InternalServerException"
        return {"x-amzn-errortype": _KINDS.get(refusal.status, other)}

    def refuse(self, finding: Finding, request: Request) -> ApiRefusal:  # noqa: ARG002  # the finding says all
        """Refuse with 400 in the API's words."""
        return ApiRefusal(status=400, message=finding.message.partition(": ")[2] or finding.message)

    def serve(self, asked: SideRequest) -> SideAnswer | ApiRefusal | None:  # noqa: ARG002  # nothing is asked beside
        """Answer nothing: clients ask for an answer at once."""
        return None


make_server = BedrockServer


def asks_for_thoughts(body: Any) -> bool:
    """Whether the request enables the thinking of Claude, under either name."""
    wanted = value_of(value_of(body, "additionalModelRequestFields"), "thinking", "reasoning_config")
    return string(wanted, "type") in ("enabled", "adaptive")


def _history(body: Mapping[str, Any]) -> Iterator[HistoryMessage]:
    system = [string(block, "text") or "" for block in as_list(body.get("system"))]
    if any(system):
        yield HistoryMessage(role="system", text="\n\n".join(filter(None, system)))
    for message in objects(body.get("messages"), ""):
        role, content = string(message.value, "role") or "", as_list(message.value.get("content"))
        yield from [_said(content)] if role == "assistant" else _given(role, content)


def _said(content: list[Any]) -> HistoryMessage:
    calls = [use for block in content if (use := value_of(block, "toolUse")) is not None]
    thoughts = (value_of(value_of(block, "reasoningContent"), "reasoningText") for block in content)
    return HistoryMessage(
        role="assistant",
        text=_text(content),
        thinking="".join(string(thought, "text") or "" for thought in thoughts),
        calls=tuple(call_of_object(string(c, "toolUseId"), string(c, "name"), value_of(c, "input")) for c in calls),
        files=_files(content),
    )


def _given(role: str, content: list[Any]) -> Iterator[HistoryMessage]:
    """Yield what the user's side sends: runs of results and runs of other blocks, in order."""
    rest: list[Any] = []
    for block in content:
        result = value_of(block, "toolResult")
        if result is None:
            rest.append(block)
            continue
        if rest:
            yield HistoryMessage(role=role, text=_text(rest), files=_files(rest))
            rest = []
        inside = as_list(value_of(result, "content"))
        answer = HistoryResult(
            call_id=string(result, "toolUseId") or "",
            content="".join(map(_result_text, inside)),
            is_error=string(result, "status") == "error",
        )
        yield HistoryMessage(role="tool", results=(answer,), files=_files(inside))
    if rest or not content:
        yield HistoryMessage(role=role, text=_text(rest), files=_files(rest))


def _text(content: list[Any]) -> str:
    return "".join(string(block, "text") or "" for block in content)


def _result_text(item: Any) -> str:
    value = value_of(item, "json")
    return json_bytes(value).decode() if value is not None else string(item, "text") or ""


def _files(content: list[Any]) -> tuple[str, ...]:
    return tuple(kind for block in content for kind in _FILES if value_of(block, kind) is not None)


def _declared(body: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    tools = as_list(value_of(body.get("toolConfig"), "tools"))
    return [spec for tool in tools if string(spec := value_of(tool, "toolSpec"), "name")]


def _forced(body: Mapping[str, Any], tools: Mapping[str, Any]) -> str | None:
    choice = value_of(body.get("toolConfig"), "toolChoice")
    if value_of(choice, "any") is not None:
        return next(iter(tools), None)
    return string(value_of(choice, "tool"), "name")
