"""Asking a provider without an SDK: requests in each API's own shape, and streams read as bytes."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
from tests.apps.provider.event_stream import stream_messages

from tpharness.apps.provider.conversation import Conversation
from tpharness.apps.provider.exchange import Exchange
from tpharness.apps.provider.server import Provider
from tpharness.model_apis.plan import Plan
from tpharness.model_apis.registry import ApiName

MARK = "[tp:m1]"
SAYS = f"Book a hotel {MARK}"
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
PATHS: dict[ApiName, str] = {
    "openai-chat": "/v1/chat/completions",
    "openai-responses": "/v1/responses",
    "anthropic": "/v1/messages",
    "ollama": "/api/chat",
    "gemini": "/v1beta/models/gemini-3-flash-preview:streamGenerateContent?alt=sse",
    "bedrock": "/model/anthropic.claude-sonnet-4-6-v1%3A0/converse-stream",
}
APIS: tuple[ApiName, ...] = tuple(PATHS)


def body_of(api: ApiName, messages: list[Any], **more: Any) -> dict[str, Any]:
    """Return a streaming request with these messages, items or contents, and the tool `book_hotel`."""
    match api:
        case "openai-chat":
            tools: Any = [{"type": "function", "function": {"name": "book_hotel", "parameters": SCHEMA}}]
            return {"model": "gpt-4o", "messages": messages, "stream": True, "tools": tools, **more}
        case "openai-responses":
            tools = [{"type": "function", "name": "book_hotel", "parameters": SCHEMA}]
            return {"model": "gpt-5", "input": messages, "stream": True, "tools": tools, **more}
        case "anthropic":
            tools = [{"name": "book_hotel", "input_schema": SCHEMA}]
            body = {"model": "claude-sonnet-4-6", "max_tokens": 9, "messages": messages, "stream": True}
            return {**body, "tools": tools, **more}
        case "ollama":
            tools = [{"type": "function", "function": {"name": "book_hotel", "parameters": SCHEMA}}]
            return {"model": "llama3.2", "messages": messages, "tools": tools, **more}
        case "bedrock":
            config = {"tools": [{"toolSpec": {"name": "book_hotel", "inputSchema": {"json": SCHEMA}}}]}
            return {"messages": messages, "toolConfig": config, **more}
        case _:
            return {"contents": messages, "tools": [{"functionDeclarations": [{"name": "book_hotel"}]}], **more}


def user(api: ApiName, text: str = SAYS) -> dict[str, Any]:
    """Return a message of the user in the shape of an API."""
    if api == "bedrock":
        return {"role": "user", "content": [{"text": text}]}
    return {"role": "user", "parts": [{"text": text}]} if api == "gemini" else {"role": "user", "content": text}


class Asker:
    """One provider, one conversation, one HTTP session."""

    def __init__(self, provider: Provider, session: aiohttp.ClientSession) -> None:
        self.provider = provider
        self.session = session
        self.conversation: Conversation = provider.conversation(MARK)

    def post(self, api: ApiName, body: Any, path: str | None = None) -> Any:
        """Post a request; to be used as a context manager."""
        return self.session.post(f"{self.provider.base}{path or PATHS[api]}", json=body)

    async def read(self, api: ApiName, body: Any, path: str | None = None) -> tuple[int, bytes]:
        """Post a request, and return the status and the whole body of its answer."""
        async with self.post(api, body, path) as answer:
            return answer.status, await answer.read()

    async def told(self, api: ApiName, messages: list[Any], **more: Any) -> Exchange:
        """Ask with a history, answered by a text, and return the exchange."""
        self.conversation.plans([Plan()])
        await self.read(api, body_of(api, messages, **more))
        return await self.conversation.next_exchange(5)


@asynccontextmanager
async def asking(**options: Any) -> AsyncIterator[Asker]:
    """Start a provider and open a session."""
    async with Provider(**options) as provider, aiohttp.ClientSession() as session:
        yield Asker(provider, session)


def events(data: bytes) -> list[tuple[str, Any]]:
    """Return names and JSON of the events of a stream; `[DONE]` as it is."""
    found: list[tuple[str, Any]] = []
    if data.startswith(b"\0"):
        return [(headers[next(iter(headers))], json.loads(payload)) for headers, payload in stream_messages(data)]
    if data.startswith(b"{"):  # a line each, without names
        return [("", json.loads(line)) for line in data.splitlines()]
    for frame in data.decode().replace("\r\n", "\n").split("\n\n"):
        lines = dict(line.split(": ", 1) for line in frame.split("\n") if line)
        if lines:
            told = lines["data"]
            found.append((lines.get("event", ""), told if told == "[DONE]" else json.loads(told)))
    return found
