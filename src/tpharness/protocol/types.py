"""The types of a valid thread of any version, as `TypedDict`s.

Documents are plain JSON values and stay so: unknown fields and unknown kinds of parts survive (R7). These types name
the fields that the protocol defines, so that mypy finds a misspelt key in code that writes or reads a valid thread.
They say nothing about a value at runtime. Code that reads JSON which may not be a valid thread uses `Any`.

Fields that only newer versions have are optional. An unknown kind of part may stand wherever a `Part` does; compare
`part_kind` before reading another field. mypy finds a misspelt key in `part["…"]` but not in `part.get("…")`, so read
required fields with `[…]`.
"""

# Without `from __future__ import annotations`, which hides `NotRequired` from `__required_keys__`.
from typing import Any, Literal, NotRequired, TypeAlias, TypedDict

__all__ = [
    "Agent",
    "AgentTurnJson",
    "BuiltinToolPartJson",
    "ContentReference",
    "FilePartJson",
    "Interruption",
    "Message",
    "Part",
    "RequestMessageJson",
    "ResponseMessageJson",
    "RetryPromptPartJson",
    "SystemMessageJson",
    "TextPartJson",
    "ThinkingPartJson",
    "Thread",
    "ToolCallPartJson",
    "ToolReturnPartJson",
    "Turn",
    "UsageJson",
    "UserPromptPartJson",
    "UserTurnJson",
]


class UsageJson(TypedDict):
    """Token counts."""

    input_tokens: NotRequired[int | None]
    output_tokens: NotRequired[int | None]
    thinking_tokens: NotRequired[int | None]
    total_tokens: NotRequired[int | None]


class Agent(TypedDict):
    """An entry of the thread's registry of agents."""

    agent_id: str
    agent_name: str
    created_at: str
    model_name: NotRequired[str | None]
    provider_name: NotRequired[str | None]
    config_ref: NotRequired[str | None]


class ContentReference(TypedDict):
    """Where the content of a return is stored instead of in the thread."""

    uri: str
    size_bytes: NotRequired[int | None]
    hash: NotRequired[str | None]
    media_type: NotRequired[str | None]


class Interruption(TypedDict):
    """Why and when an agent turn was interrupted."""

    reason: str
    interrupted_at: str


# ------------------------------------------------------------------------------------------------ parts


class TextPartJson(TypedDict):
    """Text of the model."""

    part_kind: Literal["text"]
    content: str
    id: NotRequired[str | None]


class ThinkingPartJson(TypedDict):
    """A thought of the model."""

    part_kind: Literal["thinking"]
    provider_name: str
    content: NotRequired[str | None]
    signature: NotRequired[str | None]
    thinking_id: NotRequired[str | None]


class ToolCallPartJson(TypedDict):
    """A tool call; `args` is any JSON value, or text that is not JSON (R12)."""

    part_kind: Literal["tool-call"]
    tool_name: str
    tool_call_id: str
    args: Any


class ToolReturnPartJson(TypedDict):
    """The return of a call, with `content` or `content_ref` (R6)."""

    part_kind: Literal["tool-return"]
    tool_name: str
    tool_call_id: str
    status: Literal["success", "error", "validation_error"]
    content: NotRequired[Any]
    content_ref: NotRequired[ContentReference | None]
    metadata: NotRequired[Any]


class RetryPromptPartJson(TypedDict):
    """A request to the model to try again, after a failed call or an invalid answer."""

    part_kind: Literal["retry-prompt"]
    content: Any
    tool_name: NotRequired[str | None]
    tool_call_id: NotRequired[str | None]


class UserPromptPartJson(TypedDict):
    """What a user submitted: a text, or a list of texts and content items."""

    part_kind: Literal["user-prompt"]
    content: Any


class FilePartJson(TypedDict):
    """A file of the model."""

    part_kind: Literal["file"]
    content: dict[str, Any]
    id: NotRequired[str | None]


class BuiltinToolPartJson(TypedDict):
    """A call that the provider executes itself, or its return (R42)."""

    part_kind: Literal["builtin-tool-call", "builtin-tool-return"]
    tool_name: str
    tool_call_id: str


Part: TypeAlias = (
    TextPartJson
    | ThinkingPartJson
    | ToolCallPartJson
    | ToolReturnPartJson
    | RetryPromptPartJson
    | UserPromptPartJson
    | FilePartJson
    | BuiltinToolPartJson
)


# ------------------------------------------------------------------------------------------------ messages and turns


class RequestMessageJson(TypedDict):
    """What an agent's model is sent."""

    message_type: Literal["request"]
    timestamp: str
    agent_id: str
    parts: list[Part]


class ResponseMessageJson(TypedDict):
    """What an agent's model answers."""

    message_type: Literal["response"]
    timestamp: str
    agent_id: str
    parts: list[Part]
    model_name: NotRequired[str | None]
    provider_name: NotRequired[str | None]
    provider_response_id: NotRequired[str | None]
    usage: NotRequired[UsageJson | None]
    finish_reason: NotRequired[str | None]


class SystemMessageJson(TypedDict):
    """An event that is not sent to the model; `event_data` is any JSON value."""

    message_type: Literal["system"]
    timestamp: str
    event_type: str
    event_data: Any
    source_agent: NotRequired[str | None]
    target_agents: NotRequired[list[str] | None]


Message: TypeAlias = RequestMessageJson | ResponseMessageJson | SystemMessageJson


class UserTurnJson(TypedDict):
    """What a user submitted at one time."""

    turn_type: Literal["user"]
    submitted_at: str
    parts: list[Part]
    client_metadata: NotRequired[dict[str, Any] | None]


class AgentTurnJson(TypedDict):
    """One run of an agent. `completion_status` and `interruption` exist where a version has interrupted turns (R19)."""

    turn_type: Literal["agent"]
    agent_id: str
    started_at: str
    messages: list[Message]
    completed_at: NotRequired[str | None]
    completion_status: NotRequired[Literal["complete", "interrupted"]]
    interruption: NotRequired[Interruption | None]
    total_usage: NotRequired[UsageJson | None]


Turn: TypeAlias = UserTurnJson | AgentTurnJson


class Thread(TypedDict):
    """A thread."""

    version: str
    thread_id: str
    created_at: str
    updated_at: str
    agents: dict[str, Agent]
    turns: list[Turn]
    title: NotRequired[str | None]
    metadata: NotRequired[dict[str, Any] | None]
    relationships: NotRequired[dict[str, Any] | None]
