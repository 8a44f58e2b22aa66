"""Bedrock's ConverseStream over HTTP, as a client reads and writes it that has no SDK.

It takes and gives what `ChatModel` does, so that the same application speaks either API.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any

from aiohttp import ClientResponse
from tests.apps.chat_model import ChatModel, Json, ModelError
from tests.apps.provider.event_stream import stream_messages

_REASONS = {"end_turn": "stop", "max_tokens": "length", "content_filtered": "content_filter", "tool_use": "tool_calls"}


class BedrockModel(ChatModel):
    """The model's API at the address that AWS_ENDPOINT_URL_BEDROCK_RUNTIME names."""

    def __init__(self, endpoint: str) -> None:
        super().__init__(endpoint, "none")
        self._url = f"{endpoint}/model/us.amazon.nova-pro-v1%3A0/converse-stream"

    @contextlib.asynccontextmanager
    async def stream(self, messages: list[Json], tools: list[Json] | None = None) -> AsyncIterator[AsyncIterator[Json]]:
        """Yield the answer as chunks; its connection is closed whatever happens. ModelError if the model fails."""
        body = converse(messages)
        functions = [tool["function"] for tool in tools or ()]
        if functions:
            specs = [{"name": f["name"], "inputSchema": {"json": f["parameters"]}} for f in functions]
            body["toolConfig"] = {"tools": [{"toolSpec": spec} for spec in specs]}
        async with self._post(body) as answer:
            yield _chunks(answer)


def converse(messages: list[Json]) -> Json:
    """Return messages of Chat Completions as this API has them: neighbours of one role are one message."""
    system = [{"text": message["content"]} for message in messages if message["role"] == "system"]
    out: list[Json] = []
    for message in messages:
        role = "assistant" if message["role"] == "assistant" else "user"
        blocks = [] if message["role"] == "system" else _blocks(message)
        if blocks and out and out[-1]["role"] == role:
            out[-1]["content"] += blocks
        elif blocks:
            out.append({"role": role, "content": blocks})
    return {"system": system, "messages": out}


def _blocks(message: Json) -> list[Json]:
    if message["role"] == "tool":
        content = [{"text": message["content"]}] if message["content"] else []
        return [{"toolResult": {"toolUseId": message["tool_call_id"], "content": content}}]
    blocks: list[Json] = [{"text": message["content"]}] if message.get("content") else []
    for call in message.get("tool_calls") or ():
        function = call["function"]
        used = {"toolUseId": call["id"], "name": function["name"], "input": json.loads(function["arguments"] or "{}")}
        blocks.append({"toolUse": used})
    return blocks


async def _chunks(answer: ClientResponse) -> AsyncIterator[Json]:
    calls: dict[int, int] = {}
    while True:
        head = await answer.content.read(4)
        if not head:
            return
        rest = await answer.content.readexactly(int.from_bytes(head, "big") - 4)
        ((headers, payload),) = stream_messages(head + rest)
        said: dict[str, Any] = json.loads(payload)
        delta, reason = {}, None
        match headers:
            case {":exception-type": kind}:
                raise ModelError(f"{kind}: {said['message']}")
            case {":event-type": "contentBlockStart"}:
                number = calls.setdefault(said["contentBlockIndex"], len(calls))
                used = said["start"]["toolUse"]
                function = {"name": used["name"], "arguments": ""}
                delta = {"tool_calls": [{"index": number, "id": used["toolUseId"], "function": function}]}
            case {":event-type": "contentBlockDelta"} if "toolUse" in said["delta"]:
                function = {"arguments": said["delta"]["toolUse"]["input"]}
                delta = {"tool_calls": [{"index": calls[said["contentBlockIndex"]], "function": function}]}
            case {":event-type": "contentBlockDelta"} if "text" in said["delta"]:
                delta = {"content": said["delta"]["text"]}
            case {":event-type": "messageStop"}:
                reason = _REASONS[said["stopReason"]]
        yield {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}
