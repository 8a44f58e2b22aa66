"""Anthropic's Messages: answers as named events, or as one message."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from typing import Any

from tpharness.model_apis.event_bytes import load_object, named_event
from tpharness.model_apis.plan import Call, Finish, Item, Plan, Text, Thinking, Usage

__all__ = ["AnthropicAnswer"]

_REASONS: Mapping[Finish, str] = {
    Finish.STOP: "end_turn",
    Finish.LENGTH: "max_tokens",
    Finish.CONTENT_FILTER: "refusal",
    Finish.TOOL_CALL: "tool_use",
}


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
        ending = named_event({"type": "message_delta", "delta": delta, "usage": _usage(self._plan.usage)})
        return ending + named_event({"type": "message_stop"})

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
                    content.append({"type": "tool_use", "id": call_id, "name": name, "input": load_object(text)})
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


def _input_usage(usage: Usage) -> dict[str, Any]:
    return {
        "input_tokens": usage.input - usage.cached,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": usage.cached,
    }


def _usage(usage: Usage) -> dict[str, Any]:
    details = {"output_tokens_details": {"thinking_tokens": usage.reasoning}} if usage.reasoning else {}
    return {**_input_usage(usage), "output_tokens": usage.output, **details}
