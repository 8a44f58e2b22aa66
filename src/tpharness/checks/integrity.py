"""Integrity: a client gives out the content that a reference names, and nothing else (R56)."""

from __future__ import annotations

from tpharness.checks.contract import Check, Evidence, NotApplicable
from tpharness.findings import Finding, Kind, Place

__all__ = ["INTEGRITY"]

NOT_VERIFIED = Kind("content-not-verified")
REFUSED = Kind("content-refused")


def _judge(evidence: Evidence) -> list[Finding]:
    findings: list[Finding] = []
    for one in evidence.resolutions:
        if one.given == one.right:
            continue
        kind = REFUSED if one.given is None else NOT_VERIFIED
        place = Place(case=evidence.case, side="client")
        findings.append(kind.at(place, f"{kind.title}: {one.stored}", got=one.given, expected=one.right))
    return findings


_NO_REFERENCES = NotApplicable(reason="the version has no references to contents", by_version=True)


def _not_applicable(evidence: Evidence) -> NotApplicable | None:
    if not evidence.version.features.content_refs:
        return _NO_REFERENCES
    return None if evidence.resolutions else NotApplicable(reason=evidence.unresolved)


INTEGRITY = Check(
    name="integrity",
    title="a stored content is given out only if it is the one that its reference names",
    not_applicable=_not_applicable,
    judge=_judge,
)
