"""Request profiles that a user might write for an application whose wire tpharness does not know."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from tpharness.apps.client.profile import Chat, Trigger
from tpharness.apps.client.profiles import AiSdk

__all__ = ["Facade", "Forgets", "Whole", "WithoutCalls"]


class _Events:
    """Takes UI message chunks as they are, but for those whose types begin so."""

    def __init__(self, left_out: str) -> None:
        self._left_out = left_out

    def feed(self, data: bytes) -> Iterator[Mapping[str, Any] | str]:
        """Return the chunk."""
        if data == b"[DONE]":
            yield "[DONE]"
            return
        chunk = json.loads(data)
        if not self._left_out or not chunk["type"].startswith(self._left_out):
            yield chunk


class Whole:
    """Posts what the AI SDK posts, and reads every event."""

    left_out = ""

    def body(self, chat: Chat, trigger: Trigger) -> Mapping[str, Any]:
        """Return all messages."""
        return AiSdk().body(chat, trigger)

    def translator(self) -> _Events:
        """Read one answer."""
        return _Events(self.left_out)


class Forgets(Whole):
    """Returns a body for the first message of a chat alone."""

    def body(self, chat: Chat, trigger: Trigger) -> Mapping[str, Any]:
        """Return None once there is an answer: nobody has written the second branch."""
        return super().body(chat, trigger) if len(chat.messages) == 1 else None  # type: ignore[return-value]


class WithoutCalls(Whole):
    """Leaves out everything about tools, so that the page cannot post what they did."""

    left_out = "tool-"


class Facade(WithoutCalls):
    """Says that its wire has no calls: that of an application which speaks Chat Completions and runs its own tools."""

    shows_calls = False
