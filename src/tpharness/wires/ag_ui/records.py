"""The events of AG-UI as typed records: the one list of what the protocol describes. `decode` reads them."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

import msgspec
from msgspec import UNSET, UnsetType

from tpharness.wires.ag_ui.objects import (
    SAFE,
    AnyMessage,
    Cancelled,
    Closed,
    Content,
    InterruptOutcome,
    Metadata,
    Patch,
    Present,
    Role,
    RunAgentInput,
    Since11,
    SubagentSucceeded,
    Succeeded,
    Suspended,
    TokenUsage,
)

__all__ = [
    "EVENTS",
    "ActivityDelta",
    "ActivitySnapshot",
    "Attributed",
    "BaseEvent",
    "Custom",
    "Item",
    "MessagesSnapshot",
    "OfCall",
    "OfMessage",
    "Raw",
    "ReasoningEncryptedValue",
    "ReasoningEnd",
    "ReasoningMessageChunk",
    "ReasoningMessageContent",
    "ReasoningMessageEnd",
    "ReasoningMessageStart",
    "ReasoningStart",
    "RunError",
    "RunFinishedEvent",
    "RunStartedEvent",
    "StateDelta",
    "StateSnapshot",
    "StepFinished",
    "StepStarted",
    "SubagentError",
    "SubagentFinished",
    "SubagentStarted",
    "TextMessageChunk",
    "TextMessageContent",
    "TextMessageEnd",
    "TextMessageStart",
    "ToolCallArgs",
    "ToolCallChunk",
    "ToolCallEnd",
    "ToolCallResult",
    "ToolCallStart",
]


class BaseEvent(Closed, frozen=True, kw_only=True, gc=False, tag_field="type"):
    """Any event; the tag of a subclass is its `type`."""

    timestamp: Annotated[int, msgspec.Meta(ge=-SAFE, le=SAFE)] | UnsetType = UNSET
    raw_event: Present | UnsetType = UNSET
    metadata: Metadata | UnsetType = UNSET


class Attributed(BaseEvent, frozen=True, kw_only=True, gc=False):
    """An event that may belong to the work of a subagent."""

    subagent_run_id: str | UnsetType = UNSET


# Runs and steps


class RunStartedEvent(BaseEvent, frozen=True, kw_only=True, gc=False, tag="RUN_STARTED"):
    """Opens a run."""

    thread_id: str
    run_id: str
    protocol_version: str | UnsetType = UNSET
    parent_run_id: str | UnsetType = UNSET
    input: RunAgentInput | UnsetType = UNSET


class RunFinishedEvent(BaseEvent, frozen=True, kw_only=True, gc=False, tag="RUN_FINISHED"):
    """Ends a run that did not fail."""

    thread_id: str
    run_id: str
    result: Present | UnsetType = UNSET
    outcome: Succeeded | InterruptOutcome | Cancelled | UnsetType = UNSET
    usage: list[TokenUsage] | UnsetType = UNSET


class RunError(BaseEvent, frozen=True, kw_only=True, gc=False, tag="RUN_ERROR"):
    """Ends a run that failed."""

    message: str
    code: str | UnsetType = UNSET
    usage: list[TokenUsage] | UnsetType = UNSET


class StepStarted(Attributed, frozen=True, kw_only=True, gc=False, tag="STEP_STARTED"):
    """Opens a step."""

    step_name: str


class StepFinished(Attributed, frozen=True, kw_only=True, gc=False, tag="STEP_FINISHED"):
    """Closes a step."""

    step_name: str


# Streamed items


class Item(Attributed, frozen=True, kw_only=True, gc=False):
    """An event of something that opens, grows and closes."""

    id_field: ClassVar[str] = "message_id"
    """The member that names the item."""


class OfMessage(Item, frozen=True, kw_only=True, gc=False):
    """An event of a message."""

    message_id: str


class OfCall(Item, frozen=True, kw_only=True, gc=False):
    """An event of a call."""

    id_field = "tool_call_id"
    tool_call_id: str


class TextMessageStart(OfMessage, frozen=True, kw_only=True, gc=False, tag="TEXT_MESSAGE_START"):
    """Opens a text."""

    role: Role | UnsetType = UNSET
    name: str | UnsetType = UNSET


class TextMessageContent(OfMessage, frozen=True, kw_only=True, gc=False, tag="TEXT_MESSAGE_CONTENT"):
    """Adds to a text."""

    delta: str


class TextMessageEnd(OfMessage, frozen=True, kw_only=True, gc=False, tag="TEXT_MESSAGE_END"):
    """Closes a text."""


class TextMessageChunk(Item, frozen=True, kw_only=True, gc=False, tag="TEXT_MESSAGE_CHUNK"):
    """Shorthand of the three."""

    message_id: str | UnsetType = UNSET
    role: Role | UnsetType = UNSET
    delta: str | UnsetType = UNSET
    name: str | UnsetType = UNSET


class ToolCallStart(OfCall, frozen=True, kw_only=True, gc=False, tag="TOOL_CALL_START"):
    """Opens a call."""

    tool_call_name: str
    parent_message_id: str | UnsetType = UNSET


class ToolCallArgs(OfCall, frozen=True, kw_only=True, gc=False, tag="TOOL_CALL_ARGS"):
    """Adds to the text of the arguments."""

    delta: str


class ToolCallEnd(OfCall, frozen=True, kw_only=True, gc=False, tag="TOOL_CALL_END"):
    """Closes a call."""


class ToolCallChunk(Item, frozen=True, kw_only=True, gc=False, tag="TOOL_CALL_CHUNK"):
    """Shorthand of the three."""

    id_field = "tool_call_id"
    tool_call_id: str | UnsetType = UNSET
    tool_call_name: str | UnsetType = UNSET
    parent_message_id: str | UnsetType = UNSET
    delta: str | UnsetType = UNSET


class ToolCallResult(OfMessage, frozen=True, kw_only=True, gc=False, tag="TOOL_CALL_RESULT"):
    """What a tool returned: a message of its own."""

    tool_call_id: str
    content: Content
    role: Literal["tool"] | UnsetType = UNSET


class ReasoningStart(OfMessage, frozen=True, kw_only=True, gc=False, tag="REASONING_START"):
    """Opens a span."""


class ReasoningEnd(OfMessage, frozen=True, kw_only=True, gc=False, tag="REASONING_END"):
    """Closes a span."""


class ReasoningMessageStart(OfMessage, frozen=True, kw_only=True, gc=False, tag="REASONING_MESSAGE_START"):
    """Opens a thought."""

    role: Literal["reasoning"]


class ReasoningMessageContent(OfMessage, frozen=True, kw_only=True, gc=False, tag="REASONING_MESSAGE_CONTENT"):
    """Adds to a thought."""

    delta: str


class ReasoningMessageEnd(OfMessage, frozen=True, kw_only=True, gc=False, tag="REASONING_MESSAGE_END"):
    """Closes a thought."""


class ReasoningMessageChunk(Item, frozen=True, kw_only=True, gc=False, tag="REASONING_MESSAGE_CHUNK"):
    """Shorthand of the three."""

    message_id: str | UnsetType = UNSET
    delta: str | UnsetType = UNSET


class ReasoningEncryptedValue(Attributed, frozen=True, kw_only=True, gc=False, tag="REASONING_ENCRYPTED_VALUE"):
    """A provider's opaque artefact for a message or a call."""

    subtype: Literal["tool-call", "message"]
    entity_id: str
    encrypted_value: str
    encrypted_value_type: Since11 | UnsetType = UNSET


