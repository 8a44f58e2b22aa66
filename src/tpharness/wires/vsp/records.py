"""The chunks of the Vercel AI SDK's UI message stream, as typed records.

One record for each chunk type that the AI SDK 5, 6 or 7 knows, a `DataChunk` for the open family `data-*`, an
`UnknownChunk` for any other type (R7: kept, never rejected), `Done` for the end marker, and `Malformed` for what is not
a chunk at all. This is the one list of chunk kinds: a subclass of `KnownChunk` is a kind, and says of itself which
majors know it and its fields, and whether it continues a part. `chunks` reads the records, `encode` writes them.

Optional fields are None when absent; an explicit `null` reads as absent. Fields that may be null but must be present
(`input`, `output`, `data`) have no default. Fields that a record does not name are ignored, except in `data-*`.
Names follow Python, the wire follows camelCase: `tool_call_id` is `toolCallId`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeAlias

import msgspec

from tpharness.findings import Kind

if TYPE_CHECKING:
    from tpharness.findings import Finding, Place

CHUNK_NOT_JSON = Kind("chunk-not-json")
CHUNK_NOT_OBJECT = Kind("chunk-not-object")
CHUNK_BAD_FIELD = Kind("chunk-bad-field")

Metadata: TypeAlias = dict[str, Any]
Name: TypeAlias = Annotated[str, msgspec.Meta(min_length=1)]
"""A name that is kept in the thread, where names are not empty."""


MAJORS: frozenset[int] = frozenset({5, 6, 7})
"""The majors of the AI SDK whose streams are known here."""
_COMMON = frozenset({"stop", "length", "content-filter", "tool-calls", "error", "other"})
FINISH_REASONS: dict[int, frozenset[str]] = {5: _COMMON | {"unknown"}, 6: _COMMON, 7: _COMMON | {"interrupted"}}
"""Major → the values of `finishReason` that it accepts."""

_SINCE_6 = frozenset({6, 7})
_ONLY_7 = frozenset({7})
_FieldSince6 = msgspec.Meta(extra={"majors": _SINCE_6})
_FieldOnly7 = msgspec.Meta(extra={"majors": _ONLY_7})


# gc=False: decoded JSON is a tree, so no record can be part of a cycle.
class KnownChunk(
    msgspec.Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True, tag_field="type", rename="camel"
):
    """A chunk of a type that some major of the AI SDK knows; each subclass is one type, its tag the name on the wire.

    A field that not all of those majors know is annotated with the majors that do.
    """

    majors: ClassVar[frozenset[int]] = MAJORS
    """The majors that know this type."""
    continues_part: ClassVar[bool] = False
    """Whether the chunk adds to a part, or ends one, that an earlier chunk has started."""
    delta_field: ClassVar[str] = ""
    """The wire name of the field that holds a piece of a text, empty for a chunk that is not a delta."""


class StartChunk(KnownChunk, frozen=True, kw_only=True, gc=False, tag="start"):
    """Opens the message, or renames it; an agent turn begins."""

    message_id: str | None = None
    message_metadata: Any = None


class FinishChunk(KnownChunk, frozen=True, kw_only=True, gc=False, tag="finish"):
    """Regular end of the run. `finish_reason` is as sent, also when no major knows it."""

    finish_reason: str | None = None
    message_metadata: Any = None


class AbortChunk(KnownChunk, frozen=True, kw_only=True, gc=False, tag="abort"):
    """The run was aborted on the server."""

    reason: Annotated[str | None, _FieldSince6] = None


class ErrorChunk(KnownChunk, frozen=True, kw_only=True, gc=False, tag="error"):
    """An error of the stream as a whole; the text is for people."""

    error_text: str


class MessageMetadataChunk(KnownChunk, frozen=True, kw_only=True, gc=False, tag="message-metadata"):
    """Metadata to merge into the message; `null` changes nothing."""

    message_metadata: Any


class StartStepChunk(KnownChunk, frozen=True, kw_only=True, gc=False, tag="start-step"):
    """One model call begins."""


class FinishStepChunk(KnownChunk, frozen=True, kw_only=True, gc=False, tag="finish-step"):
    """One model call ended, its tools included where the server ran them."""


class ResetStepChunk(KnownChunk, frozen=True, kw_only=True, gc=False, tag="reset-step"):
    """Drops the parts of the current step (R44)."""

    majors = _ONLY_7


class TextStartChunk(KnownChunk, frozen=True, kw_only=True, gc=False, tag="text-start"):
    """A text part begins."""

    id: str
    provider_metadata: Metadata | None = None


class TextDeltaChunk(KnownChunk, frozen=True, kw_only=True, gc=False, tag="text-delta"):
    """More text; may begin or end with half a surrogate pair (R43)."""

    continues_part = True
    delta_field = "delta"

    id: str
    delta: str
    provider_metadata: Metadata | None = None


class TextEndChunk(KnownChunk, frozen=True, kw_only=True, gc=False, tag="text-end"):
    """The text part is complete."""

    continues_part = True

    id: str
    citations: Annotated[list[Any] | None, _FieldOnly7] = None
    provider_metadata: Metadata | None = None


class ReasoningStartChunk(KnownChunk, frozen=True, kw_only=True, gc=False, tag="reasoning-start"):
    """A reasoning part begins."""

    id: str
    provider_metadata: Metadata | None = None


class ReasoningDeltaChunk(KnownChunk, frozen=True, kw_only=True, gc=False, tag="reasoning-delta"):
    """More reasoning; may begin or end with half a surrogate pair (R43)."""

    continues_part = True
    delta_field = "delta"

    id: str
    delta: str
    provider_metadata: Metadata | None = None


class ReasoningEndChunk(KnownChunk, frozen=True, kw_only=True, gc=False, tag="reasoning-end"):
    """The reasoning part is complete."""

    continues_part = True

    id: str
    provider_metadata: Metadata | None = None


class ToolInputStartChunk(KnownChunk, frozen=True, kw_only=True, gc=False, tag="tool-input-start"):
    """The arguments of a tool call begin. `input_encoding` is `json` or `text`."""

    tool_call_id: str
    tool_name: Name
    input_encoding: Annotated[str | None, _FieldSince6] = None
    provider_executed: bool | None = None
    provider_metadata: Annotated[Metadata | None, _FieldSince6] = None
    tool_metadata: Annotated[Metadata | None, _FieldSince6] = None
    dynamic: bool | None = None
    title: Annotated[str | None, _FieldSince6] = None


class ToolInputDeltaChunk(KnownChunk, frozen=True, kw_only=True, gc=False, tag="tool-input-delta"):
    """More of the text of the arguments."""

    continues_part = True
    delta_field = "inputTextDelta"

    tool_call_id: str
    input_text_delta: str


class ToolInputAvailableChunk(KnownChunk, frozen=True, kw_only=True, gc=False, tag="tool-input-available"):
    """The tool call is complete; `input` is the parsed arguments."""

    tool_call_id: str
    tool_name: Name
    input: Any
    provider_executed: bool | None = None
    provider_metadata: Metadata | None = None
    tool_metadata: Annotated[Metadata | None, _FieldSince6] = None
    dynamic: bool | None = None
    title: Annotated[str | None, _FieldSince6] = None


class ToolInputErrorChunk(KnownChunk, frozen=True, kw_only=True, gc=False, tag="tool-input-error"):
    """The tool call is complete and was rejected: unknown tool, or invalid arguments."""

    tool_call_id: str
    tool_name: Name
    input: Any
    provider_executed: bool | None = None
    provider_metadata: Metadata | None = None
    tool_metadata: Annotated[Metadata | None, _FieldSince6] = None
    dynamic: bool | None = None
    error_text: str
    title: Annotated[str | None, _FieldSince6] = None


class ToolApprovalRequestChunk(KnownChunk, frozen=True, kw_only=True, gc=False, tag="tool-approval-request"):
    """Asks whether a tool call may be executed."""

    majors = _SINCE_6

    approval_id: str
    tool_call_id: str
    approval_descriptor: Any = None
    input_schema_input: Any = None
    reason: Annotated[str | None, _FieldOnly7] = None
    is_automatic: Annotated[bool | None, _FieldOnly7] = None
    signature: str | None = None


class ToolApprovalResponseChunk(KnownChunk, frozen=True, kw_only=True, gc=False, tag="tool-approval-response"):
    """The decision on an approval."""

    majors = _ONLY_7

    approval_id: str
    approved: bool
    reason: str | None = None
    provider_executed: bool | None = None
    provider_metadata: Metadata | None = None


class ToolOutputAvailableChunk(KnownChunk, frozen=True, kw_only=True, gc=False, tag="tool-output-available"):
    """A result; only progress if `preliminary` (R14)."""

    tool_call_id: str
    output: Any
    provider_executed: bool | None = None
    provider_metadata: Annotated[Metadata | None, _FieldSince6] = None
    tool_metadata: Annotated[Metadata | None, _FieldSince6] = None
    dynamic: bool | None = None
    preliminary: bool | None = None


class ToolOutputErrorChunk(KnownChunk, frozen=True, kw_only=True, gc=False, tag="tool-output-error"):
    """The tool failed."""

    tool_call_id: str
    error_text: str
    provider_executed: bool | None = None
    provider_metadata: Annotated[Metadata | None, _FieldSince6] = None
    tool_metadata: Annotated[Metadata | None, _FieldSince6] = None
    dynamic: bool | None = None


class ToolOutputDeniedChunk(KnownChunk, frozen=True, kw_only=True, gc=False, tag="tool-output-denied"):
    """The tool was not executed, because its approval was denied."""

    majors = _SINCE_6

    tool_call_id: str


class SourceUrlChunk(KnownChunk, frozen=True, kw_only=True, gc=False, tag="source-url"):
    """A web source of the answer."""

    source_id: str
    url: str
    title: str | None = None
    provider_metadata: Metadata | None = None


class SourceDocumentChunk(KnownChunk, frozen=True, kw_only=True, gc=False, tag="source-document"):
    """A document that the answer draws on."""

    source_id: str
    media_type: Name
    title: str
    filename: str | None = None
    provider_metadata: Metadata | None = None


class FileChunk(KnownChunk, frozen=True, kw_only=True, gc=False, tag="file"):
    """A file made by the model; the AI SDK's server sends a `data:` URL."""

    url: str
    media_type: Name
    provider_metadata: Metadata | None = None


