"""Targets: who plays a case."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tpharness.lazy_names import lazy_names

if TYPE_CHECKING:
    from tpharness.targets.contract import (
        Capabilities,
        ClientTarget,
        Packet,
        RunScript,
        Script,
        ServerTarget,
        Stream,
        StreamEnd,
        TargetOutput,
    )
    from tpharness.targets.peers import require_wire
    from tpharness.targets.reference import Reference
    from tpharness.targets.releases import is_tested_release
    from tpharness.targets.spec import TARGETS, resolve_client, resolve_server

__all__ = [
    "TARGETS",
    "Capabilities",
    "ClientTarget",
    "Packet",
    "Reference",
    "RunScript",
    "Script",
    "ServerTarget",
    "Stream",
    "StreamEnd",
    "TargetOutput",
    "is_tested_release",
    "require_wire",
    "resolve_client",
    "resolve_server",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "tpharness.targets.contract": (
            "Capabilities",
            "ClientTarget",
            "Packet",
            "RunScript",
            "Script",
            "ServerTarget",
            "Stream",
            "StreamEnd",
            "TargetOutput",
        ),
        "tpharness.targets.peers": ("require_wire",),
        "tpharness.targets.reference": ("Reference",),
        "tpharness.targets.releases": ("is_tested_release",),
        "tpharness.targets.spec": (
            "TARGETS",
            "resolve_client",
            "resolve_server",
        ),
    },
)
