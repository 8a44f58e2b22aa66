"""The chunks of the Vercel AI SDK's UI message stream, as typed records.

One record for each chunk type that the AI SDK 5, 6 or 7 knows, a `DataChunk` for the open family `data-*`, an
`UnknownChunk` for any other type (R7: kept, never rejected), `Done` for the end marker, and `Malformed` for what is no
chunk at all. `chunks` reads them, `encode` writes them, `majors` has the table of who knows which.

Optional fields are None when absent; an explicit `null` reads as absent. Fields that may be null but must be present
(`input`, `output`, `data`) have no default. Fields that a record does not name are ignored, except in `data-*`.
Names follow Python, the wire follows camelCase: `tool_call_id` is `toolCallId`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, get_args

import msgspec

from tpharness.findings import Kind

if TYPE_CHECKING:
    from tpharness.findings import Finding, Place

__all__ = [
    "CHUNK_BAD_FIELD",
    "CHUNK_NOT_JSON",
    "CHUNK_NOT_OBJECT",
    "RECORDS",
    "AbortChunk",
    "Chunk",
    "CustomChunk",
    "DataChunk",
    "Done",
    "ErrorChunk",
    "FileChunk",
    "FinishChunk",
    "FinishStepChunk",
    "KnownChunk",
    "Malformed",
    "MessageMetadataChunk",
    "ReasoningDeltaChunk",
    "ReasoningEndChunk",
    "ReasoningFileChunk",
    "ReasoningStartChunk",
    "ResetStepChunk",
    "SourceDocumentChunk",
    "SourceUrlChunk",
    "StartChunk",
    "StartStepChunk",
    "SteeringMessageChunk",
    "TextDeltaChunk",
    "TextEndChunk",
    "TextStartChunk",
    "ToolApprovalRequestChunk",
    "ToolApprovalResponseChunk",
    "ToolInputAvailableChunk",
    "ToolInputDeltaChunk",
    "ToolInputErrorChunk",
    "ToolInputStartChunk",
    "ToolOutputAvailableChunk",
    "ToolOutputDeniedChunk",
    "ToolOutputErrorChunk",
    "UnknownChunk",
    "type_of",
]

CHUNK_NOT_JSON = Kind("chunk-not-json")
CHUNK_NOT_OBJECT = Kind("chunk-not-object")
CHUNK_BAD_FIELD = Kind("chunk-bad-field")

Metadata: TypeAlias = dict[str, Any]
Name: TypeAlias = Annotated[str, msgspec.Meta(min_length=1)]
"""A name that a thread keeps, where none is empty."""


# gc=False: decoded JSON is a tree, so no record can be part of a cycle.
class _Record(
    msgspec.Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True, tag_field="type", rename="camel"
):
    """Common settings of the typed chunks."""


class StartChunk(_Record, frozen=True, kw_only=True, gc=False, tag="start"):
    """Opens the message, or renames it; an agent turn begins."""

    message_id: str | None = None
    message_metadata: Any = None


class FinishChunk(_Record, frozen=True, kw_only=True, gc=False, tag="finish"):
    """Regular end of the run. `finish_reason` is as sent, also when no major knows it."""

    finish_reason: str | None = None
    message_metadata: Any = None


class AbortChunk(_Record, frozen=True, kw_only=True, gc=False, tag="abort"):
    """The run was aborted on the server."""

    reason: str | None = None


class ErrorChunk(_Record, frozen=True, kw_only=True, gc=False, tag="error"):
    """An error of the stream as a whole; the text is for people."""

    error_text: str


class MessageMetadataChunk(_Record, frozen=True, kw_only=True, gc=False, tag="message-metadata"):
    """Metadata to merge into the message; `null` changes nothing."""

    message_metadata: Any


class StartStepChunk(_Record, frozen=True, kw_only=True, gc=False, tag="start-step"):
    """One model call begins."""


class FinishStepChunk(_Record, frozen=True, kw_only=True, gc=False, tag="finish-step"):
    """One model call ended, its tools included where the server ran them."""


class ResetStepChunk(_Record, frozen=True, kw_only=True, gc=False, tag="reset-step"):
    """Drops the parts of the current step (R44)."""


class TextStartChunk(_Record, frozen=True, kw_only=True, gc=False, tag="text-start"):
    """A text part begins."""

    id: str
    provider_metadata: Metadata | None = None


class TextDeltaChunk(_Record, frozen=True, kw_only=True, gc=False, tag="text-delta"):
    """More text; may begin or end with half a surrogate pair (R43)."""

    id: str
    delta: str
    provider_metadata: Metadata | None = None


class TextEndChunk(_Record, frozen=True, kw_only=True, gc=False, tag="text-end"):
    """The text part is complete."""

    id: str
    citations: list[Any] | None = None
    provider_metadata: Metadata | None = None


class ReasoningStartChunk(_Record, frozen=True, kw_only=True, gc=False, tag="reasoning-start"):
    """A reasoning part begins."""

    id: str
    provider_metadata: Metadata | None = None


class ReasoningDeltaChunk(_Record, frozen=True, kw_only=True, gc=False, tag="reasoning-delta"):
    """More reasoning; may begin or end with half a surrogate pair (R43)."""

    id: str
    delta: str
    provider_metadata: Metadata | None = None


class ReasoningEndChunk(_Record, frozen=True, kw_only=True, gc=False, tag="reasoning-end"):
    """The reasoning part is complete."""

    id: str
    provider_metadata: Metadata | None = None


class ToolInputStartChunk(_Record, frozen=True, kw_only=True, gc=False, tag="tool-input-start"):
    """The arguments of a tool call begin. `input_encoding` is `json` or `text`."""

    tool_call_id: str
    tool_name: Name
    input_encoding: str | None = None
    provider_executed: bool | None = None
    provider_metadata: Metadata | None = None
    tool_metadata: Metadata | None = None
    dynamic: bool | None = None
    title: str | None = None


class ToolInputDeltaChunk(_Record, frozen=True, kw_only=True, gc=False, tag="tool-input-delta"):
    """More of the text of the arguments."""

    tool_call_id: str
    input_text_delta: str


class ToolInputAvailableChunk(_Record, frozen=True, kw_only=True, gc=False, tag="tool-input-available"):
    """The tool call is complete; `input` is the parsed arguments."""

    tool_call_id: str
    tool_name: Name
    input: Any
    provider_executed: bool | None = None
    provider_metadata: Metadata | None = None
    tool_metadata: Metadata | None = None
    dynamic: bool | None = None
    title: str | None = None


class ToolInputErrorChunk(_Record, frozen=True, kw_only=True, gc=False, tag="tool-input-error"):
    """The tool call is complete and was refused: unknown tool, or arguments that do not fit."""

    tool_call_id: str
    tool_name: Name
    input: Any
    provider_executed: bool | None = None
    provider_metadata: Metadata | None = None
    tool_metadata: Metadata | None = None
    dynamic: bool | None = None
    error_text: str
    title: str | None = None


class ToolApprovalRequestChunk(_Record, frozen=True, kw_only=True, gc=False, tag="tool-approval-request"):
    """Asks whether a tool call may be executed."""

    approval_id: str
    tool_call_id: str
    approval_descriptor: Any = None
    input_schema_input: Any = None
    reason: str | None = None
    is_automatic: bool | None = None
    signature: str | None = None


class ToolApprovalResponseChunk(_Record, frozen=True, kw_only=True, gc=False, tag="tool-approval-response"):
    """The decision on an approval."""

    approval_id: str
    approved: bool
    reason: str | None = None
    provider_executed: bool | None = None
    provider_metadata: Metadata | None = None


class ToolOutputAvailableChunk(_Record, frozen=True, kw_only=True, gc=False, tag="tool-output-available"):
    """A result; only progress if `preliminary` (R14)."""

    tool_call_id: str
    output: Any
    provider_executed: bool | None = None
    provider_metadata: Metadata | None = None
    tool_metadata: Metadata | None = None
    dynamic: bool | None = None
    preliminary: bool | None = None


class ToolOutputErrorChunk(_Record, frozen=True, kw_only=True, gc=False, tag="tool-output-error"):
    """The tool failed."""

    tool_call_id: str
    error_text: str
    provider_executed: bool | None = None
    provider_metadata: Metadata | None = None
    tool_metadata: Metadata | None = None
    dynamic: bool | None = None


class ToolOutputDeniedChunk(_Record, frozen=True, kw_only=True, gc=False, tag="tool-output-denied"):
    """The tool was not executed, because that was denied."""

    tool_call_id: str


class SourceUrlChunk(_Record, frozen=True, kw_only=True, gc=False, tag="source-url"):
    """A web source of the answer."""

    source_id: str
    url: str
    title: str | None = None
    provider_metadata: Metadata | None = None


class SourceDocumentChunk(_Record, frozen=True, kw_only=True, gc=False, tag="source-document"):
    """A document that the answer draws on."""

    source_id: str
    media_type: Name
    title: str
    filename: str | None = None
    provider_metadata: Metadata | None = None


class FileChunk(_Record, frozen=True, kw_only=True, gc=False, tag="file"):
    """A file made by the model; the AI SDK's server sends a `data:` URL."""

    url: str
    media_type: Name
    provider_metadata: Metadata | None = None


