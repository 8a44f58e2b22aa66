"""Google's Gemini API: reading a request of `generateContent` or `streamGenerateContent`, errors, models, tokens."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from tpharness.findings import Finding, Kind, Place
from tpharness.model_apis.gemini.answer import GeminiAnswer, signature_bytes
from tpharness.model_apis.gemini.models import needs_thought_signatures
from tpharness.model_apis.messages import HistoryCall, HistoryMessage, HistoryResult
from tpharness.model_apis.plan import Plan
from tpharness.model_apis.reading import call_of_object, join_results
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
from tpharness.output import json_bytes

__all__ = ["GeminiServer", "asks_for_thoughts", "make_server"]

_STATUS = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
_CALL = ("functionCall", "function_call")
_RESPONSE = ("functionResponse", "function_response")
_SIGNATURE = ("thoughtSignature", "thought_signature")
_DUMMIES = ("skip_thought_signature_validator", "context_engineering_is_the_way_to_go")  # documented
_MODEL = re.compile(r"/models/([^/:]+):(\w+)$")
_KNOWN_MODELS = ("gemini-2.5-flash", "gemini-2.5-pro", "gemini-3-flash-preview", "gemini-3-pro-preview")
_MODELS = path_pattern(r"/models(?:/([^:]+))?")
_COUNT = path_pattern("/models/[^/:]+:countTokens")
_VERSIONS = ("/v1beta", "/v1alpha")
_DOCS = "https://ai.google.dev/gemini-api/docs/thought-signatures"

SIGNATURE_UNKNOWN = Kind("gemini-signature-unknown")


class GeminiServer:
    """The Gemini API; it knows the signatures that it gave."""

    answers = path_pattern("/models/[^/:]+:(?:streamGenerateContent|generateContent)")
    failed_answer_is_status = False

    def __init__(self, options: ServerOptions) -> None:
        self._run = options.run
        # A signature is bytes: SDKs may write it in either alphabet of base64, and the dummies as text or as bytes.
        self._signed: set[bytes] = {one for dummy in _DUMMIES for one in (signature_bytes(dummy), dummy.encode())}

    def read(self, incoming: Incoming) -> Request:
        """Read `contents`, `systemInstruction`, tools and options; the model stands in the path."""
        body = incoming.body
        found = _MODEL.search(incoming.path)
        model = found[1] if found else ""
        config = value_of(body, "generationConfig", "generation_config")
        unknown = [
            SIGNATURE_UNKNOWN.at(Place(pointer=part.pointer), got=signature)
            for content in objects(body.get("contents"), "/contents")
            for part in objects(content.value.get("parts"), f"{content.pointer}/parts")
            if (signature := string(part.value, *_SIGNATURE)) and signature_bytes(signature) not in self._signed
        ]
        tools = {tool["name"]: _parameters(tool) for tool in _declared(body)}
        return Request(
            model=model,
            stream=found is not None and found[2].startswith("stream"),
            history=join_results(_history(body)),
            tools=tools,
            payload={"contents": body.get("contents")},
            options=Options(thought_signatures=needs_thought_signatures(model) or False),
            findings=tuple(unknown),
            refusal=ApiRefusal(status=400, message="Corrupted thought signature.") if unknown else None,
            output_schema=_output_schema(config),
            forced_tool=_forced(body, tools),
        )

    def answer(self, incoming: Incoming, request: Request, plan: Plan) -> GeminiAnswer:
        """Return the answer of a plan; without `alt=sse` a stream is a JSON array."""
        token = f"{self._run}{incoming.number:06x}"
        return GeminiAnswer(plan, token=token, model=request.model, sse=incoming.sse, signed=self._signed)

    def error(self, refusal: ApiRefusal, number: int) -> Any:  # noqa: ARG002  # the same for every request
        """Return Google's error object."""
        status = _STATUS.get(refusal.status, "INVALID_ARGUMENT" if refusal.status < 500 else "INTERNAL")
        return {"error": {"code": refusal.status, "message": refusal.message, "status": status}}

    def refuse(self, finding: Finding, request: Request) -> ApiRefusal:  # noqa: ARG002  # the finding says all
        """Refuse with 400 in the API's words."""
        text = finding.message.partition(": ")[2] or finding.message
        if finding.code == "gemini-call-unsigned":
            index = re.match(r"/contents/(\d+)", finding.place.pointer or "")
            name = ", ".join(finding.got) if isinstance(finding.got, list) else finding.got
            text += (
                " This is required for tools to work correctly, and missing thought_signature may lead to degraded "
                f"model performance. Additional data, function call `default_api:{name}` , position "
                f"{int(index[1]) + 1 if index else 1}. Please refer to {_DOCS} for more details."
            )
        return ApiRefusal(status=400, message=text)

    def serve(self, asked: SideRequest) -> SideAnswer | ApiRefusal | None:
        """Count tokens, and answer `GET /models` of this API; every model that is asked for exists."""
        if asked.method == "POST" and _COUNT.match(asked.path):
            return not_an_object() if asked.body is None else SideAnswer(value={"totalTokens": asked.size // 4})
        found = _MODELS.match(asked.path)
        own = "x-goog-api-key" in asked.headers or "key" in asked.query or asked.path.startswith(_VERSIONS)
        if found is None or asked.method != "GET" or not own:
            return None
        if found[1]:
            return SideAnswer(value=_model(found[1]))
        names = dict.fromkeys((*_KNOWN_MODELS, *asked.models))
        return SideAnswer(value={"models": [_model(name) for name in names]})


make_server = GeminiServer


def asks_for_thoughts(body: Any) -> bool:
    """Whether the request includes thoughts."""
    config = value_of(value_of(body, "generationConfig"), "thinkingConfig")
    return value_of(config, "includeThoughts") is True


def _model(name: str) -> dict[str, Any]:
    return {
        "name": f"models/{name}",
        "version": "001",
        "displayName": name,
        "inputTokenLimit": 1_048_576,
        "outputTokenLimit": 65_536,
        "supportedGenerationMethods": ["generateContent", "countTokens"],
    }


def _history(body: Mapping[str, Any]) -> Iterator[HistoryMessage]:
    system = value_of(body, "systemInstruction", "system_instruction")
    if system is not None:
        yield HistoryMessage(role="system", text=_said(_parts(system), thought=False))
    waiting: list[HistoryCall] = []
    counts: dict[str, int] = {}
    for content in as_list(body.get("contents")):
        parts = _parts(content)
        if string(content, "role") == "model":
            calls = tuple(_call(part, counts) for part in parts if value_of(part, *_CALL) is not None)
            waiting.extend(calls)
            text, thinking = _said(parts, thought=False), _said(parts, thought=True)
            yield HistoryMessage(role="assistant", text=text, thinking=thinking, calls=calls, files=_files(parts))
            continue
        rest: list[Any] = []
        for part in parts:
            response = value_of(part, *_RESPONSE)
            if response is None:
                rest.append(part)
            else:
                yield HistoryMessage(role="tool", results=(_result(response, waiting),))
        if rest or not parts:
            yield HistoryMessage(role="user", text=_said(rest, thought=False), files=_files(rest))


def _parts(content: Any) -> list[Any]:
    if isinstance(content, str):
        return [{"text": content}]
    parts = value_of(content, "parts")
    return [parts] if isinstance(parts, Mapping) else as_list(parts)


def _said(parts: list[Any], *, thought: bool) -> str:
    return "".join(string(part, "text") or "" for part in parts if (value_of(part, "thought") is True) is thought)


def _files(parts: list[Any]) -> tuple[str, ...]:
    data = [value_of(part, "inlineData", "inline_data", "fileData", "file_data") for part in parts]
    return tuple((string(one, "mimeType", "mime_type") or "file").partition("/")[0] for one in data if one is not None)


def _call(part: Any, counts: dict[str, int]) -> HistoryCall:
    """Return a call; one without an id is called by its name and the number of the call of that name."""
    call = value_of(part, *_CALL)
    name = string(call, "name") or ""
    counts[name] = counts.get(name, 0) + 1
    return call_of_object(string(call, "id") or f"{name}#{counts[name]}", name, value_of(call, "args") or {})


def _result(response: Any, waiting: list[HistoryCall]) -> HistoryResult:
    """Return a result; one without an id answers the first call of its name that nothing has answered."""
    name, call_id = string(response, "name"), string(response, "id")
    answered = next(
        (call for call in waiting if call.call_id == call_id or (call_id is None and call.name == name)), None
    )
    if answered is not None:
        waiting.remove(answered)
    inside = value_of(response, "response")
    return HistoryResult(
        call_id=call_id or (answered.call_id if answered else name or ""),
        content=inside if isinstance(inside, str) else json_bytes(inside).decode(),
        is_error=isinstance(inside, Mapping) and "error" in inside,
    )


def _declared(body: Mapping[str, Any]) -> list[Any]:
    found = []
    for tool in as_list(body.get("tools")):
        found += as_list(value_of(tool, "functionDeclarations", "function_declarations"))
    return [one for one in found if string(one, "name")]


def _parameters(tool: Mapping[str, Any]) -> Any:
    schema = value_of(tool, "parametersJsonSchema", "parameters_json_schema")
    return schema if schema is not None else _lower_types(tool.get("parameters") or {})


def _forced(body: Mapping[str, Any], tools: Mapping[str, Any]) -> str | None:
    config = value_of(value_of(body, "toolConfig", "tool_config"), "functionCallingConfig", "function_calling_config")
    if string(config, "mode") != "ANY":
        return None
    allowed = as_list(value_of(config, "allowedFunctionNames", "allowed_function_names"))
    return next((name for name in (*allowed, *tools) if isinstance(name, str)), None)


def _output_schema(config: Any) -> Any:
    if string(config, "responseMimeType", "response_mime_type") != "application/json":
        return None
    schema = value_of(config, "responseJsonSchema", "responseSchema", "response_json_schema", "response_schema")
    return _lower_types(schema) if schema is not None else {"type": "object"}


def _lower_types(schema: Any) -> Any:
    """Return a JSON Schema whose `type` names are in lower case, as elsewhere."""
    if isinstance(schema, Mapping):
        return {
            key: value.lower() if key == "type" and isinstance(value, str) else _lower_types(value)
            for key, value in schema.items()
        }
    return [_lower_types(item) for item in schema] if isinstance(schema, list) else schema
