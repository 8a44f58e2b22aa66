"""A history as the contents of Gemini's API, with the field names of the API's JSON.

Source: HISTORIES 1.6, column "google". Consecutive results are in one user content. A signature is sent, on the part
before it, if its format is `google`; thoughts of other models are the first text. System messages and assistant
messages without parts are not sent. Choice: images of results follow in a user content.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterable
from typing import Any

from tpharness.histories.message_parts.input_items import (
    AssistantMessage,
    InputItem,
    ToolOutput,
    UserContent,
    arguments_object,
    data_url,
    foreign_thinking,
    is_native,
)
from tpharness.histories.message_parts.records import (
    ImageURLPart,
    TextPart,
    ThinkingSignaturePart,
    ThinkingTextPart,
    ToolCallPart,
)

__all__ = ["gemini_input"]


def gemini_input(items: Iterable[InputItem], model: str | None) -> list[dict[str, Any]]:
    """Return the contents for `model`, which decides whose thoughts are sent as thoughts."""
    contents: list[dict[str, Any]] = []
    results: list[dict[str, Any]] | None = None
    images: list[dict[str, Any]] = []

    def end_results() -> None:
        nonlocal results
        contents.extend(images)
        images.clear()
        results = None

    for item in items:
        match item:
            case ToolOutput():
                if results is None:
                    results = []
                    contents.append({"role": "user", "parts": results})
                results.append(_result(item))
                if item.images:
                    title = {"text": "Tool result image:"}
                    images.append({"role": "user", "parts": [title, *map(_part, item.images)]})
            case UserContent(content=content):
                end_results()
                contents.append({"role": "user", "parts": list(map(_part, content))})
            case AssistantMessage():
                end_results()
                parts = _answer(item, model)
                contents += [{"role": "model", "parts": parts}] if parts else []
            case _:
                pass
    end_results()
    return contents


def _part(part: TextPart | ImageURLPart) -> dict[str, Any]:
    if isinstance(part, TextPart):
        return {"text": part.text}
    if (data := data_url(part.url)) is not None:
        return {"inlineData": {"mimeType": data[0], "data": data[1]}}
    return {"fileData": {"fileUri": part.url}}


def _result(item: ToolOutput) -> dict[str, Any]:
    key = "output" if item.result.status == "success" else "error"
    text = item.text if item.text.strip() else "(see attached image)" if item.images else ""
    return {"functionResponse": {"name": item.result.tool_name, "response": {key: text}}}


def _answer(message: AssistantMessage, model: str | None) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = []
    for part in message.parts:
        match part:
            case ThinkingTextPart() if is_native(part, model):
                parts.append({"text": part.text, "thought": True})
            case ThinkingSignaturePart():
                if is_native(part, model) and part.format == "google" and parts and _is_base64(part.signature):
                    parts[-1] = {**parts[-1], "thoughtSignature": part.signature}
            case TextPart():
                parts.append({"text": part.text})
            case ToolCallPart():
                parts.append({"functionCall": {"name": part.tool_name, "args": arguments_object(part.arguments_json)}})
            case _:
                pass
    return [*({"text": text} for text in foreign_thinking(message, model)), *parts]


def _is_base64(signature: str) -> bool:
    try:
        return bool(b64decode(signature))
    except ValueError:
        return False
