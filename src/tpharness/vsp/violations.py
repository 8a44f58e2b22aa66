"""What can be wrong with the order of chunks (R35, R36), by name."""

from __future__ import annotations

from tpharness.findings import Kind, Level

__all__ = [
    "AFTER_ABORT",
    "AFTER_FINISH",
    "DUPLICATE_START",
    "ERROR_REPEATED",
    "KINDS",
    "LATE_PROVIDER_OUTPUT",
    "NEW_RESPONSE_IN_STEP",
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

NO_START = Kind(
    code="part-without-start",
    level=Level.MUST,
    title="a delta or an end names a part that is not open",
    remedy="send the start first, and nothing for a part after its end or after its response has finished",
    rulings=("R36",),
)
DUPLICATE_START = Kind(
    code="part-started-twice",
    level=Level.MUST,
    title="a part starts under an id that is in use",
    remedy="end the first part, or give the second its own id",
    rulings=("R36",),
)
NO_CALL = Kind(
    code="output-without-input",
    level=Level.MUST,
    title="an output, a denial or an approval names a call that is not complete or does not exist",
    remedy="send tool-input-available for the call first",
    rulings=("R36", "R23"),
)
SECOND_OUTPUT = Kind(
    code="second-output",
    level=Level.MUST,
    title="a call got a second final output; the first one stands",
    remedy="send one final output for each call; mark progress as preliminary",
    rulings=("R14",),
)
ERROR_REPEATED = Kind(
    code="input-error-repeated",
    level=Level.MAY,
    title="a call refused by tool-input-error got a tool-output-error as well, which changes nothing",
    remedy="nothing to do; version 7 sends the first one only",
    rulings=("R14",),
)
AFTER_FINISH = Kind(
    code="chunk-after-finish",
    level=Level.MUST,
    title="a chunk came after the end of the stream; it changes nothing",
    remedy="send everything before finish; only [DONE] follows it",
    rulings=("R35",),
)
AFTER_ABORT = Kind(
    code="chunk-after-abort",
    level=Level.MAY,
    title="a chunk came after abort; it changes nothing",
    remedy="send only [DONE] after abort",
    rulings=("R40", "R26"),
)
OUT_OF_ORDER = Kind(
    code="chunk-out-of-order",
    level=Level.MUST,
    title="a chunk has no place at this point of the stream",
    remedy="see the table of states in docs/STREAM.md",
    rulings=("R36",),
)
OPEN_DISCARDED = Kind(
    code="open-part-discarded",
    level=Level.SHOULD,
    title="a part was still open when its response finished and is discarded",
    remedy="send the part's end before finish-step, the first output or finish",
    rulings=("R28", "R10"),
)
NO_DONE = Kind(
    code="done-missing",
    level=Level.SHOULD,
    title="the stream ended after finish without [DONE]; the turn is complete",
    remedy="end the stream with data: [DONE]",
    rulings=("R35",),
)
SECOND_START = Kind(
    code="second-start",
    level=Level.SHOULD,
    title="start came while a turn was running; it changes nothing",
    remedy="send start once for each message",
    rulings=("R45",),
)
STEP_UNMATCHED = Kind(
    code="step-unmatched",
    level=Level.MAY,
    title="finish-step came without start-step",
    remedy="send start-step before the parts of a model call",
    rulings=("R40",),
)
RESET_TOO_LATE = Kind(
    code="reset-after-response",
    level=Level.MUST,
    title="reset-step came after its response had finished, or outside a step; it changes nothing",
    remedy="send reset-step only while its response is streaming",
    rulings=("R44",),
)
NEW_RESPONSE_IN_STEP = Kind(
    code="part-after-output",
    level=Level.MAY,
    title="a part started after an output in the same step; it begins a new response",
    remedy="nothing to do; servers that run tools early do this",
    rulings=("R40",),
)
LATE_PROVIDER_OUTPUT = Kind(
    code="provider-output-late",
    level=Level.SHOULD,
    title="the output of a call that the provider executed came outside its response; it is left out",
    remedy="send it before the response's finish-step",
    rulings=("R42",),
)
UNKNOWN_TYPE = Kind(
    code="chunk-type-unknown",
    level=Level.MAY,
    title="a chunk has a type that no version of the AI SDK knows; it is kept as an event",
    remedy="use a data-app-* chunk for the application's own events",
    rulings=("R7",),
)
KINDS = (
    NO_START,
    DUPLICATE_START,
    NO_CALL,
    SECOND_OUTPUT,
    ERROR_REPEATED,
    AFTER_FINISH,
    AFTER_ABORT,
    OUT_OF_ORDER,
    OPEN_DISCARDED,
    NO_DONE,
    SECOND_START,
    STEP_UNMATCHED,
    RESET_TOO_LATE,
    NEW_RESPONSE_IN_STEP,
    LATE_PROVIDER_OUTPUT,
    UNKNOWN_TYPE,
)
