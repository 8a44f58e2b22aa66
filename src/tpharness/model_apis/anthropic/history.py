"""Messages in the shape of Anthropic's Messages API."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tpharness.model_apis.anthropic.row import ANTHROPIC
from tpharness.model_apis.history_parts import (
    NO_WORDS,
    REDACTED,
    call_arguments,
    content_items,
    decode_text,
    kind_of,
    own_signature,
    parts_of,
    read_tool_result,
    retry_text,
    unsupported_content,
)
from tpharness.model_apis.shape import string

__all__ = ["additions", "write_payload"]


def write_payload(messages: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return `messages` and, if there is a system prompt, `system`."""
    out: list[dict[str, Any]] = []
    prompts: list[str] = []
    for message in messages:
        if message.get("kind") == "response":
            out += _response(message)
            continue
        prompts += [string(p, "content") or "" for p in parts_of(message) if kind_of(p) == "system-prompt"]
        blocks = list(_user_blocks(message))
        if blocks:
            out.append({"role": "user", "content": blocks})
    system = "\n\n".join(prompts)
    return {**({"system": system} if system else {}), "messages": out}


def additions(messages: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str, str]]:
    """Yield the words that `write_payload` gives to failed tools that said nothing."""
    for index, entry in enumerate(write_payload(messages)["messages"]):
        for number, block in enumerate(entry["content"]):
            if block["type"] == "tool_result" and block["content"] == [_text(NO_WORDS)]:
                what = f"the text {NO_WORDS!r} for the call {block['tool_use_id']}"
                why = "anthropic: a result that is an error has a text"
                yield f"/messages/{index}/content/{number}/content/0", what, why


def _response(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the assistant message; before it, thinking that has no signature as a user message.

    Thinking as text in the assistant message would teach the model to write such tags.
    """
    blocks: list[dict[str, Any]] = []
    carried: list[dict[str, Any]] = []
    for part in parts_of(message):
        content = string(part, "content") or ""
        match kind_of(part):
            case "text" if content:
                blocks.append(_text(content))
            case "thinking":
                signature = own_signature(part, ANTHROPIC.issuers)
                if signature and string(part, "thinking_id", "id") in REDACTED:
                    blocks.append({"type": "redacted_thinking", "data": signature})
                elif signature:
                    blocks.append({"type": "thinking", "thinking": content, "signature": signature})
                elif content:
                    carried.append(_text(f"<assistant_thinking>\n{content}\n</assistant_thinking>"))
            case "tool-call":
                called = {"id": string(part, "tool_call_id"), "name": string(part, "tool_name")}
                blocks.append({"type": "tool_use", **called, "input": call_arguments(part)})
    if carried:
        yield {"role": "user", "content": carried}
    if blocks:
        yield {"role": "assistant", "content": blocks}


def _user_blocks(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the results first; the files of those that failed stand behind them."""
    files: list[dict[str, Any]] = []
    for part in parts_of(message):
        result = read_tool_result(part)
        if result is not None:
            content = [_block(item) for item in result.items if item != ""]  # A18: no text is empty
            if result.failed:
                files += [block for block in content if block["type"] != "text"]
                content = [block for block in content if block["type"] == "text"] or [_text(NO_WORDS)]
            called = {"type": "tool_result", "tool_use_id": result.call_id}
            yield {**called, "content": content or "", "is_error": result.failed}
            continue
        yield from files
        files = []
        if kind_of(part) == "user-prompt":
            yield from (_block(item) for item in content_items(part.get("content")) if item)
        elif kind_of(part) == "retry-prompt":
            yield _text(retry_text(part))
    yield from files


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _block(item: str | Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(item, str):
        return _text(item)
    kind, media_type, data = string(item, "kind"), string(item, "media_type") or "", string(item, "data") or ""
    if kind == "image-url":
        return {"type": "image", "source": {"type": "url", "url": item["url"]}}
    if kind == "document-url":
        return {"type": "document", "source": {"type": "url", "url": item["url"]}}
    if kind == "binary" and media_type.startswith("image/"):
        return {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}}
    if kind == "binary" and media_type == "application/pdf":
        return {"type": "document", "source": {"type": "base64", "media_type": media_type, "data": data}}
    if kind == "binary" and media_type == "text/plain":
        text = decode_text(item)
        if text is None:
            raise unsupported_content(item, "anthropic")
        return {"type": "document", "source": {"type": "text", "media_type": media_type, "data": text}}
    raise unsupported_content(item, "anthropic")