class ReasoningFileChunk(KnownChunk, frozen=True, kw_only=True, gc=False, tag="reasoning-file"):
    """A file made while reasoning."""

    majors = _ONLY_7

    url: str
    media_type: Name
    provider_metadata: Metadata | None = None


class CustomChunk(KnownChunk, frozen=True, kw_only=True, gc=False, tag="custom"):
    """Content of a provider's own kind, named `vendor.kind`."""

    majors = _ONLY_7

    kind: str
    provider_metadata: Metadata | None = None


class SteeringMessageChunk(KnownChunk, frozen=True, kw_only=True, gc=False, tag="steering-message"):
    """A user message sent into the running turn (R44); `parts` are objects of type `text` or `file`, as sent."""

    majors = _ONLY_7

    id: str
    parts: list[dict[str, Any]]


class _NotOnTheWire:
    """The type of a field that no JSON value fits, so that decoding never sets it."""


if TYPE_CHECKING:
    _ByName: TypeAlias = bool
    _Extra: TypeAlias = dict[str, Any]
else:
    _ByName = _Extra = _NotOnTheWire


class DataChunk(
    msgspec.Struct, frozen=True, kw_only=True, gc=False, forbid_unknown_fields=True, rename={"name": "type"}
):
    """A custom event. `name` is its whole type, such as `data-tp-agent_handoff`; `extra` any other fields, as sent.

    `by_name` is true for the framing by name and value, which is read and not written (R33). Few chunks have either, so
    the four fields of the wire are decoded in one step, and `chunks` makes the chunks that have more.
    """

    name: str
    data: Any
    id: str | None = None
    transient: bool | None = None
    by_name: _ByName = False
    extra: _Extra = {}


class UnknownChunk(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A chunk of a type that no major knows (R7); `raw` is the whole object, `type` included."""

    type: str
    raw: dict[str, Any]


DONE = b"data: [DONE]\n\n"
"""The end marker, as an event."""


class Done(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The end marker `[DONE]`."""


class Malformed(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What came in place of a chunk; `kind` says what was wrong, `reason` in one line, `raw` the data of the frame."""

    kind: Kind
    reason: str
    raw: bytes

    def finding(self, place: Place) -> Finding:
        """Return it as a finding at this place."""
        return self.kind.at(place, self.reason, got=self.raw.decode("utf-8", "replace")[:500] or None)


Chunk: TypeAlias = KnownChunk | DataChunk | UnknownChunk | Done | Malformed

RECORDS: dict[str, type[KnownChunk]] = {
    str(record.__struct_config__.tag): record for record in KnownChunk.__subclasses__()
}
"""Wire type → record, for the typed chunks."""


def type_of(chunk: Chunk) -> str:
    """Return the wire type of a chunk; `[DONE]` for the end marker, an empty text for what is not a chunk."""
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
