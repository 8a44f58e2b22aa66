"""Convergence: after the client has fetched the thread, both sides are identical (R32)."""

from __future__ import annotations

from tpharness.checks.contract import Check, Evidence
from tpharness.findings import Finding, Kind, Place
from tpharness.protocol.canonical import thread_hash
from tpharness.protocol.diff import diff

__all__ = ["CONVERGENCE"]

NOT_CONVERGED = Kind("not-converged")


def _judge(evidence: Evidence) -> list[Finding]:
    if evidence.server is None or evidence.adopted is None:
        return []
    if thread_hash(evidence.adopted) == thread_hash(evidence.server.thread):
        return []
    first = diff(evidence.server.thread, evidence.adopted, names=("server", "client after the fetch"), mode="exact")[:1]
    return [NOT_CONVERGED.at(Place(case=evidence.case, side="client", pointer=d.pointer), d.text) for d in first] or [
        NOT_CONVERGED.at(Place(case=evidence.case, side="client"))
    ]


CONVERGENCE = Check(
    name="convergence",
    title="after a fetch both sides are identical",
    kinds=(NOT_CONVERGED,),
    applies=lambda e: e.server is not None and e.adopted is not None,
    judge=_judge,
)
