"""Faults: pure transforms of what goes over the wire."""

from tpharness.faults.rechunk import split_deltas, split_event_deltas, split_reads

__all__ = ["split_deltas", "split_event_deltas", "split_reads"]
