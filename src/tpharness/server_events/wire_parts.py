"""Parts as the wire has them: files, parts of other kinds, and what the end of a part says beside its text. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["custom_chunk", "end_metadata", "file_url", "media_type", "steering_parts"]


def end_metadata(word: str, part: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a part that travel with its end."""
    names = ("id",) if word == "text" else ("id", "signature", "provider_name")
    return {k: part[k] for k in names if part.get(k) is not None}


def file_url(content: Mapping[str, Any]) -> str:
    """Return where a file is: a `data:` URL if its contents are there, "" if nothing says it."""
    if content.get("data") is not None:
        return f"data:{media_type(content)};base64,{content['data']}"
    return str(content.get("url") or "")


def media_type(content: Mapping[str, Any]) -> str:
    """Return the media type of a file, "" if nothing says it."""
    return str(content.get("media_type") or "")


def custom_chunk(part: Mapping[str, Any]) -> dict[str, Any]:
    """Return the chunk of a `custom:*` part."""
    kind = part["part_kind"].removeprefix("custom:")
    content = part.get("content")
    if kind == "reasoning-file" and isinstance(content, Mapping):
        return {"type": "reasoning-file", "url": file_url(content), "mediaType": media_type(content)}
    metadata = part.get("provider_metadata")
    return {"type": "custom", "kind": kind, **({"providerMetadata": metadata} if metadata else {})}


def steering_parts(content: str | Sequence[Any]) -> list[dict[str, Any]]:
    """Return the contents of a prompt as the parts of a `steering-message`."""
    items = [content] if isinstance(content, str) else content
    return [
        {"type": "text", "text": item}
        if isinstance(item, str)
        else {"type": "file", "url": file_url(item), "mediaType": media_type(item)}
        for item in items
    ]
