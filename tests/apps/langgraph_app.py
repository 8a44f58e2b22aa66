"""A server of threads and runs on the wire of the LangGraph server, built right: `ChatApp` in place of a graph.

Written from recorded requests and answers of langgraph-api 0.16.7. It has one graph, `hotels`.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from uuid import uuid4

from aiohttp import web
from tests.apps.chat_app import INTERRUPTED, ChatApp, Defect, Json, Stored, Writer

__all__ = ["LangGraphApp"]

_MODES = {"values", "messages-tuple", "messages", "updates"}


class LangGraphApp(ChatApp):
    """Keeps the threads. `runs` has the status of each run, `posted` the bodies of all runs."""

    def __init__(self, *defects: Defect, **more: Any) -> None:
        super().__init__(*defects, **more)
        self.runs: dict[str, str] = {}
        self.posted: list[Json] = []
        self.sent: dict[str, list[bytes]] = {}

    def application(self) -> web.Application:
        """Return the web application."""
        app = web.Application()
        app.router.add_post("/threads", self.make_thread)
        app.router.add_post("/assistants/search", self.search)
        app.router.add_post("/threads/{id}/runs/stream", self.post)
        app.router.add_get("/threads/{id}/runs/{run}", self.run)
        app.router.add_get("/threads/{id}/runs/{run}/stream", self.join)
        app.router.add_post("/threads/{id}/runs/{run}/cancel", self.stop)
        app.router.add_get("/threads/{id}/state", self.view)
        return app

    async def make_thread(self, request: web.Request) -> web.Response:
        """Make a thread, under an id of its own."""
        await request.json()
        thread_id = str(uuid4())
        self.chats[thread_id] = Stored()
        return web.json_response({"thread_id": thread_id, "status": "idle", "values": None})

    async def search(self, request: web.Request) -> web.Response:
        """Name the graph."""
        await request.json()
        return web.json_response([{"assistant_id": str(uuid4()), "graph_id": "hotels", "name": "hotels"}])

    async def post(self, request: web.Request) -> web.StreamResponse:
        """Take one message, and stream the run; it waits for the run before it."""
        body = await request.json()
        thread_id, chat = request.match_info["id"], self.chats.get(request.match_info["id"])
        if chat is None or body.get("assistant_id") != "hotels":
            return web.json_response({"detail": "Thread or assistant not found."}, status=404)
        (message,) = body["input"]["messages"]
        if message["type"] != "human" or not set(body["stream_mode"]) <= _MODES:
            return web.json_response({"detail": "Invalid input"}, status=422)
        self.posted.append(body)
        run_id = str(uuid4())
        self.runs[run_id] = "pending"
        where = f"/threads/{thread_id}/runs/{run_id}"
        headers = {"content-location": where, "location": f"{where}/stream", "content-type": "text/event-stream"}
        response = web.StreamResponse(headers=headers)
        await response.prepare(request)
        async with contextlib.nullcontext() if self._has(Defect.MIXES_RUNS) else chat.busy:
            chat.turns += 1
            chat.messages.append({"role": "user", "content": message["content"]})
            chat.written.set()
            chat.pressed = False
            self.runs[run_id] = "running"
            out = _Events(response, self, chat, run_id, body)
            chat.run = asyncio.create_task(self._run(chat, out, {}))
            on = body["on_disconnect"] == "continue" or self._has(Defect.RUNS_ON)
            try:
                await (asyncio.shield(chat.run) if on else chat.run)
            except asyncio.CancelledError:
                if not chat.run.cancelled() and not chat.run.cancelling():  # left, and the run goes on
                    await asyncio.wait([chat.run])
                    raise
                finished = self._has(Defect.FINISHES_STOP) and chat.pressed
                self.runs[run_id] = "success" if finished else "interrupted"
                self._end_all()
                if not chat.pressed:
                    raise
        return response

    async def stop(self, request: web.Request) -> web.Response:
        """Cancel a run that goes on."""
        chat, run_id = self.chats[request.match_info["id"]], request.match_info["run"]
        if self.runs.get(run_id) not in ("pending", "running"):
            return web.json_response({"detail": "Run not found or is not cancellable."}, status=404)
        if chat.run is not None and not self._has(Defect.IGNORES_STOP):
            chat.pressed = True
            chat.run.cancel()
        return web.json_response({})

    async def run(self, request: web.Request) -> web.Response:
        """Say how a run has ended."""
        run_id = request.match_info["run"]
        if run_id not in self.runs:
            return web.json_response({"detail": "Run not found"}, status=404)
        return web.json_response({"run_id": run_id, "status": self.runs[run_id]})

    async def join(self, request: web.Request) -> web.StreamResponse:
        """Stream a resumable run from its beginning, or what is still to come of another."""
        run_id = request.match_info["run"]
        sent = self.sent[run_id]
        index = 0 if request.headers.get("last-event-id") == "-1" and sent and sent[0] else len(sent)
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        while index < len(sent) or self.runs[run_id] in ("pending", "running"):
            if index == len(sent):
                await asyncio.sleep(0.01)
                continue
            await response.write(sent[index])
            index += 1
        return response

    async def view(self, request: web.Request) -> web.Response:
        """The state of a thread."""
        chat = self.chats[request.match_info["id"]]
        chat.viewed = True
        messages = list(in_langchain(chat.messages))
        if self._has(Defect.VIEWS_TWICE):
            messages = [one for m in messages for one in [m] * (1 + (m["type"] == "ai"))]
        return web.json_response({"values": {"messages": messages}, "next": [], "tasks": []})


class _Events(Writer):
    """Writes the events of a run in the modes that were asked for."""

    def __init__(self, response: web.StreamResponse, app: LangGraphApp, chat: Stored, run_id: str, body: Json) -> None:
        super().__init__(response)
        self._app, self._chat, self._run_id = app, chat, run_id
        self._modes: Sequence[str] = body["stream_mode"]
        self._sent = app.sent.setdefault(run_id, [])
        self._keeps = body.get("stream_resumable") is True
        self._id, self._text, self._index = "", "", -1
        self._told = len(chat.messages)

    async def send(self, chunk: Mapping[str, Any], *, done: bool = False) -> None:
        """Write what a chunk comes to."""
        del done
        match chunk:
            case {"type": "start"}:
                await self._event("metadata", {"run_id": self._run_id, "attempt": 1})
                await self._values()
            case {"type": "start-step"}:
                self._id, self._text, self._index = _id_of(len(self._chat.messages)), "", -1
            case {"type": "text-delta", "delta": text}:
                self._text += text
                await self._delta(content=text)
            case {"type": "tool-input-start", "toolCallId": call_id, "toolName": name}:
                self._index += 1
                await self._delta(tool_call_chunks=[self._piece(id=call_id, name=name, args="")])
            case {"type": "tool-input-delta", "inputTextDelta": text}:
                await self._delta(tool_call_chunks=[self._piece(id=None, name=None, args=text)])
            case {"type": "tool-output-available" | "tool-output-error"}:
                failed = chunk["type"].endswith("error")
                content = chunk["errorText"] if failed else chunk["output"]
                await self._result(chunk["toolCallId"], content, "error" if failed else "success")
            case {"type": "tool-input-available"} | {"type": "finish-step"}:
                await self._step()
            case {"type": "finish"}:
                self._app.runs[self._run_id] = "success"
                await self._step()
            case {"type": "error", "errorText": text}:
                self._app.runs[self._run_id] = "error"
                await self._event("error", {"error": "ModelError", "message": text})

    def _piece(self, **of: Any) -> Json:
        return {**of, "index": self._index, "type": "tool_call_chunk"}

    async def _delta(self, *, content: str = "", tool_call_chunks: Sequence[Json] = ()) -> None:
        whole = {"content": self._text, "type": "ai", "id": self._id, "tool_calls": []}
        known = {"id": self._id, "chunk_position": None}
        delta = {"content": content, "type": "AIMessageChunk", "tool_call_chunks": [*tool_call_chunks], **known}
        if "messages-tuple" in self._modes:
            await self._event("messages", [delta, {"langgraph_node": "model"}])
        if "messages" in self._modes:
            await self._event("messages/partial", [whole])

    async def _result(self, call_id: str, content: Any, status: str) -> None:
        message = {"type": "tool", "content": content, "tool_call_id": call_id, "status": status, "id": str(uuid4())}
        if "messages-tuple" in self._modes:
            await self._event("messages", [message, {"langgraph_node": "tools"}])
        if "messages" in self._modes:
            await self._event("messages/complete", [message])
        await self._step()

    async def _step(self) -> None:
        """Write what a node has added, and the whole thread."""
        messages = self._thread()
        if "messages" in self._modes:
            await self._event("messages/complete", [one for one in messages if one["id"] == self._id])
        if "updates" in self._modes:
            await self._event("updates", {"node": {"messages": messages[self._told :]}})
        await self._values()

    async def _values(self) -> None:
        if "values" in self._modes:
            await self._event("values", {"messages": self._thread()})

    def _thread(self) -> list[Json]:
        """Return the messages of the thread; `ChatApp` stores a word for a result that has not come yet."""
        messages = list(in_langchain(self._chat.messages))
        came = [one for one in messages[self._told :] if one["type"] != "tool" or one["content"] != INTERRUPTED]
        return [*messages[: self._told], *came]

    async def _event(self, name: str, value: Any) -> None:
        event = f"event: {name}\ndata: {json.dumps(value)}\n\n".encode()
        self._sent.append(event if self._keeps else b"")
        with contextlib.suppress(ConnectionError, RuntimeError):
            await self._response.write(event)


def _id_of(index: int) -> str:
    return f"lc_run--{index}"


def in_langchain(messages: Sequence[Json]) -> Iterator[Json]:
    """Yield messages of Chat Completions as LangChain serialises them."""
    for index, message in enumerate(messages):
        known = {"content": message["content"] or "", "id": _id_of(index)}
        if message["role"] == "user":
            yield {**known, "type": "human"}
        elif message["role"] == "tool":
            yield {**known, "type": "tool", "tool_call_id": message["tool_call_id"], "status": "success"}
        else:
            calls = [(call["id"], call["function"]) for call in message.get("tool_calls", ())]
            read = [{"id": i, "name": f["name"], "args": json.loads(f["arguments"])} for i, f in calls]
            yield {**known, "type": "ai", "tool_calls": read}
