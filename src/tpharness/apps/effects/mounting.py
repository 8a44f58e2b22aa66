"""The ledger for one application: served while its cases are played, and where the application finds it.

In: the names of the tools that may be called. Out: a ledger that listens, and the variables for the application's
environment. Over MCP it is offered only where the package `mcp` is installed.
"""

from __future__ import annotations

import shlex
import sys
from contextlib import AsyncExitStack
from importlib import import_module
from importlib.util import find_spec
from typing import Self

from tpharness.apps.effects.endpoint import EffectsEndpoint
from tpharness.apps.effects.ledger import DEFAULT_TOOLS, EffectLedger, ToolSpec

__all__ = ["COMMAND_VARIABLE", "MCP_VARIABLE", "URL_VARIABLE", "MountedLedger"]

URL_VARIABLE = "TPHARNESS_EFFECTS_URL"
MCP_VARIABLE = "TPHARNESS_EFFECTS_MCP_URL"
COMMAND_VARIABLE = "TPHARNESS_EFFECTS_COMMAND"


class MountedLedger:
    """A ledger that listens while the context is open. `port` is that of HTTP, MCP has the next one; 0 for free ones.

    `environment` has the variables by which an application finds it, empty before it listens.
    """

    def __init__(self, names: tuple[str, ...], *, port: int = 0) -> None:
        self.ledger = EffectLedger(_tools(names))
        self.environment: dict[str, str] = {}
        self._port = port
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        endpoint = await self._stack.enter_async_context(EffectsEndpoint(self.ledger, port=self._port))
        self.environment = {URL_VARIABLE: endpoint.url}
        if find_spec("mcp") is not None:
            program = [sys.executable, "-m", "tpharness.apps.effects", endpoint.url]
            served = import_module("tpharness.apps.effects.mcp_server").McpEndpoint(
                self.ledger, port=self._port and self._port + 1
            )
            mcp = await self._stack.enter_async_context(served)
            self.environment |= {MCP_VARIABLE: mcp.url, COMMAND_VARIABLE: shlex.join(program)}
        return self

    async def __aexit__(self, *_: object) -> None:
        """Stop listening; runs that are open are cancelled."""
        await self._stack.aclose()


def _tools(names: tuple[str, ...]) -> tuple[ToolSpec, ...]:
    """Return the tools that are known, and one that takes any object for each other name."""
    known = {tool.name for tool in DEFAULT_TOOLS}
    others = (
        ToolSpec(
            name=name,
            description=f"The tool {name}.",
            input_schema={"type": "object"},
            result={"done": True},
            numbered=True,
        )
        for name in names
        if name not in known
    )
    return (*DEFAULT_TOOLS, *others)
