"""Serve one POST route on 127.0.0.1:$PORT."""

import os
from collections.abc import Awaitable, Callable

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route


def listen(chat: Callable[[Request], Awaitable[Response]]) -> None:
    app = Starlette(routes=[Route("/chat", chat, methods=["POST"])])
    uvicorn.run(app, host="127.0.0.1", port=int(os.environ.get("PORT", "8000")))
