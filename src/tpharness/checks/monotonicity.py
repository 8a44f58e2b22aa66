"""Monotonicity: canonical content and links stay unchanged while the prefix of a stream grows (SPEC, invariant 4)."""

from __future__ import annotations

from itertools import pairwise

from tpharness.checks.contract import Check, Evidence, NotApplicable
from tpharness.checks.growth import find_lost_links, first_missing
from tpharness.findings import Finding, Kind, Place
from tpharness.judging_time import heed_judging_time
from tpharness.scenario.records import Compare

__all__ = ["MONOTONICITY"]

SHRANK = Kind("canonical-shrank")
SKIPPED = Kind("states-skipped")
_NOT_SAID = "store what the user said, and nothing that nobody said, such as a notice of the interruption"


def _judge(evidence: Evidence) -> list[Finding]:
    findings: list[Finding] = []
    if evidence.skipped_states:
        seen = len(evidence.trail)
        words = f"of {seen + evidence.skipped_states} states of the client's thread, {seen} were compared"
        findings.append(SKIPPED.at(Place(case=evidence.case, side="client"), words))
    for step, (before, after) in enumerate(pairwise(evidence.trail)):
        heed_judging_time()
        missing = first_missing(before, after, Compare.EXACT)
        if missing is not None:
            pointer, words = missing
            place = Place(case=evidence.case, side="client", pointer=pointer)
            advice = _NOT_SAID if "request: user-prompt" in words else ""
            findings.append(
                SHRANK.at(place, f"between states {step} and {step + 1} of the stream, {words}", advice=advice)
            )
        findings += [
            finding.with_place(case=evidence.case, side="client") for finding in find_lost_links(before, after)
        ]
    return findings


_COMPLETE_TURNS = NotApplicable(reason="the version shows complete turns only (R18)", by_version=True)
_OTHER_READING = NotApplicable(reason="the case reads a ruling otherwise, which is known to take back what was shown")
_ONE_STATE = NotApplicable(reason="the client's thread was seen in one state only")


def _not_applicable(evidence: Evidence) -> NotApplicable | None:
    if not evidence.version.features.interrupted_turns:
        return _COMPLETE_TURNS
    if not evidence.readings.certifies:
        return _OTHER_READING
    return None if len(evidence.trail) > 1 else _ONE_STATE


MONOTONICITY = Check(
    name="monotonicity",
    title="the canonical thread only grows",
    not_applicable=_not_applicable,
    judge=_judge,
)
