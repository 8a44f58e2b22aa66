"""Chunking and idempotence: input that is delivered differently or repeated gives the same thread (SPEC, 5 and 6)."""

from __future__ import annotations

from dataclasses import replace

from tpharness import protocol
from tpharness.checks.contract import Evidence, Thread, Variant, equal_json
from tpharness.findings import Finding, Kind, Place
from tpharness.protocol.canonical import thread_hash

__all__ = ["compare_variants", "same_thread"]

_OF_DELTAS = (
    "append each delta as it came to the text that its id has so far, blanks and halves of characters too: "
    "where a text is cut into deltas means nothing"
)


def compare_variants(evidence: Evidence, variants: tuple[Variant, ...], kind: Kind) -> list[Finding]:
    """Report each variant whose thread differs from that of its side, with the first difference."""
    sides = {side.name: side for side in evidence.sides()}
    findings: list[Finding] = []
    for variant in variants:
        side = sides.get(variant.side)
        if side is None or same_thread(side.thread, variant.thread):
            continue
        first = protocol.diff.diff(side.thread, variant.thread, names=(side.name, variant.name), mode="exact")[:1]
        text = first[0].text if first else "the canonical bytes differ"
        pointer = first[0].pointer if first else None
        place = Place(case=evidence.case, side=side.name, pointer=pointer)
        symptom = first[0].symptom if first else ""
        if variant.split is not None:
            place = replace(place, byte=variant.split.byte, event=variant.split.event)
            text += f"; {variant.split.said}"
        advice = _OF_DELTAS if variant.name.startswith("deltas") else ""
        findings.append(kind.at(place, f"{variant.name}: {text}", symptom=symptom, advice=advice))
    return findings


def same_thread(one: Thread, other: Thread) -> bool:
    """Whether two threads are equal in canonical form."""
    return equal_json(one, other) or thread_hash(one) == thread_hash(other)
