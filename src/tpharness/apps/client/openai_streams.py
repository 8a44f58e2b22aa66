"""The streams of OpenAI's two APIs where they are the wire between page and application, which runs its own tools.

In: the data of one event after another. Out: chunks of a UI message stream: texts, why an answer ended, its failure, as
OpenAI's own clients tell them. Neither wire has results of the application's tools; calls are left to the page, which
has none to run. `OpenAiRefusedError` where the client ends the stream itself: at data that is not a JSON object.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from tpharness.apps.client.own_code import StreamRefusedError

__all__ = ["CompletionsStream", "OpenAiRefusedError", "ResponsesStream"]

_DONE = b"[DONE]"
_TEXT = "text-1"
_REASONS = {"stop": "stop", "length": "length", "content_filter": "content-filter", "tool_calls": "tool-calls"}
_INCOMPLETE = {"max_output_tokens": "length", "content_filter": "content-filter"}

Chunks = Iterator[Mapping[str, Any] | str]


class OpenAiRefusedError(StreamRefusedError):
    """The client ends the stream at this event; the text says why."""


class _Stream:
    """One answer as chunks, opened by its first event."""

    def __init__(self) -> None:
        self._begun = self._in_text = False

    def feed(self, data: bytes) -> Chunks:
        """Yield the chunks that an event comes to."""
        if data == _DONE:
            yield "[DONE]"
            return
        event = _object(data)
        if not self._begun:
            self._begun = True
            yield {"type": "start"}
            yield {"type": "start-step"}
        yield from self._read(event)

    def _read(self, event: Mapping[str, Any]) -> Chunks:
        raise NotImplementedError

    def _say(self, text: Any) -> Chunks:
        if not isinstance(text, str) or not text:
            return
        if not self._in_text:
            self._in_text = True
            yield {"type": "text-start", "id": _TEXT}
        yield {"type": "text-delta", "id": _TEXT, "delta": text}

    def _end(self, reason: str) -> Chunks:
        if self._in_text:
            self._in_text = False
            yield {"type": "text-end", "id": _TEXT}
        yield {"type": "finish-step"}
        yield {"type": "finish", "finishReason": reason}


class CompletionsStream(_Stream):
    """Chunks of Chat Completions: the first choice of each."""

    def _read(self, event: Mapping[str, Any]) -> Chunks:
        if event.get("error"):
            yield {"type": "error", "errorText": _words(event["error"])}
            return
        choices = event.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
        delta = choice.get("delta")
        yield from self._say(delta.get("content") if isinstance(delta, dict) else None)
        reason = choice.get("finish_reason")
        if reason is not None:
            yield from self._end(_REASONS.get(str(reason), "other"))


class ResponsesStream(_Stream):
    """Events of Responses."""

    def _read(self, event: Mapping[str, Any]) -> Chunks:
        said = event.get("response")
        response: Mapping[str, Any] = said if isinstance(said, dict) else {}
        match event.get("type"):
            case "response.output_text.delta" | "response.refusal.delta":
                yield from self._say(event.get("delta"))
            case "response.completed":
                yield from self._end("stop")
            case "response.incomplete":
                details = response.get("incomplete_details")
                reason = details.get("reason") if isinstance(details, dict) else None
                yield from self._end(_INCOMPLETE.get(str(reason), "other"))
            case "response.cancelled":
                yield {"type": "abort"}
            case "response.failed":
                yield {"type": "error", "errorText": _words(response.get("error"))}
            case "error":
                yield {"type": "error", "errorText": _words(event.get("error") or event)}


def _object(data: bytes) -> Mapping[str, Any]:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise OpenAiRefusedError(f"an event is not a JSON object: {data[:80].decode('utf-8', 'replace')}")
    return value


def _words(error: Any) -> str:
    said = error.get("message") if isinstance(error, dict) else error
    return said if isinstance(said, str) and said else "An error occurred"
