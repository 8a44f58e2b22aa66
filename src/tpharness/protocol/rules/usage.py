"""Rules of token counts: parts do not exceed their sum."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tpharness.findings import Finding, Place
from tpharness.protocol import problems as p
from tpharness.protocol.rules.index import Index, message_pointer

__all__ = ["find_bad_usage"]

_COUNTS = ("input_tokens", "output_tokens", "thinking_tokens", "total_tokens")


def find_bad_usage(index: Index) -> Iterator[Finding]:
    """R17: find totals that are less than what they add up.

    A turn may have used more than its responses say, since responses that are not kept were paid for.
    """
    used: dict[int, dict[str, int]] = {}
    for t, m, message in index.messages:
        usage = message.get("usage") if message["message_type"] == "response" else None
        if usage:
            if usage.get("total_tokens") is not None:
                yield from _total(usage, f"{message_pointer(t, m)}/usage")
            sums = used.setdefault(t, {})
            for name in _COUNTS:
                sums[name] = sums.get(name, 0) + (usage.get(name) or 0)
    for t, turn in enumerate(index.thread["turns"]):
        total = turn.get("total_usage") if turn["turn_type"] == "agent" else None
        if not total:
            continue
        pointer = f"/turns/{t}/total_usage"
        yield from _total(total, pointer)
        for name, count in used.get(t, {}).items():
            stated = total.get(name)
            if stated is not None and count > stated:
                yield p.OVER_SUM.at(Place(pointer=f"{pointer}/{name}"), got=stated, expected=f"{count} or more")


def _total(usage: Mapping[str, Any], pointer: str) -> Iterator[Finding]:
    """Find a total of one usage that is too small; thinking may be counted within the output or beside it."""
    total = usage.get("total_tokens")
    if total is None:
        return
    least = max((usage.get("input_tokens") or 0) + (usage.get("output_tokens") or 0), usage.get("thinking_tokens") or 0)
    if least > total:
        yield p.SMALL_TOTAL.at(Place(pointer=f"{pointer}/total_tokens"), got=total, expected=f"{least} or more")
