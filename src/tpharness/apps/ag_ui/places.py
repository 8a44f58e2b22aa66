"""Where a page leaves an answer: the places that a stream of AG-UI passes, by what a user would see there. Pure.

In: the events of one answer, one after another, as JSON. Out: the names of the places that it is at.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["EVENT", "PLACES", "Passing"]

EVENT = "event-"
"""Before the number of an event, from 0: the place behind it, whatever it is."""

PLACES = {
    "started": "the run has started, and nothing has come of it",
    "in-thought": "in the model's thoughts",
    "in-text": "in the first text",
    "text-ended": "a text has ended",
    "call-started": "a call has begun, and nothing of its arguments has come",
    "in-arguments": "in the arguments of a call",
    "call-ended": "a call is whole, and its result has not come",
    "one-result": "one call has its result, and another has not",
    "results": "every call has its result, and the model has not gone on",
    "in-later-text": "in a text behind a result",
    "in-step": "a step has begun",
    "in-subagent": "a subagent works",
}
"""Every place by its name: what a user would see there."""


class Passing:
    """What one stream has passed."""

    def __init__(self) -> None:
        self._arguments: dict[str, str] = {}
        self._open = ""
        self._answered: set[str] = set()
        self._texts: dict[str, bool] = {}
        self._count = 0
        self.ended = False
        """Whether the last run has ended."""

    def take(self, event: Mapping[str, Any]) -> frozenset[str]:
        """Return the places that the stream is at when this event has come."""
        number, self._count = self._count, self._count + 1
        kind = event.get("type")
        if kind == "RUN_STARTED":
            self.ended = False
        elif kind in ("RUN_FINISHED", "RUN_ERROR"):
            self.ended = True
            return frozenset()
        return frozenset((f"{EVENT}{number}", *self._at(str(kind), event)))

    def _at(self, kind: str, event: Mapping[str, Any]) -> Iterator[str]:
        if isinstance(event.get("subagentRunId"), str) and kind not in ("SUBAGENT_FINISHED", "SUBAGENT_ERROR"):
            yield "in-subagent"
        grows = bool(event.get("delta"))
        match kind:
            case "RUN_STARTED":
                yield "started"
            case "STEP_STARTED":
                yield "in-step"
            case "REASONING_MESSAGE_CONTENT" | "REASONING_MESSAGE_CHUNK" if grows:
                yield "in-thought"
            case "TEXT_MESSAGE_START":
                self._texts[str(event.get("messageId"))] = event.get("role", "assistant") == "assistant"
            case "TEXT_MESSAGE_CONTENT" if grows and self._texts.get(str(event.get("messageId"))):
                yield "in-later-text" if self._answered else "in-text"
            case "TEXT_MESSAGE_CHUNK" if grows and event.get("role", "assistant") == "assistant":
                yield "in-later-text" if self._answered else "in-text"
            case "TEXT_MESSAGE_END" if self._texts.get(str(event.get("messageId"))):
                yield "text-ended"
            case "TOOL_CALL_START" | "TOOL_CALL_ARGS" | "TOOL_CALL_CHUNK":
                yield from self._call(event)
            case "TOOL_CALL_END" if event.get("toolCallId") in self._arguments:
                yield "call-ended"
            case "TOOL_CALL_RESULT":
                self._answered.add(str(event.get("toolCallId")))
                yield "one-result" if self._arguments.keys() - self._answered else "results"

    def _call(self, event: Mapping[str, Any]) -> Iterator[str]:
        """Yield the places of a call: chunks do not have an end, so that one whose arguments are whole has ended."""
        call_id = event.get("toolCallId", self._open)
        if not isinstance(call_id, str) or not call_id:
            return
        self._open = call_id
        began = call_id not in self._arguments
        self._arguments[call_id] = text = self._arguments.get(call_id, "") + str(event.get("delta") or "")
        if began and not text:
            yield "call-started"
        elif text and not _is_json(text):
            yield "in-arguments"
        elif event["type"] == "TOOL_CALL_CHUNK":
            yield "call-ended"


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
