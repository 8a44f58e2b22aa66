"""Ollama's `/api/chat` over HTTP, as a client reads and writes it that knows no ids: the Python package and LangChain.

It takes and gives what `ChatModel` does, so that the same application speaks either API.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any

from aiohttp import ClientResponse
from tests.apps.chat_model import ChatModel, Json, ModelError


class OllamaModel(ChatModel):
    """The model's API at the address that OLLAMA_HOST names."""

    def __init__(self, host: str) -> None:
        super().__init__(host, "none")
        self._url = f"{host}/api/chat"

    async def ask(self, messages: list[Json]) -> Json:
        """Return a whole answer. ModelError if the request is refused."""
        async with self._post({"messages": native(messages), "stream": False}) as answer:
            return {"choices": [{"message": (await answer.json())["message"]}]}

    @contextlib.asynccontextmanager
    async def stream(self, messages: list[Json], tools: list[Json] | None = None) -> AsyncIterator[AsyncIterator[Json]]:
        """Yield the answer as chunks; its connection is closed whatever happens. ModelError if the model fails."""
        offered = {} if tools is None else {"tools": tools}
        async with self._post({"messages": native(messages), **offered}) as answer:
            yield _chunks(answer)


def native(messages: list[Json]) -> list[Json]:
    """Return messages of Chat Completions as this API has them, without ids."""
    return [_native(message) for message in messages]


def _native(message: Json) -> Json:
    sent: Json = {"role": message["role"], "content": message.get("content") or ""}
    if calls := message.get("tool_calls"):
        functions = [call["function"] for call in calls]
        sent["tool_calls"] = [
            {"function": {"name": function["name"], "arguments": json.loads(function["arguments"] or "{}")}}
            for function in functions
        ]
    return sent


async def _chunks(answer: ClientResponse) -> AsyncIterator[Json]:
    calls = 0
    async for line in answer.content:
        said: dict[str, Any] = json.loads(line)
        if "error" in said:
            raise ModelError(said["error"])
        message = said["message"]
        delta: Json = {"content": message["content"]} if message["content"] else {}
        if made := message.get("tool_calls"):
            delta["tool_calls"] = [
                {
                    "index": calls + number,
                    "id": call["id"],
                    "function": {**call["function"], "arguments": json.dumps(call["function"]["arguments"])},
                }
                for number, call in enumerate(made)
            ]
            calls += len(made)
        reason = None
        if said["done"]:
            reason = "tool_calls" if calls and said["done_reason"] == "stop" else said["done_reason"]
        yield {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}
