"""The application on a real loopback socket, in the test's own loop, and a caller that knows only the contract."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import aiohttp
import uvicorn

from tpharness.reference_app import ReferenceApp, Settings
from tpharness.reference_app.connection import protocol_for

__all__ = ["AGENTS", "AT", "HELLO", "TOOL_CALL", "Peer", "Serve", "run_body", "say", "serving", "user_turn"]

AT = "2025-01-20T10:00:0{}Z"
AGENTS = {"a": {"agent_id": "a", "agent_name": "A", "created_at": "2025-01-20T09:00:00Z"}}

HELLO: list[dict[str, Any]] = [
    {"event_kind": "part_start", "index": 0, "part": {"part_kind": "text", "content": "Hel"}, "at": AT.format(2)},
    {
        "event_kind": "part_delta",
        "index": 0,
        "delta": {"part_delta_kind": "text", "content_delta": "lo"},
        "at": AT.format(2),
    },
    {"event_kind": "part_end", "index": 0, "part": {"part_kind": "text", "content": "Hello"}, "at": AT.format(3)},
    {"event_kind": "model_response_end", "at": AT.format(3)},
    {"event_kind": "agent_run_result", "at": AT.format(4)},
]
"""A run that says Hello."""

TOOL_CALL: list[dict[str, Any]] = [
    {
        "event_kind": "part_start",
        "index": 0,
        "part": {"part_kind": "tool-call", "tool_name": "get", "tool_call_id": "c1", "args": {"q": 1}},
        "at": AT.format(2),
    },
    {"event_kind": "model_response_end", "at": AT.format(2)},
    {
        "event_kind": "function_tool_result",
        "part": {"part_kind": "tool-return", "tool_name": "get", "tool_call_id": "c1", "content": "sunny"},
        "at": AT.format(3),
    },
]
"""A complete cycle, after which the run goes on."""


def user_turn(text: str, second: int = 0) -> dict[str, Any]:
    """Return a user turn of the contract."""
    parts = [{"part_kind": "user-prompt", "content": text}]
    return {"turn_type": "user", "submitted_at": AT.format(second), "parts": parts}


def run_body(events: list[dict[str, Any]], *, turn: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """Return a `runRequest` that plays events; `turn` adds to the run, `more` to the request."""
    run = {"turn_type": "agent", "agent_id": "a", "started_at": AT.format(1), "events": events, **(turn or {})}
    return {"created_at": AT.format(0), "agents": AGENTS, "run": run, **more}


class Peer:
    """Somebody who calls the server. Every wait is bounded."""

    def __init__(self, session: aiohttp.ClientSession, url: str, app: ReferenceApp) -> None:
        self.session = session
        self.url = url
        self.app = app

    def post(self, path: str, body: Any, **more: Any) -> Any:
        """POST JSON; to be used as a context manager or awaited."""
        return self.session.post(f"{self.url}{path}", json=body, **more)

    def get(self, path: str, **more: Any) -> Any:
        """GET; to be used as a context manager or awaited."""
        return self.session.get(f"{self.url}{path}", **more)

    async def answer(self, method: str, path: str, body: Any = None, **more: Any) -> tuple[int, Any]:
        """Return status and decoded body, None for an empty one."""
        async with asyncio.timeout(5), self.session.request(method, f"{self.url}{path}", json=body, **more) as answer:
            data = await answer.read()
            return answer.status, json.loads(data) if data else None

    async def play(self, thread: str, body: dict[str, Any]) -> bytes:
        """Play a run to its end and return its stream."""
        async with asyncio.timeout(5), self.post(f"/threads/{thread}/runs", body) as answer:
            assert answer.status == 200, await answer.text()
            data: bytes = await answer.read()
            return data

    async def thread(self, thread: str, version: str = "0.0.4") -> Any:
        """Return a thread."""
        status, document = await self.answer("GET", f"/threads/{thread}?version={version}")
        assert status == 200, document
        return document

    async def until(self, answer: aiohttp.ClientResponse, wanted: bytes) -> bytes:
        """Read a stream until it has said something."""
        data = b""
        async with asyncio.timeout(5):
            while wanted not in data:
                piece = await answer.content.readany()
                assert piece, f"the stream ended without {wanted!r}: {data!r}"
                data += piece
        return data

    async def rest(self, answer: aiohttp.ClientResponse) -> bytes:
        """Read a stream to its end."""
        async with asyncio.timeout(5):
            data: bytes = await answer.content.read()
            return data


Serve = Callable[..., AbstractAsyncContextManager[Peer]]


async def say(peer: Peer, data: bytes) -> bytes:
    """Send bytes on a connection of its own; return what comes until the server closes it."""
    port = int(peer.url.rpartition(":")[2])
    async with asyncio.timeout(5):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            writer.write(data)
            return await reader.read()
        except ConnectionError:  # the server has closed it before it had read all
            return b""
        finally:
            writer.close()


class _Quiet(uvicorn.Server):
    """uvicorn that leaves signals alone, and goes as soon as it may: it asks itself ten times a second."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listening = asyncio.Event()
        self.leave = asyncio.Event()

    @contextlib.contextmanager
    def capture_signals(self) -> Any:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        self.listening.set()

    async def main_loop(self) -> None:
        await self.on_tick(0)
        await self.leave.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        del sockets
        for server in self.servers:
            server.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        while self.server_state.connections or self.server_state.tasks:  # noqa: ASYNC110  # it has no event
            await asyncio.sleep(0.001)


@contextlib.asynccontextmanager
async def serving(settings: Settings | None = None) -> AsyncIterator[Peer]:
    """Serve on a free port in this process; give somebody who calls it."""
    settings = settings or Settings()
    app = ReferenceApp(settings)
    protocol: Any = protocol_for(settings)
    config = uvicorn.Config(app, http=protocol, log_level="warning", lifespan="off", ws="none")
    server = _Quiet(config)
    with socket.socket(proto=socket.IPPROTO_TCP) as listening:  # asyncio sends at once where TCP is named
        listening.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        async with app.alive():
            serving = asyncio.create_task(server.serve(sockets=[listening]))
            async with asyncio.timeout(5):
                await server.listening.wait()
            try:
                async with aiohttp.ClientSession() as session:
                    yield Peer(session, url, app)
            finally:
                await app.stop()
                server.leave.set()
                async with asyncio.timeout(5):
                    await serving
