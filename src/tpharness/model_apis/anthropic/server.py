"""Anthropic's Messages: requests and answers."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

from tpharness.findings import Finding, Kind, Place
from tpharness.model_apis.event_bytes import load, named_event
from tpharness.model_apis.messages import HistoryMessage, HistoryResult
from tpharness.model_apis.models import takes_prefill
from tpharness.model_apis.names import ApiName
from tpharness.model_apis.plan import Call, Finish, Item, Plan, Text, Thinking, Usage
from tpharness.model_apis.reading import call_of_object, files_in, join_results, text_in
from tpharness.model_apis.rule import Options
from tpharness.model_apis.server import Incoming, Refusal, Request
from tpharness.model_apis.shape import as_list, objects, string, value_of

__all__ = ["AnthropicAnswer", "AnthropicApi"]

_REASONS: Mapping[Finish, str] = {
    Finish.STOP: "end_turn",
    Finish.LENGTH: "max_tokens",
    Finish.CONTENT_FILTER: "refusal",
    Finish.TOOL_CALL: "tool_use",
}
_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}
_HIDDEN = ("thinking", "redacted_thinking", "tool_use", "tool_result")

SIGNATURE_UNKNOWN = Kind("anthropic-signature-unknown")


class AnthropicApi:
    """Messages; it knows the signatures that it gave."""

    api: ApiName = "anthropic"

    def __init__(self, run: str) -> None:
        self._run = run
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

    def error(self, refusal: Refusal, number: int) -> Any:
        """Return Anthropic's error object."""
        kind = _TYPES.get(refusal.status, "invalid_request_error" if refusal.status < 500 else "api_error")
        error = {"type": kind, "message": refusal.message}
        return {"type": "error", "error": error, "request_id": f"req_{self._run}{number:06x}"}

    def refuse(self, finding: Finding, request: Request) -> Refusal:  # noqa: ARG002  # the finding says all
        """Refuse with 400; the text begins with the path of the place, as the real one's does."""
        path = (finding.place.pointer or "").lstrip("/").replace("/", ".")
        text = finding.message.partition(": ")[2] or finding.message
        anonymous = finding.code in ("anthropic-prefill", "anthropic-prefix-changed")
        return Refusal(status=400, message=text if anonymous or not path else f"{path}: {text}")

    def _unknown(self, body: Mapping[str, Any]) -> Iterator[Finding]:
        """Thinking whose signature this provider never gave, or gave for another text."""
        for message in objects(body.get("messages"), "/messages"):
            for block in objects(message.value.get("content"), f"{message.pointer}/content"):
                signature = string(block.value, "signature")
                if string(block.value, "type") != "thinking" or not signature:
                    continue
                if (signature, block.value.get("thinking")) not in self._signed:
                    yield SIGNATURE_UNKNOWN.at(Place(pointer=block.pointer), got=signature)


def _signature_refusal(finding: Finding) -> Refusal:
    path = (finding.place.pointer or "").lstrip("/").replace("/", ".")
    return Refusal(status=400, message=f"{path}: Invalid `signature` in `thinking` block")


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


