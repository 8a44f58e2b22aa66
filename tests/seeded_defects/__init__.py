"""Wrong implementations on purpose. `tpharness mutate tests.seeded_defects` plays the suite on each."""

from __future__ import annotations

from tests.seeded_defects import cycles, events, interrupts, parts, streams, threads, tools

__all__ = ["DEFECTS", "ELSEWHERE", "HARMLESS"]

DEFECTS = (
    *cycles.DEFECTS,
    *parts.DEFECTS,
    *interrupts.DEFECTS,
    *events.DEFECTS,
    *streams.DEFECTS,
    *threads.DEFECTS,
    *tools.DEFECTS,
)
HARMLESS = ()
ELSEWHERE: dict[str, str] = {}
