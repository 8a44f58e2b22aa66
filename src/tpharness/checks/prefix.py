"""Prefix: a client that saw less holds a prefix of the server's cycles and events, and nothing of its own (R32)."""

from __future__ import annotations

from tpharness.checks.contract import Check, Delivery, Evidence
from tpharness.checks.growth import first_missing
from tpharness.findings import Finding, Kind, Place

__all__ = ["PREFIX"]

NOT_PREFIX = Kind("prefix-broken")


def _judge(evidence: Evidence) -> list[Finding]:
    if evidence.server is None or evidence.client is None:
        return []
    missing = first_missing(evidence.client.thread, evidence.server.thread, evidence.mode)
    if missing is None:
        return []
    pointer, words = missing
    return [NOT_PREFIX.at(Place(case=evidence.case, side="client", pointer=pointer), f"on the server {words}")]


PREFIX = Check(
    name="prefix",
    title="under loss the client holds a prefix of the server's thread",
    kinds=(NOT_PREFIX,),
    applies=lambda e: e.delivery is Delivery.PART and e.server is not None and e.client is not None,
    judge=_judge,
)
