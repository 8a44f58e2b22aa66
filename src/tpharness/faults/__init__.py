"""Faults: pure transforms of what goes over the wire."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tpharness.lazy_names import lazy_names

if TYPE_CHECKING:
    from tpharness.faults.catalogue import FAULTS, Fault
    from tpharness.faults.places import RecordedResponse
    from tpharness.faults.rechunk import split_deltas, split_event_deltas, split_reads

__all__ = ["FAULTS", "Fault", "RecordedResponse", "split_deltas", "split_event_deltas", "split_reads"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "tpharness.faults.catalogue": (
            "FAULTS",
            "Fault",
        ),
        "tpharness.faults.places": ("RecordedResponse",),
        "tpharness.faults.rechunk": (
            "split_deltas",
            "split_event_deltas",
            "split_reads",
        ),
    },
)
