"""Whether each side holds the same thread where the same case was played over another wire (R39)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tpharness.checks.contract import Evidence, Side
from tpharness.findings import Finding, Kind
from tpharness.scenario.records import Compare

__all__ = ["compare_wires"]

WIRE_MATTERS = Kind("wire-matters")


def compare_wires(
    evidence: Evidence, compare: Callable[[Evidence, Side, Side, Kind, Compare], list[Finding]]
) -> list[Finding]:
    """Report how a side's thread differs from its thread over another wire, as `compare` finds it."""
    sides = {side.name: side for side in evidence.sides()}
    findings: list[Finding] = []
    for variant in evidence.over_wires:
        if (side := sides.get(variant.side)) is not None:
            here, there = replace(side, name=evidence.wire), Side(name=variant.name, thread=variant.thread)
            found = compare(evidence, here, there, WIRE_MATTERS, evidence.mode)
            findings += [finding.with_place(side=side.name) for finding in found]
    return findings