# State, messages, activity


class StateSnapshot(Attributed, frozen=True, kw_only=True, gc=False, tag="STATE_SNAPSHOT"):
    """Replaces the state."""

    snapshot: Any


class StateDelta(Attributed, frozen=True, kw_only=True, gc=False, tag="STATE_DELTA"):
    """Amends the state."""

    delta: Patch


class MessagesSnapshot(BaseEvent, frozen=True, kw_only=True, gc=False, tag="MESSAGES_SNAPSHOT"):
    """All messages that the producer owns."""

    messages: list[AnyMessage]


class ActivitySnapshot(OfMessage, frozen=True, kw_only=True, gc=False, tag="ACTIVITY_SNAPSHOT"):
    """Makes or replaces an activity."""

    activity_type: str
    content: dict[str, Any]
    replace: bool | UnsetType = UNSET


class ActivityDelta(OfMessage, frozen=True, kw_only=True, gc=False, tag="ACTIVITY_DELTA"):
    """Amends an activity."""

    activity_type: str
    patch: Patch


# Subagents


class SubagentStarted(BaseEvent, frozen=True, kw_only=True, gc=False, tag="SUBAGENT_STARTED"):
    """Announces an invocation."""

    subagent_run_id: str
    name: str
    description: str | UnsetType = UNSET
    parent_subagent_run_id: str | UnsetType = UNSET
    parent_tool_call_id: str | UnsetType = UNSET
    parent_message_id: str | UnsetType = UNSET


class SubagentFinished(BaseEvent, frozen=True, kw_only=True, gc=False, tag="SUBAGENT_FINISHED"):
    """Ends an invocation that did not fail."""

    subagent_run_id: str
    result: Present | UnsetType = UNSET
    outcome: SubagentSucceeded | Suspended | UnsetType = UNSET


class SubagentError(BaseEvent, frozen=True, kw_only=True, gc=False, tag="SUBAGENT_ERROR"):
    """Ends an invocation that failed; the run may go on."""

    subagent_run_id: str
    message: str
    code: str | UnsetType = UNSET


# Passthrough


class Raw(Attributed, frozen=True, kw_only=True, gc=False, tag="RAW"):
    """A provider's own event."""

    event: Any
    source: str | UnsetType = UNSET


class Custom(Attributed, frozen=True, kw_only=True, gc=False, tag="CUSTOM"):
    """An application's own event."""

    name: str
    value: Any


def _leaves(record: type[BaseEvent]) -> list[type[BaseEvent]]:
    below = record.__subclasses__()
    return [leaf for one in below for leaf in _leaves(one)] if below else [record]


EVENTS: dict[str, type[BaseEvent]] = {str(record.__struct_config__.tag): record for record in _leaves(BaseEvent)}
"""Each event by its `type`."""
