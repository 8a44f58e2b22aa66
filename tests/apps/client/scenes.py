"""Scenes between a user, a chat client and an application: each is played by the real client, and by ours beside it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import aiohttp
from aiohttp import web
from tests.apps.odd_apps import serving

from tpharness.apps.client import Addresses, ChatClient, Client, End, Limits, Profile, RealClients, Reply, Route
from tpharness.apps.client.profiles import find_profile

Chunk = dict[str, Any]
Answer = list[Chunk | str]
"""Chunks, and in between: `hold` (until the client leaves), `pause` (until the test goes on), `break`, a status."""

STEP: Answer = [{"type": "start-step"}]
END: Answer = [{"type": "finish-step"}, {"type": "finish", "finishReason": "stop"}]


def begins(message_id: str | None = None) -> Answer:
    """Return the beginning of an answer, which may name its message."""
    named = {} if message_id is None else {"messageId": message_id}
    return [{"type": "start", **named}, *STEP]


def says(words: str, text_id: str = "t", *, ends: bool = True, kind: str = "text", **more: Any) -> Answer:
    """Return a text, or a reasoning, whole or up to where it is cut."""
    head: Answer = [{"type": f"{kind}-start", "id": text_id}, {"type": f"{kind}-delta", "id": text_id, "delta": words}]
    return [*head, *([{"type": f"{kind}-end", "id": text_id, **more}] if ends else [])]


def calls(call_id: str = "c", *, until: str = "", name: str = "book", **more: Any) -> Answer:
    """Return a call with arguments in pieces, its input, and its output; `until` says after which of them it is cut."""
    pieces: Answer = [
        {"type": "tool-input-start", "toolCallId": call_id, "toolName": name, **more},
        {"type": "tool-input-delta", "toolCallId": call_id, "inputTextDelta": '{"city":"Pa'},
        {"type": "tool-input-delta", "toolCallId": call_id, "inputTextDelta": 'ris","n":2}'},
        {"type": "tool-input-available", "toolCallId": call_id, "toolName": name, "input": {"city": "Paris", "n": 2}}
        | {key: value for key, value in more.items() if key == "dynamic"},
        {"type": "tool-output-available", "toolCallId": call_id, "output": {"booked": True}},
    ]
    count = {"start": 1, "arguments": 2, "input": 4, "": 5}[until]
    return pieces[:count]


@dataclass(slots=True)
class Application:
    """Answers the nth request with the nth answer. `posted` are the bodies of the posts, in order."""

    answers: list[Answer]
    posted: list[Any] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    go_on: asyncio.Event = field(default_factory=asyncio.Event)
    asked: asyncio.Event = field(default_factory=asyncio.Event)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Take a request."""
        self.paths.append(f"{request.method} {request.path}")
        if request.method == "POST":
            self.posted.append(await request.json())
        answer = self.answers[len(self.paths) - 1]
        if answer and isinstance(answer[0], str) and answer[0].isdigit():
            return web.Response(status=int(answer[0]), text=None if answer[0] == "204" else "out of order")
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        self.asked.set()
        for one in answer:
            await self._send(request, response, one)
        await response.write(b"data: [DONE]\n\n")
        return response

    async def _send(self, request: web.Request, response: web.StreamResponse, one: Chunk | str) -> None:
        if not isinstance(one, str):
            await response.write(f"data: {json.dumps(one)}\n\n".encode())
        elif one == "pause":
            await self.go_on.wait()
        elif one == "break":
            assert request.transport is not None
            await asyncio.sleep(0)
            request.transport.abort()
            raise asyncio.CancelledError
        else:
            await asyncio.Event().wait()


Script = Callable[[Client, Application], Awaitable[None]]


async def write(client: Client, *texts: str) -> None:
    """Write messages, each when the answer to the one before it has ended."""
    for words in texts:
        await ended(client.submit(words))
        await client.screen()


async def ended(reply: Reply | None) -> None:
    """Wait for the end of an answer."""
    assert reply is not None
    assert await reply.ended(30), "the answer did not end"


async def leave_after(client: Client, app: Application, words: str, chunks: int) -> None:
    """Write, and leave when so many chunks have come."""
    reply = client.submit(words)
    await app.asked.wait()
    assert await reply.until(lambda seen: len(seen.chunks) >= chunks, 30), reply.problem
    await reply.leave()
    assert reply.end is End.LEFT
    await client.screen()


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """What came of a scene: the bodies and paths that the application was asked for, the screen, told differences."""

    posted: list[Any]
    paths: list[str]
    screen: list[dict[str, Any]]
    differences: list[str]
    ends: list[End]


@asynccontextmanager
async def clients_of(kind: str | None, profile: Profile | None = None) -> AsyncIterator[Callable[..., Client]]:
    """Yield what makes clients: real ones of a kind, or our own for None."""
    used = profile or find_profile("client")
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(force_close=True)) as session:
        if kind is None:
            yield lambda addresses, **more: ChatClient(session, addresses, used, **more)
        else:
            async with RealClients(kind, used) as real:
                yield lambda addresses, **more: real.client(session, addresses, **more)


async def play(
    make: Callable[..., Client],
    answers: list[Answer],
    script: Script,
    *,
    held: list[dict[str, Any]] | None = None,
    extra: Mapping[str, Any] | None = None,
) -> Played:
    """Play one scene with a new client; `held` are the messages that its page has when it is opened."""
    app = Application(answers)
    async with serving(app.handle) as port:
        base = f"http://127.0.0.1:{port}"
        resume = Route(method="GET", url=f"{base}/chat/{{id}}/stream")
        client = make(
            Addresses(chat=f"{base}/chat", resume=resume), chat_id="chat-1", limits=Limits(answer=60), extra=extra
        )
        client.chat.messages = json.loads(json.dumps(held or []))
        try:
            await script(client, app)
            screen = await client.screen()
        finally:
            await client.close()
    return Played(
        posted=app.posted,
        paths=app.paths,
        screen=screen,
        differences=list(client.differences),
        ends=[reply.end for reply in client.replies],
    )


def with_named_ids(value: Any, names: dict[str, str] | None = None) -> Any:
    """Return JSON values in which the ids of messages are counted in the order in which they appear."""
    names = {} if names is None else names
    if isinstance(value, list):
        return [with_named_ids(item, names) for item in value]
    if not isinstance(value, dict):
        return value
    is_message = "role" in value
    return {
        key: names.setdefault(item, f"message {len(names) + 1}")
        if (key == "id" and is_message) or key == "messageId"
        else with_named_ids(item, names)
        for key, item in value.items()
    }
