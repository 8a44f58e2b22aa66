"""The stream of AG-UI 1.0 as its client takes it: short forms spelled out, an end where the client does not go on.

In: the data of one event after another. Out: events in their long form. `AgUiRefusedError` where `@ag-ui/client` 1.0.0
ends the run with an error, for one of these reasons: an event is not JSON, has not the fields that it needs, or is out
of order (no RUN_STARTED, something open at RUN_FINISHED, an end of what is not open). Whom of several agents an event
belongs to is followed, and not judged.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tpharness.apps.client.own_code import StreamRefusedError

__all__ = ["AgUiRefusedError", "AgUiStream"]

Event = Mapping[str, Any]


class AgUiRefusedError(StreamRefusedError):
    """The client ends the run at this event; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Item:
    """What opens and closes: which field has its id, what it is called, and the events of its life."""

    key: str
    called: str
    chunk: str = ""
    start: str
    content: str = ""
    end: str


_ITEMS = (
    _Item(
        key="messageId",
        called="text message",
        chunk="TEXT_MESSAGE_CHUNK",
        start="TEXT_MESSAGE_START",
        content="TEXT_MESSAGE_CONTENT",
        end="TEXT_MESSAGE_END",
    ),
    _Item(
        key="messageId",
        called="reasoning message",
        chunk="REASONING_MESSAGE_CHUNK",
        start="REASONING_MESSAGE_START",
        content="REASONING_MESSAGE_CONTENT",
        end="REASONING_MESSAGE_END",
    ),
    _Item(key="messageId", called="reasoning span", start="REASONING_START", end="REASONING_END"),
    _Item(
        key="toolCallId",
        called="tool call",
        chunk="TOOL_CALL_CHUNK",
        start="TOOL_CALL_START",
        content="TOOL_CALL_ARGS",
        end="TOOL_CALL_END",
    ),
    _Item(key="stepName", called="step", start="STEP_STARTED", end="STEP_FINISHED"),
    _Item(key="subagentRunId", called="subagent", start="SUBAGENT_STARTED", end="SUBAGENT_FINISHED"),
)
_STARTS = {item.start: item for item in _ITEMS}
_CONTENTS = {item.content: item for item in _ITEMS if item.content}
_ENDS = {item.end: item for item in _ITEMS} | {"SUBAGENT_ERROR": _ITEMS[-1]}
_CHUNKS = {item.chunk: item for item in _ITEMS if item.chunk}

_STAYS_OPEN = {"RAW", "ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA", "REASONING_ENCRYPTED_VALUE", "SUBAGENT_STARTED"}
_CLOSES_ALL = {"RUN_STARTED", "RUN_FINISHED", "RUN_ERROR", "MESSAGES_SNAPSHOT"}

