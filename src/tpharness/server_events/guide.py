"""The server events of the 0.0.3 guide, which have a `type` and no `event_kind`, as the events of `events` (R59).

In: the events of one run, one at a time. Out: the equivalent events. Nothing is judged here: an event that is out of
order is passed on as an event that is out of order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tpharness.server_events.recorder import Recorder

__all__ = ["GuideReader", "record_events"]


class GuideReader:
    """Reads the events of one run. Any other value, such as an event of `events`, is returned as it is."""

    def __init__(self) -> None:
        self._parts: list[dict[str, Any]] = []
        self._responding = False
        self._text_open = False
        self._calls: list[tuple[str, Any]] = []
        self._made = 0

    def feed(self, event: Any) -> list[Any]:
        """Return the events that an event of the guide stands for, with its time."""
        reads = {
            "model_response": self._response,
            "text": self._text,
            "tool_call": self._call,
            "tool_return": self._return,
            "completion": self._completion,
        }
        kind = event.get("type") if isinstance(event, Mapping) and "event_kind" not in event else None
        if not isinstance(kind, str) or kind not in reads:
            return [event]
        time = {"at": event["at"]} if "at" in event else {}
        return [{**one, **time} for one in reads[kind](event)]

    def _response(self, event: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        yield from self._end_response()
        parts = event.get("parts")
        for part in parts if isinstance(parts, list) else [parts]:
            yield from self._part(part)

    def _text(self, event: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """Yield a piece of text: pieces without anything else between them are one part."""
        content = event.get("content")
        if not isinstance(content, str):
            yield dict(event)
        elif self._text_open:
            self._parts[-1]["content"] += content
            delta = {"part_delta_kind": "text", "content_delta": content}
            yield {"event_kind": "part_delta", "index": len(self._parts) - 1, "delta": delta}
        else:
            self._responding = self._text_open = True
            self._parts.append({"part_kind": "text", "content": content})
            yield {"event_kind": "part_start", "index": len(self._parts) - 1, "part": dict(self._parts[-1])}

    def _call(self, event: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        name = event.get("tool_name", event.get("name"))
        self._made += 1
        call_id = event.get("tool_call_id") or event.get("id") or f"call-{self._made}"
        part = {"part_kind": "tool-call", "tool_name": name, "tool_call_id": call_id, "args": event.get("args")}
        yield from self._part(part)

    def _part(self, part: Any) -> Iterator[dict[str, Any]]:
        yield from self._end_text()
        self._responding = True
        index = len(self._parts)
        self._parts.append(part)
        if isinstance(part, Mapping) and part.get("part_kind") == "tool-call":
            self._calls.append((str(part.get("tool_call_id")), part.get("tool_name")))
        yield {"event_kind": "part_start", "index": index, "part": part}
        yield {"event_kind": "part_end", "index": index, "part": part}

    def _return(self, event: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """Yield a return: without an id it answers the first call that has no return."""
        yield from self._end_response()
        wanted = event.get("tool_call_id")
        found = next((call for call in self._calls if wanted in (None, call[0])), (wanted, event.get("tool_name")))
        if found in self._calls:
            self._calls.remove(found)
        call_id, name = found
        answer = {
            "part_kind": "tool-return",
            "tool_call_id": call_id,
            "tool_name": name,
            "content": event.get("content"),
        }
        if "status" in event:
            answer["status"] = event["status"]
        yield {"event_kind": "function_tool_result", "part": answer}

    def _completion(self, _event: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        yield from self._end_response()
        yield {"event_kind": "agent_run_result"}

    def _end_response(self) -> Iterator[dict[str, Any]]:
        yield from self._end_text()
        if self._responding:
            yield {"event_kind": "model_response_end"}
        self._parts, self._responding = [], False

    def _end_text(self) -> Iterator[dict[str, Any]]:
        if self._text_open:
            yield {"event_kind": "part_end", "index": len(self._parts) - 1, "part": self._parts[-1]}
        self._text_open = False


def record_events(recorder: Recorder, events: Iterable[Any]) -> None:
    """Feed the events of one run that has begun; those of the 0.0.3 guide are read too (R59)."""
    guide = GuideReader()
    for index, event in enumerate(events):
        for one in guide.feed(event):
            recorder.feed(one, index=index)
