"""What `app init` finds out by trying, of applications that keep the history in different places."""

from __future__ import annotations

import asyncio
import tomllib
from collections.abc import Sequence
from typing import Any

import pytest
from aiohttp import web
from tests.apps.adk_app import AdkApp
from tests.apps.agno_app import AgnoApp
from tests.apps.chat_app import ChatApp, Json, Stored, running
from tests.apps.langgraph_app import LangGraphApp
from tests.apps.openai_app import CompletionsApp, ResponsesApp
from tests.apps.page_app import PageApp

from tpharness.apps.config import config_of_url
from tpharness.apps.init import describe_application


class ReadsLast(ChatApp):
    """Keeps the history, and reads the last of the messages that its page posts."""

    async def _answer(self, chat: Stored, body: Json, request: web.Request) -> web.StreamResponse:
        return await super()._answer(chat, {**body, "message": body["messages"][-1]}, request)


class ReadsWholePosts(ReadsLast):
    """Refuses posts with other fields than the AI SDK's."""

    async def _answer(self, chat: Stored, body: Json, request: web.Request) -> web.StreamResponse:
        if not set(body) <= {"id", "messages", "trigger", "messageId"}:
            return web.json_response({"error": "unknown field"}, status=422)
        return await super()._answer(chat, body, request)


class Forgets(ReadsLast):
    """Reads the last message, and keeps nothing."""

    async def _answer(self, chat: Stored, body: Json, request: web.Request) -> web.StreamResponse:
        del chat
        return await super()._answer(Stored(), body, request)


class TakesChatsOnce(PageApp):
    """Refuses a post of a chat that it knows, unless the messages before are in it."""

    async def post(self, request: web.Request) -> web.StreamResponse:
        """Take the messages of a page."""
        body = await request.json()
        known = self.chats.setdefault(f"known {body['id']}", Stored())
        if known.turns and len(body["messages"]) == 1:
            return web.json_response({"error": "the chat has begun"}, status=409)
        known.turns += 1
        return await super().post(request)


class AnswersEverything(PageApp):
    """Answers any address with JSON, as a server does that sends its page for what it does not know."""

    def application(self) -> web.Application:
        """Return the web application."""

        async def anything(_: web.Request) -> web.Response:
            return web.json_response({"messages": []})

        app = web.Application()
        app.router.add_post("/api/chat", self.post)
        app.router.add_route("*", "/{path:.*}", anything)
        return app


def describe(app: ChatApp, path: str = "/api/chat", **given: Any) -> tuple[dict[str, Any], Sequence[str]]:
    """Serve an application, describe it, and return its table and the lines for people."""

    def ready(environment: dict[str, str]) -> None:
        app.base_url, app.api_key = environment["OPENAI_BASE_URL"], environment["OPENAI_API_KEY"]

    async def main() -> tuple[dict[str, Any], Sequence[str]]:
        async with running(app) as port:
            config = config_of_url(f"http://127.0.0.1:{port}{path}", **given)
            found = await asyncio.to_thread(describe_application, config, on_ready=ready)
        return tomllib.loads(found.table)["apps"][found.name], found.lines

    return asyncio.run(main())


@pytest.mark.parametrize(
    ("app", "history", "said"),
    [
        (PageApp(), "ai-sdk", "the page keeps it: posted alone, by a second page"),
        (
            ReadsLast(),
            "mastra",
            "the server keeps it: the model knew the first message when the second was posted alone",
        ),
        (ReadsWholePosts(), "ai-sdk", "the server keeps it"),
        (CompletionsApp(), "chat-completions", "the page keeps it: posted alone, by a second page"),
        (ResponsesApp(), "responses", "the page keeps it: posted alone, by a second page"),
        (ChatApp(), "last-message", "the server keeps it"),
        (Forgets(), "ai-sdk", "nobody was seen to keep it: the second turn did not know the first"),
        (
            TakesChatsOnce(),
            "ai-sdk",
            "not seen who keeps it: a second page that posted its message alone did not reach",
        ),
    ],
    ids=lambda one: type(one).__name__ if isinstance(one, ChatApp) else "",
)
def test_who_keeps_the_history_is_seen(app: ChatApp, history: str, said: str) -> None:
    """And the profile is one that posts no more than the application reads, where there is one."""
    table, lines = describe(app)
    assert table["history"] == history
    (line,) = [line for line in lines if line.startswith("history ")]
    assert line.startswith(f"history         {history}; {said}")


def test_a_history_that_is_given_is_written_whatever_is_seen() -> None:
    """What was seen is said."""
    table, lines = describe(ReadsLast(), history="assistant-ui")
    assert table["history"] == "assistant-ui"
    assert any(line.startswith("history         assistant-ui; the server keeps it") for line in lines)


def test_an_address_is_written_where_it_was_seen() -> None:
    """A view without the message is not one; what every address answers says nothing."""
    table, lines = describe(PageApp())
    assert ("thread" in table, table["stop"], "resume" in table) == (False, "POST /api/chat/{id}/stop", False)
    assert "thread          not found: GET /api/chat/{id} answered 200 without the message that was written" in lines
    table, lines = describe(AnswersEverything())
    assert not {"thread", "stop", "resume"} & set(table)
    for key in ("resume", "stop"):
        (line,) = [line for line in lines if line.startswith(f"{key} ")]
        assert line.endswith("answered 200, as an address did that no application has: nothing is known")


def test_a_server_of_langgraph_is_known_by_its_address() -> None:
    """Its posts have an address for each thread, which is written, with that of its state."""
    table, lines = describe(LangGraphApp(), "")
    assert table["history"] == "langgraph"
    assert table["url"].endswith("/threads/{id}/runs/stream")
    assert table["thread"] == "GET /threads/{id}/state"
    assert "resume" not in table
    said = "\n".join(lines)
    assert "the server keeps it" in said
    assert "with the message that was written" in said
    assert 'needs body = {stream_resumable = true, on_disconnect = "continue"} in the table' in said


def test_its_runs_can_be_taken_up_where_the_posts_ask_for_it() -> None:
    """The address of a run that has ended answers, too."""
    body = {"stream_resumable": True, "on_disconnect": "continue"}
    table, _ = describe(LangGraphApp(), "", history="langgraph", body=body)
    assert table["resume"] == "GET /threads/{id}/runs/{run_id}/stream"


def test_a_server_of_adk_is_known_by_its_address() -> None:
    """Its first application is asked; it has no address that stops a run or takes one up."""
    table, _ = describe(AdkApp(), "")
    assert table["history"] == "adk"
    assert table["url"].endswith("/run_sse")
    assert table["thread"] == "GET /apps/{app}/users/{user}/sessions/{id}"
    assert not {"resume", "stop"} & set(table)


def test_a_server_of_agno_is_known_by_its_address() -> None:
    """Its first agent is asked, and its runs can be stopped."""
    table, _ = describe(AgnoApp(), "")
    assert table["history"] == "agno"
    assert table["url"].endswith("/agents/{agent}/runs")
    assert table["stop"] == "POST /agents/{agent}/runs/{run_id}/cancel"
    assert "thread" not in table