_REQUIRED: Mapping[str, Mapping[str, type | tuple[type, ...]]] = {
    "RUN_STARTED": {"threadId": str, "runId": str},
    "RUN_FINISHED": {"threadId": str, "runId": str},
    "RUN_ERROR": {"message": str},
    "STEP_STARTED": {"stepName": str},
    "STEP_FINISHED": {"stepName": str},
    "TEXT_MESSAGE_START": {"messageId": str},
    "TEXT_MESSAGE_CONTENT": {"messageId": str, "delta": str},
    "TEXT_MESSAGE_END": {"messageId": str},
    "TEXT_MESSAGE_CHUNK": {},
    "TOOL_CALL_START": {"toolCallId": str, "toolCallName": str},
    "TOOL_CALL_ARGS": {"toolCallId": str, "delta": str},
    "TOOL_CALL_END": {"toolCallId": str},
    "TOOL_CALL_CHUNK": {},
    "TOOL_CALL_RESULT": {"messageId": str, "toolCallId": str, "content": (str, list)},
    "REASONING_START": {"messageId": str},
    "REASONING_END": {"messageId": str},
    "REASONING_MESSAGE_START": {"messageId": str, "role": str},
    "REASONING_MESSAGE_CONTENT": {"messageId": str, "delta": str},
    "REASONING_MESSAGE_END": {"messageId": str},
    "REASONING_MESSAGE_CHUNK": {},
    "REASONING_ENCRYPTED_VALUE": {"subtype": str, "entityId": str, "encryptedValue": str},
    "STATE_SNAPSHOT": {"snapshot": object},
    "STATE_DELTA": {"delta": list},
    "MESSAGES_SNAPSHOT": {"messages": list},
    "ACTIVITY_SNAPSHOT": {"messageId": str, "activityType": str, "content": dict},
    "ACTIVITY_DELTA": {"messageId": str, "activityType": str, "patch": list},
    "SUBAGENT_STARTED": {"subagentRunId": str, "name": str},
    "SUBAGENT_FINISHED": {"subagentRunId": str},
    "SUBAGENT_ERROR": {"subagentRunId": str, "message": str},
    "RAW": {"event": object},
    "CUSTOM": {"name": str, "value": object},
}
_OPTIONAL = ("messageId", "toolCallId", "toolCallName", "parentMessageId", "delta", "name", "role", "subagentRunId")
_NULL_IS_ABSENT = {
    "TOOL_CALL_START": ("parentMessageId",),
    "TOOL_CALL_CHUNK": ("parentMessageId",),
    "RUN_FINISHED": ("outcome", "result"),
}
_TEXT_ROLES = {"developer", "system", "assistant", "user"}
_MESSAGE_ROLES = {*_TEXT_ROLES, "tool", "activity", "reasoning"}
_ROLES_OF = {
    "TEXT_MESSAGE_START": _TEXT_ROLES,
    "TEXT_MESSAGE_CHUNK": _TEXT_ROLES,
    "REASONING_MESSAGE_START": {"reasoning"},
    "TOOL_CALL_RESULT": {"tool"},
}
_OUTCOMES = {"success", "interrupt", "cancelled"}
_MESSAGE_FIELDS = {"id", "role", "name", "content", "encryptedValue", "metadata", "subagentRunId"}
_FIELDS_OF = {"assistant": {"toolCalls"}, "tool": {"toolCallId", "error"}, "activity": {"activityType"}}
_RETIRED = {
    "THINKING_START": "REASONING_START",
    "THINKING_END": "REASONING_END",
    "THINKING_TEXT_MESSAGE_START": "REASONING_MESSAGE_START",
    "THINKING_TEXT_MESSAGE_CONTENT": "REASONING_MESSAGE_CONTENT",
    "THINKING_TEXT_MESSAGE_END": "REASONING_MESSAGE_END",
}


