"""Idempotence: replaying, canonicalising again and reading back do not change the thread (SPEC, invariant 6)."""

from __future__ import annotations

from tpharness.checks.contract import Check, Evidence, without_threads
from tpharness.checks.variants import compare_variants
from tpharness.findings import Finding, Kind, Place
from tpharness.protocol.canonical import canonical_thread
from tpharness.protocol.jcs import jcs
from tpharness.protocol.parse import parse_json

__all__ = ["IDEMPOTENCE"]

REPEAT_MATTERS = Kind("repeat-matters")
UNSTABLE = Kind("canonical-unstable")


def _judge(evidence: Evidence) -> list[Finding]:
    findings = compare_variants(evidence, evidence.repeated, REPEAT_MATTERS)
    for side in (evidence.server, evidence.client):
        if side is None:
            continue
        once = jcs(canonical_thread(side.thread))
        read = parse_json(once).value
        if jcs(canonical_thread(read)) != once:
            findings.append(UNSTABLE.at(Place(case=evidence.case, side=side.name)))
    return findings


IDEMPOTENCE = Check(
    name="idempotence",
    title="repeating and re-reading do not change the thread",
    not_applicable=without_threads,
    judge=_judge,
)
