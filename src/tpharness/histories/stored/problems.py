"""What can be wrong with stored messages of any format, by name."""

from __future__ import annotations

from tpharness.findings import Kind
from tpharness.protocol import problems as of_threads

MALFORMED = Kind("stored-malformed")
UNKNOWN_PART = Kind("stored-part-unknown")
UNKNOWN_STATE = Kind("stored-state-unknown")
STREAMING = Kind("stored-still-streaming")
MESSAGE_TWICE = Kind("stored-message-doubled")
CALL_TWICE = Kind("stored-call-doubled")
ANSWER_TWICE = Kind("stored-answer-doubled")
ORPHAN = Kind("stored-answer-without-call")
MISPLACED = Kind("stored-answer-misplaced")
UNORDERED = Kind("stored-answers-unordered")
UNANSWERED = Kind("stored-call-unanswered")
HALF_ARGUMENTS = Kind("stored-arguments-half")
TEXT_ARGUMENTS = Kind("stored-arguments-in-text")
EMPTY = Kind("stored-message-empty")
OUT_OF_ORDER = Kind("stored-out-of-order")
NO_ID = Kind("stored-id-missing")
OLDER = Kind("stored-by-older-version")

DROPPED_KINDS = (ORPHAN, ANSWER_TWICE, of_threads.ORPHAN, of_threads.TWICE)
"""What a tool has returned, and has no place; it is left out if somebody says so."""
