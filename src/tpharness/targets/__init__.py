"""Targets: who plays a case."""

from tpharness.targets.contract import (
    Capabilities,
    ClientTarget,
    Observed,
    Packet,
    RunScript,
    Script,
    ServerTarget,
    Stream,
    TargetOutput,
)
from tpharness.targets.reference import Reference
from tpharness.targets.spec import TARGETS, resolve_client, resolve_server

__all__ = [
    "TARGETS",
    "Capabilities",
    "ClientTarget",
    "Observed",
    "Packet",
    "Reference",
    "RunScript",
    "Script",
    "ServerTarget",
    "Stream",
    "TargetOutput",
    "resolve_client",
    "resolve_server",
]
