"""One chunk → the fields of a part, or the name and data of an event. Pure functions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tpharness.facts import binary_identifier, is_base64
from tpharness.wires.vsp import records as c

__all__ = ["DENIAL", "call_fields", "custom_part", "file_fields", "provider_facts", "source_event", "steering_prompt"]

DENIAL = "The tool call was denied."
"""The content of the return of a denied call when no reason was given (R22)."""

_URL_KINDS = {"image": "image-url", "audio": "audio-url", "video": "video-url"}


def provider_facts(metadata: Mapping[str, Any] | None) -> dict[str, Any]:
    """Read `id`, `signature` and `provider_name` from provider metadata.

    Pydantic AI puts them under its own name; other servers under the provider's, which then is its name (R15).
    """
    if not metadata:
        return {}
    own = metadata.get("pydantic_ai")
    if isinstance(own, Mapping):
        return {k: own[k] for k in ("id", "signature", "provider_name") if isinstance(own.get(k), str)}
    name, values = next(iter(metadata.items()))
    facts: dict[str, Any] = {"provider_name": name}
    if isinstance(values, Mapping) and isinstance(values.get("signature"), str):
        facts["signature"] = values["signature"]
    return facts


def call_fields(
    chunk: c.ToolInputStartChunk | c.ToolInputAvailableChunk | c.ToolInputErrorChunk, *, provider_executed: bool
) -> dict[str, Any]:
    """Return the fields of a call but for its arguments; one that the provider executes names it."""
    fields: dict[str, Any] = {"tool_name": chunk.tool_name, "tool_call_id": chunk.tool_call_id}
    if provider_executed and "provider_name" in (facts := provider_facts(chunk.provider_metadata)):
        fields["provider_name"] = facts["provider_name"]
    return fields


def file_fields(chunk: c.FileChunk | c.ReasoningFileChunk) -> dict[str, Any]:
    """Return the content of a file, and the id of its part if it has one.

    It is `BinaryContent` for base64 in a `data:` URL, a URL content for anything else (R49). A range such as `image/*`
    says the kind of a file whose media type nobody knows (R63).
    """
    own = (chunk.provider_metadata or {}).get("pydantic_ai")
    names = {k: v for k, v in own.items() if isinstance(v, str)} if isinstance(own, Mapping) else {}
    head, _, data = chunk.url.partition(",")
    content: dict[str, Any]
    if chunk.url.startswith("data:") and head.endswith(";base64") and is_base64(data):
        identifier = names.get("identifier") or binary_identifier(data)
        content = {"kind": "binary", "data": data, "media_type": chunk.media_type, "identifier": identifier}
    else:
        kind = _URL_KINDS.get(chunk.media_type.partition("/")[0], "document-url")
        content = {"kind": kind, "url": chunk.url, "identifier": names.get("identifier") or chunk.url}
        if not chunk.media_type.endswith("/*"):
            content["media_type"] = chunk.media_type
    return {"content": content, **({"id": names["id"]} if "id" in names else {})}


def custom_part(chunk: c.CustomChunk | c.ReasoningFileChunk) -> tuple[str, dict[str, Any]]:
    """Return kind and fields of a part that the protocol does not define, in the `custom:` namespace."""
    if isinstance(chunk, c.ReasoningFileChunk):
        return "custom:reasoning-file", file_fields(chunk)
    metadata = {} if chunk.provider_metadata is None else {"provider_metadata": chunk.provider_metadata}
    return f"custom:{chunk.kind}", metadata


def source_event(chunk: c.SourceUrlChunk | c.SourceDocumentChunk) -> tuple[str, dict[str, Any]]:
    """Return name and data of a source's event."""
    if isinstance(chunk, c.SourceUrlChunk):
        data = {"source_id": chunk.source_id, "url": chunk.url, "title": chunk.title}
        name = "source.url"
    else:
        data = {
            "source_id": chunk.source_id,
            "media_type": chunk.media_type,
            "title": chunk.title,
            "filename": chunk.filename,
        }
        name = "source.document"
    return name, {k: value for k, value in data.items() if value is not None}


def steering_prompt(chunk: c.SteeringMessageChunk) -> dict[str, Any]:
    """Return the user prompt part of a steering message (R44): its text, or the list of its contents."""
    contents: list[Any] = []
    for part in chunk.parts:
        if part.get("type") == "text" and isinstance(part.get("text"), str):
            contents.append(part["text"])
        elif part.get("type") == "file" and isinstance(part.get("url"), str) and part["url"]:
            file = c.FileChunk(
                url=part["url"],
                media_type=str(part.get("mediaType") or "application/octet-stream"),
                provider_metadata=metadata if isinstance(metadata := part.get("providerMetadata"), dict) else None,
            )
            contents.append(file_fields(file)["content"])
    single = len(contents) == 1 and isinstance(contents[0], str)
    return {"part_kind": "user-prompt", "content": contents[0] if single else contents}
