"""Validity: each side's thread keeps the schema and the rules of its version."""

from __future__ import annotations

from functools import partial

from tpharness.checks.contract import Check, Evidence, Thread, search_sides, without_threads
from tpharness.findings import Finding, Place
from tpharness.protocol.rules import check_thread
from tpharness.protocol.schema import NO_VERSION
from tpharness.protocol.versions import Version
from tpharness.readings import Readings

__all__ = ["VALIDITY"]


def _judge(evidence: Evidence) -> list[Finding]:
    """Report what is wrong with each thread.

    Findings of a ruling that the case reads differently are left out; such a case does not certify.
    """
    found = list(search_sides(evidence, partial(_check, evidence.version)))
    if not found or evidence.readings.certifies:
        return found
    usual, readings = Readings().as_json(), evidence.readings.as_json()
    otherwise = {ruling for ruling, reading in readings.items() if reading != usual[ruling]}
    return [finding for finding in found if not otherwise.intersection(finding.kind.rulings)]


def _check(version: Version, thread: Thread) -> list[Finding]:
    """Check a thread; one that says it is of another version than that asked for breaks no other rule by that."""
    said = thread.get("version")
    if said == version.value or said not in [one.value for one in Version]:
        return check_thread(thread)
    wanted = version.value
    advice = f'the thread was asked for in {wanted}: write `version`: "{wanted}", not "{said}"'
    return [NO_VERSION.at(Place(pointer="/version"), got=said, expected=wanted, advice=advice)]


VALIDITY = Check(
    name="validity",
    title="each thread keeps the schema and the rules",
    not_applicable=without_threads,
    judge=_judge,
)