@dataclass(slots=True)
class AgUiStream:
    """One stream. `lanes` holds for each agent what its chunks have opened, `open` everything that is open."""

    begun: bool = False
    ended: str = ""
    lanes: dict[str | None, tuple[_Item, Event]] = field(default_factory=dict)
    open: dict[tuple[str, str, str | None], None] = field(default_factory=dict)
    retired: int = 0

    def feed(self, data: bytes) -> Iterator[Event]:
        """Yield what one event comes to, in the long form."""
        try:
            event = json.loads(data.decode("utf-8", "replace"))
        except (ValueError, RecursionError) as error:
            raise AgUiRefusedError(f"an event is not JSON: {error}") from error
        if not isinstance(event, dict) or not isinstance(event.get("type"), str):
            raise AgUiRefusedError("an event is not a JSON object with a type")
        event = self._of_today(event)
        if event["type"] not in _REQUIRED:
            return
        for one in self._in_long_form(_checked(event)):
            self._verify(one)
            yield one

    # ------------------------------------------------------------------------------------------------ short forms

    def _of_today(self, event: dict[str, Any]) -> dict[str, Any]:
        """Return an event of before 1.0, which had no ids, under its name of today."""
        kind = _RETIRED.get(event["type"])
        if kind is None:
            return event
        self.retired += kind.endswith("_START")
        known = {"role": "reasoning"} if kind == "REASONING_MESSAGE_START" else {}
        number = 1 + (self.retired - 1) // 2 if "MESSAGE" not in kind else self.retired
        return {**event, **known, "type": kind, "messageId": f"thinking-{number}"}

    def _in_long_form(self, event: Event) -> Iterator[Event]:
        kind, owner = event["type"], event.get("subagentRunId")
        item = _CHUNKS.get(kind)
        if item is not None:
            yield from self._spelled_out(item, event)
            return
        if kind in _CLOSES_ALL:
            for lane in list(self.lanes):
                yield from self._close(lane)
        elif kind not in _STAYS_OPEN:
            yield from self._close(owner)
        yield event

    def _spelled_out(self, item: _Item, chunk: Event) -> Iterator[Event]:
        """Yield the start, where it opens something, and the content of a chunk."""
        name = chunk.get(item.key)
        lane = self._lane(item, chunk)
        opened = self.lanes.get(lane)
        origin = {key: chunk[key] for key in ("metadata", "subagentRunId") if key in chunk}
        said = False
        if opened is not None and opened[0] is item and name in (None, opened[1][item.key]):
            _require_agreement(item, chunk, opened[1])
            opener = opened[1]
        else:
            yield from self._close(lane)
            needed = (item.key, "toolCallName") if item.key == "toolCallId" else (item.key,)
            for key in needed:
                if key not in chunk:
                    raise AgUiRefusedError(f"First {item.chunk} must have a {key}")
            fields = ("toolCallName", "parentMessageId") if item.key == "toolCallId" else ("role", "name")
            opener = {item.key: name, **{key: chunk[key] for key in fields if key in chunk}}
            if item.called == "text message":
                opener.setdefault("role", "assistant")
            elif item.called == "reasoning message":
                opener = {item.key: name, "role": "reasoning"}
            self.lanes[lane] = (item, {**opener, **{k: v for k, v in origin.items() if k != "metadata"}})
            yield {"type": item.start, **opener, **origin}
            said = True
        if "delta" in chunk or not said:
            yield {"type": item.content, item.key: opener[item.key], "delta": chunk.get("delta", ""), **origin}

    def _lane(self, item: _Item, chunk: Event) -> str | None:
        """Return whose chunk it is: that of the one whose item it names, or goes on with."""
        name, owner = chunk.get(item.key), chunk.get("subagentRunId")
        holding = {lane: opener[item.key] for lane, (kind, opener) in self.lanes.items() if kind is item}
        if name is not None:
            return next((lane for lane, held in holding.items() if held == name), owner)
        if owner is not None or None in holding or not holding:
            return owner
        if len(holding) > 1:
            raise AgUiRefusedError(f"Ambiguous {item.chunk}: {len(holding)} agents have an open {item.called}")
        return next(iter(holding))

    def _close(self, lane: str | None) -> Iterator[Event]:
        if lane in self.lanes:
            item, opener = self.lanes.pop(lane)
            owner = {} if lane is None else {"subagentRunId": lane}
            yield {"type": item.end, item.key: opener[item.key], **owner}

    # ------------------------------------------------------------------------------------------------ the order

    def _verify(self, event: Event) -> None:
        kind = event["type"]
        if self.ended and kind != "RUN_STARTED" and not (self.ended == "RUN_FINISHED" and kind == "RUN_ERROR"):
            raise AgUiRefusedError(f"Cannot send event type '{kind}': the run has ended with '{self.ended}'")
        if not self.begun and kind not in ("RUN_STARTED", "RUN_ERROR"):
            raise AgUiRefusedError(f"First event must be 'RUN_STARTED', and is '{kind}'")
        if kind == "RUN_STARTED":
            if self.begun and not self.ended:
                raise AgUiRefusedError("Cannot send 'RUN_STARTED' while a run is still active")
            self.ended = ""
            self.open.clear()
        self.begun = True
        if kind == "RUN_FINISHED" and self.open:
            named = ", ".join(f"{called} {name}" for called, name, _ in self.open)
            raise AgUiRefusedError(f"Cannot send 'RUN_FINISHED' while something is still open: {named}")
        if kind in ("RUN_FINISHED", "RUN_ERROR"):
            self.ended = kind
        self._open_or_close(event)

    def _open_or_close(self, event: Event) -> None:
        kind = event["type"]
        item = _STARTS.get(kind) or _CONTENTS.get(kind) or _ENDS.get(kind)
        if item is None:
            return
        owner = event.get("subagentRunId") if item.called == "step" else None
        key = (item.called, event[item.key], owner)
        if kind == item.start:
            if key in self.open:
                raise AgUiRefusedError(f"Cannot send '{kind}': the {item.called} {event[item.key]} is open already")
            self.open[key] = None
        elif key not in self.open:
            raise AgUiRefusedError(f"Cannot send '{kind}': the {item.called} {event[item.key]} is not open")
        elif kind != item.content:
            del self.open[key]


