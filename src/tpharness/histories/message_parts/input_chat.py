"""A history as the messages of OpenAI Chat Completions, and of OpenRouter, which is the same with reasoning details.

Source: HISTORIES 1.6, column "chat". A thought is sent only in the provider's own field that it came in, and then to
whatever model (the column says that it is dropped for another one; the program at c7f22216 does not ask). OpenRouter
gets thoughts as `reasoning_details`, those of another model as text. A message of the model without text and calls is
sent as it is, although no API takes it.
Choices: hints for caches, and the lists of one text that carry them, are not sent; neither is OpenRouter's own form of
thoughts of GPT-5, which no source of ours states; images of results, which no tool message may carry, follow in a
user message.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
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
    join_text_parts,
)

__all__ = ["chat_input", "openrouter_input"]


def chat_input(items: Iterable[Attached], model: str | None) -> list[dict[str, Any]]:
    """Return the list of messages for Chat Completions, the same for every `model`."""
    del model
    return _messages(items, _assistant)


def openrouter_input(items: Iterable[Attached], model: str | None) -> list[dict[str, Any]]:
    """Return the list of messages for OpenRouter; whose thought it is, is told by `model`."""
    return _messages(items, lambda message: _openrouter(message, model))


def _messages(
    items: Iterable[Attached], assistant: Callable[[AssistantMessage], dict[str, Any]]
) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    for item in items:
        match item.message:
            case SystemMessage() as message:
                text = "\n".join(part.text for part in message.parts)
                if text:
                    messages.append({"role": "system", "content": text})
            case UserMessage() as message:
                messages.append({"role": "user", "content": list(map(_content, user_content(item, message)))})
            case AssistantMessage() as message:
                messages.append(assistant(message))
            case ToolResultMessage() as message:
                text = tool_text(item, message)
                messages.append({"role": "tool", "content": text, "tool_call_id": message.call_id})
                if images := tool_images(item, message):
                    said = {"type": "text", "text": "Images of the tool result:"}
                    messages.append({"role": "user", "content": [said, *map(_content, images)]})
    return messages


def _content(part: TextPart | ImageURLPart) -> dict[str, Any]:
    if isinstance(part, TextPart):
        return {"type": "text", "text": part.text}
    return {"type": "image_url", "image_url": {"url": part.url}}


def _assistant(message: AssistantMessage) -> dict[str, Any]:
    text = join_text_parts(message.parts)
    return {"role": "assistant", **({"content": text} if text else {}), **_calls(message), **_reasoning(message)}


def _calls(message: AssistantMessage) -> dict[str, Any]:
    calls = [
        {
            "id": part.call_id,
            "type": "function",
            "function": {"name": part.tool_name, "arguments": part.arguments_json},
        }
        for part in message.parts
        if isinstance(part, ToolCallPart)
    ]
    return {"tool_calls": calls} if calls else {}


def _reasoning(message: AssistantMessage) -> dict[str, Any]:
    """Return the thoughts in the field that they came in, none if it is not known."""
    thoughts = [part for part in message.parts if isinstance(part, ThinkingTextPart)]
    name = next((part.reasoning_field for part in thoughts if part.reasoning_field), None)
    if name is None:
        return {}
    if name != "reasoning_details":
        text = "".join(part.text for part in thoughts)
        return {name: text} if text else {}
    details: list[dict[str, Any]] = []
    for part in _thoughts(message):
        details += _detail(part, len(details))
    return {"reasoning_details": details}


def _openrouter(message: AssistantMessage, model: str | None) -> dict[str, Any]:
    foreign = [p.text for p in message.parts if isinstance(p, ThinkingTextPart) and not is_native(p, model)]
    text = join_text_parts(message.parts)
    content = [thinking_block("\n".join(foreign))] * bool(foreign) + [text] * bool(text)
    details = _details(message, model)
    return {
        "role": "assistant",
        **({"content": "\n".join(content)} if content else {}),
        **_calls(message),
        **_reasoning(message),
        **({"reasoning_details": details} if details else {}),
    }


def _thoughts(message: AssistantMessage) -> list[ThinkingTextPart | ThinkingSignaturePart]:
    return [part for part in message.parts if isinstance(part, ThinkingTextPart | ThinkingSignaturePart)]


def _details(message: AssistantMessage, model: str | None) -> list[dict[str, Any]]:
    """Return thoughts and signatures in OpenRouter's form; a Claude model has both in one detail."""
    details: list[dict[str, Any]] = []
    for part in _thoughts(message):
        if not is_native(part, model):
            continue
        if isinstance(part, ThinkingSignaturePart) and (model or part.model_id or "").startswith("anthropic/claude"):
            if details and part.signature:
                details[-1]["signature"] = part.signature
        else:
            details += _detail(part, len(details))
    return details


def _detail(part: ThinkingTextPart | ThinkingSignaturePart, index: int) -> list[dict[str, Any]]:
    """Return a thought or a signature as a detail, none for an empty signature."""
    if isinstance(part, ThinkingTextPart):
        said = {"type": "reasoning.text", "text": part.text}
    elif part.signature:
        said = {"type": "reasoning.encrypted", "data": part.signature}
    else:
        return []
    more = {name: value for name, value in (("id", part.id), ("format", part.format)) if value is not None}
    return [{**said, "index": index, **more}]
