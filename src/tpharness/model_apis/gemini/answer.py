"""Google's Gemini API: answers as server-sent events, as a JSON array, or as one response.

A call is one part and has no pieces here: it is written with the last piece of its arguments. Calls have ids, and the
first call of an answer has a thought signature, as Gemini 3 gives it; so has the last part of an answer that thinks.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from typing import Any

from tpharness.model_apis.event_bytes import load_object
from tpharness.model_apis.plan import Call, Finish, Item, Plan, Text, Thinking, Usage
from tpharness.output import json_bytes

__all__ = ["GeminiAnswer", "signature_bytes"]

_REASONS: Mapping[Finish, str] = {
    Finish.STOP: "STOP",
    Finish.LENGTH: "MAX_TOKENS",
    Finish.CONTENT_FILTER: "SAFETY",
    Finish.TOOL_CALL: "STOP",
    Finish.ERROR: "MALFORMED_FUNCTION_CALL",
}


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
        ending = self._chunk([{"text": "", **self._text_signature()}], _REASONS[self._plan.reason])
        return ending if self._sse else ending + b"]"

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
        call = {"name": item.name, "args": load_object("".join(item.pieces)), "id": item.call_id}
        first, self._signs_call = self._signs_call, False
        return {"functionCall": call, **({"thoughtSignature": self._sign()} if first else {})}

    def _text_signature(self) -> dict[str, str]:
        thinks = any(isinstance(item, Thinking) for item in self._plan.items)
        return {"thoughtSignature": self._sign()} if thinks and not self._plan.calls else {}

    def _sign(self) -> str:
        given = [item.signature for item in self._plan.items if isinstance(item, Thinking) and item.signature]
        signature = signature_bytes(given[0]) if given else hashlib.sha256(self._token.encode()).digest() * 2
        self._signed.add(signature)
        return base64.b64encode(signature).decode()


def signature_bytes(signature: str) -> bytes:
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
