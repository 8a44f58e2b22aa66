"""The journal: what has happened in a thread so far, complete or not.

Both sides fold their own stream into the same journal; a dialect renders it into a document. An interruption is only a
place where the journal stops. In: calls on a `JournalWriter`, made in order of arrival, time passed in as ISO strings.
Out: `Journal`, a frozen value that shares structure with the journals before and after it, so that a cut at every
event costs one fold and not N. Must not contain: words of the wire, of a document version, a clock.

A turn is a log of `Segment`s and a tail. A segment is closed: by `keep` no interruption can take any of it back. The
tail is what an interruption would still decide about.
"""

from tpharness.journal.keep import needs_partial, survivors
from tpharness.journal.log import Log
from tpharness.journal.opened import OpenPart
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
    "Part",
    "Prompt",
    "Response",
    "Return",
    "Segment",
    "Streamed",
    "UserTurn",
    "needs_partial",
    "survivors",
]
