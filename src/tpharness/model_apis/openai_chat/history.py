"""Messages in the shape of OpenAI's Chat Completions API."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tpharness.model_apis.history_parts import (
    ToolResult,
    call_arguments,
    compact_json,
    data_uri,
    decode_text,
    file_extension,
    kind_of,
    nothing_added,
    parts_of,
    prompt_messages,
    read_tool_result,
    unsupported_content,
)
from tpharness.model_apis.openai_chat.row import OPENAI_CHAT
from tpharness.model_apis.shape import string, value_of

__all__ = ["additions", "thinking_as_text", "write_payload"]

additions = nothing_added

_AUDIO = ("wav", "mp3")
_TEXTS = ("application/json", "application/xml", "application/yaml")
_FIELDS = ("reasoning", "reasoning_content")


def write_payload(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the list of messages."""
    out: list[dict[str, Any]] = []
    for message in messages:
        if message.get("kind") == "response":
            out += _assistant(message)
        else:
            out += _request(message)
    return out


def _assistant(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield one message, or nothing if the message would be empty (C3).

    Thinking is sent in the field in which it arrived, whose name is its id if a server of this API sent it; otherwise
    it is sent as text.
    """
    texts: list[str] = []
    thinking: dict[str, str] = {}
    calls: list[dict[str, Any]] = []
    for part in parts_of(message):
        content = string(part, "content") or ""
        match kind_of(part):
            case "text":
                texts.append(content)
            case "thinking" if (name := _thinking_field(part)) is not None:
                thinking[name] = "\n\n".join([thinking[name], content] if name in thinking else [content])
            case "thinking":
                texts.append(thinking_as_text(content))
            case "tool-call":
                function = {"name": string(part, "tool_name"), "arguments": compact_json(call_arguments(part))}
                calls.append({"id": string(part, "tool_call_id"), "type": "function", "function": function})
    if texts or calls:
        made = {"tool_calls": calls} if calls else {}
        yield {"role": "assistant", **thinking, "content": "\n\n".join(texts) if texts else None, **made}


def thinking_as_text(thought: str) -> str:
    """Return thinking as it stands in the text of a message."""
    return f"<think>\n{thought}\n</think>"


def _thinking_field(part: Mapping[str, Any]) -> str | None:
    name = string(part, "thinking_id", "id")
    return name if name in _FIELDS and string(part, "provider_name") in OPENAI_CHAT.issuers else None


def _request(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    files: list[dict[str, Any]] = []
    for part in parts_of(message):
        result = read_tool_result(part)
        if result is not None:
            yield {"role": "tool", "tool_call_id": result.call_id, "content": _result(result)}
            files += [_file(item) for item in result.files]
            continue
        yield from prompt_messages(part, _piece)
    if files:  # tool messages accept text only
        yield {"role": "user", "content": files}


def _result(result: ToolResult) -> str:
    """Return the text of a tool message; it names the files that follow in a message of the user."""
    named = [_file_note(item) for item in result.files]
    if result.failed:
        error = {"error": result.error()}
        return compact_json([error, *named] if named else error)
    if not named:
        return result.text()
    texts = [item if isinstance(item, str) else _file_note(item) for item in result.items]
    return compact_json(texts) if result.several else texts[0]


def _file_note(item: Mapping[str, Any]) -> str:
    return f"See file {string(item, 'identifier') or ''}."


def _piece(item: str | Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "text", "text": item} if isinstance(item, str) else _file(item)


def _file(item: Mapping[str, Any]) -> dict[str, Any]:
    kind, media_type = string(item, "kind"), string(item, "media_type") or ""
    ending = file_extension(media_type)
    detail = value_of(value_of(item, "vendor_metadata"), "detail")
    shown = {"detail": detail} if detail is not None else {}
    if kind == "image-url":
        return {"type": "image_url", "image_url": {"url": item["url"], **shown}}
    if kind == "document-url":
        return {"type": "file", "file": {"file_data": item["url"], "filename": f"filename.{ending or 'pdf'}"}}
    if kind != "binary" or media_type.startswith("video/"):
        raise unsupported_content(item, "openai-chat")
    if media_type.startswith("image/"):
        return {"type": "image_url", "image_url": {"url": data_uri(item), **shown}}
    if media_type.startswith("audio/"):
        if ending not in _AUDIO:
            raise unsupported_content(item, "openai-chat")
        return {"type": "input_audio", "input_audio": {"data": item["data"], "format": ending}}
    if media_type.startswith("text/") or media_type in _TEXTS:
        return {"type": "text", "text": _inline_file(item, media_type)}
    return {"type": "file", "file": {"file_data": data_uri(item), "filename": f"filename.{ending}"}}


def _inline_file(item: Mapping[str, Any], media_type: str) -> str:
    """Return a text file between lines that describe it: the API does not accept such files."""
    text, name = decode_text(item), string(item, "identifier") or ""
    if text is None:
        raise unsupported_content(item, "openai-chat")
    return f'-----BEGIN FILE id="{name}" type="{media_type}"-----\n{text}\n-----END FILE id="{name}"-----'
