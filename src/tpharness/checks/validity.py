"""Validity: each side's thread keeps the schema and the rules of its version."""

from __future__ import annotations

from tpharness.checks.contract import Check, Evidence, search_sides, without_threads
from tpharness.findings import Finding
from tpharness.protocol.rules import check_thread
from tpharness.readings import Readings

__all__ = ["VALIDITY"]


def _judge(evidence: Evidence) -> list[Finding]:
    """Report what is wrong with each thread.

    Findings of a ruling that the case reads differently are left out; such a case does not certify.
    """
    found = list(search_sides(evidence, check_thread))
    if not found or evidence.readings.certifies:
        return found
    usual, readings = Readings().as_json(), evidence.readings.as_json()
    otherwise = {ruling for ruling, reading in readings.items() if reading != usual[ruling]}
    return [finding for finding in found if not otherwise.intersection(finding.kind.rulings)]


VALIDITY = Check(
    name="validity",
    title="each thread keeps the schema and the rules",
    not_applicable=without_threads,
    judge=_judge,
)
