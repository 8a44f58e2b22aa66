"""Targets: who plays a case."""

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
from tpharness.targets.reference import Reference
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
    "resolve_client",
    "resolve_server",
]
