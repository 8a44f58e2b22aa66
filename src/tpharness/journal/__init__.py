"""The journal: the record of what has happened in a thread so far, finished or not.

Both sides fold their own stream into a journal of the same form; a dialect renders it as a document. An interruption is
only a place where the journal stops. In: calls on a `JournalWriter` in order of arrival, times as ISO strings. Out:
`Journal`, a frozen value that shares structure with the journals before and after it, so that a cut at every event
costs one fold and not N. Must not contain: terms of the wire or of a document version, a clock.

A turn is a log of `Segment`s and a tail. A segment is closed when, by `keep`, no interruption can take any of it back.
An interruption decides about the tail only.
"""

from tpharness.journal.keep import needs_partial, survivors
from tpharness.journal.log import Log
from tpharness.journal.opened import OpenPart, OpenResponse
from tpharness.journal.records import (
    AgentTurn,
    Completed,
    Entry,
    Event,
    Interrupted,
    Journal,
    Part,
    Prompt,
    Response,
    Return,
    Running,
    Segment,
    Streamed,
    UserTurn,
)
from tpharness.journal.writer import JournalWriter

__all__ = [
    "AgentTurn",
    "Completed",
    "Entry",
    "Event",
    "Interrupted",
    "Journal",
    "JournalWriter",
    "Log",
    "OpenPart",
    "OpenResponse",
    "Part",
    "Prompt",
    "Response",
    "Return",
    "Running",
    "Segment",
    "Streamed",
    "UserTurn",
    "needs_partial",
    "survivors",
]
