"""A history as the contents of Gemini's API, its field names as in the API's JSON.

Source: HISTORIES 1.6, column "google". Results that follow one another stand in one user content. A signature is sent
if its format says `google`, on the part before it; thoughts of another model are the first text. System messages are
not among the contents, nor is a message of the model without parts. Choice: images of results follow in a user content.
"""

from __future__ import annotations

from base64 import b64decode
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
from tpharness.histories.message_parts.input_anthropic import arguments
from tpharness.histories.message_parts.records import (
    AssistantMessage,
    ImageURLPart,
    TextPart,
    ThinkingSignaturePart,
    ThinkingTextPart,
    ToolCallPart,
    ToolResultMessage,
    UserMessage,
)

__all__ = ["gemini_input"]


def gemini_input(items: Iterable[Attached], model: str | None) -> list[dict[str, Any]]:
    """Return the contents; whose thought it is, is told by `model`."""
    contents: list[dict[str, Any]] = []
    results: list[dict[str, Any]] | None = None
    images: list[dict[str, Any]] = []

    def end_results() -> None:
        nonlocal results
        contents.extend(images)
        images.clear()
        results = None

    for item in items:
        match item.message:
            case ToolResultMessage() as message:
                if results is None:
                    results = []
                    contents.append({"role": "user", "parts": results})
                results.append(_result(item, message))
                if held := tool_images(item, message):
                    said = {"text": "Images of the tool result:"}
                    images.append({"role": "user", "parts": [said, *map(_part, held)]})
            case UserMessage() as message:
                end_results()
                contents.append({"role": "user", "parts": list(map(_part, user_content(item, message)))})
            case AssistantMessage() as message:
                end_results()
                parts = _answer(message, model)
                contents += [{"role": "model", "parts": parts}] if parts else []
            case _:
                pass
    end_results()
    return contents


def _part(part: TextPart | ImageURLPart) -> dict[str, Any]:
    if isinstance(part, TextPart):
        return {"text": part.text}
    head, comma, data = part.url.partition(",")
    if comma and head.startswith("data:"):
        return {"inlineData": {"mimeType": head.removeprefix("data:").split(";", 1)[0], "data": data}}
    return {"fileData": {"fileUri": part.url}}


def _result(item: Attached, message: ToolResultMessage) -> dict[str, Any]:
    key = "output" if message.status == "success" else "error"
    return {"functionResponse": {"name": message.tool_name, "response": {key: tool_text(item, message)}}}


def _answer(message: AssistantMessage, model: str | None) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = []
    foreign: list[str] = []
    for part in message.parts:
        match part:
            case ThinkingTextPart():
                if is_native(part, model):
                    parts.append({"text": part.text, "thought": True})
                else:
                    foreign.append(part.text)
            case ThinkingSignaturePart():
                if is_native(part, model) and part.format == "google" and parts and _is_base64(part.signature):
                    parts[-1] = {**parts[-1], "thoughtSignature": part.signature}
            case TextPart():
                parts.append({"text": part.text})
            case ToolCallPart():
                parts.append({"functionCall": {"name": part.tool_name, "args": arguments(part.arguments_json)}})
            case _:
                pass
    return [{"text": thinking_block("\n".join(foreign))}, *parts] if foreign else parts


def _is_base64(signature: str) -> bool:
    try:
        return bool(b64decode(signature))
    except ValueError:
        return False
