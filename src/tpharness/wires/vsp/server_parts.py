"""Parts as the wire has them: files, parts of other kinds, and what the end of a part says beside its text. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tpharness.facts import binary_identifier

__all__ = ["MEDIA_RANGES", "custom_chunk", "end_metadata", "file_fields", "provider_fields", "steering_parts"]

MEDIA_RANGES = {"image-url": "image/*", "audio-url": "audio/*", "video-url": "video/*"}
"""What a kind of file says of its media type where nothing else does."""


def end_metadata(word: str, part: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a part that travel with its end."""
    names = ("id",) if word == "text" else ("id", "signature", "provider_name")
    return {k: part[k] for k in names if part.get(k) is not None}


def provider_fields(call: Mapping[str, Any]) -> dict[str, Any]:
    """Return what chunks about the input of a call say besides, if the provider executes it (R42); else nothing."""
    if call["part_kind"] != "builtin-tool-call":
        return {}
    provider = call.get("provider_name")
    metadata = {"providerMetadata": {"pydantic_ai": {"provider_name": provider}}} if provider else {}
    return {"providerExecuted": True, **metadata}


def file_fields(content: Mapping[str, Any], part_id: str | None = None) -> dict[str, Any]:
    """Return the fields of the chunk or part of a file.

    They are its address, or a `data:` URL if its contents are there; its media type, or the range of its kind; and its
    own names, `part_id` among them, where it has any (R63).
    """
    return {"url": _file_url(content), "mediaType": _media_type(content), **_own_names(content, part_id)}


def _file_url(content: Mapping[str, Any]) -> str:
    if content.get("data") is not None:
        return f"data:{content.get('media_type') or ''};base64,{content['data']}"
    return str(content.get("url") or "")


def _media_type(content: Mapping[str, Any]) -> str:
    return str(content.get("media_type") or MEDIA_RANGES.get(content.get("kind", ""), "*/*"))


def _own_names(content: Mapping[str, Any], part_id: str | None) -> dict[str, Any]:
    data = content.get("data")
    usual = content.get("url") if data is None else binary_identifier(data)
    identifier = content.get("identifier")
    names = {"id": part_id, "identifier": None if identifier == usual else identifier}
    known = {name: value for name, value in names.items() if value is not None}
    return {"providerMetadata": {"pydantic_ai": known}} if known else {}


def custom_chunk(part: Mapping[str, Any]) -> dict[str, Any]:
    """Return the chunk of a `custom:*` part."""
    kind = part["part_kind"].removeprefix("custom:")
    content = part.get("content")
    if kind == "reasoning-file" and isinstance(content, Mapping):
        return {"type": "reasoning-file", **file_fields(content, part.get("id"))}
    metadata = part.get("provider_metadata")
    return {"type": "custom", "kind": kind, **({"providerMetadata": metadata} if metadata else {})}


def steering_parts(content: str | Sequence[Any]) -> list[dict[str, Any]]:
    """Return the contents of a prompt as the parts of a `steering-message`."""
    items = [content] if isinstance(content, str) else content
    return [
        {"type": "text", "text": item} if isinstance(item, str) else {"type": "file", **file_fields(item)}
        for item in items
    ]
