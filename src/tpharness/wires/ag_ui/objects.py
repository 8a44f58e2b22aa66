"""What the events of AG-UI contain: parts, messages, outcomes, usage, and the input that a run answers.

An object is closed, as the schema is: a member that it does not name is unknown material. An optional member is UNSET
where it is absent; `null` is refused for it, since AG-UI knows only absence (rule 76). Names follow Python, the wire
follows camelCase.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET, UnsetType

__all__ = [
    "SAFE",
    "SINCE",
    "ActivityMessage",
    "AgUiAssistantMessage",
    "AgUiUserMessage",
    "AnyMessage",
    "Cancelled",
    "Closed",
    "Content",
    "InterruptOutcome",
    "Metadata",
    "Patch",
    "Present",
    "ReasoningMessage",
    "Role",
    "RunAgentInput",
    "Since11",
    "SubagentSucceeded",
    "Succeeded",
    "Suspended",
    "TokenUsage",
    "ToolMessage",
    "given",
]

SAFE = 9007199254740991
"""The largest integer that JavaScript keeps: counts and times beyond it do not survive a round trip."""

Present: TypeAlias = bool | int | float | str | list[Any] | dict[str, Any]
"""Any JSON value but null."""
Metadata: TypeAlias = dict[str, Any]
Patch: TypeAlias = list[dict[str, Any]]
"""RFC 6902 operations, which are open objects; `patch` holds them to that document."""
Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=SAFE)]
Since11 = Annotated[str, msgspec.Meta(extra={"since": (1, 1)})]

SINCE: dict[str, tuple[int, int]] = {"encryptedValueType": (1, 1)}
"""Members that a later version has added, with that version; in a stream of an earlier one they are unknown."""


Role: TypeAlias = Literal["developer", "system", "assistant", "user"]


def given(value: Any) -> Any:
    """Return the value of an optional member, None where it is absent."""
    return None if value is UNSET else value


# gc=False: decoded JSON is a tree, so no record can be part of a cycle.
class Closed(msgspec.Struct, frozen=True, kw_only=True, gc=False, rename="camel", forbid_unknown_fields=True):
    """An object of which the schema describes every member."""


class Owned(Closed, frozen=True, kw_only=True, gc=False):
    """An object that may belong to the work of a subagent."""

    subagent_run_id: str | UnsetType = UNSET


# Content parts


class DataSource(Closed, frozen=True, kw_only=True, gc=False, tag_field="type", tag="data"):
    """Bytes in base64."""

    value: str
    mime_type: str


class UrlSource(Closed, frozen=True, kw_only=True, gc=False, tag_field="type", tag="url"):
    """Bytes at an address."""

    value: str
    mime_type: str | UnsetType = UNSET


class FileSource(Closed, frozen=True, kw_only=True, gc=False, tag_field="type", tag="file"):
    """Bytes that a provider holds under a handle."""

    value: str
    provider: str | UnsetType = UNSET
    mime_type: str | UnsetType = UNSET


class ContentPart(Closed, frozen=True, kw_only=True, gc=False, tag_field="type"):
    """A part of a message."""

    id: str | UnsetType = UNSET
    metadata: Present | UnsetType = UNSET


class AgUiTextPart(ContentPart, frozen=True, kw_only=True, gc=False, tag="text"):
    """Text."""

    text: str


class MediaPart(ContentPart, frozen=True, kw_only=True, gc=False):
    """Bytes of some kind."""

    source: DataSource | UrlSource | FileSource


class ImagePart(MediaPart, frozen=True, kw_only=True, gc=False, tag="image"):
    """An image."""


class AudioPart(MediaPart, frozen=True, kw_only=True, gc=False, tag="audio"):
    """Sound."""


class VideoPart(MediaPart, frozen=True, kw_only=True, gc=False, tag="video"):
    """A film."""


class DocumentPart(MediaPart, frozen=True, kw_only=True, gc=False, tag="document"):
    """A document."""


Content: TypeAlias = str | list[AgUiTextPart | ImagePart | AudioPart | VideoPart | DocumentPart]

# Messages


class Message(Owned, frozen=True, kw_only=True, gc=False, tag_field="role"):
    """A message of the conversation, by its role."""

    id: str
    encrypted_value: str | UnsetType = UNSET
    encrypted_value_type: Since11 | UnsetType = UNSET
    metadata: Metadata | UnsetType = UNSET


class NamedMessage(Message, frozen=True, kw_only=True, gc=False):
    """A message whose author may have a name."""

    name: str | UnsetType = UNSET


class AgUiDeveloperMessage(NamedMessage, frozen=True, kw_only=True, gc=False, tag="developer"):
    """Instructions of the developer."""

    content: str


class AgUiSystemMessage(NamedMessage, frozen=True, kw_only=True, gc=False, tag="system"):
    """Instructions of the system."""

    content: str


class AgUiUserMessage(NamedMessage, frozen=True, kw_only=True, gc=False, tag="user"):
    """What the user said."""

    content: Content


class FunctionCall(Closed, frozen=True, kw_only=True, gc=False):
    """A name, and arguments as text."""

    name: str
    arguments: str


class ToolCall(Closed, frozen=True, kw_only=True, gc=False):
    """A call in an assistant's message."""

    id: str
    type: Literal["function"]
    function: FunctionCall
    encrypted_value: str | UnsetType = UNSET
    encrypted_value_type: Since11 | UnsetType = UNSET
    metadata: Metadata | UnsetType = UNSET


