"""What can be wrong with the order of a server's events (R36), by name."""

from __future__ import annotations

from tpharness.findings import Kind

__all__ = [
    "ARGUMENTS_DIFFER",
    "DISCARDED",
    "OUT_OF_ORDER",
    "PART_DIFFERS",
    "SECOND_RETURN",
    "UNKNOWN_CALL",
    "UNKNOWN_PART",
]

OUT_OF_ORDER = Kind("server-event-out-of-order")
UNKNOWN_PART = Kind("server-part-unknown")
UNKNOWN_CALL = Kind("server-return-without-call")
SECOND_RETURN = Kind("server-second-return")
DISCARDED = Kind("server-open-part-discarded")
PART_DIFFERS = Kind("server-part-differs")
ARGUMENTS_DIFFER = Kind("server-arguments-differ")
