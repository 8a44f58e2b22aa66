"""Idempotence: replaying, canonicalising again and reading back do not change the thread (SPEC, invariant 6)."""

from __future__ import annotations

from typing import Any

import orjson

from tpharness.checks.contract import Check, Evidence, Thread, search_sides, without_threads
from tpharness.checks.variants import compare_variants
from tpharness.findings import Finding, Kind, Place
from tpharness.protocol.canonical import canonical_thread
from tpharness.protocol.jcs import jcs
from tpharness.protocol.parse import parse_json

__all__ = ["IDEMPOTENCE"]

REPEAT_MATTERS = Kind("repeat-matters")
UNSTABLE = Kind("canonical-unstable")


def _judge(evidence: Evidence) -> list[Finding]:
    return [*compare_variants(evidence, evidence.repeated, REPEAT_MATTERS), *search_sides(evidence, _find_instability)]


def _find_instability(thread: Thread) -> list[Finding]:
    once = jcs(canonical_thread(thread))
    read = parse_json(once)
    again = canonical_thread(read.value)
    if not read.findings and _writes(again, once):
        return []
    return [] if jcs(again) == once else [UNSTABLE.at(Place())]


def _writes(value: Any, canonical: bytes) -> bool:
    """Whether a value surely has these canonical bytes, which are sound JSON: native code writes the very same."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS) == canonical
    except TypeError:  # nested more deeply than native code goes
        return False


IDEMPOTENCE = Check(
    name="idempotence",
    title="repeating and re-reading do not change the thread",
    not_applicable=without_threads,
    judge=_judge,
)
