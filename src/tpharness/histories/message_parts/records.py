"""The records of a history of messages and parts, with the fields of each.

Source: the plan "Message + Part" (document 002, section "Final schema") and what klaude-code added to it since; a field
that only the later code has is None, and absent on disk, under the plan. JSON that breaks a rule does not decode
(`codec`); a tool result with a text part, or an invalid time, raises `ValueError`. Times are ISO 8601 texts or
seconds since 1970, kept as they are written.

`usage`, `ui_extra`, `side_effects` and `task_metadata` are plain JSON values, because the sources name their types but
not their fields.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal, TypeAlias

import msgspec

__all__ = [
    "EVENTS",
    "REQUIRED",
    "AssistantMessage",
    "CompactionEntry",
    "DeveloperMessage",
    "ForkSummaryEntry",
    "HistoryEvent",
    "ImageFilePart",
    "ImageURLPart",
    "InterruptEntry",
    "OtherEntry",
    "Part",
    "RetractEntry",
    "RewindEntry",
    "StopReason",
    "StreamErrorItem",
    "SystemMessage",
    "TextPart",
    "ThinkingSignaturePart",
    "ThinkingTextPart",
    "ToolCallPart",
    "ToolResultMessage",
    "ToolStatus",
    "UserMessage",
    "UserSource",
    "Variant",
    "join_text_parts",
]

Variant = Literal["plan", "2.32", "current"]
"""`plan`: as document 002 asks, which no release does. The others are releases of klaude-code (`releases`)."""

UserSource = Literal["user", "bash_mode", "shell_completion", "task_completion", "peer_message"]

StopReason = Literal["stop", "length", "tool_use", "error", "aborted"]
ToolStatus = Literal["success", "error", "aborted"]


# ------------------------------------------------------------------------------------------------ parts


class TextPart(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="text"):
    """Text that the user reads or wrote."""

    text: str


class ImageURLPart(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="image_url"):
    """An image by its URL, which may be a data URL."""

    url: str
    id: str | None = None
    frozen: bool | None = None
    source_file_path: str | None = None


class ImageFilePart(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="image_file"):
    """An image in a file outside the history; `byte_size` in bytes, `sha256` in hexadecimal."""

    file_path: str
    mime_type: str | None = None
    byte_size: int | None = None
    sha256: str | None = None
    frozen: bool | None = None


class ThinkingTextPart(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="thinking_text"):
    """What the model thought. `reasoning_field` is the name of the provider's field that it came in."""

    id: str | None = None
    text: str
    model_id: str | None = None
    reasoning_field: str | None = None
    format: str | None = None
    duration_s: float | None = None


class ThinkingSignaturePart(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="thinking_signature"):
    """The proof that belongs to the nearest thinking text before it in the same message."""

    id: str | None = None
    signature: str
    model_id: str | None = None
    format: str | None = None


class ToolCallPart(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="tool_call"):
    """A call of a tool; `arguments_json` is the text as the model wrote it, JSON or not."""

    call_id: str
    id: str | None = None
    tool_name: str
    arguments_json: str


Part: TypeAlias = TextPart | ImageURLPart | ImageFilePart | ThinkingTextPart | ThinkingSignaturePart | ToolCallPart


def join_text_parts(parts: tuple[Part, ...]) -> str:
    """Return the text of the text parts, one after the other."""
    return "".join(part.text for part in parts if isinstance(part, TextPart))


# ------------------------------------------------------------------------------------------------ messages


class _Dated(msgspec.Struct, frozen=True, kw_only=True):
    created_at: str | float | None = None

    def __post_init__(self) -> None:
        if isinstance(self.created_at, str):
            datetime.fromisoformat(self.created_at)


class _Message(_Dated, frozen=True, kw_only=True):
    id: str | None = None
    response_id: str | None = None


class SystemMessage(_Message, frozen=True, kw_only=True):
    """Instructions. Both variants can contain one, but only the plan's program writes one (decision 9)."""

    role: Literal["system"] = "system"
    parts: tuple[TextPart, ...]


class DeveloperMessage(_Message, frozen=True, kw_only=True):
    """What the program adds to the user's words for the model; `ui_extra` and `ui_fields` are never sent.

    `ui_fields` are the plan's fields that only the UI reads; on disk they lie beside the others.
    """

    role: Literal["developer"] = "developer"
    parts: tuple[Part, ...]
    attachment_position: Literal["append", "prepend"] | None = None
    ui_extra: Mapping[str, Any] | None = None
    ui_fields: Mapping[str, Any] | None = None


class UserMessage(_Message, frozen=True, kw_only=True):
    """What the user said, or what the program says in the user's place; `source` tells which.

    The last three are for the UI and never sent; their fields are not checked.
    """

    role: Literal["user"] = "user"
    parts: tuple[Part, ...]
    source: UserSource | None = None
    peer_message: Mapping[str, Any] | None = None
    shell_tasks: tuple[Any, ...] | None = None
    task_response: Mapping[str, Any] | None = None


