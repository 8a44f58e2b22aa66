"""Messages in the shape of Ollama's chat API: arguments are objects, images base64 beside the text, ids are sent.

A result has the id of its call and, for servers before 0.12.10, the name of the tool.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tpharness.model_apis.history_parts import (
    call_arguments,
    compact_json,
    content_items,
    decode_text,
    kind_of,
    nothing_added,
    parts_of,
    read_tool_result,
    retry_text,
    unsupported_content,
)
from tpharness.model_apis.shape import string

__all__ = ["additions", "write_payload"]

additions = nothing_added


def write_payload(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the list of messages."""
    return [
        written
        for message in messages
        for written in (_assistant(message) if message.get("kind") == "response" else _request(message))
    ]


def _assistant(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield one message, or nothing if it would be empty."""
    texts: list[str] = []
    thoughts: list[str] = []
    calls: list[dict[str, Any]] = []
    for part in parts_of(message):
        match kind_of(part):
            case "text":
                texts.append(string(part, "content") or "")
            case "thinking":
                thoughts.append(string(part, "content") or "")
            case "tool-call":
                function = {"name": string(part, "tool_name") or "", "arguments": call_arguments(part)}
                calls.append({"id": string(part, "tool_call_id"), "type": "function", "function": function})
    if texts or calls:
        thinking = {"thinking": "\n\n".join(thoughts)} if any(thoughts) else {}
        made = {"tool_calls": calls} if calls else {}
        yield {"role": "assistant", "content": "\n\n".join(texts), **thinking, **made}


def _request(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for part in parts_of(message):
        result = read_tool_result(part)
        if result is not None:
            text = compact_json({"error": result.error()}) if result.failed else result.text()
            images = _images(result.files)
            yield {"role": "tool", "content": text, "tool_name": result.name, "tool_call_id": result.call_id, **images}
            continue
        match kind_of(part):
            case "system-prompt":
                yield {"role": "system", "content": string(part, "content") or ""}
            case "user-prompt":
                yield _prompt(part.get("content"))
            case "retry-prompt":
                yield {"role": "user", "content": retry_text(part)}


def _prompt(content: Any) -> dict[str, Any]:
    texts: list[str] = []
    files: list[Mapping[str, Any]] = []
    for item in content_items(content):
        if isinstance(item, str):
            texts.append(item)
        elif (string(item, "media_type") or "").startswith("text/") and (text := decode_text(item)) is not None:
            texts.append(text)
        else:
            files.append(item)
    return {"role": "user", "content": "\n\n".join(texts), **_images(files)}


def _images(files: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Return the field with the images, if there are any; the API takes nothing but images, and no addresses."""
    for item in files:
        if string(item, "kind") != "binary" or not (string(item, "media_type") or "").startswith("image/"):
            raise unsupported_content(item, "ollama")
    return {"images": [string(item, "data") or "" for item in files]} if files else {}
