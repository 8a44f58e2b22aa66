"""The states of a stream, and what the client does with each kind of chunk in each of them.

A pair that is not in the table is a violation (R35, R36).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto

from tpharness.wires.vsp import records as c

__all__ = ["ORDER", "Reaction", "StreamState"]


class StreamState(Enum):
    """Where a stream stands between two chunks."""

    __hash__ = object.__hash__  # a member is one object; Enum's own hash is a call in Python for every look-up

    IDLE = auto()  # no turn has begun
    BETWEEN = auto()  # a turn runs, no response is streaming
    STREAMING = auto()  # parts of a response are streaming
    ABORTED = auto()  # the server sent abort: nothing finishes after it (R40)
    FINISHED = auto()  # the server sent finish (R35)
    DONE = auto()  # the end marker came


class Reaction(Enum):
    """What the client does with a chunk that has a place in the current state."""

    FOLD = auto()  # its handler folds it into the journal
    NO_PART_OPEN = auto()  # it continues a part, and no part is open: a violation, `part-without-start`
    OBSERVE = auto()  # it is reported and changes nothing: some servers send chunks after abort (R40)


_CONTINUES_A_PART = tuple(record for record in c.RECORDS.values() if record.continues_part)
_ALWAYS: dict[type, Reaction] = {c.Malformed: Reaction.FOLD}
_FOLDED: dict[type, Reaction] = {
    **_ALWAYS,
    **dict.fromkeys((*c.RECORDS.values(), c.DataChunk, c.UnknownChunk, c.Done), Reaction.FOLD),
}
_NO_RESPONSE: dict[type, Reaction] = {**_FOLDED, **dict.fromkeys(_CONTINUES_A_PART, Reaction.NO_PART_OPEN)}

ORDER: Mapping[StreamState, Mapping[type, Reaction]] = {
    StreamState.IDLE: _NO_RESPONSE,
    StreamState.BETWEEN: _NO_RESPONSE,
    StreamState.STREAMING: _FOLDED,
    StreamState.ABORTED: {**dict.fromkeys(_FOLDED, Reaction.OBSERVE), **_ALWAYS, c.Done: Reaction.FOLD},
    StreamState.FINISHED: {**_ALWAYS, c.Done: Reaction.FOLD},
    StreamState.DONE: _ALWAYS,
}
"""State → record of the chunk → reaction; a record without a reaction is a violation in that state."""
