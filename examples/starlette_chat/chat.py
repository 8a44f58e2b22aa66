"""A chat application: it streams the AI SDK's UI messages, and keeps each chat as a thread of ThreadProtocol.

POST /chats/ID {"text": …} streams the answer, POST /chats/ID/stop ends it, GET /chats/ID is the thread.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

AGENT = "7d9f6c1e-3b1a-4a55-9d8f-0c2b8a4e6f10"
PAUSE = 0.01  # seconds between two words


def now() -> str:
    return datetime.now(UTC).isoformat().replace("+00:00", "Z")


class Chat:
    """One chat: its thread, and the answer that is streaming."""

    def __init__(self, name: str) -> None:
        at = now()
        self.stopped = False
        self.thread: dict[str, Any] = {
            "version": "0.0.4",
            "thread_id": name,
            "created_at": at,
            "updated_at": at,
            "agents": {AGENT: {"agent_id": AGENT, "agent_name": "Assistant", "created_at": at}},
            "turns": [],
        }

    def ask(self, text: str) -> None:
        said = {"part_kind": "user-prompt", "content": text}
        self.thread["turns"].append({"turn_type": "user", "submitted_at": now(), "parts": [said]})

    async def answer(self) -> AsyncIterator[str]:
        """Stream the answer; what is complete is kept when the user stops it, and nothing else."""
        turn: dict[str, Any] = {"turn_type": "agent", "agent_id": AGENT, "started_at": now(), "messages": []}
        self.thread["turns"].append(turn)
        self.stopped = False
        yield event(type="start")
        async for chunk in self._steps(turn["messages"]):
            if self.stopped:
                break
            yield event(**chunk)
        at = self.thread["updated_at"] = now()
        if self.stopped:
            turn |= {
                "completion_status": "interrupted",
                "interruption": {"reason": "user_cancelled", "interrupted_at": at},
            }
            yield event(type="abort", reason="user_cancelled")
        else:
            turn |= {"completion_status": "complete", "completed_at": at}
            yield event(type="finish")
        yield "data: [DONE]\n\n"

    async def _steps(self, messages: list[dict[str, Any]]) -> AsyncIterator[dict[str, Any]]:
        """Play a model that looks the weather up: yield chunks, and add to the messages what is complete."""
        call = {"part_kind": "tool-call", "tool_name": "get_weather", "tool_call_id": "c1", "args": {"city": "Paris"}}
        done = {"part_kind": "tool-return", "tool_name": "get_weather", "tool_call_id": "c1", "content": {"temp": 18}}
        done["status"] = "success"
        yield {"type": "start-step"}
        async for chunk in words("1", "Let me look."):
            yield chunk
        yield {"type": "tool-input-available", "toolCallId": "c1", "toolName": "get_weather", "input": call["args"]}
        yield {"type": "tool-output-available", "toolCallId": "c1", "output": done["content"]}
        messages += [response({"part_kind": "text", "content": "Let me look."}, call), request(done)]
        yield {"type": "finish-step"}
        yield {"type": "start-step"}
        text = "It is eighteen degrees in Paris, and the sky is as clear as it has been all week."
        async for chunk in words("2", text):
            yield chunk
        messages.append(response({"part_kind": "text", "content": text}))
        yield {"type": "finish-step"}


async def words(name: str, text: str) -> AsyncIterator[dict[str, Any]]:
    yield {"type": "text-start", "id": name}
    for word in text.split(" "):
        yield {"type": "text-delta", "id": name, "delta": word if text.startswith(word) else f" {word}"}
        await asyncio.sleep(PAUSE)
    yield {"type": "text-end", "id": name}


def response(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"message_type": "response", "agent_id": AGENT, "timestamp": now(), "parts": list(parts)}


def request(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"message_type": "request", "agent_id": AGENT, "timestamp": now(), "parts": list(parts)}


def event(**chunk: Any) -> str:
    return f"data: {json.dumps(chunk)}\n\n"


chats: dict[str, Chat] = {}


async def post(request: Request) -> Response:
    chat = chats.setdefault(name := request.path_params["name"], Chat(name))
    chat.ask((await request.json())["text"])
    return StreamingResponse(
        chat.answer(), media_type="text/event-stream", headers={"x-vercel-ai-ui-message-stream": "v1"}
    )


async def stop(request: Request) -> Response:
    chats[request.path_params["name"]].stopped = True
    return Response(status_code=204)


async def thread(request: Request) -> Response:
    return JSONResponse(chats[request.path_params["name"]].thread)


app = Starlette(
    routes=[
        Route("/chats/{name}", post, methods=["POST"]),
        Route("/chats/{name}", thread, methods=["GET"]),
        Route("/chats/{name}/stop", stop, methods=["POST"]),
    ]
)
