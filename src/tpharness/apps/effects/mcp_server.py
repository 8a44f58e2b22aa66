"""The tools of a ledger as an MCP server, over streamable HTTP or standard input and output. Needs the extra `mcp`.

Over HTTP the server runs on the harness's event loop and asks the ledger itself. Over stdio the application starts a
program of its own (`python -m tpharness.apps.effects URL`), which asks the ledger's endpoint: cancelled by the
application, or killed with it, its request ends, and the ledger knows.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Self

import aiohttp
import uvicorn
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp.types import CallToolRequestParams, CallToolResult, ListToolsResult, PaginatedRequestParams, TextContent, Tool

from tpharness.apps.effects.ledger import EffectLedger, ToolFailure
from tpharness.errors import TargetError, UsageError

__all__ = ["McpEndpoint", "build_server", "serve_stdio"]

_NAME = "tpharness-effects"
_HOST = "127.0.0.1"
_VIA = {"X-Tpharness-Via": "stdio"}
_START = 10.0  # seconds
Perform = Callable[[str, Any], Awaitable[Any]]


def build_server(tools: list[Mapping[str, Any]], perform: Perform) -> Server[Any]:
    """Return an MCP server with these tools (name, description, input_schema); `perform` runs one.

    A ToolFailure or UsageError becomes a result with `isError`.
    """
    offered = [Tool(name=t["name"], description=t["description"], input_schema=dict(t["input_schema"])) for t in tools]

    async def list_tools(_: ServerRequestContext[Any], __: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=offered)

    async def call_tool(_: ServerRequestContext[Any], params: CallToolRequestParams) -> CallToolResult:
        try:
            result = await perform(params.name, params.arguments or {})
        except (ToolFailure, UsageError) as failure:
            return CallToolResult(content=[TextContent(type="text", text=str(failure))], is_error=True)
        text = result if isinstance(result, str) else json.dumps(result)
        return CallToolResult(content=[TextContent(type="text", text=text)])

    return Server(_NAME, on_list_tools=list_tools, on_call_tool=call_tool)


class _UvicornServer(uvicorn.Server):
    """uvicorn that leaves signals to the harness."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class McpEndpoint:
    """The MCP server of a ledger over streamable HTTP at `url`; an async context manager, bound to 127.0.0.1 only."""

    def __init__(self, ledger: EffectLedger, *, port: int = 0) -> None:
        self._ledger = ledger
        self.port = port
        self._task: asyncio.Task[None] | None = None
        self._server: _UvicornServer | None = None

    @property
    def url(self) -> str:
        """The address of the MCP endpoint."""
        return f"http://{_HOST}:{self.port}/mcp"

    async def __aenter__(self) -> Self:
        async def perform(name: str, arguments: Any) -> Any:
            return await self._ledger.perform(name, arguments, "mcp")

        server = build_server([tool.as_json() for tool in self._ledger.tools.values()], perform)
        config = uvicorn.Config(
            server.streamable_http_app(),
            host=_HOST,
            port=self.port,
            log_config=None,
            log_level="critical",
            access_log=False,
            timeout_graceful_shutdown=0,  # runs that are open are cancelled at once
        )
        self._server = _UvicornServer(config)
        self._task = asyncio.create_task(self._server.serve())
        async with asyncio.timeout(_START):
            while not self._server.started:  # uvicorn has no event for it
                if self._task.done():
                    raise TargetError(
                        f"the MCP server cannot listen on {_HOST}:{self.port}", hint="choose another port, or 0"
                    )
                await asyncio.sleep(0.01)
        self.port = self._server.servers[0].sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        """Stop listening; runs that are open are cancelled."""
        if self._server is None or self._task is None:
            return
        self._server.should_exit = True
        await self._task


async def serve_stdio(url: str) -> None:
    """Serve the tools of the ledger whose endpoint is at `url` over standard input and output, until the input ends.

    TargetError when the endpoint does not answer.
    """
    no_limit = aiohttp.ClientTimeout(total=None, sock_connect=_START)
    async with aiohttp.ClientSession(timeout=no_limit, cookie_jar=aiohttp.DummyCookieJar()) as session:

        async def perform(name: str, arguments: Any) -> Any:
            async with session.post(f"{url}/tools/{name}", json=arguments, headers=_VIA) as answer:
                body = await answer.json()
                if answer.status != 200:
                    raise ToolFailure(body["error"])
                return body["result"]

        try:
            async with session.get(f"{url}/tools") as answer:
                tools = await answer.json()
        except aiohttp.ClientError as error:
            raise TargetError(
                f"the ledger of effects does not answer at {url}: {error}", hint="does the harness still run?"
            ) from error
        server = build_server(tools, perform)
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())
