"""Google's Gemini API: `generateContent` and `streamGenerateContent`, as server-sent events or as a JSON array.

A call is one part and has no pieces here: it is written with the last piece of its arguments. Calls have ids, and the
first call of an answer has a thought signature, as Gemini 3 gives it; so has the last part of an answer that thinks.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator, Mapping
from typing import Any

from tpharness.findings import Finding, Kind, Place
from tpharness.model_apis.event_bytes import load
from tpharness.model_apis.messages import HistoryCall, HistoryMessage, HistoryResult
from tpharness.model_apis.models import needs_thought_signatures
from tpharness.model_apis.names import ApiName
from tpharness.model_apis.plan import Call, Finish, Item, Plan, Text, Thinking, Usage
from tpharness.model_apis.reading import call_of_object, join_results, lower_types
from tpharness.model_apis.rule import Options
from tpharness.model_apis.server import Incoming, Refusal, Request
from tpharness.model_apis.shape import as_list, objects, string, value_of
from tpharness.output import json_bytes

__all__ = ["GeminiAnswer", "GeminiApi"]

_REASONS: Mapping[Finish, str] = {
    Finish.STOP: "STOP",
    Finish.LENGTH: "MAX_TOKENS",
    Finish.CONTENT_FILTER: "SAFETY",
    Finish.TOOL_CALL: "STOP",
    Finish.ERROR: "MALFORMED_FUNCTION_CALL",
}
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
_DOCS = "https://ai.google.dev/gemini-api/docs/thought-signatures"

SIGNATURE_UNKNOWN = Kind("gemini-signature-unknown")


class GeminiApi:
    """The Gemini API; it knows the signatures that it gave."""

    api: ApiName = "gemini"

    def __init__(self, run: str) -> None:
        self._run = run
        # A signature is bytes: SDKs may write it in either alphabet of base64, and the dummies as text or as bytes.
        self._signed: set[bytes] = {one for dummy in _DUMMIES for one in (_bytes(dummy), dummy.encode())}

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
            if (signature := string(part.value, *_SIGNATURE)) and _bytes(signature) not in self._signed
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
            refusal=Refusal(status=400, message="Corrupted thought signature.") if unknown else None,
            output_schema=_output_schema(config),
            forced_tool=_forced(body, tools),
        )

    def answer(self, incoming: Incoming, request: Request, plan: Plan) -> GeminiAnswer:
        """Return the answer of a plan; without `alt=sse` a stream is a JSON array."""
        token = f"{self._run}{incoming.number:06x}"
        return GeminiAnswer(plan, token=token, model=request.model, sse=incoming.sse, signed=self._signed)

    def error(self, refusal: Refusal, number: int) -> Any:  # noqa: ARG002  # the same for every request
        """Return Google's error object."""
        status = _STATUS.get(refusal.status, "INVALID_ARGUMENT" if refusal.status < 500 else "INTERNAL")
        return {"error": {"code": refusal.status, "message": refusal.message, "status": status}}

    def refuse(self, finding: Finding, request: Request) -> Refusal:  # noqa: ARG002  # the finding says all
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
        return Refusal(status=400, message=text)


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
    told = next((call for call in waiting if call.call_id == call_id or (call_id is None and call.name == name)), None)
    if told is not None:
        waiting.remove(told)
    inside = value_of(response, "response")
    return HistoryResult(
        call_id=call_id or (told.call_id if told else name or ""),
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
    return schema if schema is not None else lower_types(tool.get("parameters") or {})


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
    return lower_types(schema) if schema is not None else {"type": "object"}


class GeminiAnswer:
    """An answer as a stream of `GenerateContentResponse` objects, or as one."""

    def __init__(self, plan: Plan, *, token: str, model: str, sse: bool, signed: set[bytes]) -> None:
        self.content_type = "text/event-stream" if sse else "application/json; charset=UTF-8"
        self._plan = plan
        self._token = token
        self._model = model
        self._sse = sse
        self._signed = signed
        self._written = False
        self._signs_call = True
        self._item: Item | None = None
        self._said: list[str] = []

    def _chunk(self, parts: list[dict[str, Any]], reason: str | None = None) -> bytes:
        return self._frame(self._response(parts, reason))

    def _frame(self, value: Any) -> bytes:
        if self._sse:
            return b"data: %b\r\n\r\n" % json_bytes(value)
        start = b",\r\n" if self._written else b"["
        self._written = True
        return start + json_bytes(value)

    def _response(self, parts: list[dict[str, Any]], reason: str | None) -> dict[str, Any]:
        candidate: dict[str, Any] = {"content": {"parts": parts, "role": "model"}, "index": 0}
        if reason is not None:
            candidate["finishReason"] = reason
        return {
            "candidates": [candidate],
            "usageMetadata": _usage(self._plan.usage, whole=reason is not None),
            "modelVersion": self._model,
            "responseId": self._token,
        }

    def begin(self) -> bytes:
        """Return nothing: the beginning of an array is written with the first part."""
        return b""

    def open(self, item: Item) -> bytes:
        """Return a call without arguments, which has no pieces; nothing for any other item, which its pieces write."""
        self._item, self._said = item, []
        if isinstance(item, Call) and not item.pieces:
            return self._chunk([self._call(item)])
        return b""

    def piece(self, text: str, *, last: bool) -> bytes:
        """A part with text; a call with its last piece."""
        self._said.append(text)
        match self._item:
            case Text():
                return self._chunk([{"text": text}])
            case Thinking():
                return self._chunk([{"text": text, "thought": True}])
            case Call() if last:
                return self._chunk([self._call(self._item)])
        return b""

    def close(self) -> bytes:
        """Return nothing: the API does not mark the end of a part."""
        return b""

    def end(self) -> bytes:
        """Return an empty text with the reason and all tokens, signed if the answer thinks and calls nothing."""
        told = self._chunk([{"text": "", **self._text_signature()}], _REASONS[self._plan.reason])
        return told if self._sse else told + b"]"

    def failure(self, text: str) -> bytes:
        """An error object in the place of a response."""
        return self._frame({"error": {"code": 503, "message": text, "status": "UNAVAILABLE"}})

    def whole(self) -> Any:
        """One `GenerateContentResponse`."""
        parts: list[dict[str, Any]] = []
        for item in self._plan.items:
            text = "".join(item.pieces)
            self._said = [text]
            match item:
                case Text():
                    parts.append({"text": text})
                case Thinking():
                    parts.append({"text": text, "thought": True})
                case Call():
                    parts.append(self._call(item))
        if parts and "text" in parts[-1] and "thought" not in parts[-1]:
            parts[-1].update(self._text_signature())
        return self._response(parts, _REASONS[self._plan.reason])

    def over(self, *, complete: bool) -> None:
        """Nothing is kept but signatures, which are kept when they are given."""

    def _call(self, item: Call) -> dict[str, Any]:
        try:
            args = load("".join(item.pieces) or "{}")
        except ValueError:
            args = None
        call = {"name": item.name, "args": args if isinstance(args, dict) else {}, "id": item.call_id}
        first, self._signs_call = self._signs_call, False
        return {"functionCall": call, **({"thoughtSignature": self._sign()} if first else {})}

    def _text_signature(self) -> dict[str, str]:
        thinks = any(isinstance(item, Thinking) for item in self._plan.items)
        return {"thoughtSignature": self._sign()} if thinks and not self._plan.calls else {}

    def _sign(self) -> str:
        given = [item.signature for item in self._plan.items if isinstance(item, Thinking) and item.signature]
        signature = _bytes(given[0]) if given else hashlib.sha256(self._token.encode()).digest() * 2
        self._signed.add(signature)
        return base64.b64encode(signature).decode()


def _bytes(signature: str) -> bytes:
    """Return the bytes of a signature, in either alphabet, padded or not; text that is not base64 stands for itself."""
    text = signature.translate(str.maketrans("-_", "+/")).rstrip("=")
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except ValueError:
        return signature.encode("utf-8", "surrogatepass")


def _usage(usage: Usage, *, whole: bool) -> dict[str, Any]:
    counted: dict[str, Any] = {"promptTokenCount": usage.input, "totalTokenCount": usage.input}
    if usage.cached:
        counted["cachedContentTokenCount"] = usage.cached
    if whole:
        counted["candidatesTokenCount"] = usage.output - usage.reasoning
        counted["totalTokenCount"] = usage.input + usage.output
        if usage.reasoning:
            counted["thoughtsTokenCount"] = usage.reasoning
    return counted
