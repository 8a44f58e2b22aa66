"""What can be wrong with the order of chunks (R35, R36), by name."""

from __future__ import annotations

from tpharness.findings import Kind

__all__ = [
    "AFTER_ABORT",
    "AFTER_FINISH",
    "APPROVAL_REUSED",
    "DUPLICATE_START",
    "ERROR_REPEATED",
    "FINISH_CONTRADICTS",
    "FINISH_UNKNOWN",
    "FRAMED_BY_NAME",
    "INPUT_DIFFERS",
    "INPUT_IN_TEXT",
    "NEW_RESPONSE_IN_STEP",
    "NOTHING_KNOWN",
    "NO_CALL",
    "NO_DONE",
    "NO_START",
    "OPEN_DISCARDED",
    "OUT_OF_ORDER",
    "RESET_TOO_LATE",
    "SECOND_OUTPUT",
    "SECOND_START",
    "STEP_UNMATCHED",
    "UNKNOWN_TYPE",
]

NO_START = Kind("part-without-start")
DUPLICATE_START = Kind("part-started-twice")
NO_CALL = Kind("output-without-input")
SECOND_OUTPUT = Kind("second-output")
ERROR_REPEATED = Kind("input-error-repeated")
AFTER_FINISH = Kind("chunk-after-finish")
AFTER_ABORT = Kind("chunk-after-abort")
OUT_OF_ORDER = Kind("chunk-out-of-order")
OPEN_DISCARDED = Kind("open-part-discarded")
APPROVAL_REUSED = Kind("approval-id-reused")
INPUT_DIFFERS = Kind("input-not-as-streamed")
INPUT_IN_TEXT = Kind("input-in-text")
NO_DONE = Kind("done-missing")
SECOND_START = Kind("second-start")
STEP_UNMATCHED = Kind("step-unmatched")
RESET_TOO_LATE = Kind("reset-after-response")
NEW_RESPONSE_IN_STEP = Kind("part-after-output")
FRAMED_BY_NAME = Kind("custom-event-framed-by-name")
UNKNOWN_TYPE = Kind("chunk-type-unknown")
NOTHING_KNOWN = Kind("stream-of-unknown-chunks")
FINISH_UNKNOWN = Kind("stream-finish-unknown")
FINISH_CONTRADICTS = Kind("stream-finish-contradicts")