class AgUiAssistantMessage(NamedMessage, frozen=True, kw_only=True, gc=False, tag="assistant"):
    """What the agent said and called."""

    content: str | UnsetType = UNSET
    tool_calls: list[ToolCall] | UnsetType = UNSET


class ToolMessage(Message, frozen=True, kw_only=True, gc=False, tag="tool"):
    """What a tool returned."""

    content: Content
    tool_call_id: str
    error: str | UnsetType = UNSET


class ActivityMessage(Owned, frozen=True, kw_only=True, gc=False, tag_field="role", tag="activity"):
    """Progress that a page shows, which never goes back to the agent."""

    id: str
    activity_type: str
    content: dict[str, Any]
    metadata: Metadata | UnsetType = UNSET


class ReasoningMessage(Message, frozen=True, kw_only=True, gc=False, tag="reasoning"):
    """What the model thought."""

    content: str


AnyMessage: TypeAlias = (
    AgUiDeveloperMessage
    | AgUiSystemMessage
    | AgUiUserMessage
    | AgUiAssistantMessage
    | ToolMessage
    | ActivityMessage
    | ReasoningMessage
)

# The input


class Tool(Closed, frozen=True, kw_only=True, gc=False):
    """A tool of the page."""

    name: str
    description: str
    parameters: Present | UnsetType = UNSET
    metadata: Metadata | UnsetType = UNSET


class Context(Closed, frozen=True, kw_only=True, gc=False):
    """Something that the agent should know."""

    description: str
    value: str


class ResumeEntry(Closed, frozen=True, kw_only=True, gc=False):
    """The answer to an interrupt."""

    interrupt_id: str
    status: Literal["resolved", "cancelled"]
    payload: Present | UnsetType = UNSET
    metadata: Metadata | UnsetType = UNSET


class RunAgentInput(Closed, frozen=True, kw_only=True, gc=False):
    """What a client posts."""

    thread_id: str
    run_id: str
    messages: list[AnyMessage]
    protocol_version: str | UnsetType = UNSET
    parent_run_id: str | UnsetType = UNSET
    state: Present | UnsetType = UNSET
    tools: list[Tool] | UnsetType = UNSET
    context: list[Context] | UnsetType = UNSET
    forwarded_props: Present | UnsetType = UNSET
    resume: list[ResumeEntry] | UnsetType = UNSET


# Outcomes and usage


class TokenUsage(Closed, frozen=True, kw_only=True, gc=False):
    """The tokens of one provider and model: two totals, and parts of them."""

    provider: str | UnsetType = UNSET
    model: str | UnsetType = UNSET
    input_tokens: Count | UnsetType = UNSET
    output_tokens: Count | UnsetType = UNSET
    total_tokens: Count | UnsetType = UNSET
    reasoning_tokens: Count | UnsetType = UNSET
    cached_input_tokens: Count | UnsetType = UNSET
    cache_write_input_tokens: Count | UnsetType = UNSET


class AgUiInterrupt(Owned, frozen=True, kw_only=True, gc=False):
    """What a run waits for."""

    id: str
    reason: str
    message: str | UnsetType = UNSET
    tool_call_id: str | UnsetType = UNSET
    response_schema: dict[str, Any] | UnsetType = UNSET
    expires_at: str | UnsetType = UNSET
    metadata: Metadata | UnsetType = UNSET


class Succeeded(Closed, frozen=True, kw_only=True, gc=False, tag_field="type", tag="success"):
    """The run is complete."""

    pending_tool_call_ids: list[str] | UnsetType = UNSET


class InterruptOutcome(Closed, frozen=True, kw_only=True, gc=False, tag_field="type", tag="interrupt"):
    """The run asks."""

    interrupts: Annotated[list[AgUiInterrupt], msgspec.Meta(min_length=1)]


class Cancelled(Closed, frozen=True, kw_only=True, gc=False, tag_field="type", tag="cancelled"):
    """The run was stopped on purpose."""


class SubagentSucceeded(Closed, frozen=True, kw_only=True, gc=False, tag_field="type", tag="success"):
    """The invocation is complete."""


class Suspended(Closed, frozen=True, kw_only=True, gc=False, tag_field="type", tag="suspended"):
    """The invocation waits."""

    interrupt_ids: list[str] | UnsetType = UNSET
