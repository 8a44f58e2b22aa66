"""The stream of AG-UI as `@ag-ui/client` 1.0.0 takes it: short forms spelled out, an end where the client ends it.

In: the data of one event after another. Out: events in their long form. The wire reads and judges them
(`wires.ag_ui.judge`); what is said here is where the client departs from the protocol. `AgUiRefusedError` where the
client ends the run with an error: at the first event for which the protocol has a client reject the stream, or at a
role that the client does not know.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, get_args

import msgspec

from tpharness.apps.client.own_code import StreamRefusedError
from tpharness.wires.ag_ui.judge import Judge
from tpharness.wires.ag_ui.objects import Role
from tpharness.wires.ag_ui.records import BaseEvent
from tpharness.wires.ag_ui.violations import FATAL

__all__ = ["AgUiRefusedError", "AgUiStream"]

_NULL_IS_ABSENT: Mapping[str, tuple[str, ...]] = {
    "TOOL_CALL_START": ("parentMessageId",),
    "TOOL_CALL_CHUNK": ("parentMessageId",),
    "RUN_FINISHED": ("outcome", "result"),
}
_TEXT_ROLES = frozenset(get_args(Role))
_ROLES_OF: Mapping[str, frozenset[str]] = {
    "TEXT_MESSAGE_START": _TEXT_ROLES,
    "TEXT_MESSAGE_CHUNK": _TEXT_ROLES,
    "TOOL_CALL_RESULT": frozenset({"tool"}),
}
_OPERATIONS_OF: Mapping[str, str] = {"STATE_DELTA": "delta", "ACTIVITY_DELTA": "patch"}
_RETIRED: Mapping[str, str] = {
    "THINKING_START": "REASONING_START",
    "THINKING_END": "REASONING_END",
    "THINKING_TEXT_MESSAGE_START": "REASONING_MESSAGE_START",
    "THINKING_TEXT_MESSAGE_CONTENT": "REASONING_MESSAGE_CONTENT",
    "THINKING_TEXT_MESSAGE_END": "REASONING_MESSAGE_END",
}
_STARTS = ("TEXT_MESSAGE_START", "REASONING_MESSAGE_START")
_ENDS = ("TEXT_MESSAGE_END", "REASONING_MESSAGE_END")


class AgUiRefusedError(StreamRefusedError):
    """The client ends the run at this event; the text says why."""


class AgUiStream:
    """One stream. `streaming` are the ids of the messages that are open."""

    def __init__(self) -> None:
        self._judge = Judge(take=self._take)
        self._taken: list[Mapping[str, Any]] = []
        self._retired = 0
        self.streaming: set[str] = set()

    def feed(self, data: bytes) -> Iterator[Mapping[str, Any]]:
        """Yield what one event comes to, in the long form."""
        self._taken = []
        self._judge.feed_event(self._as_the_client_reads(data))
        yield from self._taken
        if self._judge.rejected_at is not None:
            wrong = next(one for one in self._judge.findings if one.kind in FATAL)
            raise AgUiRefusedError(f"{wrong.message or wrong.kind.title} ({wrong.kind.code})")

    def _take(self, event: BaseEvent) -> None:
        if self._judge.rejected_at is not None:
            return  # what is left of the event for which the client has ended the run
        taken: dict[str, Any] = msgspec.to_builtins(event)
        kind = taken["type"]
        if kind == "RUN_STARTED":
            self.streaming.clear()
        elif kind in _STARTS:
            self.streaming.add(taken["messageId"])
        elif kind in _ENDS:
            self.streaming.discard(taken["messageId"])
        self._taken.append(taken)

    def _as_the_client_reads(self, data: bytes) -> bytes:
        """Return the data of an event as the protocol would have it, where the client is the more lenient one."""
        try:
            event = json.loads(data.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            return data
        kind = event.get("type") if isinstance(event, dict) else None
        if not isinstance(kind, str):
            return data
        if event.get("role", "") not in _ROLES_OF.get(kind, (event.get("role", ""),)) and "role" in event:
            raise AgUiRefusedError(f"the role of {kind} is {event['role']!r}, which the client does not know")
        read = {**event, **self._of_today(kind)}
        kind = read["type"]
        for name in ("rawEvent", *_NULL_IS_ABSENT.get(kind, ())):
            if read.get(name, "") is None:
                del read[name]
        operations = read.get(_OPERATIONS_OF.get(kind, ""))
        if isinstance(operations, list):  # one without a name is to the client one that it does not know
            kept = [one for one in operations if not isinstance(one, dict) or isinstance(one.get("op"), str)]
            read[_OPERATIONS_OF[kind]] = kept
        return data if read == event else json.dumps(read).encode()

    def _of_today(self, kind: str) -> Mapping[str, str]:
        """Return what an event of before 1.0, which had no ids, has today in its place."""
        today = _RETIRED.get(kind)
        if today is None:
            return {}
        self._retired += today.endswith("_START")
        number = self._retired if "MESSAGE" in today else 1 + (self._retired - 1) // 2
        known = {"role": "reasoning"} if today == "REASONING_MESSAGE_START" else {}
        return {**known, "type": today, "messageId": f"thinking-{number}"}
