"""Targets: who plays a case."""

from tpharness.targets.contract import (
    Capabilities,
    ClientTarget,
    Observed,
    Outcome,
    Packet,
    RunScript,
    Script,
    ServerTarget,
    Stream,
)
from tpharness.targets.reference import Reference
from tpharness.targets.spec import TARGETS, resolve_client, resolve_server

__all__ = [
    "TARGETS",
    "Capabilities",
    "ClientTarget",
    "Observed",
    "Outcome",
    "Packet",
    "Reference",
    "RunScript",
    "Script",
    "ServerTarget",
    "Stream",
    "resolve_client",
    "resolve_server",
]
