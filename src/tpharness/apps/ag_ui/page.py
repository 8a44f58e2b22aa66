"""The page of one chat, as one on `@ag-ui/client` is: what it posts, and what it holds of the answers. No I/O."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any
from uuid import uuid4

from tpharness.apps.ag_ui.options import PostOptions
from tpharness.apps.client.ag_ui import AgUi
from tpharness.apps.client.own_code import StreamRefusedError
from tpharness.apps.client.profile import Chat, Trigger

__all__ = ["ChatPage", "Reading"]

Json = dict[str, Any]


class ChatPage:
    """One chat of one user. `say`, then `post`, then feed what `read` returns; and so on."""

    def __init__(self, options: PostOptions) -> None:
        self._options = options
        self._chat = Chat(id=str(uuid4()))
        self._client = AgUi(self._chat, {"tools": [dict(tool) for tool in options.tools]})
        if options.state is not None:
            self._client.held.state = deepcopy(options.state)

    def say(self, text: str) -> None:
        """Write a message of the user."""
        message = {"id": str(uuid4()), "role": "user", "parts": [{"type": "text", "text": text}]}
        self._chat.messages.append(message)

    def post(self) -> Json:
        """Return the input that the page posts now.

        A call of the page's own tools that waits is answered, and an interrupt is cancelled: the user goes on instead.
        """
        self._chat.posts += 1
        more: Json = {"context": [dict(entry) for entry in self._options.context]}
        if self._options.forwarded_props is not None:
            more["forwardedProps"] = self._options.forwarded_props
        return {**self._client.body(self._chat, Trigger.SUBMIT), **more}

    def read(self) -> Reading:
        """Begin to read the answer to the last post."""
        return Reading(self._client.translator())

    @property
    def messages(self) -> Sequence[Mapping[str, Any]]:
        """What the page holds."""
        return self._client.held.messages


class Reading:
    """One answer, read as the client reads it: it takes nothing behind the event for which it rejects the stream."""

    def __init__(self, run: Any) -> None:
        self._run = run
        self._refused = False

    def feed(self, data: bytes) -> Json | None:
        """Take in one event; return it, None for what is not an event."""
        if not self._refused:
            try:
                for _ in self._run.feed(data):
                    pass
            except StreamRefusedError:
                self._refused = True
        try:
            event = json.loads(data)
        except (ValueError, RecursionError):
            return None
        return event if isinstance(event, dict) else None
