"""A server on the wire of Google ADK's `api_server`, built right: `ChatApp` in place of an agent.

Written from recorded requests and answers of google-adk 2.13.0. It has one application, `hotels`.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from typing import Any
from uuid import uuid4

from aiohttp import web
from tests.apps.chat_app import ChatApp, Defect, Json, Stored, ToolError, Writer

__all__ = ["AdkApp"]

SESSIONS = "/apps/{app:hotels}/users/{user}/sessions"


class AdkApp(ChatApp):
    """Keeps the sessions."""

    def application(self) -> web.Application:
        """Return the web application."""
        app = web.Application()
        app.router.add_get("/list-apps", self.list_apps)
        app.router.add_post(SESSIONS, self.make_session)
        app.router.add_get(SESSIONS + "/{id}", self.view)
        app.router.add_post("/run_sse", self.post)
        return app

    async def list_apps(self, request: web.Request) -> web.Response:
        """Name the applications."""
        del request
        return web.json_response(["hotels"])

    async def make_session(self, request: web.Request) -> web.Response:
        """Make a session, under an id of its own."""
        await request.json()
        session_id = str(uuid4())
        self.chats[session_id] = Stored()
        return web.json_response({"id": session_id, "appName": "hotels", "state": {}, "events": []})

    async def post(self, request: web.Request) -> web.StreamResponse:
        """Take one message, and stream the run."""
        body = await request.json()
        if set(body) != {"appName", "userId", "sessionId", "streaming", "newMessage"} or body["appName"] != "hotels":
            return web.json_response({"detail": "Field required"}, status=422)
        chat = self.chats.get(body["sessionId"])
        if chat is None:
            return web.json_response({"detail": f"Session not found: {body['sessionId']}"}, status=404)
        ((part,), role) = (body["newMessage"]["parts"], body["newMessage"]["role"])
        message = {"id": str(uuid4()), "role": role, "parts": [{"type": "text", "text": part["text"]}]}
        chat.turns += 1
        async with chat.busy:
            return await self._answer(chat, {"message": message, "trigger": "submit-message"}, request)

    async def _tool(self, call: Json, answer: Json) -> str:
        """Run the tool; its response is an object, and told as one."""
        try:
            result = await super()._tool(call, answer)
        except ToolError as error:
            answer["content"] = json.dumps({"error": str(error)})
            raise
        answer["content"] = json.dumps({"result": answer["content"]})
        return result

    def writer(self, chat: Stored, body: Json, response: web.StreamResponse) -> Writer:
        """Write events."""
        del body
        return _Events(response, chat)

    async def view(self, request: web.Request) -> web.Response:
        """The session with its events."""
        chat = self.chats[request.match_info["id"]]
        events = list(in_events(chat.messages))
        if self._has(Defect.VIEWS_TWICE):
            events = [one for event in events for one in [event] * (1 + (event["author"] != "user"))]
        return web.json_response({"id": request.match_info["id"], "appName": "hotels", "events": events})


class _Events(Writer):
    """Writes the events of a run: deltas, then each answer as a whole."""

    def __init__(self, response: web.StreamResponse, chat: Stored) -> None:
        super().__init__(response)
        self._chat = chat
        turn = len([message for message in chat.messages if message["role"] == "user"])
        self._run = {"invocationId": _run_of(turn), "author": "hotels"}
        self._id, self._text, self._is_whole = "", "", False

    async def send(self, chunk: Mapping[str, Any], *, done: bool = False) -> None:
        """Write what a chunk comes to."""
        del done
        match chunk:
            case {"type": "start-step"}:
                self._id, self._text, self._is_whole = str(uuid4()), "", False
            case {"type": "text-delta", "delta": text}:
                self._text += text
                await self._event([{"text": text}], partial=True, id=self._id)
            case {"type": "tool-input-start", "toolCallId": call_id, "toolName": name}:
                call = {"id": call_id, "name": name, "willContinue": True}
                await self._event([{"functionCall": call}], partial=True, id=self._id)
            case {"type": "tool-input-available"} | {"type": "finish-step"} | {"type": "finish"}:
                await self._whole()
            case {"type": "tool-output-available", "toolCallId": call_id, "output": output}:
                await self._result(call_id, {"result": output})
            case {"type": "tool-output-error", "toolCallId": call_id, "errorText": text}:
                await self._result(call_id, {"error": text})
            case {"type": "error", "errorText": text}:
                self._is_whole = True
                await self._write({"errorCode": "ModelError", "errorMessage": text, **self._run, "id": str(uuid4())})
                await self._write({"error": f"ModelError: {text}", "error_details": {"error_type": "ModelError"}})

    async def _whole(self) -> None:
        """Write the answer as a whole, once."""
        if self._is_whole:
            return
        self._is_whole = True
        stored = next((m for m in reversed(self._chat.messages) if m["role"] == "assistant"), {})
        mine = stored if stored.get("content", "") == self._text else {}
        parts = _parts_of({"content": self._text, "tool_calls": mine.get("tool_calls", ())})
        await self._event(parts, partial=False, finishReason="STOP", id=self._id)

    async def _result(self, call_id: str, response: Json) -> None:
        part = {"functionResponse": {"id": call_id, "name": "book_hotel", "response": response}}
        await self._event([part], "user", id=str(uuid4()))

    async def _event(self, parts: list[Json], role: str = "model", **more: Any) -> None:
        await self._write({"content": {"parts": parts, "role": role}, **self._run, **more})

    async def _write(self, event: Json) -> None:
        with contextlib.suppress(ConnectionError, RuntimeError):
            await self._response.write(f"data: {json.dumps(event)}\n\n".encode())


def _run_of(number: int) -> str:
    return f"e-{number}"


def _parts_of(message: Json) -> list[Json]:
    calls = [(call["id"], call["function"]) for call in message.get("tool_calls", ())]
    texts: list[Json] = [{"text": message["content"]}] if message["content"] else []
    read = [{"id": i, "name": f["name"], "args": json.loads(f["arguments"])} for i, f in calls]
    return [*texts, *({"functionCall": call} for call in read)]


def in_events(messages: list[Json]) -> Iterator[Json]:
    """Yield messages of Chat Completions as the events of a session; a word for a result that has not come is none."""
    number = 0
    for message in messages:
        if message["role"] == "user":
            number += 1
            content = {"parts": [{"text": message["content"]}], "role": "user"}
            yield {"author": "user", "invocationId": _run_of(number), "id": f"u{number}", "content": content}
        elif message["role"] == "tool":
            said = message["content"]
            response = json.loads(said) if said.startswith("{") else {"error": said}
            part = {"functionResponse": {"id": message["tool_call_id"], "name": "book_hotel", "response": response}}
            yield {"author": "hotels", "invocationId": _run_of(number), "content": {"parts": [part], "role": "user"}}
        else:
            content = {"parts": _parts_of(message), "role": "model"}
            yield {"author": "hotels", "invocationId": _run_of(number), "content": content}
