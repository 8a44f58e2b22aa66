"""Anthropic's Messages: reading a request, errors, models, tokens."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tpharness.findings import Finding, Kind, Place
from tpharness.model_apis.anthropic.answer import AnthropicAnswer
from tpharness.model_apis.anthropic.models import takes_prefill
from tpharness.model_apis.messages import HistoryMessage, HistoryResult
from tpharness.model_apis.plan import Plan
from tpharness.model_apis.reading import call_of_object, files_in, join_results, text_in
from tpharness.model_apis.rule import Options
from tpharness.model_apis.server import (
    ApiRefusal,
    Incoming,
    Request,
    ServerOptions,
    SideAnswer,
    SideRequest,
    not_an_object,
    path_pattern,
)
from tpharness.model_apis.shape import as_list, objects, string, value_of

__all__ = ["AnthropicServer", "asks_for_thoughts", "make_server"]

_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}
_HIDDEN = ("thinking", "redacted_thinking", "tool_use", "tool_result")
_KNOWN_MODELS = ("claude-opus-4-6", "claude-sonnet-4-6", "claude-haiku-4-5")
_MODELS = path_pattern(r"/models(?:/([^:]+))?")
_COUNT = path_pattern("/messages/count_tokens")

SIGNATURE_UNKNOWN = Kind("anthropic-signature-unknown")


class AnthropicServer:
    """Messages; it knows the signatures that it gave."""

    answers = path_pattern("/messages")
    failed_answer_is_status = True

    def __init__(self, options: ServerOptions) -> None:
        self._run = options.run
        self._signed: set[tuple[str, str]] = set()  # signature, text

    def read(self, incoming: Incoming) -> Request:
        """Read `system`, `messages`, tools and options."""
        body = incoming.body
        model = string(body, "model") or ""
        found = list(self._unknown(body))
        return Request(
            model=model,
            stream=body.get("stream") is True,
            history=join_results(_history(body)),
            tools={t.value["name"]: t.value.get("input_schema") or {} for t in _named(body)},
            payload={key: body[key] for key in ("system", "messages") if key in body},
            options=Options(prefill=takes_prefill(model) or False),
            findings=tuple(found),
            refusal=_signature_refusal(found[0]) if found else None,
            output_schema=_output_schema(body),
            forced_tool=_forced(body),
        )

    def answer(self, incoming: Incoming, request: Request, plan: Plan) -> AnthropicAnswer:
        """Return the answer of a plan."""
        return AnthropicAnswer(
            plan, identity=f"msg_{self._run}{incoming.number:06x}", model=request.model, signed=self._signed
        )

    def error(self, refusal: ApiRefusal, number: int) -> Any:
        """Return Anthropic's error object."""
        kind = _TYPES.get(refusal.status, "invalid_request_error" if refusal.status < 500 else "api_error")
        error = {"type": kind, "message": refusal.message}
        return {"type": "error", "error": error, "request_id": f"req_{self._run}{number:06x}"}

    def refuse(self, finding: Finding, request: Request) -> ApiRefusal:  # noqa: ARG002  # the finding says all
        """Refuse with 400; the text begins with the path of the place, as the real one's does."""
        path = (finding.place.pointer or "").lstrip("/").replace("/", ".")
        text = finding.message.partition(": ")[2] or finding.message
        anonymous = finding.code in ("anthropic-prefill", "anthropic-prefix-changed")
        return ApiRefusal(status=400, message=text if anonymous or not path else f"{path}: {text}")

    def serve(self, asked: SideRequest) -> SideAnswer | ApiRefusal | None:
        """Count tokens, and answer `GET /models` with the API's own headers; every model that is asked for exists."""
        if asked.method == "POST" and _COUNT.match(asked.path):
            return not_an_object() if asked.body is None else SideAnswer(value={"input_tokens": asked.size // 4})
        found = _MODELS.match(asked.path)
        own = "anthropic-version" in asked.headers or "x-api-key" in asked.headers
        if found is None or asked.method != "GET" or not own:
            return None
        if found[1]:
            return SideAnswer(value=_model(found[1]))
        names = list(dict.fromkeys((*_KNOWN_MODELS, *asked.models)))
        entries = [_model(name) for name in names]
        return SideAnswer(value={"data": entries, "has_more": False, "first_id": names[0], "last_id": names[-1]})

    def _unknown(self, body: Mapping[str, Any]) -> Iterator[Finding]:
        """Thinking whose signature this provider never gave, or gave for another text."""
        for message in objects(body.get("messages"), "/messages"):
            for block in objects(message.value.get("content"), f"{message.pointer}/content"):
                signature = string(block.value, "signature")
                if string(block.value, "type") != "thinking" or not signature:
                    continue
                if (signature, block.value.get("thinking")) not in self._signed:
                    yield SIGNATURE_UNKNOWN.at(Place(pointer=block.pointer), got=signature)


make_server = AnthropicServer


def asks_for_thoughts(body: Any) -> bool:
    """Whether the request enables thinking."""
    return string(value_of(body, "thinking"), "type") in ("enabled", "adaptive")


def _model(name: str) -> dict[str, Any]:
    return {"type": "model", "id": name, "display_name": name, "created_at": "2025-01-01T00:00:00Z"}


def _signature_refusal(finding: Finding) -> ApiRefusal:
    path = (finding.place.pointer or "").lstrip("/").replace("/", ".")
    return ApiRefusal(status=400, message=f"{path}: Invalid `signature` in `thinking` block")


def _history(body: Mapping[str, Any]) -> Iterator[HistoryMessage]:
    system = body.get("system")
    if system:
        yield HistoryMessage(role="system", text=text_in(system))
    for message in objects(body.get("messages"), ""):
        role, content = message.value.get("role"), message.value.get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else as_list(content)
        if role == "assistant":
            yield _assistant(blocks)
        else:
            yield from _given(role if isinstance(role, str) else "", blocks)


def _assistant(blocks: list[Any]) -> HistoryMessage:
    calls = (block for block in blocks if string(block, "type") == "tool_use")
    return HistoryMessage(
        role="assistant",
        text=text_in(blocks),
        thinking="".join(string(b, "thinking") or "" for b in blocks if string(b, "type") == "thinking"),
        calls=tuple(call_of_object(string(c, "id"), string(c, "name"), c.get("input")) for c in calls),
        files=_files(blocks),
    )


def _given(role: str, blocks: list[Any]) -> Iterator[HistoryMessage]:
    """What the user's side sends: runs of results and runs of other blocks, in order."""
    rest: list[Any] = []
    for block in blocks:
        if string(block, "type") != "tool_result":
            rest.append(block)
            continue
        if rest:
            yield HistoryMessage(role=role, text=text_in(rest), files=_files(rest))
            rest = []
        content = block.get("content")
        result = HistoryResult(
            call_id=string(block, "tool_use_id") or "",
            content=text_in(content),
            is_error=block.get("is_error") is True,
        )
        yield HistoryMessage(role="tool", results=(result,), files=_files(as_list(content)))
    if rest or not blocks:
        yield HistoryMessage(role=role, text=text_in(rest), files=_files(rest))


def _files(blocks: list[Any]) -> tuple[str, ...]:
    return files_in([block for block in blocks if string(block, "type") not in _HIDDEN])


def _named(body: Mapping[str, Any]) -> list[Any]:
    return [tool for tool in objects(body.get("tools"), "/tools") if string(tool.value, "name")]


def _forced(body: Mapping[str, Any]) -> str | None:
    choice = body.get("tool_choice")
    if string(choice, "type") == "any":
        return next((tool.value["name"] for tool in _named(body)), None)
    return string(choice, "name")


def _output_schema(body: Mapping[str, Any]) -> Any:
    wanted = value_of(body.get("output_config"), "format") or body.get("output_format")
    return value_of(wanted, "schema") if string(wanted, "type") == "json_schema" else None
