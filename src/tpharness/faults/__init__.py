"""Faults: pure transforms of what goes over the wire."""

from tpharness.faults.catalogue import FAULTS, Fault
from tpharness.faults.places import RecordedResponse
from tpharness.faults.rechunk import split_deltas, split_event_deltas, split_reads

__all__ = ["FAULTS", "Fault", "RecordedResponse", "split_deltas", "split_event_deltas", "split_reads"]
