"""Ollama's chat API: answers as one JSON object a line, or as one object.

A call is one line and has no pieces here: it is written with the last piece of its arguments, which are an object. The
line with `done` is what says that an answer is whole; nothing else does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tpharness.model_apis.event_bytes import load_object
from tpharness.model_apis.plan import Call, Finish, Item, Plan, Text, Thinking
from tpharness.output import json_bytes

__all__ = ["OllamaAnswer"]

_REASONS: Mapping[Finish, str] = {Finish.LENGTH: "length"}  # after calls it is "stop", as after anything else
_MADE_AT = "2025-01-01T00:00:00.000000Z"


class OllamaAnswer:
    """An answer as lines, or as one object."""

    content_type = "application/x-ndjson"

    def __init__(self, plan: Plan, *, model: str) -> None:
        self._plan = plan
        self._model = model
        self._item: Item | None = None
        self._calls = 0

    def _object(self, message: Mapping[str, Any], **more: Any) -> dict[str, Any]:
        said = {"role": "assistant", "content": "", **message}
        return {"model": self._model, "created_at": _MADE_AT, "message": said, "done": False, **more}

    def _line(self, message: Mapping[str, Any]) -> bytes:
        return json_bytes(self._object(message)) + b"\n"

    def begin(self) -> bytes:
        """Return nothing: the first line has the first piece."""
        return b""

    def open(self, item: Item) -> bytes:
        """Return a call without arguments, which has no pieces; nothing for any other item."""
        self._item = item
        return self._line(self._call(item)) if isinstance(item, Call) and not item.pieces else b""

    def piece(self, text: str, *, last: bool) -> bytes:
        """A line with text or thinking; a call with its last piece."""
        match self._item:
            case Text():
                return self._line({"content": text})
            case Thinking():
                return self._line({"thinking": text})
            case Call() if last:
                return self._line(self._call(self._item))
        return b""

    def close(self) -> bytes:
        """Return nothing: the API does not mark the end of an item."""
        return b""

    def end(self) -> bytes:
        """The line that says that the answer is done, with the reason and the tokens; an error has only its line."""
        if self._plan.reason is Finish.ERROR:
            return self.failure(self._plan.error_text)
        return json_bytes(self._object({}, **self._done())) + b"\n"

    def failure(self, text: str) -> bytes:
        """A line with `error` in the place of a message."""
        return json_bytes({"error": text}) + b"\n"

    def whole(self) -> Any:
        """The last line with the whole message."""
        texts = ["".join(item.pieces) for item in self._plan.items if isinstance(item, Text)]
        thoughts = ["".join(item.pieces) for item in self._plan.items if isinstance(item, Thinking)]
        calls = [call for item in self._plan.calls for call in self._call(item)["tool_calls"]]
        message: dict[str, Any] = {"content": "".join(texts)}
        if thoughts:
            message["thinking"] = "".join(thoughts)
        if calls:
            message["tool_calls"] = calls
        return self._object(message, **self._done())

    def over(self, *, complete: bool) -> None:
        """Nothing is kept."""

    def _call(self, item: Call) -> dict[str, Any]:
        function = {"index": self._calls, "name": item.name, "arguments": load_object("".join(item.pieces))}
        self._calls += 1
        return {"tool_calls": [{"id": item.call_id, "function": function}]}

    def _done(self) -> dict[str, Any]:
        """Return the end of an answer; durations are nanoseconds, and the API has no place for cached tokens."""
        return {
            "done": True,
            "done_reason": _REASONS.get(self._plan.reason, "stop"),
            "total_duration": 5_000_000,
            "load_duration": 1_000_000,
            "prompt_eval_count": self._plan.usage.input,
            "prompt_eval_duration": 2_000_000,
            "eval_count": self._plan.usage.output,
            "eval_duration": 2_000_000,
        }
