"""Thread documents: valid threads of each version, and threads with unknown fields, kinds and types.

In: a source of choices. Out: JSON values. `thread` gives whole, valid threads, written from the document format alone:
nothing of the folds takes part in it. `document` adds what R7 wants kept: unknown fields, part kinds, event types and
values at the edges; it is still free of findings at MUST.
"""

from __future__ import annotations

import copy
from datetime import UTC, datetime, timedelta
from typing import Any

from tpharness.explore.generate.source import Source, flag, many, one_of
from tpharness.explore.generate.values import REASONS, TOOLS, json_value, object_value, text
from tpharness.protocol.versions import Version

__all__ = ["document", "thread"]

_START = datetime(2025, 1, 20, 10, tzinfo=UTC)
_VERSIONS = tuple(reversed(Version))
_TIERED_EVENTS = ("data-app-note", "data-tp-note", "data-note", "meta:note", "source.url")
_NAMESPACED_EVENTS = ("data-note", "data-app-note", "meta:note", "source.url")
_PLAIN_EVENTS = ("note", "app-note", "source.url")
_NEW_FIELDS = ("x", "x_note", "x-note", "é", "🚀", "zzz")


def thread(source: Source) -> dict[str, Any]:
    """Return a valid thread of some version, complete or interrupted at its end."""
    return _Thread(source, one_of(source, _VERSIONS)).build()


def document(source: Source) -> dict[str, Any]:
    """Return a thread with unknown fields, parts and events in it, which are to be preserved (R7)."""
    made = thread(source)
    places: list[dict[str, Any]] = [made]
    for turn in made["turns"]:
        places += [turn, *turn.get("messages", ()), *(p for m in turn.get("messages", ()) for p in m.get("parts", ()))]
    for _ in many(source, 1, 4, 3):
        one_of(source, places)[one_of(source, _NEW_FIELDS)] = json_value(source)
    return made


class _Thread:
    """Writes one thread; each fact is a second later."""

    def __init__(self, source: Source, version: Version) -> None:
        self._source = source
        self._version = version
        self._features = version.features
        self._second = 0
        self._calls = 0

    def build(self) -> dict[str, Any]:
        source = self._source
        created = self._at()
        turns: list[dict[str, Any]] = []
        for _ in many(source, 1, 3, 2):
            turns += [self._user(), self._agent()]
        if self._features.interrupted_turns and flag(source, 3):
            self._interrupt(turns[-1])
        agents = {"a": {"agent_id": "a", "agent_name": text(source) or "Ann", "created_at": created}}
        return {
            "version": self._version.value,
            "thread_id": "00000000-0000-4000-8000-000000000000",
            "created_at": created,
            "updated_at": self._at(),
            "agents": agents,
            "turns": turns,
        }

    def _at(self) -> str:
        self._second += 1
        return (_START + timedelta(seconds=self._second)).strftime("%Y-%m-%dT%H:%M:%SZ")

    def _user(self) -> dict[str, Any]:
        source = self._source
        turn: dict[str, Any] = {
            "turn_type": "user",
            "submitted_at": self._at(),
            "parts": [{"part_kind": "user-prompt", "content": text(source)}],
        }
        if self._features.client_metadata and flag(source, 6):
            turn["client_metadata"] = {"ui:mode": json_value(source, 1)}
        return turn

    def _agent(self) -> dict[str, Any]:
        source = self._source
        started = self._at()
        messages: list[dict[str, Any]] = []
        for _ in many(source, 0, 3, 2):
            messages += self._cycle()
        messages.append(self._message("response", [self._said()]))
        turn: dict[str, Any] = {"turn_type": "agent", "agent_id": "a", "started_at": started, "messages": messages}
        turn["completed_at"] = self._at()
        if self._features.interrupted_turns:
            turn["completion_status"] = "complete"
        return turn

    def _interrupt(self, turn: dict[str, Any]) -> None:
        turn["completion_status"] = "interrupted"
        turn["interruption"] = {"reason": one_of(self._source, REASONS), "interrupted_at": turn.pop("completed_at")}

    def _cycle(self) -> list[dict[str, Any]]:
        source = self._source
        if flag(source, 4):
            return [self._event()]
        parts: list[dict[str, Any]] = [self._said() for _ in many(source, 0, 2, 2)]
        calls = []
        for _ in many(source, 1, 3, 2):
            self._calls += 1
            calls.append({"tool_name": one_of(source, TOOLS), "tool_call_id": f"c{self._calls}"})
        asked = [{"part_kind": "tool-call", **call, "args": object_value(source)} for call in calls]
        response = self._message("response", [*parts, *asked])
        return [response, self._message("request", [self._answer(call) for call in calls])]

    def _answer(self, call: dict[str, Any]) -> dict[str, Any]:
        source = self._source
        if flag(source, 8):
            return {"part_kind": "retry-prompt", **call, "content": text(source) or "again"}
        part: dict[str, Any] = {"part_kind": "tool-return", **call}
        part["status"] = one_of(source, ("success", "success", "error", "validation_error"))
        if self._features.content_refs and flag(source, 6):
            part["content_ref"] = {"uri": "https://example.org/1", "size_bytes": source.number(0, 1 << 53)}
        else:
            part["content"] = json_value(source)
        return part

    def _event(self) -> dict[str, Any]:
        source = self._source
        namespaced = _NAMESPACED_EVENTS if self._features.namespaces else _PLAIN_EVENTS
        name = one_of(source, _TIERED_EVENTS if self._features.event_tiers else namespaced)
        return {"message_type": "system", "timestamp": self._at(), "event_type": name, "event_data": json_value(source)}

    def _said(self) -> dict[str, Any]:
        source = self._source
        match source.number(0, 3):
            case 2:
                return {"part_kind": "thinking", "content": text(source), "provider_name": "test"}
            case 3 if self._features.namespaces:
                return {"part_kind": "custom:note", "content": json_value(source)}
            case _:
                return {"part_kind": "text", "content": text(source)}

    def _message(self, kind: str, parts: list[dict[str, Any]]) -> dict[str, Any]:
        made: dict[str, Any] = {"message_type": kind, "timestamp": self._at(), "agent_id": "a", "parts": parts}
        if kind == "response" and flag(self._source, 2):
            made |= copy.deepcopy({"model_name": "test-model", "finish_reason": "stop", "usage": {"input_tokens": 3}})
        return made
