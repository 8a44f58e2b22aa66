"""What the pages of servers with a wire of their own share: reading events that are JSON, and showing a stored chat.

In: the data of an event, or what a server has stored. Out: JSON of the form that a page looks for, and UI messages.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tpharness.apps.client.own_code import StreamRefusedError
from tpharness.apps.client.profile import Chat, Trigger

__all__ = ["Screen", "dict_of", "load_event", "objects_in", "require_new_message"]

Json = dict[str, Any]


def require_new_message(chat: Chat, trigger: Trigger) -> None:
    """ValueError for a post that is not a new message."""
    if trigger is not Trigger.SUBMIT or chat.message_id is not None:
        raise ValueError("this page writes messages alone: take regenerate and edit out of the table")


def load_event(data: bytes, refused: type[StreamRefusedError], what: str = "an event") -> Any:
    """Return the value of an event's data. `refused` for what is not JSON."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise refused(f"{what} is not JSON: {error}") from error


def dict_of(value: Any) -> Json:
    """Return an object, an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def objects_in(value: Any) -> list[Json]:
    """Return the objects of a list, none of anything else."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


class Screen:
    """The UI messages of a chat that is loaded anew: what stands between two of the user is one of the assistant."""

    def __init__(self) -> None:
        self.messages: list[Json] = []
        self._parts: list[Json] | None = None
        self._calls: dict[str, Json] = {}

    def say_user(self, message_id: Any, text: str) -> None:
        """Show a message of the user."""
        self._parts = None
        self.messages.append({"id": message_id, "role": "user", "parts": [{"type": "text", "text": text}]})

    def begin_step(self, message_id: Any) -> None:
        """Begin a step of the assistant's message, which has the id of its first."""
        if self._parts is None:
            self._parts = []
            self.messages.append({"id": message_id, "role": "assistant", "parts": self._parts})
        self._parts.append({"type": "step-start"})

    def say(self, text: str) -> None:
        """Show a text in the step."""
        self._add({"type": "text", "text": text})

    def call(self, call_id: Any, name: Any, arguments: Any) -> None:
        """Show a call in the step."""
        part = {"type": f"tool-{name}", "toolCallId": call_id, "input": arguments, "state": "input-available"}
        self._calls[str(call_id)] = part
        self._add(part)

    def answer(self, call_id: Any, result: Mapping[str, Any]) -> None:
        """Show the result of a call: the members that its part gets. Nothing for a call that is not there."""
        self._calls.get(str(call_id), {}).update(result)

    def _add(self, part: Json) -> None:
        if self._parts is None:
            raise RuntimeError("no step has begun")
        self._parts.append(part)
