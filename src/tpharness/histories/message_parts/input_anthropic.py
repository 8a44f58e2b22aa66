"""A history as the input of Anthropic's Messages API: `{"system": […], "messages": […]}`, `system` only if needed.

Source: HISTORIES 1.6, column "anthropic". Consecutive results are in one user message. A signed thought is a thinking
block, an unsigned one a text; a signature without a thought signs an empty one. Of two consecutive unsigned thoughts
the program sends only the second, which no rule of the plan asks for. An assistant message without parts is sent as
it is, although the API rejects it. Choice: cache hints are not sent.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tpharness.histories.message_parts.input_items import (
    AssistantMessage,
    InputItem,
    SystemText,
    ToolOutput,
    UserContent,
    arguments_object,
    data_url,
    is_native,
    thinking_block,
)
from tpharness.histories.message_parts.records import (
    ImageURLPart,
    TextPart,
    ThinkingSignaturePart,
    ThinkingTextPart,
    ToolCallPart,
)

__all__ = ["anthropic_input"]


def anthropic_input(items: Iterable[InputItem], model: str | None, *, keeps_unsigned: bool = False) -> dict[str, Any]:
    """Return the system blocks and the messages for `model`, which decides whose thoughts are sent as thoughts.

    With `keeps_unsigned` an unsigned thought directly before another one is sent, too.
    """
    system: list[dict[str, Any]] = []
    messages: list[dict[str, Any]] = []
    results: list[dict[str, Any]] | None = None
    for item in items:
        match item:
            case SystemText(text=text):
                system.append(_text(text))
            case ToolOutput():
                if results is None:
                    results = []
                    messages.append({"role": "user", "content": results})
                results.append(_result(item))
            case UserContent(content=content):
                results = None
                messages.append({"role": "user", "content": list(map(_content, content))})
            case AssistantMessage():
                results = None
                messages.append({"role": "assistant", "content": _answer(item, model, keeps_unsigned)})
    return {**({"system": system} if system else {}), "messages": messages}


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _content(part: TextPart | ImageURLPart) -> dict[str, Any]:
    if isinstance(part, TextPart):
        return _text(part.text)
    if (data := data_url(part.url)) is not None:
        return {"type": "image", "source": {"type": "base64", "media_type": data[0], "data": data[1]}}
    return {"type": "image", "source": {"type": "url", "url": part.url}}


def _result(item: ToolOutput) -> dict[str, Any]:
    return {
        "type": "tool_result",
        "tool_use_id": item.result.call_id,
        "is_error": item.result.status != "success",
        "content": [_text(item.text), *map(_content, item.images)],
    }


def _answer(message: AssistantMessage, model: str | None, keeps_unsigned: bool) -> list[dict[str, Any]]:
    content: list[dict[str, Any]] = []
    unsigned: str | None = None
    for part in message.parts:
        match part:
            case ThinkingTextPart() if is_native(part, model):
                content += _thinking_as_text(unsigned) if keeps_unsigned else []
                unsigned = part.text
            case ThinkingTextPart():
                content += _thinking_as_text(part.text)
            case ThinkingSignaturePart():
                if is_native(part, model) and part.signature:
                    content.append({"type": "thinking", "thinking": unsigned or "", "signature": part.signature})
                    unsigned = None
            case _:
                content += _thinking_as_text(unsigned)
                unsigned = None
                if isinstance(part, TextPart):
                    content.append(_text(part.text))
                elif isinstance(part, ToolCallPart):
                    content.append(_call(part))
    return [*content, *_thinking_as_text(unsigned)]


def _thinking_as_text(thought: str | None) -> list[dict[str, Any]]:
    stripped = (thought or "").strip()
    return [_text(thinking_block(stripped))] if stripped else []


def _call(part: ToolCallPart) -> dict[str, Any]:
    arguments = arguments_object(part.arguments_json)
    return {"type": "tool_use", "id": part.call_id, "name": part.tool_name, "input": arguments}
