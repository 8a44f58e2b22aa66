"""A chat with FastAPI and OpenAI's SDK: the server keeps the history, the page posts its last message.

Its tool is the ledger's. The file `release` says which release runs: 1 keeps a call whose tool was interrupted, 2 takes
it back. `uvicorn tests.apps.days.fastapi_chat:app` serves it.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from fastapi.responses import StreamingResponse
from httpx import AsyncClient
from openai import AsyncOpenAI
from pydantic import BaseModel

RELEASE = Path("release").read_text("utf-8").strip()
FUNCTION = {
    "name": "book_hotel",
    "description": "Books a hotel",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}, "nights": {"type": "integer"}},
        "required": ["city", "nights"],
    },
}
app = FastAPI()
model = AsyncOpenAI(max_retries=0)
chats: dict[str, list[Any]] = {}


class Post(BaseModel):
    """What the page posts."""

    id: str
    message: dict[str, Any]


@app.post("/api/chat")
async def chat(post: Post) -> StreamingResponse:
    """Answer the last message."""
    history = chats.setdefault(post.id, [])
    text = "".join(part["text"] for part in post.message["parts"] if part["type"] == "text")
    history.append({"role": "user", "content": text})
    return StreamingResponse(answer(history), media_type="text/event-stream")


async def answer(history: list[Any]) -> AsyncIterator[str]:
    """Stream the answer as the AI SDK's page reads it."""
    yield event(type="start")
    try:
        while history[-1]["role"] != "assistant" or "tool_calls" in history[-1]:
            yield event(type="start-step")
            async for chunk in step(history):
                yield chunk
            yield event(type="finish-step")
    except Exception as error:  # noqa: BLE001  # whatever it is, the page is told
        yield event(type="error", errorText=str(error))
    else:
        yield event(type="finish")
    yield "data: [DONE]\n\n"


async def step(history: list[Any]) -> AsyncIterator[str]:
    """Ask the model, and run the tools that it calls; what was said of an answer that is cut is kept."""
    said: dict[str, Any] = {"role": "assistant", "content": ""}
    calls: list[dict[str, Any]] = []
    try:
        async for chunk in read(history, said, calls):
            yield chunk
        if calls:
            said["tool_calls"] = calls
        history.append(said)
    except asyncio.CancelledError:
        if said["content"]:
            history.append(said)
        raise
    kept = len(history)
    try:
        for call in calls:
            booked = await book_hotel(call["id"], call["function"]["arguments"])
            history.append({"role": "tool", "tool_call_id": call["id"], "content": booked})
            yield event(type="tool-output-available", toolCallId=call["id"], output=booked)
    except asyncio.CancelledError:
        if RELEASE == "2":
            history[kept - 1 :] = [{"role": "assistant", "content": said["content"]}]
        raise


async def read(history: list[Any], said: dict[str, Any], calls: list[dict[str, Any]]) -> AsyncIterator[str]:
    """Stream what the model says, and note it."""
    tools: Any = [{"type": "function", "function": FUNCTION}]
    async with await model.chat.completions.create(
        model="gpt-6-astra", messages=history, tools=tools, stream=True
    ) as stream:
        async for piece in stream:
            delta = piece.choices[0].delta
            if delta.content:
                if not said["content"]:
                    yield event(type="text-start", id="text")
                said["content"] += delta.content
                yield event(type="text-delta", id="text", delta=delta.content)
            for part in delta.tool_calls or ():
                function = part.function
                assert function is not None
                if part.index == len(calls):
                    known = {"name": function.name, "arguments": ""}
                    calls.append({"id": part.id, "type": "function", "function": known})
                    yield event(type="tool-input-start", toolCallId=part.id, toolName=function.name)
                call = calls[part.index]
                if function.arguments:
                    call["function"]["arguments"] += function.arguments
                    yield event(type="tool-input-delta", toolCallId=call["id"], inputTextDelta=function.arguments)
    if said["content"]:
        yield event(type="text-end", id="text")
    for call in calls:
        name, given = call["function"]["name"], json.loads(call["function"]["arguments"])
        yield event(type="tool-input-available", toolCallId=call["id"], toolName=name, input=given)


async def book_hotel(call: str, arguments: str) -> str:
    """Book at the ledger."""
    url = f"{os.environ['TPHARNESS_EFFECTS_URL']}/tools/book_hotel"
    async with AsyncClient() as client:
        booked = await client.post(url, content=arguments, headers={"x-tpharness-call": call}, timeout=None)
    return str(booked.json()["result"])


def event(**chunk: Any) -> str:
    """Return a chunk as an event."""
    return f"data: {json.dumps(chunk)}\n\n"