class AssistantMessage(_Message, frozen=True, kw_only=True):
    """The result of one model call. `stop_reason` is `aborted` only for an interruption by the user."""

    role: Literal["assistant"] = "assistant"
    parts: tuple[Part, ...]
    phase: Literal["commentary", "final_answer"] | None = None
    usage: Mapping[str, Any] | None = None
    stop_reason: StopReason | None = None


class ToolResultMessage(_Message, frozen=True, kw_only=True):
    """The result of one tool call. All of its text is in `output_text`; a text part in `parts` is an error."""

    role: Literal["tool"] = "tool"
    call_id: str = ""
    tool_name: str = ""
    status: ToolStatus
    output_text: str
    parts: tuple[Part, ...] = ()
    ui_extra: Mapping[str, Any] | None = None
    side_effects: tuple[Any, ...] | None = None
    task_metadata: Mapping[str, Any] | None = None
    task_delivery_id: str | None = None

    def __post_init__(self) -> None:
        _Dated.__post_init__(self)
        if any(isinstance(part, TextPart) for part in self.parts):
            raise ValueError("the parts of a tool result are not text, its text is output_text")


# ------------------------------------------------------------------------------------------------ other events


class StreamErrorItem(_Dated, frozen=True, kw_only=True):
    """A model call failed; this is not an interruption."""

    error: str


class InterruptEntry(_Dated, frozen=True, kw_only=True):
    """The user interrupted, and no message shows it. `show_notice` is false if nothing of the turn was visible."""

    show_notice: bool = True


class RetractEntry(_Dated, frozen=True, kw_only=True):
    """Retracts the user message of a line, or the nearest one before it if this is its text; lines count from 0."""

    retracted_text: str
    retracted_line: int | None = None


class CompactionEntry(_Dated, frozen=True, kw_only=True):
    """What was said before is sent as a summary from here on, except for what is kept.

    `first_kept_index` counts the events of the loaded history, `first_kept_line` the lines of its file, both from 0.
    """

    summary: str
    first_kept_index: int
    first_kept_line: int | None = None
    tokens_before: int | None = None
    details: Mapping[str, Any] | None = None
    kept_items_brief: tuple[Any, ...] | None = None
    request_id: str | None = None


class RewindEntry(_Dated, frozen=True, kw_only=True):
    """What came after a checkpoint is taken back; older releases wrote it."""

    checkpoint_id: int
    note: str
    rationale: str
    reverted_from_index: int
    original_user_message: str


class ForkSummaryEntry(_Dated, frozen=True, kw_only=True):
    """What a rewind took away, as a summary that goes to the model where it stands."""

    summary: str
    source_session_id: str
    source_pivot_index: int
    source_message_count: int
    tokens_before: int | None = None
    cache_hit_rate: float | None = None
    request_id: str | None = None


class OtherEntry(msgspec.Struct, frozen=True, kw_only=True):
    """An entry that is not part of a conversation, kept unchanged: `kind` is its type, `data` its JSON object."""

    kind: str
    data: Mapping[str, Any]


HistoryEvent: TypeAlias = (
    SystemMessage
    | DeveloperMessage
    | UserMessage
    | AssistantMessage
    | ToolResultMessage
    | StreamErrorItem
    | InterruptEntry
    | RetractEntry
    | CompactionEntry
    | RewindEntry
    | ForkSummaryEntry
    | OtherEntry
)

_MESSAGES: tuple[type[HistoryEvent], ...] = (
    SystemMessage,
    DeveloperMessage,
    UserMessage,
    AssistantMessage,
    ToolResultMessage,
    StreamErrorItem,
)
REQUIRED: Mapping[str, tuple[str, ...]] = {
    "TaskMetadataItem": (),
    "CacheHitRateEntry": ("cache_hit_rate", "cached_tokens"),
    "TaskFileChangeSummaryEntry": (),
    "FallbackModelConfigWarnEntry": ("from_model", "to_model", "reason"),
    "SpawnSubAgentEntry": ("session_id", "sub_agent_type", "sub_agent_desc"),
    "AwaySummaryEntry": ("text",),
    "PromptSuggestionEntry": ("text",),
    "SideQuestionEntry": ("question", "answer"),
    "LLMRequestEntry": ("kind",),
}
"""The entries that are kept unchanged, and the fields without which the program does not read one."""

_OLD = tuple(name for name in REQUIRED if name not in ("SideQuestionEntry", "LLMRequestEntry"))
_PROGRAM = (*_MESSAGES, InterruptEntry, CompactionEntry, RewindEntry)

EVENTS: Mapping[Variant, Mapping[str, type[HistoryEvent]]] = {
    "plan": {**{record.__name__: record for record in _MESSAGES}, "TaskMetadataItem": OtherEntry},
    "2.32": {**{record.__name__: record for record in _PROGRAM}, **dict.fromkeys(_OLD, OtherEntry)},
    "current": {
        **{record.__name__: record for record in (*_PROGRAM, RetractEntry, ForkSummaryEntry)},
        **dict.fromkeys(REQUIRED, OtherEntry),
    },
}
"""The events by their names on disk. Under the plan an interruption is not an event of its own (decision 6)."""
