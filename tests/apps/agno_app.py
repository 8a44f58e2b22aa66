"""A server on the wire of Agno's runs (AgentOS), built right: `ChatApp` in place of an agent.

Written from recorded requests and answers of agno 3.1.10. It has one agent, `hotels`.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from aiohttp import web
from tests.apps.chat_app import ChatApp, Defect, Json, Stored, Writer

__all__ = ["AgnoApp"]


class AgnoApp(ChatApp):
    """Keeps the sessions; `sessions` has the chat of each run."""

    def __init__(self, *defects: Defect, **more: Any) -> None:
        super().__init__(*defects, **more)
        self.sessions: dict[str, Stored] = {}

    def application(self) -> web.Application:
        """Return the web application."""
        app = web.Application()
        app.router.add_get("/agents", self.list_agents)
        app.router.add_post("/agents/hotels/runs", self.post)
        app.router.add_post("/agents/hotels/runs/{run}/cancel", self.stop)
        return app

    async def list_agents(self, request: web.Request) -> web.Response:
        """Name the agents."""
        del request
        return web.json_response([{"id": "hotels", "name": "hotels"}])

    async def post(self, request: web.Request) -> web.StreamResponse:
        """Take one message of a form, and stream the run."""
        if request.content_type not in ("application/x-www-form-urlencoded", "multipart/form-data"):
            return web.json_response({"detail": "Field required"}, status=422)
        form = await request.post()
        part = {"type": "text", "text": form["message"]}
        message = {"id": str(uuid4()), "role": "user", "parts": [part]}
        chat = self.chats.setdefault(str(form["session_id"]), Stored())
        chat.turns += 1
        async with chat.busy:
            return await self._answer(chat, {"message": message, "trigger": "submit-message"}, request)

    def writer(self, chat: Stored, body: Json, response: web.StreamResponse) -> Writer:
        """Write events."""
        del body
        out = _Events(response)
        self.sessions[out.run_id] = chat
        return out

    async def stop(self, request: web.Request) -> web.Response:
        """Cancel a run; one that nobody knows is cancelled, too."""
        chat = self.sessions.get(request.match_info["run"])
        if chat is not None and chat.run is not None and not self._has(Defect.IGNORES_STOP):
            chat.pressed = True
            chat.run.cancel()
        return web.json_response({})

    async def _say_stopped(self, chat: Stored, out: Writer) -> None:
        """Say of a run that is stopped that it is cancelled, and that it is completed."""
        if chat.pressed and isinstance(out, _Events):
            if not self._has(Defect.FINISHES_STOP):
                await out.write("RunCancelled", content=out.text, reason="cancelled")
            await out.write("RunCompleted", content=out.text)


class _Events(Writer):
    """Writes the events of a run."""

    def __init__(self, response: web.StreamResponse) -> None:
        super().__init__(response)
        self.run_id, self.text = str(uuid4()), ""
        self._tools: dict[str, Json] = {}

    async def send(self, chunk: Mapping[str, Any], *, done: bool = False) -> None:
        """Write what a chunk comes to."""
        del done
        match chunk:
            case {"type": "start"}:
                await self.write("RunStarted")
            case {"type": "start-step"}:
                await self.write("ModelRequestStarted")
                await self.write("RunContent", content="")
            case {"type": "text-delta", "delta": text}:
                self.text += text
                await self.write("RunContent", content=text)
            case {"type": "tool-input-available", "toolCallId": call_id, "toolName": name, "input": args}:
                tool = {"tool_call_id": call_id, "tool_name": name, "tool_args": args, "tool_call_error": None}
                self._tools[call_id] = {**tool, "result": None}
                await self.write("ToolCallStarted", tool=self._tools[call_id])
            case {"type": "tool-output-available", "toolCallId": call_id, "output": output}:
                tool = {**self._tools[call_id], "tool_call_error": False, "result": output}
                await self.write("ToolCallCompleted", content=f"{tool['tool_name']} completed in 0.2s. ", tool=tool)
            case {"type": "tool-output-error", "toolCallId": call_id, "errorText": text}:
                tool = {**self._tools[call_id], "tool_call_error": True, "result": text}
                await self.write("ToolCallCompleted", content="", tool=tool)
            case {"type": "finish"}:
                await self.write("RunContentCompleted")
                await self.write("RunCompleted", content=self.text)
            case {"type": "error", "errorText": text}:
                await self.write("RunError", content=text, error_type="model_provider_error")

    async def write(self, name: str, **more: Any) -> None:
        """Write an event."""
        event = {"event": name, "agent_id": "hotels", "run_id": self.run_id, **more}
        with contextlib.suppress(ConnectionError, RuntimeError):
            await self._response.write(f"event: {name}\ndata: {json.dumps(event)}\n\n".encode())
