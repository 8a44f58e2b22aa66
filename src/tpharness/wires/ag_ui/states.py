"""The states of a stream as tables: runs, what streams in them, and what ends the shorthand of chunks.

A pair that leads to a `Kind` is a violation; the event is then left out, and changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto
from typing import NamedTuple

from tpharness.findings import Kind
from tpharness.wires.ag_ui import records as r
from tpharness.wires.ag_ui import violations as v

__all__ = ["CLOSES", "FAMILIES", "ITEM_ORDER", "RUN_ORDER", "Act", "AgUiRunState", "Closes", "Family", "ItemState"]


class AgUiRunState(Enum):
    """Where a stream stands between two events."""

    __hash__ = object.__hash__  # a member is one object; Enum's own hash is a call in Python for every look-up

    NOT_BEGUN = auto()
    RUNNING = auto()
    FINISHED = auto()
    FAILED = auto()


_ENDED: dict[type[r.BaseEvent], AgUiRunState | Kind] = {
    **dict.fromkeys(r.EVENTS.values(), v.AFTER_END),
    r.RunStartedEvent: AgUiRunState.RUNNING,
}

RUN_ORDER: Mapping[AgUiRunState, Mapping[type[r.BaseEvent], AgUiRunState | Kind]] = {
    AgUiRunState.NOT_BEGUN: {
        **dict.fromkeys(r.EVENTS.values(), v.FIRST_EVENT),
        r.RunStartedEvent: AgUiRunState.RUNNING,
        r.RunError: AgUiRunState.FAILED,
    },
    AgUiRunState.RUNNING: {
        **dict.fromkeys(r.EVENTS.values(), AgUiRunState.RUNNING),
        r.RunStartedEvent: v.RUN_IN_RUN,
        r.RunFinishedEvent: AgUiRunState.FINISHED,
        r.RunError: AgUiRunState.FAILED,
    },
    AgUiRunState.FINISHED: {**_ENDED, r.RunError: AgUiRunState.FAILED},  # a late failure
    AgUiRunState.FAILED: _ENDED,
}
"""State, then event → the next state, or what is wrong (rules 1, 14, 16)."""


class ItemState(Enum):
    """Where a message, a call or a span stands."""

    __hash__ = object.__hash__

    ABSENT = auto()
    OPEN = auto()
    CLOSED = auto()


class Act(Enum):
    """What an event does with an item."""

    __hash__ = object.__hash__

    START = auto()
    ADD = auto()
    END = auto()


ITEM_ORDER: Mapping[tuple[ItemState, Act], ItemState | Kind] = {
    (ItemState.ABSENT, Act.START): ItemState.OPEN,
    (ItemState.ABSENT, Act.ADD): v.NOT_OPEN,
    (ItemState.ABSENT, Act.END): v.NOT_OPEN,
    (ItemState.OPEN, Act.START): v.OPENED_TWICE,
    (ItemState.OPEN, Act.ADD): ItemState.OPEN,
    (ItemState.OPEN, Act.END): ItemState.CLOSED,
    (ItemState.CLOSED, Act.START): ItemState.OPEN,  # closed, not sealed: it is opened again
    (ItemState.CLOSED, Act.ADD): v.NOT_OPEN,
    (ItemState.CLOSED, Act.END): v.NOT_OPEN,
}
"""State and act → the next state, or what is wrong (rules 21, 49)."""


class Family(NamedTuple):
    """The events of one kind of thing that streams, and what of its start it is known by."""

    word: str
    start: type[r.Item]
    add: type[r.Item] | None
    end: type[r.Item]
    chunk: type[r.Item] | None
    opener_fields: tuple[str, ...] = ()


FAMILIES: Mapping[str, Family] = {
    "text": Family(
        "text message",
        r.TextMessageStart,
        r.TextMessageContent,
        r.TextMessageEnd,
        r.TextMessageChunk,
        ("role", "name"),
    ),
    "call": Family(
        "tool call",
        r.ToolCallStart,
        r.ToolCallArgs,
        r.ToolCallEnd,
        r.ToolCallChunk,
        ("tool_call_name", "parent_message_id"),
    ),
    "reasoning": Family(
        "reasoning message",
        r.ReasoningMessageStart,
        r.ReasoningMessageContent,
        r.ReasoningMessageEnd,
        r.ReasoningMessageChunk,
    ),
    "span": Family("reasoning span", r.ReasoningStart, None, r.ReasoningEnd, None),
}


class Closes(Enum):
    """Which items in shorthand an event ends."""

    NOTHING = auto()
    ITS_LANE = auto()
    LANE_OF_SUBAGENT = auto()
    ALL = auto()


CLOSES: Mapping[type[r.BaseEvent], Closes] = {
    **dict.fromkeys(r.EVENTS.values(), Closes.ITS_LANE),
    **dict.fromkeys(
        (r.Raw, r.ActivitySnapshot, r.ActivityDelta, r.ReasoningEncryptedValue, r.SubagentStarted), Closes.NOTHING
    ),
    **dict.fromkeys((r.SubagentFinished, r.SubagentError), Closes.LANE_OF_SUBAGENT),
    **dict.fromkeys((r.RunStartedEvent, r.RunFinishedEvent, r.RunError, r.MessagesSnapshot), Closes.ALL),
}
"""Event → which chunk streams it ends (rule 27). A chunk ends one by itself: `chunks` knows."""