def _require_agreement(item: _Item, chunk: Event, opener: Event) -> None:
    for key in ("role", "name", "toolCallName", "parentMessageId") if item.called != "reasoning message" else ():
        if key in chunk and chunk[key] != opener.get(key):
            raise AgUiRefusedError(f"Cannot continue the {item.called} {opener[item.key]}: {key} is {chunk[key]!r}")


def _checked(event: dict[str, Any]) -> dict[str, Any]:
    """Return an event without what the client takes for absent or does not know, if it has the fields that it needs."""
    kind = event["type"]
    if event.get("rawEvent") is None or kind in _NULL_IS_ABSENT:
        absent = ("rawEvent", *_NULL_IS_ABSENT.get(kind, ()))
        event = {key: value for key, value in event.items() if value is not None or key not in absent}
    for name, wanted in _REQUIRED[kind].items():
        if name not in event or not isinstance(event[name], wanted):
            raise AgUiRefusedError(f"{kind}.{name} is {json.dumps(event.get(name))}")
    for name in _OPTIONAL:
        if name in event and not isinstance(event[name], str) and name not in _REQUIRED[kind]:
            raise AgUiRefusedError(f"{kind}.{name} is {json.dumps(event[name])}")
    if kind in _ROLES_OF and "role" in event and event["role"] not in _ROLES_OF[kind]:
        raise AgUiRefusedError(f"{kind}.role is {event['role']!r}")
    if kind == "RUN_FINISHED" and "outcome" in event:
        event["outcome"] = _outcome(event["outcome"])
    if kind == "MESSAGES_SNAPSHOT":
        event["messages"] = _messages(event["messages"])
    if kind == "RUN_STARTED" and isinstance(event.get("input"), dict):
        event["input"] = {**event["input"], "messages": _messages(event["input"].get("messages", ()))}
    return event


def _outcome(outcome: Any) -> dict[str, Any] | None:
    """Return an outcome, None for one of an unknown type, which counts as success."""
    if not isinstance(outcome, dict) or not isinstance(outcome.get("type"), str):
        raise AgUiRefusedError(f"RUN_FINISHED.outcome is {json.dumps(outcome)}")
    if outcome["type"] == "interrupt":
        interrupts = outcome.get("interrupts")
        if not isinstance(interrupts, list) or not interrupts:
            raise AgUiRefusedError("RUN_FINISHED.outcome is an interrupt without interrupts")
        for interrupt in interrupts:
            if not isinstance(interrupt, dict) or not isinstance(interrupt.get("id"), str):
                raise AgUiRefusedError("RUN_FINISHED.outcome has an interrupt without an id")
    return outcome if outcome["type"] in _OUTCOMES else None


def _messages(messages: Iterable[Any]) -> list[dict[str, Any]]:
    """Return messages with the fields that their roles have; one of an unknown role is left out."""
    found = []
    for message in messages:
        if not isinstance(message, dict) or not isinstance(message.get("id"), str):
            raise AgUiRefusedError("a message has no id")
        if message.get("role") in _MESSAGE_ROLES:
            known = _MESSAGE_FIELDS | _FIELDS_OF.get(message["role"], set())
            found.append({key: value for key, value in message.items() if key in known})
    return found
