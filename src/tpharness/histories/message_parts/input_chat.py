"""A history as the messages of OpenAI Chat Completions, and of OpenRouter, which adds reasoning details.

Source: HISTORIES 1.6, column "chat". A thought is sent only in the provider's field that it came in, and then to any
model (the column says that it is dropped for another model; the program does not check). OpenRouter gets
thoughts as `reasoning_details`, those of other models as text. Releases differ in whether an assistant message without
text and calls is sent, which no API accepts, and where the images of results stand, which may not part two results.
Choices: cache hints, and the one-text lists that carry them, are not sent; nor is OpenRouter's own format for thoughts
of GPT-5, which our sources do not describe. A tool message cannot carry images, so a user message with them follows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from tpharness.histories.message_parts.input_items import (
    AssistantMessage,
    InputItem,
    SystemText,
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
    join_text_parts,
)

__all__ = ["chat_input", "openrouter_input"]


def chat_input(
    items: Iterable[InputItem], model: str | None, *, leaves_out_empty: bool = False, images_wait: bool = False
) -> list[dict[str, Any]]:
    """Return the list of messages for Chat Completions, the same for every `model`.

    With `leaves_out_empty` an answer without text and calls is not sent; with `images_wait` the images of results
    follow all results of an answer.
    """
    del model
    messages = _messages(items, _assistant, images_wait=images_wait)
    return [m for m in messages if not leaves_out_empty or m["role"] != "assistant" or _says_something(m)]


def openrouter_input(
    items: Iterable[InputItem], model: str | None, *, images_wait: bool = False
) -> list[dict[str, Any]]:
    """Return the list of messages for OpenRouter and `model`, which decides whose thoughts are sent as thoughts."""
    return _messages(items, lambda message: _openrouter(message, model), images_wait=images_wait)


def _says_something(message: dict[str, Any]) -> bool:
    return bool(message.get("content") or message.get("tool_calls"))


def _messages(
    items: Iterable[InputItem], assistant: Callable[[AssistantMessage], dict[str, Any]], *, images_wait: bool
) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    waiting: list[dict[str, Any]] = []
    for item in items:
        if not (images_wait and isinstance(item, ToolOutput)):
            messages += waiting
            waiting = []
        match item:
            case SystemText(text=text):
                messages.append({"role": "system", "content": text})
            case UserContent(content=content):
                messages.append({"role": "user", "content": list(map(_content, content))})
            case AssistantMessage():
                messages.append(assistant(item))
            case ToolOutput(result=result, text=text, images=images):
                messages.append({"role": "tool", "content": text, "tool_call_id": result.call_id})
                if images:
                    title = {"type": "text", "text": "Attached image(s) from tool result:"}
                    waiting.append({"role": "user", "content": [title, *map(_content, images)]})
    return [*messages, *waiting]


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
    """Return the thoughts in the field that they came in, nothing if that field is unknown."""
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
    text = join_text_parts(message.parts)
    content = [*foreign_thinking(message, model), *([text] if text else [])]
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
    """Return thoughts and signatures in OpenRouter's format; for a Claude model both are in one detail."""
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
    """Return a thought or a signature as a detail, nothing for an empty signature."""
    if isinstance(part, ThinkingTextPart):
        detail = {"type": "reasoning.text", "text": part.text}
    elif part.signature:
        detail = {"type": "reasoning.encrypted", "data": part.signature}
    else:
        return []
    more = {name: value for name, value in (("id", part.id), ("format", part.format)) if value is not None}
    return [{**detail, "index": index, **more}]
