"""A chat that keeps everything: Anthropic's SDK, a run that goes on when its user leaves, a stop button.

The page posts its last message; the server has the history. Its tool is that of the ledger. `python right_anthropic.py`
serves it at PORT.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import anthropic
import httpx
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

NOT_KNOWN = "It is not known whether the tool has run: it was interrupted."
TOOL: Any = {
    "name": "book_hotel",
    "description": "Books a hotel",
    "input_schema": {
        "type": "object",
        "properties": {"city": {"type": "string"}, "nights": {"type": "integer"}},
        "required": ["city", "nights"],
    },
}
Json = dict[str, Any]
model: Any = anthropic.AsyncAnthropic()


class RefusedError(Exception):
    """The tool does not do it, and says why."""


class Run:
    """One answer: what was streamed of it so far, for everybody who reads it."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.over = False
        self.more = asyncio.Condition()
        self.task: asyncio.Task[None] | None = None

    async def send(self, **chunk: Any) -> None:
        """Add a chunk of the UI message stream."""
        await self._add(json.dumps(chunk))

    async def end(self) -> None:
        """Add the end marker."""
        self.over = True
        await self._add("[DONE]")

    async def _add(self, data: str) -> None:
        self.lines.append(f"data: {data}\n\n")
        async with self.more:
            self.more.notify_all()

    async def read(self) -> AsyncIterator[str]:
        """Yield all of the answer, from its beginning to its end."""
        sent = 0
        while True:
            async with self.more:
                while sent == len(self.lines) and not self.over:
                    await self.more.wait()
            if sent == len(self.lines):
                return
            yield self.lines[sent]
            sent += 1


@dataclass
class Chat:
    """The messages as the model is sent them, those of the page, and the run that goes on."""

    told: list[Json] = field(default_factory=list)
    shown: list[Json] = field(default_factory=list)
    run: Run | None = None
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)


chats: dict[str, Chat] = {}


async def post(request: Request) -> Response:
    """Store the message, and answer it in a run of its own; one after the other."""
    body = await request.json()
    chat, message = chats.setdefault(body["id"], Chat()), body["message"]
    async with chat.turn:
        if chat.run is not None and chat.run.task is not None:
            await asyncio.wait([chat.run.task])
        text = "".join(part["text"] for part in message["parts"] if part["type"] == "text")
        chat.told.append({"role": "user", "content": [{"type": "text", "text": text}]})
        chat.shown.append(message)
        chat.run = Run()
        chat.run.task = asyncio.create_task(answer(chat, chat.run))
    return StreamingResponse(chat.run.read(), media_type="text/event-stream")


async def answer(chat: Chat, run: Run) -> None:
    """Ask the model until it calls no more tools. Whatever ends it, what was said is stored, and the page is told."""
    message: Json = {"id": f"answer-{len(chat.shown)}", "role": "assistant", "parts": []}
    await run.send(type="start", messageId=message["id"])
    try:
        while await step(chat, run, message["parts"]):
            pass
    except asyncio.CancelledError:
        await run.send(type="abort")
    except Exception as error:  # noqa: BLE001  # whatever it is, the page is told
        await run.send(type="error", errorText=str(error) or type(error).__name__)
    if message["parts"]:
        chat.shown.append(message)
    chat.run = None
    await run.end()


async def step(chat: Chat, run: Run, parts: list[Json]) -> bool:
    """Ask the model once, and run its tools; return whether it is to be asked again."""
    said: list[Json] = []
    half: dict[int, str] = {}
    ended = ""
    await run.send(type="start-step")
    try:
        async with await model.messages.create(
            model="claude-sonnet-4-5", max_tokens=1024, messages=chat.told, tools=[TOOL], stream=True
        ) as events:
            async for event in events:
                if event.type == "message_stop":
                    ended = ended or "end_turn"
                elif event.type == "message_delta":
                    ended = event.delta.stop_reason or ""
                elif event.type in ("content_block_start", "content_block_delta"):
                    await take(event, said, half, run, parts)
    finally:
        calls = whole_calls(said, half) if ended == "tool_use" else []
        text = "".join(block["text"] for block in said if block["type"] == "text")
        kept = [{"type": "text", "text": text}] if text else []
        if kept or calls:
            chat.told.append({"role": "assistant", "content": [*kept, *calls]})
        if calls:
            results = [result(call, NOT_KNOWN) for call in calls]
            chat.told.append({"role": "user", "content": results})
    if not ended:
        raise ConnectionError("the answer of the model has no end")
    for part in parts:
        if part["type"] == "text" and part["state"] == "streaming":
            part["state"] = "done"
            await run.send(type="text-end", id=part["textId"])
    for index, text in half.items():
        shown = {"toolCallId": said[index]["id"], "toolName": said[index]["name"]}
        whole = next((call["input"] for call in calls if call["id"] == said[index]["id"]), None)
        if whole is None:
            await run.send(type="tool-input-error", input=text, errorText="the arguments were cut", **shown)
        else:
            await run.send(type="tool-input-available", input=whole, **shown)
    for call, kept_result in zip(calls, chat.told[-1]["content"] if calls else (), strict=True):
        await use(call, kept_result, run, parts)
    await run.send(type="finish-step")
    if calls:
        return True
    reasons = {"max_tokens": "length", "refusal": "content-filter"}
    await run.send(type="finish", finishReason=reasons.get(ended, "stop"))
    return False


