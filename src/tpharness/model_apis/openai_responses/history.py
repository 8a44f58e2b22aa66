"""Messages in the shape of OpenAI's Responses API.

Items are sent without their ids, because an item without an id does not need its reasoning beside it (R3). Reasoning is
the exception: it has no form without an id.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tpharness.model_apis.history_parts import (
    ToolResult,
    call_arguments,
    compact_json,
    data_uri,
    file_extension,
    kind_of,
    nothing_added,
    own_signature,
    parts_of,
    prompt_messages,
    read_tool_result,
    unsupported_content,
)
from tpharness.model_apis.openai_responses.row import OPENAI_RESPONSES
from tpharness.model_apis.shape import string, value_of

__all__ = ["additions", "write_payload"]

additions = nothing_added

_CHAT_FIELDS = ("content", "reasoning", "reasoning_content")


def write_payload(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the list of input items."""
    out: list[dict[str, Any]] = []
    for message in messages:
        if message.get("kind") == "response":
            _response(message, out)
        else:
            out += _request(message)
    return out


def _response(message: Mapping[str, Any], out: list[dict[str, Any]]) -> None:
    reasoning: dict[str, Any] | None = None
    for part in parts_of(message):
        content = string(part, "content") or ""
        match kind_of(part):
            case "text":
                out.append({"role": "assistant", "content": content})
            case "thinking":
                signature, item_id = own_signature(part, OPENAI_RESPONSES.issuers), string(part, "thinking_id", "id")
                if not _is_item(part, item_id):
                    out.append({"role": "assistant", "content": f"<think>\n{content}\n</think>"})
                elif content or signature:
                    if reasoning is None or reasoning["id"] != item_id:
                        encrypted = {"encrypted_content": signature} if signature else {}
                        reasoning = {"type": "reasoning", "id": item_id, "summary": [], **encrypted}
                        out.append(reasoning)
                    reasoning["summary"] += [{"type": "summary_text", "text": content}] if content else []
            case "tool-call":
                called = {"call_id": _call_id(string(part, "tool_call_id")), "name": string(part, "tool_name")}
                out.append({"type": "function_call", **called, "arguments": compact_json(call_arguments(part))})


def _is_item(part: Mapping[str, Any], item_id: str | None) -> bool:
    """Whether thinking was an item of this API; Chat Completions leaves the name of its field as the id."""
    own = string(part, "provider_name") in OPENAI_RESPONSES.issuers
    return own and bool(item_id) and (item_id not in _CHAT_FIELDS or bool(string(part, "signature")))


def _call_id(stored: str | None) -> str | None:
    """Return the id of a call without the id of its item, which old histories append after a bar."""
    return stored and stored.partition("|")[0]


def _request(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for part in parts_of(message):
        result = read_tool_result(part)
        if result is not None:
            yield {"type": "function_call_output", "call_id": _call_id(result.call_id), "output": _output(result)}
            continue
        yield from prompt_messages(part, _piece)


def _output(result: ToolResult) -> str | list[dict[str, Any]]:
    error = compact_json({"error": result.error()}) if result.failed else None
    if not result.files:
        return result.text() if error is None else error
    items: tuple[str | Mapping[str, Any], ...] = result.items if error is None else (error, *result.files)
    return [_piece(item) for item in items]


def _piece(item: str | Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(item, str):
        return {"type": "input_text", "text": item}
    kind, media_type = string(item, "kind"), string(item, "media_type") or ""
    detail = value_of(value_of(item, "vendor_metadata"), "detail") or "auto"
    if kind == "image-url":
        return {"type": "input_image", "image_url": item["url"], "detail": detail}
    if kind in ("document-url", "audio-url"):
        return {"type": "input_file", "file_url": item["url"]}
    if kind != "binary" or media_type.startswith(("audio/", "video/")):
        raise unsupported_content(item, "openai-responses")
    if media_type.startswith("image/"):
        return {"type": "input_image", "image_url": data_uri(item), "detail": detail}
    return {"type": "input_file", "file_data": data_uri(item), "filename": f"filename.{file_extension(media_type)}"}
