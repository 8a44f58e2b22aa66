"""A chat that keeps everything: OpenAI's SDK and its Responses API. A run ends when its user leaves.

The page has the history. Its tool is that of the ledger. `python right_responses.py` serves it at PORT.
"""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator
from typing import Any

import httpx
import openai
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

NOT_KNOWN = "It is not known whether the tool has run: it was interrupted."
TOOL: Any = {
    "type": "function",
    "name": "book_hotel",
    "description": "Books a hotel",
    "strict": False,
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}, "nights": {"type": "integer"}},
        "required": ["city", "nights"],
    },
}
Json = dict[str, Any]
model: Any = openai.AsyncOpenAI()


class RefusedError(Exception):
    """The tool does not do it, and says why."""


def told(messages: list[Json]) -> list[Any]:
    """Return the page's messages as the model is sent them. Of a call that has no result it is told so."""
    items: list[Any] = []
    for message in messages:
        results: list[Any] = []
        for part in message["parts"]:
            if part["type"] == "step-start":  # the results of an answer stand before the next answer
                items += results
                results = []
            elif part["type"] == "text" and part["text"]:
                items.append({"role": message["role"], "content": part["text"]})
            elif part["type"].startswith("tool-") and part["state"] != "input-streaming":
                name, call = part["type"].removeprefix("tool-"), part["toolCallId"]
                if not isinstance(part.get("input"), dict):  # its arguments were cut
                    continue
                arguments = json.dumps(part["input"])
                items.append({"type": "function_call", "call_id": call, "name": name, "arguments": arguments})
                results.append({"type": "function_call_output", "call_id": call, "output": outcome(part)})
        items += results
    return items


def outcome(part: Json) -> str:
    """Return what the model is told that came of a call."""
    if part["state"] == "output-available":
        output = part["output"]
        return output if isinstance(output, str) else json.dumps(output)
    return str(part["errorText"]) if part["state"] == "output-error" else NOT_KNOWN


async def post(request: Request) -> StreamingResponse:
    """Answer the last message."""
    body = await request.json()
    return StreamingResponse(answer(told(body["messages"])), media_type="text/event-stream")


def event(**chunk: Any) -> str:
    """Return a chunk of the UI message stream as an event."""
    return f"data: {json.dumps(chunk)}\n\n"


async def answer(items: list[Any]) -> AsyncIterator[str]:
    """Ask the model until it calls no more tools."""
    yield event(type="start")
    try:
        while True:
            yield event(type="start-step")
            said: list[Any] = []
            reason = ""
            async for chunk in ask(items, said):
                if chunk["type"] == "finish":
                    reason = chunk["finishReason"]
                else:
                    yield event(**chunk)
            calls = [item for item in said if item["type"] == "function_call"] if reason == "stop" else []
            for item in said:
                if item["type"] == "function_call" and item not in calls:
                    shown = {"toolCallId": item["call_id"], "toolName": item["name"], "input": item["arguments"]}
                    yield event(type="tool-input-error", errorText="the arguments were cut", **shown)
            items += [item for item in said if item["type"] != "function_call" or item in calls]
            async for chunk in use(calls, items):
                yield event(**chunk)
            yield event(type="finish-step")
            if not calls:
                break
        yield event(type="finish", finishReason=reason)
    except Exception as error:  # noqa: BLE001  # whatever it is, the page is told
        yield event(type="error", errorText=str(error) or type(error).__name__)
    yield "data: [DONE]\n\n"


async def ask(items: list[Any], said: list[Any]) -> AsyncIterator[Json]:
    """Stream one answer of the model, its `finish` last; `said` gets its items as they end."""
    half: dict[str, Any] = {}
    reason = ""
    async with await model.responses.create(
        model="gpt-4.1", input=items, tools=[TOOL], stream=True, store=False
    ) as events:
        async for one in events:
            match one.type:
                case "response.output_item.added" if one.item.type == "function_call":
                    half[one.item.id] = one.item
                    yield {"type": "tool-input-start", "toolCallId": one.item.call_id, "toolName": one.item.name}
                case "response.content_part.added" if one.part.type == "output_text":
                    yield {"type": "text-start", "id": one.item_id}
                case "response.output_text.delta":
                    yield {"type": "text-delta", "id": one.item_id, "delta": one.delta}
                case "response.output_text.done":
                    yield {"type": "text-end", "id": one.item_id}
                case "response.function_call_arguments.delta":
                    call = half[one.item_id].call_id
                    yield {"type": "tool-input-delta", "toolCallId": call, "inputTextDelta": one.delta}
                case "response.output_item.done" if one.item.type == "message":
                    text = "".join(part.text for part in one.item.content if part.type == "output_text")
                    said.append({"type": "message", "role": "assistant", "content": text})
                case "response.output_item.done" if one.item.type == "function_call":
                    fields = {"call_id": one.item.call_id, "name": one.item.name, "arguments": one.item.arguments}
                    said.append({"type": "function_call", **fields})
                case "response.completed":
                    reason = "stop"
                case "response.incomplete":
                    reason = "length"
                case "response.failed":
                    raise ConnectionError(one.response.error.message if one.response.error else "the model has failed")
                case "error":
                    raise ConnectionError(one.message)
    if not reason:
        raise ConnectionError("the answer of the model has no end")
    yield {"type": "finish", "finishReason": reason}


async def use(calls: list[Json], items: list[Any]) -> AsyncIterator[Json]:
    """Run the tools of an answer one after the other, and add what they return to what the model is told."""
    for call in calls:
        shown = {"toolCallId": call["call_id"], "toolName": call["name"]}
        yield {"type": "tool-input-available", "input": json.loads(call["arguments"]), **shown}
    for call in calls:
        try:
            output = await book(call)
        except RefusedError as error:
            output = str(error)
            yield {"type": "tool-output-error", "toolCallId": call["call_id"], "errorText": output}
        else:
            yield {"type": "tool-output-available", "toolCallId": call["call_id"], "output": output}
        text = output if isinstance(output, str) else json.dumps(output)
        items.append({"type": "function_call_output", "call_id": call["call_id"], "output": text})


async def book(call: Json) -> Any:
    """Book at the service. RefusedError where it refuses."""
    arguments = json.loads(call["arguments"])
    if call["name"] != TOOL["name"]:
        raise RefusedError(f"there is no tool {call['name']}")
    if not isinstance(arguments.get("city"), str) or not isinstance(arguments.get("nights"), int):
        raise RefusedError("city has to be a text, and nights a number")
    async with httpx.AsyncClient(timeout=60) as service:
        url = f"{os.environ['TPHARNESS_EFFECTS_URL']}/tools/book_hotel"
        answered = await service.post(url, json=arguments, headers={"x-tpharness-call": call["call_id"]})
    if answered.is_error:
        raise RefusedError(answered.json()["error"])
    return answered.json()["result"]


app = Starlette(routes=[Route("/api/chat", post, methods=["POST"])])

if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(os.environ["PORT"]), log_level="warning")
