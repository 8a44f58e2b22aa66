"""OpenAI's Chat Completions: answers."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any

from tpharness.model_apis.event_bytes import event
from tpharness.model_apis.plan import Call, Finish, Item, Plan, Text, Thinking, Usage

__all__ = ["ChatAnswer"]

_REASONS: Mapping[Finish, str] = {
    Finish.STOP: "stop",
    Finish.LENGTH: "length",
    Finish.CONTENT_FILTER: "content_filter",
    Finish.TOOL_CALL: "tool_calls",
}


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
        ending = self._chunk({}, self._reason())
        if self._counted:
            ending += event({**self._frame, "choices": [], "usage": _usage(self._plan.usage)})
        return ending + b"data: [DONE]\n\n"

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
