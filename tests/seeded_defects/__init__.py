"""Wrong implementations on purpose. `tpharness mutate tests.seeded_defects` plays the suite on each."""

from __future__ import annotations

from tests.seeded_defects import cycles, events, interrupts, parts, streams, threads, tools
from tests.seeded_defects.harmless import HARMLESS

__all__ = ["DEFECTS", "ELSEWHERE", "HARMLESS"]

DEFECTS = (
    *cycles.DEFECTS,
    *parts.DEFECTS,
    *tools.DEFECTS,
    *interrupts.DEFECTS,
    *events.DEFECTS,
    *streams.DEFECTS,
    *threads.DEFECTS,
)
ELSEWHERE = {
    "canon.hash": "a hash of another kind is the same on both sides; "
    "tests/protocol/test_documents.py::test_what_counts_changes_the_hash",
}
"""MUST clauses that no change of the reference breaks before the eyes of a scenario: why, and the test that bites."""
