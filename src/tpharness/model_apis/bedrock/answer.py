"""Bedrock's Converse: answers as messages of an event stream, or as one object."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from typing import Any

from tpharness.model_apis.bedrock.event_stream import stream_message
from tpharness.model_apis.event_bytes import load_object
from tpharness.model_apis.plan import Call, Finish, Item, Plan, Text, Thinking
from tpharness.output import json_bytes

__all__ = ["BedrockAnswer"]

_JSON = "application/json"
_REASONS: Mapping[Finish, str] = {
    Finish.STOP: "end_turn",
    Finish.LENGTH: "max_tokens",
    Finish.CONTENT_FILTER: "content_filtered",
    Finish.TOOL_CALL: "tool_use",
}
_FAILED = 500
_LATENCY = {"latencyMs": 5}


class BedrockAnswer:
    """An answer as events, or as one object with a message."""

    content_type = "application/vnd.amazon.eventstream"

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._item: Item | None = None
        self._index = -1
        self._is_open = False

    def _event(self, kind: str, **fields: Any) -> bytes:
        headers = {":event-type": kind, ":content-type": _JSON, ":message-type": "event"}
        return stream_message(headers, json_bytes(fields))

    def _delta(self, delta: Mapping[str, Any]) -> bytes:
        if not self._is_open:  # a text or a thought has no beginning of its own
            self._index, self._is_open = self._index + 1, True
        return self._event("contentBlockDelta", contentBlockIndex=self._index, delta=delta)

    def begin(self) -> bytes:
        """`messageStart`."""
        return self._event("messageStart", role="assistant")

    def open(self, item: Item) -> bytes:
        """`contentBlockStart`, which only a call has."""
        self._item, self._is_open = item, isinstance(item, Call)
        if not isinstance(item, Call):
            return b""
        self._index += 1
        start = {"toolUse": {"toolUseId": item.call_id, "name": item.name}}
        return self._event("contentBlockStart", contentBlockIndex=self._index, start=start)

    def piece(self, text: str, *, last: bool) -> bytes:  # noqa: ARG002  # each piece is an event
        """`contentBlockDelta`."""
        match self._item:
            case Text():
                return self._delta({"text": text})
            case Thinking():
                return self._delta({"reasoningContent": {"text": text}})
        return self._delta({"toolUse": {"input": text}})

    def close(self) -> bytes:
        """The signature of a thought, and `contentBlockStop`; nothing for an item that has no event."""
        signed = b""
        if isinstance(self._item, Thinking) and self._is_open:
            signed = self._delta({"reasoningContent": {"signature": _signature(self._item)}})
        ended = self._event("contentBlockStop", contentBlockIndex=self._index) if self._is_open else b""
        return signed + ended

    def end(self) -> bytes:
        """`messageStop` with the reason, and `metadata` with the tokens; an error has its exception."""
        if self._plan.reason is Finish.ERROR:
            return self.failure(self._plan.error_text)
        stopped = self._event("messageStop", stopReason=_REASONS[self._plan.reason])
        return stopped + self._event("metadata", usage=self._usage(), metrics=_LATENCY)

    def failure(self, text: str) -> bytes:
        """An exception in place of an event: the model has failed."""
        kind = "modelStreamErrorException"
        headers = {":exception-type": kind, ":content-type": _JSON, ":message-type": "exception"}
        failed = {"message": text, "originalStatusCode": _FAILED, "originalMessage": text}
        return stream_message(headers, json_bytes(failed))

    def whole(self) -> Any:
        """The object of `converse`."""
        message = {"role": "assistant", "content": [_block(item) for item in self._plan.items]}
        reason = _REASONS.get(self._plan.reason, "end_turn")
        return {"output": {"message": message}, "stopReason": reason, "usage": self._usage(), "metrics": _LATENCY}

    def over(self, *, complete: bool) -> None:
        """Nothing is kept."""

    def _usage(self) -> dict[str, int]:
        usage = self._plan.usage
        cached = {"cacheReadInputTokens": usage.cached} if usage.cached else {}
        total = usage.input + usage.output
        own = {"inputTokens": usage.input - usage.cached, "outputTokens": usage.output, "totalTokens": total}
        return {**own, **cached}


def _block(item: Item) -> dict[str, Any]:
    text = "".join(item.pieces)
    match item:
        case Text():
            return {"text": text}
        case Thinking():
            return {"reasoningContent": {"reasoningText": {"text": text, "signature": _signature(item)}}}
        case Call(call_id=call_id, name=name):
            return {"toolUse": {"toolUseId": call_id, "name": name, "input": load_object(text)}}


def _signature(item: Thinking) -> str:
    if item.signature is not None:
        return item.signature
    said = "".join(item.pieces).encode("utf-8", "surrogatepass")
    return base64.b64encode(hashlib.sha256(said).digest()).decode()
