"""A chat application whose page keeps the history: it reads all messages from each post."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from aiohttp import web
from tests.apps.chat_app import ChatApp, Json, Stored, Writer

__all__ = ["PageApp", "Words"]


class Words(Writer):
    """Writes what the model says, and nothing else, as `toTextStreamResponse()` does."""

    async def send(self, chunk: Mapping[str, Any], *, done: bool = False) -> None:
        """Write the words of a chunk."""
        del done
        if chunk["type"] == "text-delta":
            with contextlib.suppress(ConnectionError, RuntimeError):
                await self._response.write(str(chunk["delta"]).encode())


class PageApp(ChatApp):
    """Answers with UI message chunks, or as plain text."""

    def __init__(self, *defects: Any, plain: bool = False, **more: Any) -> None:
        super().__init__(*defects, **more)
        self.plain = plain

    async def post(self, request: web.Request) -> web.StreamResponse:
        """Take the messages of the page, and stream the run."""
        body = await request.json()
        chat = self.chats.setdefault(str(len(self.chats)), Stored())
        chat.messages = [one for message in body["messages"] for one in _told(message)]
        response = web.StreamResponse(headers={"content-type": "text/plain" if self.plain else "text/event-stream"})
        await response.prepare(request)
        await self._run(chat, Words(response) if self.plain else Writer(response), {})
        return response


def _told(message: Json) -> Iterator[Json]:
    """Yield what the model is told of a UI message; calls without a result are left out."""
    if message["role"] == "user":
        yield {"role": "user", "content": "".join(part["text"] for part in message["parts"])}
        return
    words = ""
    for part in message["parts"]:
        if part["type"] == "text":
            words += part["text"]
        elif "output" in part:
            function = {"name": part["type"].removeprefix("tool-"), "arguments": json.dumps(part["input"])}
            call = {"id": part["toolCallId"], "type": "function", "function": function}
            yield {"role": "assistant", "content": words or None, "tool_calls": [call]}
            yield {"role": "tool", "tool_call_id": call["id"], "content": part["output"]}
            words = ""
    if words:
        yield {"role": "assistant", "content": words}
