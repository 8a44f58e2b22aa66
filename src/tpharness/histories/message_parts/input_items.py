"""A history as the items that go to a model, before any provider's format, and what the providers' formats share.

Source: document 002, decision 7 and "Degrade rule"; HISTORIES 1.6, "developer" and "prepend". A developer message is
not sent as a message: its texts, each followed by a line feed, and its images are attached to the last user message or
tool result before it, even if an assistant message stands between. A developer message without such a message before
it is dropped (for the first message the plan says nothing; this follows the program).

Choices: code without files cannot send an image that is in a file, so a text replaces it; limits on the size and number
of images are not applied.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from tpharness.histories.message_parts.records import (
    AssistantMessage,
    DeveloperMessage,
    HistoryEvent,
    ImageFilePart,
    ImageURLPart,
    Part,
    SystemMessage,
    TextPart,
    ThinkingSignaturePart,
    ThinkingTextPart,
    ToolResultMessage,
    UserMessage,
)

__all__ = [
    "EMPTY_TOOL_OUTPUT_MESSAGE",
    "AssistantMessage",
    "InputItem",
    "SystemText",
    "ToolOutput",
    "UserContent",
    "arguments_object",
    "data_url",
    "foreign_thinking",
    "input_items",
    "is_native",
    "thinking_block",
]

EMPTY_TOOL_OUTPUT_MESSAGE = "<system-reminder>Tool ran without output or errors</system-reminder>"
"""What a model is sent for a result without text, even for an error."""


@dataclass(frozen=True, slots=True)
class SystemText:
    """Instructions, never empty."""

    text: str


@dataclass(frozen=True, slots=True)
class UserContent:
    """A user message with its attachments, in order; an empty text if there is nothing else."""

    content: list[TextPart | ImageURLPart]


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """A tool result with its attachments."""

    result: ToolResultMessage
    text: str
    images: list[ImageURLPart]


InputItem: TypeAlias = SystemText | UserContent | ToolOutput | AssistantMessage


def input_items(events: Iterable[HistoryEvent]) -> list[InputItem]:
    """Return what is sent of a history, in order, developer messages attached to other messages."""
    messages: list[_Carrier | SystemText | AssistantMessage] = []
    carrier: _Carrier | None = None
    for event in events:
        match event:
            case UserMessage() | ToolResultMessage():
                carrier = _Carrier(event)
                messages.append(carrier)
            case AssistantMessage():
                messages.append(event)
            case SystemMessage() if text := "\n".join(part.text for part in event.parts):
                messages.append(SystemText(text))
            case DeveloperMessage() if carrier is not None:
                carrier.attach(event)
            case _:
                pass
    return [message.item() if isinstance(message, _Carrier) else message for message in messages]


def is_native(part: ThinkingTextPart | ThinkingSignaturePart, model: str | None) -> bool:
    """Whether a thought is sent to the model that wrote it; True if either model is unknown."""
    return not part.model_id or not model or part.model_id == model


def foreign_thinking(message: AssistantMessage, model: str | None) -> list[str]:
    """Return the thoughts of other models as one text, an empty list if there are none."""
    texts = [p.text for p in message.parts if isinstance(p, ThinkingTextPart) and not is_native(p, model)]
    return [thinking_block("\n".join(texts))] if texts else []


def thinking_block(text: str) -> str:
    """Return a thought as text, for a model that does not accept it as a thought."""
    return f"<thinking>\n{text}\n</thinking>"


def arguments_object(text: str) -> dict[str, Any]:
    """Return the arguments of a call as an object, which some APIs require."""
    if not text:
        return {}
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {"_raw": text}
    return value if isinstance(value, dict) else {"_value": value}


def data_url(url: str) -> tuple[str, str] | None:
    """Return the media type and the data of a data URL, None for any other URL."""
    head, comma, data = url.partition(",")
    return (head.removeprefix("data:").split(";", 1)[0], data) if comma and head.startswith("data:") else None


# ------------------------------------------------------------------------------------------------ attachments


@dataclass(slots=True)
class _Carrier:
    """A message that developer messages are attached to: text before it, text after it, images."""

    message: UserMessage | ToolResultMessage
    before: str = ""
    after: str = ""
    images: list[ImageURLPart] = field(default_factory=list)

    def attach(self, message: DeveloperMessage) -> None:
        text = "".join(f"{part.text}\n" for part in message.parts if isinstance(part, TextPart))
        if message.attachment_position == "prepend":
            self.before += text
        else:
            self.after += text
        for part in message.parts:
            if isinstance(part, ImageURLPart):
                self.images.append(part)
            elif isinstance(part, ImageFilePart):
                replacement = _replacement(part)
                self.after = f"{self.after}\n{replacement}" if self.after else replacement

    def item(self) -> UserContent | ToolOutput:
        message = self.message
        if isinstance(message, ToolResultMessage):
            lines = [message.output_text or EMPTY_TOOL_OUTPUT_MESSAGE, *map(_replacement, _files(message.parts))]
            text = "\n".join([*([self.before] if self.before else []), *lines, *([self.after] if self.after else [])])
            images = [part for part in message.parts if isinstance(part, ImageURLPart)]
            return ToolOutput(message, text, [*images, *self.images])
        content: list[TextPart | ImageURLPart] = [TextPart(text=self.before)] if self.before else []
        for part in message.parts:
            if isinstance(part, TextPart | ImageURLPart):
                content.append(part)
            elif isinstance(part, ImageFilePart):
                content.append(TextPart(text=_replacement(part)))
        if self.after:
            content.append(TextPart(text=self.after))
        return UserContent([*content, *self.images] or [TextPart(text="")])


def _files(parts: Iterable[Part]) -> list[ImageFilePart]:
    return [part for part in parts if isinstance(part, ImageFilePart)]


def _replacement(part: ImageFilePart) -> str:
    return f"[image {part.file_path}: not in the history]"
