"""Applications that do something else than ask their model: one handler each."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from aiohttp import web

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


async def html(_: web.Request) -> web.StreamResponse:
    """A page."""
    return web.Response(text="<!doctype html><title>Chat</title>", content_type="text/html")


async def unauthorised(_: web.Request) -> web.StreamResponse:
    """Nobody is logged in."""
    return web.json_response({"error": "log in"}, status=401)


async def redirect(_: web.Request) -> web.StreamResponse:
    """The login page is elsewhere."""
    raise web.HTTPFound("/login")


async def not_found(_: web.Request) -> web.StreamResponse:
    """The chat is at another address."""
    raise web.HTTPNotFound


async def get_only(_: web.Request) -> web.StreamResponse:
    """A page is at this address, and nothing that takes a post."""
    raise web.HTTPMethodNotAllowed("POST", ["GET"])


async def refuse(_: web.Request) -> web.StreamResponse:
    """The body is not as expected."""
    return web.json_response({"error": "message is missing"}, status=422)


async def fail(_: web.Request) -> web.StreamResponse:
    """An exception in the handler."""
    return web.json_response({"error": "OPENAI_API_KEY is not set"}, status=500)


async def hang(_: web.Request) -> web.StreamResponse:
    """Nothing comes."""
    await asyncio.Event().wait()
    raise AssertionError


async def stream_begun(request: web.Request, *chunks: dict[str, Any]) -> web.StreamResponse:
    """Stream these chunks, and leave the stream open."""
    response = web.StreamResponse(headers={"content-type": "text/event-stream"})
    await response.prepare(request)
    for chunk in chunks:
        await response.write(f"data: {json.dumps(chunk)}\n\n".encode())
    return response


async def stream(request: web.Request, *chunks: dict[str, Any], ends: bool = True) -> web.StreamResponse:
    """Stream these chunks."""
    response = await stream_begun(request, *chunks)
    while not ends:
        await asyncio.sleep(0.02)
        await response.write(b": still here\n\n")
    await response.write(b"data: [DONE]\n\n")
    return response


def text(words: str) -> tuple[dict[str, Any], ...]:
    """Return the chunks of an answer of one text."""
    return (
        {"type": "start"},
        {"type": "text-start", "id": "t"},
        {"type": "text-delta", "id": "t", "delta": words},
        {"type": "text-end", "id": "t"},
        {"type": "finish"},
    )


async def other_model(request: web.Request) -> web.StreamResponse:
    """Somebody else's model answers."""
    return await stream(request, *text("I am another model."))


async def cached(request: web.Request) -> web.StreamResponse:
    """An answer that our model gave before."""
    return await stream(request, *text("So far I have told you everything."))


async def empty(request: web.Request) -> web.StreamResponse:
    """A stream without an answer."""
    return await stream(request, {"type": "start"}, {"type": "finish"})


async def says_error(request: web.Request) -> web.StreamResponse:
    """The model could not be reached."""
    return await stream(request, {"type": "start"}, {"type": "error", "errorText": "connect ECONNREFUSED"})


async def endless_silence(request: web.Request) -> web.StreamResponse:
    """A stream of keep-alives."""
    return await stream(request, {"type": "start"}, ends=False)


async def flood(request: web.Request) -> web.StreamResponse:
    """Words without end, and nobody's model was asked."""
    response = await stream_begun(request, *text("more and more")[:3])
    while True:
        await asyncio.sleep(0.01)
        await response.write(b'data: {"type":"text-delta","id":"t","delta":"more and more "}\n\n')


@contextlib.asynccontextmanager
async def serving(handler: Handler) -> AsyncIterator[int]:
    """Serve a handler for every path on loopback, and yield the port."""
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handler)
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()