async def take(event: Any, said: list[Json], half: dict[int, str], run: Run, parts: list[Json]) -> None:
    """Add a piece of the answer to what is stored, and to what is shown."""
    if event.type == "content_block_start":
        block = event.content_block
        said.append({"type": block.type, "text": ""} if block.type == "text" else block.model_dump(exclude_none=True))
        if block.type == "text":
            name = f"text-{len(parts)}"
            parts.append({"type": "text", "textId": name, "text": "", "state": "streaming"})
            await run.send(type="text-start", id=name)
        elif block.type == "tool_use":
            half[event.index] = ""
            await run.send(type="tool-input-start", toolCallId=block.id, toolName=block.name)
    elif event.delta.type == "text_delta":
        said[event.index]["text"] += event.delta.text
        parts[-1]["text"] += event.delta.text
        await run.send(type="text-delta", id=parts[-1]["textId"], delta=event.delta.text)
    elif event.delta.type == "input_json_delta":
        half[event.index] += event.delta.partial_json
        call = said[event.index]["id"]
        await run.send(type="tool-input-delta", toolCallId=call, inputTextDelta=event.delta.partial_json)


def whole_calls(said: list[Json], half: dict[int, str]) -> list[Json]:
    """Return the calls with their arguments; a call whose arguments are half is not stored."""
    calls = []
    for index, text in half.items():
        try:
            calls.append({**said[index], "input": json.loads(text or "{}")})
        except ValueError:
            continue
    return calls


def result(call: Json, text: str) -> Json:
    """Return what the model is told of a call."""
    return {"type": "tool_result", "tool_use_id": call["id"], "content": text}


async def use(call: Json, kept: Json, run: Run, parts: list[Json]) -> None:
    """Run the tool of a call. What it returns, or why it failed, takes the place of the words that nobody knows."""
    part = {"type": f"tool-{call['name']}", "toolCallId": call["id"], "input": call["input"]}
    parts.append({**part, "state": "output-error", "errorText": NOT_KNOWN})
    try:
        output = await book(call)
    except RefusedError as error:
        kept.update(content=str(error), is_error=True)
        parts[-1]["errorText"] = str(error)
        await run.send(type="tool-output-error", toolCallId=call["id"], errorText=str(error))
    else:
        kept["content"] = output if isinstance(output, str) else json.dumps(output)
        parts[-1] = {**part, "state": "output-available", "output": output}
        await run.send(type="tool-output-available", toolCallId=call["id"], output=output)


async def book(call: Json) -> Any:
    """Book at the service. RefusedError where it refuses."""
    arguments = call["input"]
    if call["name"] != TOOL["name"]:
        raise RefusedError(f"there is no tool {call['name']}")
    if not isinstance(arguments.get("city"), str) or not isinstance(arguments.get("nights"), int):
        raise RefusedError("city has to be a text, and nights a number")
    async with httpx.AsyncClient(timeout=60) as service:
        url = f"{os.environ['TPHARNESS_EFFECTS_URL']}/tools/book_hotel"
        answered = await service.post(url, json=arguments, headers={"x-tpharness-call": call["id"]})
    if answered.is_error:
        raise RefusedError(answered.json()["error"])
    return answered.json()["result"]


async def stop(request: Request) -> Response:
    """End the run, and say so when it has ended."""
    chat = chats.get(request.path_params["id"])
    if chat is not None and chat.run is not None and chat.run.task is not None:
        chat.run.task.cancel()
        await asyncio.wait([chat.run.task])
    return JSONResponse({"stopped": True})


async def resume(request: Request) -> Response:
    """Stream the answer that goes on, from its beginning."""
    chat = chats.get(request.path_params["id"])
    if chat is None or chat.run is None:
        return Response(status_code=204)
    return StreamingResponse(chat.run.read(), media_type="text/event-stream")


async def view(request: Request) -> Response:
    """Return what a page that is loaded anew shows; the answer that goes on is resumed."""
    chat = chats.get(request.path_params["id"], Chat())
    return JSONResponse({"messages": chat.shown})


app = Starlette(
    routes=[
        Route("/api/chat", post, methods=["POST"]),
        Route("/api/chat/{id}", view),
        Route("/api/chat/{id}/stop", stop, methods=["POST"]),
        Route("/api/chat/{id}/stream", resume),
    ]
)

if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(os.environ["PORT"]), log_level="warning")
