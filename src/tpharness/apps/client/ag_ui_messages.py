# ruff: noqa: SLF001  # the table at the end names the actions of the class that it is made for
"""What an AG-UI client holds of a thread: its messages, its state, and the interrupts that wait for an answer. No I/O.

In: events in their long form, one after another, as `ag_ui_stream` lets them through. Out: what `@ag-ui/client` 1.0.0
holds after each, held to it by a table (`conformance/probes/ag-ui-client-1.0.0.json`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from tpharness.wires.ag_ui.patch import PatchError, apply_patch

__all__ = ["AgUiMessages"]

Json = dict[str, Any]


@dataclass(slots=True)
class AgUiMessages:
    """A thread as its client holds it. `unfinished` are the calls of whose arguments the end has not come."""

    messages: list[Json] = field(default_factory=list)
    state: Any = field(default_factory=dict)
    interrupts: list[Json] = field(default_factory=list)
    unfinished: set[str] = field(default_factory=set)

    def apply(self, event: Mapping[str, Any]) -> None:
        """Take in one event."""
        action = _ACTIONS.get(event["type"])
        if action is not None:
            action(self, event)

    def call(self, call_id: str) -> Json | None:
        """Return a call by its id, None where there is none."""
        return next((call for call in self.calls() if call["id"] == call_id), None)

    def calls(self) -> list[Json]:
        """Return all calls in the order of their messages."""
        return [call for message in self.messages for call in message.get("toolCalls", ())]

    def unanswered(self) -> list[str]:
        """Return the ids of the calls that no message of a tool answers."""
        answered = {message.get("toolCallId") for message in self.messages if message["role"] == "tool"}
        return [call["id"] for call in self.calls() if call["id"] not in answered]

    def answer(self, result: Json) -> None:
        """Add a message of a tool: behind the calls that it belongs to, and the results that are there already."""
        index = self._owner(result["toolCallId"])
        if index is None:
            self.messages.append(result)
            return
        index += 1
        while index < len(self.messages) and self.messages[index]["role"] == "tool":
            index += 1
        self.messages.insert(index, result)

    # ------------------------------------------------------------------------------------------------ events

    def _run_started(self, event: Mapping[str, Any]) -> None:
        for message in (event.get("input") or {}).get("messages", ()):
            if self._find(message["id"]) is None:
                self.messages.append(deepcopy(message))

    def _run_finished(self, event: Mapping[str, Any]) -> None:
        outcome = event.get("outcome") or {}
        self.interrupts = deepcopy(outcome["interrupts"]) if outcome.get("type") == "interrupt" else []

    def _start(self, event: Mapping[str, Any], role: str) -> None:
        message = self._find(event["messageId"])
        if message is not None and message["role"] == "activity":
            return
        if message is None:
            message = {"id": event["messageId"], "role": role, "content": "", **_some(event, "name", "subagentRunId")}
            self.messages.append(message)
        _merge_metadata(message, event)

    def _text_start(self, event: Mapping[str, Any]) -> None:
        self._start(event, event.get("role", "assistant"))

    def _reasoning_start(self, event: Mapping[str, Any]) -> None:
        self._start(event, "reasoning")

    def _content(self, event: Mapping[str, Any]) -> None:
        message = self._find(event["messageId"])
        if message is not None and message["role"] != "activity":
            held = message.get("content")
            message["content"] = (held if isinstance(held, str) else "") + event.get("delta", "")
            _merge_metadata(message, event)

    def _call_start(self, event: Mapping[str, Any]) -> None:
        call_id, name, parent = event["toolCallId"], event["toolCallName"], event.get("parentMessageId")
        self.unfinished.add(call_id)
        call = self.call(call_id)
        if call is None:
            call = {"id": call_id, "type": "function", "function": {"name": name, "arguments": ""}}
            self._parent(call_id, parent, event).setdefault("toolCalls", []).append(call)
        call["function"]["name"] = name
        _merge_metadata(call, event)

    def _parent(self, call_id: str, parent: str | None, event: Mapping[str, Any]) -> Json:
        """Return the message that a new call belongs to; a new one where the parent is none of the assistant's."""
        found = self._find(parent) if parent else None
        if found is not None and found["role"] == "assistant":
            return found
        made = {"id": call_id if found is not None or not parent else parent, "role": "assistant"}
        self.messages.append({**made, **_some(event, "subagentRunId")})
        return self.messages[-1]

    def _call_arguments(self, event: Mapping[str, Any]) -> None:
        call = self.call(event["toolCallId"])
        if call is not None:
            call["function"]["arguments"] += event.get("delta", "")
            _merge_metadata(call, event)

    def _call_end(self, event: Mapping[str, Any]) -> None:
        self.unfinished.discard(event["toolCallId"])
        self._call_arguments({**event, "delta": ""})

    def _result(self, event: Mapping[str, Any]) -> None:
        result = {"id": event["messageId"], "toolCallId": event["toolCallId"], "role": "tool"}
        result |= {"content": deepcopy(event["content"]), **_some(event, "subagentRunId")}
        _merge_metadata(result, event)
        self.answer(result)

    def _encrypted(self, event: Mapping[str, Any]) -> None:
        entity = self._find(event["entityId"]) if event["subtype"] == "message" else self.call(event["entityId"])
        if entity is not None and entity.get("role") != "activity":
            entity["encryptedValue"] = event["encryptedValue"]

    def _state(self, event: Mapping[str, Any]) -> None:
        self.state = deepcopy(event["snapshot"])

    def _state_delta(self, event: Mapping[str, Any]) -> None:
        try:
            self.state = apply_patch(self.state, event["delta"])
        except PatchError:
            return  # it warns, and leaves the state as it is

    def _snapshot(self, event: Mapping[str, Any]) -> None:
        """Replace messages by their ids; only what a snapshot never speaks of stays without being in it."""
        new = {message["id"]: deepcopy(message) for message in event["messages"]}
        roles = {message["role"] for message in new.values()}
        kept = [m for m in self.messages if m["id"] in new or m["role"] in {"activity", "reasoning"} - roles]
        known = {message["id"] for message in kept}
        self.messages = [new.get(m["id"], m) for m in kept] + [m for name, m in new.items() if name not in known]

    def _activity(self, event: Mapping[str, Any]) -> None:
        message = self._find(event["messageId"])
        made = {"id": event["messageId"], "role": "activity", "activityType": event["activityType"]}
        made |= {"content": deepcopy(event["content"]), **_some(event, "subagentRunId")}
        if message is None:
            message = made
            self.messages.append(made)
        elif event.get("replace", True):
            kept = _some(message, "metadata") if message["role"] == "activity" else {}
            message.clear()
            message.update(made | kept)
        elif message["role"] != "activity":
            return
        _merge_metadata(message, event)

    def _activity_delta(self, event: Mapping[str, Any]) -> None:
        message = self._find(event["messageId"])
        if message is None or message["role"] != "activity":
            return
        _merge_metadata(message, event)
        try:
            message["content"] = apply_patch(message["content"], event["patch"])
        except PatchError:
            return
        message["activityType"] = event["activityType"]

    # ------------------------------------------------------------------------------------------------ places

    def _find(self, message_id: str) -> Json | None:
        return next((message for message in self.messages if message["id"] == message_id), None)

    def _owner(self, call_id: str) -> int | None:
        """Return the place of the message that a call belongs to."""
        for index, message in enumerate(self.messages):
            if any(call["id"] == call_id for call in message.get("toolCalls", ())):
                return index
        return None


