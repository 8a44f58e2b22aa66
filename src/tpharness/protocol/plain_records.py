"""Records of a thread without fields, kinds and values that need a second look, by which most threads are read.

What a record has is in the schema of every version, with the same values or fewer; what has no record is in doubt.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from tpharness.protocol.versions import VersionName

__all__ = [
    "PlainAgent",
    "PlainAgentTurn",
    "PlainCall",
    "PlainEvent",
    "PlainFile",
    "PlainInput",
    "PlainInterruption",
    "PlainPrompt",
    "PlainProviderCall",
    "PlainProviderReturn",
    "PlainReference",
    "PlainRequest",
    "PlainResponse",
    "PlainRetry",
    "PlainReturn",
    "PlainText",
    "PlainThinking",
    "PlainThread",
    "PlainUsage",
    "PlainUserTurn",
]

Name = Annotated[str, Meta(min_length=1)]
Count = Annotated[int, Meta(ge=0)] | None


class PlainRecord(Struct, forbid_unknown_fields=True, gc=False):
    """An object of the protocol that has no other fields than these."""


class PlainUsage(PlainRecord):
    """Tokens."""

    input_tokens: Count = None
    output_tokens: Count = None
    thinking_tokens: Count = None
    total_tokens: Count = None


class PlainText(PlainRecord, tag_field="part_kind", tag="text"):
    """A text."""

    content: str
    id: str | None = None


class PlainThinking(PlainRecord, tag_field="part_kind", tag="thinking"):
    """What the model has thought."""

    provider_name: Name
    content: str | None = None
    signature: str | None = None
    thinking_id: str | None = None


class PlainCall(PlainRecord, tag_field="part_kind", tag="tool-call"):
    """A call, with arguments that were parsed or are not there."""

    tool_name: Name
    tool_call_id: Name
    args: Any


class PlainReference(PlainRecord):
    """Where a content is that the thread does not hold."""

    uri: Name
    size_bytes: Count = None
    hash: str | None = None
    media_type: str | None = None


class PlainReturn(PlainRecord, tag_field="part_kind", tag="tool-return"):
    """What a tool has returned."""

    tool_name: Name
    tool_call_id: Name
    status: Literal["success", "error", "validation_error"]
    content: Any | UnsetType = UNSET
    metadata: Any = None
    content_ref: PlainReference | None = None


class PlainRetry(PlainRecord, tag_field="part_kind", tag="retry-prompt"):
    """What the model is asked to do again."""

    content: str
    tool_name: str | None = None
    tool_call_id: str | None = None


class PlainPrompt(PlainRecord, tag_field="part_kind", tag="user-prompt"):
    """What the user said while the agent ran."""

    content: str | list[str]


class PlainProviderCall(PlainRecord, tag_field="part_kind", tag="builtin-tool-call"):
    """A call that the provider ran."""

    tool_name: str
    tool_call_id: Name
    args: Any = None
    provider_name: str | None = None


class PlainProviderReturn(PlainRecord, tag_field="part_kind", tag="builtin-tool-return"):
    """What the provider's tool has returned."""

    tool_name: str
    tool_call_id: Name
    content: Any = None
    provider_name: str | None = None


class PlainFile(PlainRecord, tag_field="part_kind", tag="file"):
    """A file that the model has made."""

    content: dict[str, Any]
    id: str | None = None


class PlainMessage(PlainRecord, tag_field="message_type"):
    timestamp: str


class PlainRequest(PlainMessage, tag="request"):
    """What the model was given."""

    agent_id: str
    parts: list[PlainReturn | PlainRetry | PlainPrompt]


class PlainResponse(PlainMessage, tag="response"):
    """What the model has said."""

    agent_id: str
    parts: list[PlainText | PlainThinking | PlainCall | PlainProviderCall | PlainProviderReturn | PlainFile]
    model_name: str | None = None
    provider_name: str | None = None
    provider_response_id: str | None = None
    usage: PlainUsage | None = None
    finish_reason: Literal["stop", "length", "content_filter", "tool_call", "error"] | None = None


class PlainEvent(PlainMessage, tag="system"):
    """A system message."""

    event_type: Name
    event_data: Any
    source_agent: str | None = None
    target_agents: list[str] | None = None


class PlainInterruption(PlainRecord):
    """That a turn was interrupted."""

    reason: Name
    interrupted_at: str


class PlainInput(PlainRecord):
    """What the user said; with one kind only a tag could be missing."""

    part_kind: Literal["user-prompt"]
    content: str | list[str]


class PlainUserTurn(PlainRecord, tag_field="turn_type", tag="user"):
    """A user's turn."""

    submitted_at: str
    parts: list[PlainInput]


class PlainAgentTurn(PlainRecord, tag_field="turn_type", tag="agent"):
    """An agent's turn."""

    agent_id: str
    started_at: str
    messages: list[PlainRequest | PlainResponse | PlainEvent]
    completed_at: str | None = None
    completion_status: Literal["complete", "interrupted"] | None = None
    interruption: PlainInterruption | None = None
    total_usage: PlainUsage | None = None


class PlainAgent(PlainRecord):
    """An entry of the registry."""

    agent_id: Name
    agent_name: str
    created_at: str
    model_name: str | None = None
    provider_name: str | None = None
    config_ref: str | None = None


class PlainThread(PlainRecord):
    """A thread."""

    version: VersionName
    thread_id: Name
    created_at: str
    updated_at: str
    agents: dict[str, PlainAgent]
    turns: list[PlainUserTurn | PlainAgentTurn]
    title: str | None = None
    metadata: dict[str, Any] | None = None
