"""The chat application of the tests, which writes its chats as ThreadProtocol, too: rightly, or wrongly in one way.

It keeps them with the reference's recorder of server events, which shares no code with the client's fold.
`python -m tests.apps.thread_app PORT [trims]` runs it alone, with wrong threads if asked.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, cast

from aiohttp import web
from tests.apps.chat_app import ChatApp, Json, Stored, Writer, running

from tpharness.dialects import DIALECTS, ThreadHeader
from tpharness.journal import UserTurn, needs_partial
from tpharness.protocol.versions import Version, newest_version
from tpharness.readings import Readings
from tpharness.server_events import Recorder, RunState

AGENT = "5a0b5c1e-6a53-4c1c-9b3c-0c8f2d6b7e11"
"""The agent of every thread."""
Spoil = Callable[[Json], Any]


class ThreadApp(ChatApp):
    """The application. `spoil` changes each document before it is answered, in place or to another value.

    `readings` are those that the thread is written with; `wrap` is the field that it is answered under, "" for none.
    """

    def __init__(
        self,
        *,
        version: Version = newest_version(),  # noqa: B008  # a constant
        readings: Readings = Readings(),  # noqa: B008  # a constant
        spoil: Spoil | None = None,
        wrap: str = "",
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self._version, self._readings, self._spoil, self._wrap = version, readings, spoil, wrap
        self._recorders: dict[int, Recorder] = {}
        self._created: dict[int, str] = {}

    def writer(self, chat: Stored, body: Json, response: web.StreamResponse) -> Writer:
        """Begin a turn, and record every chunk that is sent."""
        recorder = self._recorders.setdefault(id(chat), Recorder())
        self._created.setdefault(id(chat), _now())
        if body["message"]["role"] == "user":
            text = "".join(p["text"] for p in body["message"]["parts"])
            recorder.add_user_turn(UserTurn(at=_now(), parts=({"part_kind": "user-prompt", "content": text},)))
        recorder.begin(AGENT, _now())
        return RecordingWriter(response, recorder)

    def _interrupted(self, chat: Stored, begun: int, step: int) -> None:
        super()._interrupted(chat, begun, step)
        task = asyncio.current_task()
        if task is not None and task.cancelling():  # else the model has failed, and an error chunk comes
            self._recorders[id(chat)].interrupt("user_cancelled", _now())

    async def view(self, request: web.Request) -> web.Response:
        """The thread."""
        chat = self.chats.get(request.match_info["id"])
        if chat is None:
            raise web.HTTPNotFound
        created = self._created[id(chat)]
        agent = {"agent_id": AGENT, "agent_name": "Assistant", "created_at": created}
        header = ThreadHeader(thread_id=request.match_info["id"], created_at=created, agents={AGENT: agent})
        journal = self._recorders[id(chat)].journal(partial=needs_partial(self._readings))
        thread = cast("Json", DIALECTS[self._version].renderer(header, self._readings).render(journal))
        answer = thread if self._spoil is None else self._spoil(thread)
        return web.json_response({self._wrap: answer, "title": "Hotels"} if self._wrap else answer)


class RecordingWriter(Writer):
    """Gives each chunk to the recorder, as the event of the server that it reports, before it is sent."""

    def __init__(self, response: web.StreamResponse, recorder: Recorder) -> None:
        super().__init__(response)
        self._recorder = recorder
        self._parts: dict[str, tuple[int, Json]] = {}

    async def send(self, chunk: Mapping[str, Any], *, done: bool = False) -> None:
        """Record, then send."""
        for event in self._events(chunk):
            self._recorder.feed({**event, "at": _now()})
        if chunk["type"] == "error":
            self._recorder.interrupt("error", _now())
        await super().send(chunk, done=done)

    def _events(self, chunk: Mapping[str, Any]) -> list[Json]:
        match chunk["type"]:
            case "start-step":
                self._parts = {}
                return [{"event_kind": "model_request"}]
            case "text-start":
                return [self._begin(chunk["id"], {"part_kind": "text", "content": ""})]
            case "text-delta":
                return [self._more(chunk["id"], {"part_delta_kind": "text", "content_delta": chunk["delta"]})]
            case "text-end":
                return [self._end(chunk["id"])]
            case "tool-input-start":
                call = {"tool_name": chunk["toolName"], "tool_call_id": chunk["toolCallId"]}
                return [self._begin(chunk["toolCallId"], {"part_kind": "tool-call", **call})]
            case "tool-input-delta":
                delta = {"part_delta_kind": "tool_call", "args_delta": chunk["inputTextDelta"]}
                return [self._more(chunk["toolCallId"], delta)]
            case "tool-input-available":
                return [self._end(chunk["toolCallId"])]
            case "tool-output-available":
                part = {"tool_call_id": chunk["toolCallId"], "content": chunk["output"], "outcome": "success"}
                return [*self._response_end(), {"event_kind": "function_tool_result", "part": part}]
            case "tool-input-error":
                part = {"tool_call_id": chunk["toolCallId"], "content": chunk["errorText"], "outcome": "retried"}
                end = self._end(chunk["toolCallId"])
                return [end, *self._response_end(), {"event_kind": "function_tool_result", "part": part}]
            case "tool-output-denied":
                part = {"tool_call_id": chunk["toolCallId"], "content": "denied", "outcome": "denied"}
                return [{"event_kind": "function_tool_result", "part": part}]
            case "finish-step":
                return self._response_end()
            case "finish":
                return [{"event_kind": "agent_run_result", "finish_reason": "stop"}]
            case "error":
                return [{"event_kind": "error", "error_text": chunk["errorText"]}]
        return []

    def _response_end(self) -> list[Json]:
        return [{"event_kind": "model_response_end"}] if self._recorder.state is RunState.RESPONDING else []

    def _begin(self, key: str, part: Json) -> Json:
        index = len(self._parts)
        self._parts[key] = (index, part)
        return {"event_kind": "part_start", "index": index, "part": part}

    def _more(self, key: str, delta: Json) -> Json:
        return {"event_kind": "part_delta", "index": self._parts[key][0], "delta": delta}

    def _end(self, key: str) -> Json:
        index, part = self._parts[key]
        return {"event_kind": "part_end", "index": index, "part": {k: v for k, v in part.items() if k != "content"}}


def trims_returns(thread: Json) -> Json:
    """A result of a tool is stored otherwise than it was streamed."""
    for turn in thread["turns"]:
        for part in (part for message in turn.get("messages", ()) for part in message.get("parts", ())):
            if part["part_kind"] == "tool-return":
                part["content"] = part["content"][:10]
    return thread


async def _serve(port: int, *, trims: bool) -> None:
    async with running(ThreadApp(spoil=trims_returns if trims else None), port):
        await asyncio.Event().wait()


def _now() -> str:
    return datetime.now(UTC).isoformat().replace("+00:00", "Z")


if __name__ == "__main__":
    asyncio.run(_serve(int(sys.argv[1]), trims="trims" in sys.argv[2:]))