def _some(event: Mapping[str, Any], *names: str) -> Json:
    """Return the fields of these names that are there."""
    return {name: event[name] for name in names if event.get(name) is not None}


def _merge_metadata(target: Json, event: Mapping[str, Any]) -> None:
    """Merge the metadata of an event key by key: the last one counts."""
    if event.get("metadata") is not None:
        target["metadata"] = {**target.get("metadata", {}), **deepcopy(event["metadata"])}


_ACTIONS: Mapping[str, Callable[[AgUiMessages, Mapping[str, Any]], None]] = {
    "RUN_STARTED": AgUiMessages._run_started,
    "RUN_FINISHED": AgUiMessages._run_finished,
    "TEXT_MESSAGE_START": AgUiMessages._text_start,
    "TEXT_MESSAGE_CONTENT": AgUiMessages._content,
    "TEXT_MESSAGE_END": AgUiMessages._content,
    "REASONING_MESSAGE_START": AgUiMessages._reasoning_start,
    "REASONING_MESSAGE_CONTENT": AgUiMessages._content,
    "REASONING_MESSAGE_END": AgUiMessages._content,
    "REASONING_ENCRYPTED_VALUE": AgUiMessages._encrypted,
    "TOOL_CALL_START": AgUiMessages._call_start,
    "TOOL_CALL_ARGS": AgUiMessages._call_arguments,
    "TOOL_CALL_END": AgUiMessages._call_end,
    "TOOL_CALL_RESULT": AgUiMessages._result,
    "STATE_SNAPSHOT": AgUiMessages._state,
    "STATE_DELTA": AgUiMessages._state_delta,
    "MESSAGES_SNAPSHOT": AgUiMessages._snapshot,
    "ACTIVITY_SNAPSHOT": AgUiMessages._activity,
    "ACTIVITY_DELTA": AgUiMessages._activity_delta,
}
