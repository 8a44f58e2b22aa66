"""An application that speaks Chat Completions or Responses to its page, and runs its own tools."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from typing import Any

from aiohttp import web
from tests.apps.chat_app import ChatApp, Json, Stored, Writer

__all__ = ["CompletionsApp", "ResponsesApp"]


class CompletionsWriter(Writer):
    """Writes the words of a run as chunks of Chat Completions."""

    async def send(self, chunk: Mapping[str, Any], *, done: bool = False) -> None:
        """Write what a chunk comes to."""
        for event in self.events(chunk):
            await self._put(event)
        if done:
            with contextlib.suppress(ConnectionError, RuntimeError):
                await self._response.write(self.ending)

    ending = b"data: [DONE]\n\n"

    def events(self, chunk: Mapping[str, Any]) -> list[Json]:
        """Return the events for a chunk."""
        frame = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "hotels"}
        match chunk:
            case {"type": "text-delta", "delta": text}:
                return [{**frame, "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}]}]
            case {"type": "finish"}:
                return [{**frame, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}]
            case {"type": "error", "errorText": text}:
                return [{"error": {"message": text, "type": "server_error"}}]
        return []

    async def _put(self, event: Json) -> None:
        with contextlib.suppress(ConnectionError, RuntimeError):
            await self._response.write(f"data: {json.dumps(event)}\n\n".encode())


class ResponsesWriter(CompletionsWriter):
    """Writes them as events of Responses."""

    ending = b""

    def events(self, chunk: Mapping[str, Any]) -> list[Json]:
        """Return the events for a chunk."""
        place = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
        match chunk:
            case {"type": "start"}:
                return [{"type": "response.created", "response": {"id": "resp_1", "status": "in_progress"}}]
            case {"type": "text-delta", "delta": text}:
                return [{"type": "response.output_text.delta", **place, "delta": text}]
            case {"type": "finish"}:
                return [{"type": "response.completed", "response": {"id": "resp_1", "status": "completed"}}]
            case {"type": "error", "errorText": text}:
                error = {"code": "server_error", "message": text}
                return [{"type": "response.failed", "response": {"id": "resp_1", "status": "failed", "error": error}}]
        return []


class CompletionsApp(ChatApp):
    """Takes all messages of the page with each post."""

    field = "messages"
    made: type[CompletionsWriter] = CompletionsWriter

    async def post(self, request: web.Request) -> web.StreamResponse:
        """Take the messages of the page, and stream the run."""
        body = await request.json()
        if body.get("stream") is not True or not isinstance(body.get(self.field), list):
            return web.json_response({"error": {"message": "not a request that I know"}}, status=422)
        chat = self.chats.setdefault(str(len(self.chats)), Stored())
        chat.messages = [dict(message) for message in body[self.field]]
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        await self._run(chat, self.made(response), {})
        return response


class ResponsesApp(CompletionsApp):
    """The same over Responses."""

    field = "input"
    made = ResponsesWriter
