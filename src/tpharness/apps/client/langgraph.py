"""The LangGraph server, with threads: a page on `useStream`, or a program on `langgraph_sdk`.

The server keeps the history: a thread is made before the first post, and each post is a run with one new message. The
stream is read by its events (`LangGraphStream`). It has no end of its own, so the run is asked for; and the state of
the thread is what a page shows that is loaded anew.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any

from tpharness.apps.client.around import AppHttp
from tpharness.apps.client.foreign import Screen, objects_in, require_new_message
from tpharness.apps.client.langgraph_stream import LangGraphStream, messages_in_state, outputs_of, words_of
from tpharness.apps.client.profile import Chat, Trigger, text_of
from tpharness.apps.client.routes import Fetched

__all__ = ["LangGraphPage"]

Json = dict[str, Any]
_OK = range(200, 300)
_RUNS_ON = ("pending", "running")
_PAUSE = 0.05  # seconds between two questions for a run that has not ended with its stream


class LangGraphPage:
    """A page that posts what `useStream` of `@langchain/langgraph-sdk` posts: a run that is left is cancelled."""

    keeps_history = False
    chat_path = "/threads/{id}/runs/stream"
    paths: Mapping[str, str] = {
        "thread": "GET /threads/{id}/state",
        "resume": "GET /threads/{id}/runs/{run_id}/stream",
        "stop": "POST /threads/{id}/runs/{run_id}/cancel",
    }
    resume_headers: Mapping[str, str] = {"last-event-id": "-1"}  # from the beginning, as `joinStream` asks for it
    resumes_with: Mapping[str, Any] = {"stream_resumable": True, "on_disconnect": "continue"}

    def __init__(self) -> None:
        self._runs: dict[str, str] = {}  # the last run of each thread, as the page keeps it beyond a reload
        self._assistant = "agent"

    def body(self, chat: Chat, trigger: Trigger) -> Mapping[str, Any]:
        """Return a run with the new message; the name of a graph in `body` of the table comes before the found one."""
        require_new_message(chat, trigger)
        return {
            "assistant_id": self._assistant,
            "input": {"messages": [{"type": "human", "content": text_of(chat.last)}]},
            "stream_mode": ["values", "messages-tuple"],
            "stream_resumable": False,
            "on_disconnect": "cancel",
        }

    def translator(self) -> LangGraphStream:
        """Read one answer."""
        return LangGraphStream()

    def address_names(self, chat: Chat) -> Mapping[str, str]:
        """Return what the addresses may name beside the chat: its last run."""
        return {"run_id": self._runs.get(chat.id, "")}

    async def begin(self, chat: Chat, http: AppHttp) -> Fetched | None:
        """Make the thread, under the server's id, and find the first graph; a page knows the name of its own."""
        made = await http.ask("POST", "/threads", {})
        thread_id = made.value.get("thread_id") if isinstance(made.value, dict) else None
        if made.status not in _OK or not isinstance(thread_id, str):
            return made
        chat.id = thread_id
        if "assistant_id" not in http.fields:
            found = await http.ask("POST", "/assistants/search", {"limit": 1})
            first = found.value[0] if isinstance(found.value, list) and found.value else {}
            self._assistant = str(first.get("graph_id") or self._assistant)
        return None

    def take_headers(self, chat: Chat, reader: LangGraphStream, headers: Mapping[str, str]) -> None:
        """Take the id of the run, as the SDK does, from where the answer says it is."""
        run_id = headers.get("content-location", "").partition("/runs/")[2].partition("/")[0]
        if run_id:
            reader.run_id = self._runs[chat.id] = run_id
        else:  # a run that was taken up
            reader.run_id = self._runs.get(chat.id, "")

    async def end(self, chat: Chat, http: AppHttp, reader: LangGraphStream) -> Iterable[Json]:
        """Ask for the run, as long as the server may take: a stopped one has a stream that ends as any other."""
        for _ in range(int(http.seconds / _PAUSE) or 1):
            run = await http.ask("GET", f"/threads/{chat.id}/runs/{reader.run_id}")
            status = str(run.value.get("status")) if isinstance(run.value, dict) else ""
            if status not in _RUNS_ON:
                break
            await asyncio.sleep(_PAUSE)
        return reader.end(status)

    def messages_of(self, value: Any) -> list[Json] | None:
        """Return the messages on a page that is loaded anew, of the state of a thread; None for anything else."""
        messages = messages_in_state(value)
        return None if messages is None else _screen(messages)


def _screen(messages: Iterable[Json]) -> list[Json]:
    screen = Screen()
    for message in messages:
        kind, text = message.get("type"), words_of(message)
        if kind == "human":
            screen.say_user(message.get("id"), text)
        elif kind == "ai":
            screen.begin_step(message.get("id"))
            if text:
                screen.say(text)
            for call in objects_in(message.get("tool_calls")):
                screen.call(call.get("id"), call.get("name"), call.get("args"))
        elif kind == "tool":
            screen.answer(message.get("tool_call_id"), outputs_of(message))
    return screen.messages
