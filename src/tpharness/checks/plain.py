"""Whether the plain chunks of a server that sends carriers say what its thread holds (R39)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tpharness.checks.contract import Evidence, Side
from tpharness.findings import Finding, Kind
from tpharness.protocol.compare import same_content
from tpharness.scenario.records import Compare

__all__ = ["compare_plain"]

PLAIN_DIFFERS = Kind("plain-stream-differs")
_READER = "a client without carriers"


def compare_plain(evidence: Evidence, compare: Callable[..., list[Finding]]) -> list[Finding]:
    """Report how the thread of a client that reads no carriers differs from the server's, as `compare` finds it.

    Nothing is said where the server's thread is wrong itself, or where no plain chunk could say it.
    """
    server, plain = evidence.server, evidence.plain
    if server is None or server.truth is None or plain is None:
        return []
    read = Side(name=_READER, thread=plain.threads[evidence.version])
    if same_content(server.thread, read.thread) or not same_content(server.thread, server.truth):
        return []
    if not plain.suffices(evidence.version, server.truth):
        return []
    seen: Any = replace(evidence, mode=Compare.CONTENT, stream_change=plain.change)
    found = compare(seen, server, read, PLAIN_DIFFERS, Compare.CONTENT, right=server.name, stream=True)
    return [finding.with_place(side=server.name) for finding in found]