class ReasoningFileChunk(_Record, frozen=True, kw_only=True, gc=False, tag="reasoning-file"):
    """A file made while reasoning."""

    url: str
    media_type: Name
    provider_metadata: Metadata | None = None


class CustomChunk(_Record, frozen=True, kw_only=True, gc=False, tag="custom"):
    """Content of a provider's own kind, named `vendor.kind`."""

    kind: str
    provider_metadata: Metadata | None = None


class SteeringMessageChunk(_Record, frozen=True, kw_only=True, gc=False, tag="steering-message"):
    """A user message put into the running turn (R44); `parts` are objects of type `text` or `file`, as sent."""

    id: str
    parts: list[dict[str, Any]]


class DataChunk(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A custom event. `name` is its whole type, such as `data-tp-agent_handoff`; `extra` any other fields, as sent."""

    name: str
    data: Any
    id: str | None = None
    transient: bool | None = None
    extra: dict[str, Any] = {}


class UnknownChunk(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A chunk of a type that no major knows (R7); `raw` is the whole object, `type` included."""

    type: str
    raw: dict[str, Any]


class Done(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The end marker `[DONE]`."""


class Malformed(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What came in place of a chunk; `kind` says what was wrong, `reason` in one line, `raw` the data of the frame."""

    kind: Kind
    reason: str
    raw: bytes

    def finding(self, place: Place) -> Finding:
        """Say it as a finding at this place."""
        return self.kind.at(place, self.reason, got=self.raw.decode("utf-8", "replace")[:500] or None)


KnownChunk: TypeAlias = (
    StartChunk
    | FinishChunk
    | AbortChunk
    | ErrorChunk
    | MessageMetadataChunk
    | StartStepChunk
    | FinishStepChunk
    | ResetStepChunk
    | TextStartChunk
    | TextDeltaChunk
    | TextEndChunk
    | ReasoningStartChunk
    | ReasoningDeltaChunk
    | ReasoningEndChunk
    | ToolInputStartChunk
    | ToolInputDeltaChunk
    | ToolInputAvailableChunk
    | ToolInputErrorChunk
    | ToolApprovalRequestChunk
    | ToolApprovalResponseChunk
    | ToolOutputAvailableChunk
    | ToolOutputErrorChunk
    | ToolOutputDeniedChunk
    | SourceUrlChunk
    | SourceDocumentChunk
    | FileChunk
    | ReasoningFileChunk
    | CustomChunk
    | SteeringMessageChunk
)
Chunk: TypeAlias = KnownChunk | DataChunk | UnknownChunk | Done | Malformed

RECORDS: dict[str, type[KnownChunk]] = {str(record.__struct_config__.tag): record for record in get_args(KnownChunk)}
"""Wire type → record, for the typed chunks."""


def type_of(chunk: Chunk) -> str:
    """Return the wire type of a chunk; `[DONE]` for the end marker, an empty text for what is no chunk."""
    match chunk:
        case DataChunk():
            return chunk.name
        case UnknownChunk():
            return chunk.type
        case Done():
            return "[DONE]"
        case Malformed():
            return ""
        case _:
            return str(chunk.__struct_config__.tag)
