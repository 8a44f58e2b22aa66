"""A history as the input items of OpenAI's Responses API.

Source: HISTORIES 1.6, column "responses". A thought is a reasoning item without an id, its signature the encrypted
content; thoughts of other models are the first output text. System messages and assistant messages without parts are
not sent.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tpharness.histories.message_parts.input_items import (
    AssistantMessage,
    InputItem,
    ToolOutput,
    UserContent,
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

__all__ = ["responses_input"]


def responses_input(items: Iterable[InputItem], model: str | None) -> list[dict[str, Any]]:
    """Return the input items for `model`, which decides whose thoughts are sent as thoughts."""
    made: list[dict[str, Any]] = []
    for item in items:
        match item:
            case UserContent(content=content):
                made.append({"type": "message", "role": "user", "content": list(map(_content, content))})
            case ToolOutput(result=result, text=text, images=images):
                output = [{"type": "input_text", "text": text}, *map(_content, images)]
                made.append({"type": "function_call_output", "call_id": result.call_id, "output": output})
            case AssistantMessage():
                made += _answer(item, model)
            case _:
                pass
    return made


def _content(part: TextPart | ImageURLPart) -> dict[str, Any]:
    if isinstance(part, TextPart):
        return {"type": "input_text", "text": part.text}
    return {"type": "input_image", "detail": "auto", "image_url": part.url}


def _answer(message: AssistantMessage, model: str | None) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    texts = foreign_thinking(message, model)
    thought: str | None = None
    signature: str | None = None

    def end_thought() -> None:
        nonlocal thought, signature
        if thought is not None or signature is not None:
            summary = [{"type": "summary_text", "text": thought or ""}]
            sealed = {"encrypted_content": signature} if signature else {}
            items.append({"type": "reasoning", "summary": summary, **sealed})
        thought = signature = None

    def end_texts() -> None:
        if texts:
            content = [{"type": "output_text", "text": text} for text in texts]
            items.append({"type": "message", "role": "assistant", "content": content, **phase})
            texts.clear()

    phase = {"phase": message.phase} if message.phase is not None else {}
    for part in message.parts:
        match part:
            case ThinkingTextPart() if is_native(part, model):
                end_thought()
                thought = part.text
            case ThinkingSignaturePart() if is_native(part, model):
                signature = part.signature
            case ThinkingTextPart() | ThinkingSignaturePart():
                pass
            case TextPart():
                end_thought()
                texts.append(part.text)
            case ToolCallPart():
                end_thought()
                end_texts()
                items.append(_call(part))
            case _:
                end_thought()
    end_thought()
    end_texts()
    return items


def _call(part: ToolCallPart) -> dict[str, Any]:
    call = {
        "type": "function_call",
        "name": part.tool_name,
        "arguments": part.arguments_json,
        "call_id": part.call_id,
    }
    return {**call, "id": part.id} if part.id is not None else call