class AnthropicAnswer:
    """An answer as events, or as one `message`."""

    content_type = "text/event-stream; charset=utf-8"

    def __init__(self, plan: Plan, *, identity: str, model: str, signed: set[tuple[str, str]]) -> None:
        self._plan = plan
        self._identity = identity
        self._message: dict[str, Any] = {
            "id": identity,
            "type": "message",
            "role": "assistant",
            "model": model,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
        }
        self._signed = signed
        self._index = -1
        self._item: Item | None = None
        self._said: list[str] = []

    def begin(self) -> bytes:
        """`message_start`, with the tokens of the input, and a `ping`."""
        usage = {**_input_usage(self._plan.usage), "output_tokens": 1, "service_tier": "standard"}
        started = named_event({"type": "message_start", "message": {**self._message, "usage": usage}})
        return started + named_event({"type": "ping"})

    def open(self, item: Item) -> bytes:
        """`content_block_start`."""
        self._index += 1
        self._item, self._said = item, []
        match item:
            case Text():
                block: dict[str, Any] = {"type": "text", "text": ""}
            case Thinking():
                block = {"type": "thinking", "thinking": "", "signature": ""}
            case Call(call_id=call_id, name=name):
                block = {"type": "tool_use", "id": call_id, "name": name, "input": {}}
        started = named_event({"type": "content_block_start", "index": self._index, "content_block": block})
        # The real server begins arguments with a delta that holds nothing.
        return started + (self._delta("input_json_delta", partial_json="") if isinstance(item, Call) else b"")

    def _delta(self, kind: str, **fields: Any) -> bytes:
        delta = {"type": kind, **fields}
        return named_event({"type": "content_block_delta", "index": self._index, "delta": delta})

    def piece(self, text: str, *, last: bool) -> bytes:  # noqa: ARG002  # each piece is an event
        """`content_block_delta`."""
        self._said.append(text)
        match self._item:
            case Text():
                return self._delta("text_delta", text=text)
            case Thinking():
                return self._delta("thinking_delta", thinking=text)
        return self._delta("input_json_delta", partial_json=text)

    def close(self) -> bytes:
        """The signature of thinking, and `content_block_stop`."""
        signed = b""
        if isinstance(self._item, Thinking):
            signed = self._delta("signature_delta", signature=self._sign(self._item))
        return signed + named_event({"type": "content_block_stop", "index": self._index})

    def end(self) -> bytes:
        """`message_delta` with the reason and the tokens, and `message_stop`; an error has its event."""
        if self._plan.reason is Finish.ERROR:
            return self.failure(self._plan.error_text)
        delta = {"stop_reason": _REASONS[self._plan.reason], "stop_sequence": None}
        told = named_event({"type": "message_delta", "delta": delta, "usage": _usage(self._plan.usage)})
        return told + named_event({"type": "message_stop"})

    def failure(self, text: str) -> bytes:
        """The event `error`."""
        return named_event({"type": "error", "error": {"type": "api_error", "message": text}})

    def whole(self) -> Any:
        """One `message`."""
        content: list[dict[str, Any]] = []
        for item in self._plan.items:
            text = "".join(item.pieces)
            match item:
                case Text():
                    content.append({"type": "text", "text": text, "citations": None})
                case Thinking():
                    content.append({"type": "thinking", "thinking": text, "signature": self._sign(item)})
                case Call(call_id=call_id, name=name):
                    content.append({"type": "tool_use", "id": call_id, "name": name, "input": _object(text)})
        reason = _REASONS.get(self._plan.reason, "end_turn")
        usage = {**_usage(self._plan.usage), "service_tier": "standard"}
        return {**self._message, "content": content, "stop_reason": reason, "usage": usage}

    def over(self, *, complete: bool) -> None:
        """Nothing is kept but signatures, which are kept when they are given."""

    def _sign(self, item: Thinking) -> str:
        text = "".join(item.pieces)
        signature = item.signature
        if signature is None:
            digest = hashlib.sha256((self._identity + text).encode("utf-8", "surrogatepass")).digest()
            signature = "Eq" + base64.b64encode(digest * 3).decode()
        self._signed.add((signature, text))
        return signature


def _object(text: str) -> Any:
    """Return the input of a call: `{}` for a text that is not a whole object, since the API has no half arguments."""
    try:
        value = load(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _input_usage(usage: Usage) -> dict[str, Any]:
    return {
        "input_tokens": usage.input - usage.cached,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": usage.cached,
    }


def _usage(usage: Usage) -> dict[str, Any]:
    details = {"output_tokens_details": {"thinking_tokens": usage.reasoning}} if usage.reasoning else {}
    return {**_input_usage(usage), "output_tokens": usage.output, **details}
