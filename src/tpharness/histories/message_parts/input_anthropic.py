"""A history as the input of Anthropic's Messages API: `{"system": […], "messages": […]}`; `system` if there is one.

Source: HISTORIES 1.6, column "anthropic". Results that follow one another stand in one user message. A signed thought
is a thinking block, one without a signature a text; a signature without a thought signs an empty one. Of two unsigned
thoughts that follow one another the program sends the second alone. A message of the model without parts is sent as it
is, although the API refuses it. Choice: hints for caches are not sent.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from tpharness.histories.message_parts.attach import (
    Attached,
    is_native,
    thinking_block,
    tool_images,
    tool_text,
    user_content,
)
from tpharness.histories.message_parts.records import (
    AssistantMessage,
    ImageURLPart,
    SystemMessage,
    TextPart,
    ThinkingSignaturePart,
    ThinkingTextPart,
    ToolCallPart,
    ToolResultMessage,
    UserMessage,
)

__all__ = ["anthropic_input", "arguments"]


def anthropic_input(items: Iterable[Attached], model: str | None) -> dict[str, Any]:
    """Return the system blocks and the messages; whose thought it is, is told by `model`."""
    system: list[dict[str, Any]] = []
    messages: list[dict[str, Any]] = []
    results: list[dict[str, Any]] | None = None
    for item in items:
        match item.message:
            case SystemMessage() as message:
                text = "\n".join(part.text for part in message.parts)
                system += [_text(text)] if text else []
            case ToolResultMessage() as message:
                if results is None:
                    results = []
                    messages.append({"role": "user", "content": results})
                results.append(_result(item, message))
            case UserMessage() as message:
                results = None
                messages.append({"role": "user", "content": list(map(_content, user_content(item, message)))})
            case AssistantMessage() as message:
                results = None
                messages.append({"role": "assistant", "content": _answer(message, model)})
    return {**({"system": system} if system else {}), "messages": messages}


def arguments(text: str) -> dict[str, Any]:
    """Return the arguments of a call as an object, which the APIs that parse them ask for."""
    if not text:
        return {}
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {"_raw": text}
    return value if isinstance(value, dict) else {"_value": value}


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _content(part: TextPart | ImageURLPart) -> dict[str, Any]:
    if isinstance(part, TextPart):
        return _text(part.text)
    head, comma, data = part.url.partition(",")
    if comma and head.startswith("data:"):
        media_type = head.removeprefix("data:").split(";", 1)[0]
        return {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}}
    return {"type": "image", "source": {"type": "url", "url": part.url}}


def _result(item: Attached, message: ToolResultMessage) -> dict[str, Any]:
    return {
        "type": "tool_result",
        "tool_use_id": message.call_id,
        "is_error": message.status != "success",
        "content": [_text(tool_text(item, message)), *map(_content, tool_images(item, message))],
    }


def _answer(message: AssistantMessage, model: str | None) -> list[dict[str, Any]]:
    content: list[dict[str, Any]] = []
    unsigned: str | None = None
    for part in message.parts:
        match part:
            case ThinkingTextPart():
                if is_native(part, model):
                    unsigned = part.text
                else:
                    content += _degraded(part.text)
            case ThinkingSignaturePart():
                if is_native(part, model) and part.signature:
                    block = {"type": "thinking", "thinking": unsigned or "", "signature": part.signature}
                    content.append(block)
                    unsigned = None
            case TextPart() | ToolCallPart():
                content += _degraded(unsigned)
                unsigned = None
                content.append(_text(part.text) if isinstance(part, TextPart) else _call(part))
            case _:
                content += _degraded(unsigned)
                unsigned = None
    return [*content, *_degraded(unsigned)]


def _degraded(thought: str | None) -> list[dict[str, Any]]:
    stripped = (thought or "").strip()
    return [_text(thinking_block(stripped))] if stripped else []


def _call(part: ToolCallPart) -> dict[str, Any]:
    return {"type": "tool_use", "id": part.call_id, "name": part.tool_name, "input": arguments(part.arguments_json)}
