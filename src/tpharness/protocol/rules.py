"""Rules of threads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tpharness.findings import Finding, Kind, Level, Place

__all__ = ["KINDS", "check_thread"]

ORPHAN = Kind(
    code="orphan-return",
    level=Level.MUST,
    title="a return answers no call",
    remedy="drop it with its response",
    rulings=("R23",),
)
INCOMPLETE = Kind(
    code="incomplete-cycle",
    level=Level.MUST,
    title="an interrupted turn keeps a response with an unanswered call",
    remedy="drop the response",
    rulings=("R21",),
)
KINDS: tuple[Kind, ...] = (ORPHAN, INCOMPLETE)


def check_thread(thread: Mapping[str, Any]) -> list[Finding]:
    """Check."""
    out = []
    calls: set[str] = set()
    for t, turn in enumerate(thread["turns"]):
        mine: set[str] = set()
        got: set[str] = set()
        for m in turn.get("messages", ()):
            for p in m.get("parts", ()):
                if p["part_kind"] == "tool-call":
                    mine.add(p["tool_call_id"])
                elif p["part_kind"] in ("tool-return",):
                    got.add(p["tool_call_id"])
                    if p["tool_call_id"] not in calls | mine:
                        out.append(ORPHAN.at(Place(pointer=f"/turns/{t}")))
        calls |= mine
        if turn.get("completion_status") == "interrupted" and mine - got:
            out.append(INCOMPLETE.at(Place(pointer=f"/turns/{t}")))
    return out
