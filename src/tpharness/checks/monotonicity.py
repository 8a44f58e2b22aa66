"""Monotonicity: over growing prefixes of one stream nothing canonical changes or goes away (SPEC, invariant 4)."""

from __future__ import annotations

from itertools import pairwise

from tpharness.checks.contract import Check, Evidence
from tpharness.checks.growth import first_missing
from tpharness.findings import Finding, Kind, Place
from tpharness.readings import Readings
from tpharness.scenario.records import Compare

__all__ = ["MONOTONICITY"]

SHRANK = Kind("canonical-shrank")


def _judge(evidence: Evidence) -> list[Finding]:
    findings: list[Finding] = []
    for step, (before, after) in enumerate(pairwise(evidence.trail)):
        missing = first_missing(before, after, Compare.EXACT)
        if missing is not None:
            pointer, words = missing
            place = Place(case=evidence.case, side="client", pointer=pointer)
            findings.append(SHRANK.at(place, f"between states {step} and {step + 1} of the stream, {words}"))
    return findings


def _applies(evidence: Evidence) -> bool:
    """R18: only with interrupted turns is a turn shown before its end. Other readings of R20 are known to shrink."""
    shown = evidence.version.features.interrupted_turns
    return len(evidence.trail) > 1 and shown and evidence.readings == Readings()


MONOTONICITY = Check(
    name="monotonicity", title="the canonical thread only grows", kinds=(SHRANK,), applies=_applies, judge=_judge
)
