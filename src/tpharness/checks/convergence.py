"""Convergence: after the client has fetched the thread, both sides are identical (R32)."""

from __future__ import annotations

from tpharness import protocol
from tpharness.checks.contract import Check, Evidence, NotApplicable
from tpharness.checks.growth import find_lost_links
from tpharness.findings import Finding, Kind, Place
from tpharness.protocol.canonical import thread_hash

__all__ = ["CONVERGENCE"]

NOT_CONVERGED = Kind("not-converged")


def _judge(evidence: Evidence) -> list[Finding]:
    if evidence.server is None or evidence.adopted is None:
        return []
    if thread_hash(evidence.adopted) == thread_hash(evidence.server.thread):
        lost = find_lost_links(evidence.server.thread, evidence.adopted)
        return [finding.with_place(case=evidence.case, side="client") for finding in lost]
    first = protocol.diff.diff(
        evidence.server.thread, evidence.adopted, names=("server", "client after the fetch"), mode="exact"
    )[:1]
    return [
        NOT_CONVERGED.at(Place(case=evidence.case, side="client", pointer=d.pointer), d.text, symptom=d.symptom)
        for d in first
    ] or [NOT_CONVERGED.at(Place(case=evidence.case, side="client"))]


_NOT_FETCHED = NotApplicable(reason="the client did not fetch the server's thread after a loss")

CONVERGENCE = Check(
    name="convergence",
    title="after a fetch both sides are identical",
    not_applicable=lambda e: _NOT_FETCHED if e.server is None or e.adopted is None else None,
    judge=_judge,
)
