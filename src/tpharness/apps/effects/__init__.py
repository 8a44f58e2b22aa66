"""The ledger of effects: tools of ours that an application may mount, which know exactly when they ran.

In process with `Ledger`, over HTTP with `EffectsEndpoint`, over MCP with `effects.mcp_server` (extra `mcp`).
"""

from tpharness.apps.effects.endpoint import EffectsEndpoint
from tpharness.apps.effects.ledger import (
    DEFAULT_TOOLS,
    Ledger,
    RunState,
    ToolFailure,
    ToolRun,
    ToolSpec,
    ToolWaitError,
)

__all__ = [
    "DEFAULT_TOOLS",
    "URL_VARIABLE",
    "EffectsEndpoint",
    "Ledger",
    "RunState",
    "ToolFailure",
    "ToolRun",
    "ToolSpec",
    "ToolWaitError",
]

URL_VARIABLE = "TPHARNESS_EFFECTS_URL"
