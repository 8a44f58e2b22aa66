"""Prefix: a client that received less holds a prefix of the server's cycles and events, and nothing else (R32)."""

from __future__ import annotations

from tpharness.checks.contract import ONE_SIDE, Check, Delivery, Evidence, NotApplicable
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


_NOTHING_LOST = NotApplicable(reason="no bytes were lost between the two sides")


def _not_applicable(evidence: Evidence) -> NotApplicable | None:
    if evidence.delivery is not Delivery.PART:
        return _NOTHING_LOST
    return ONE_SIDE if evidence.server is None or evidence.client is None else None


PREFIX = Check(
    name="prefix",
    title="under loss the client holds a prefix of the server's thread",
    not_applicable=_not_applicable,
    judge=_judge,
)
