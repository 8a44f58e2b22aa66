"""The ledger of effects: tools of ours that an application may mount, which know exactly when they ran.

In process with `EffectLedger`, over HTTP with `EffectsEndpoint`, over MCP with `effects.mcp_server` (extra `mcp`);
`MountedLedger` is all of these for one application. `count_effects` is for an application with tools of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tpharness.lazy_names import lazy_names

if TYPE_CHECKING:
    from tpharness.apps.effects.counting import count_effects, counting_alone
    from tpharness.apps.effects.endpoint import EffectsEndpoint
    from tpharness.apps.effects.holding import CaseTools, ToolRunSeen
    from tpharness.apps.effects.ledger import (
        DEFAULT_TOOLS,
        EffectLedger,
        LedgerRun,
        LedgerRunState,
        ToolAnswer,
        ToolFailure,
        ToolSpec,
        ToolWaitError,
        reference_of,
    )
    from tpharness.apps.effects.mounting import COMMAND_VARIABLE, MCP_VARIABLE, URL_VARIABLE, MountedLedger

__all__ = [
    "COMMAND_VARIABLE",
    "DEFAULT_TOOLS",
    "MCP_VARIABLE",
    "URL_VARIABLE",
    "CaseTools",
    "EffectLedger",
    "EffectsEndpoint",
    "LedgerRun",
    "LedgerRunState",
    "MountedLedger",
    "ToolAnswer",
    "ToolFailure",
    "ToolRunSeen",
    "ToolSpec",
    "ToolWaitError",
    "count_effects",
    "counting_alone",
    "reference_of",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "tpharness.apps.effects.counting": ("count_effects", "counting_alone"),
        "tpharness.apps.effects.endpoint": ("EffectsEndpoint",),
        "tpharness.apps.effects.holding": ("CaseTools", "ToolRunSeen"),
        "tpharness.apps.effects.ledger": (
            "DEFAULT_TOOLS",
            "EffectLedger",
            "LedgerRunState",
            "ToolAnswer",
            "ToolFailure",
            "LedgerRun",
            "ToolSpec",
            "ToolWaitError",
            "reference_of",
        ),
        "tpharness.apps.effects.mounting": ("COMMAND_VARIABLE", "MCP_VARIABLE", "URL_VARIABLE", "MountedLedger"),
    },
)
