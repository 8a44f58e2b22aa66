"""A history as the messages that go to a model, before any provider's form: who says what, and what hangs on it.

Source: document 002, decision 7 and "Degrade rule"; HISTORIES 1.6, "developer" and "prepend". A developer message is no
message to a model: its texts, each with a line feed, and its images hang on the last user message or tool result before
it, also when an assistant message stands between; one with nothing to hang on is dropped without a word (of the first
message the plan says nothing; the choice here is the program's).

Choices: an image that lies in a file cannot be sent by code without files, a text in its place says so; limits on the
size and number of images are not applied.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from msgspec.structs import replace

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
    "Attached",
    "attached",
    "is_native",
    "thinking_block",
    "tool_images",
    "tool_text",
    "user_content",
]

EMPTY_TOOL_OUTPUT_MESSAGE = "<system-reminder>Tool ran without output or errors</system-reminder>"
"""What a model is told of a result without text, an error too."""


@dataclass(slots=True)
class Attached:
    """A message with what developer messages hang on it: text before it, text after it, images."""

    message: SystemMessage | UserMessage | AssistantMessage | ToolResultMessage
    before: str = ""
    after: str = ""
    images: list[ImageURLPart] = field(default_factory=list)


def attached(events: Iterable[HistoryEvent]) -> list[Attached]:
    """Return the messages of a history in order, developer messages hung on others."""
    messages: list[Attached] = []
    carrier: Attached | None = None
    for event in events:
        match event:
            case UserMessage() | ToolResultMessage():
                carrier = Attached(_without_files(event))
                messages.append(carrier)
            case SystemMessage() | AssistantMessage():
                messages.append(Attached(event))
            case DeveloperMessage() if carrier is not None:
                _hang(event, carrier)
            case _:
                pass
    return messages


def user_content(item: Attached, message: UserMessage) -> list[TextPart | ImageURLPart]:
    """Return what a user message says with what hangs on it, in order; an empty text if that is nothing."""
    content: list[TextPart | ImageURLPart] = [TextPart(text=item.before)] if item.before else []
    content += [part for part in message.parts if isinstance(part, TextPart | ImageURLPart)]
    if item.after:
        content.append(TextPart(text=item.after))
    return [*content, *item.images] or [TextPart(text="")]


def tool_text(item: Attached, message: ToolResultMessage) -> str:
    """Return the text of a result with what hangs on it."""
    text = message.output_text or EMPTY_TOOL_OUTPUT_MESSAGE
    if item.before:
        text = f"{item.before}\n{text}"
    return f"{text}\n{item.after}" if item.after else text


def tool_images(item: Attached, message: ToolResultMessage) -> list[ImageURLPart]:
    """Return the images of a result and of what hangs on it."""
    return [*(part for part in message.parts if isinstance(part, ImageURLPart)), *item.images]


def is_native(part: ThinkingTextPart | ThinkingSignaturePart, model: str | None) -> bool:
    """Whether a thought is sent to the model that had it; a thought of nobody, or to nobody, is."""
    return not part.model_id or not model or part.model_id == model


def thinking_block(text: str) -> str:
    """Return a thought as text, for a model that cannot take it as a thought."""
    return f"<thinking>\n{text}\n</thinking>"


# ------------------------------------------------------------------------------------------------ inside


def _hang(message: DeveloperMessage, carrier: Attached) -> None:
    text = "".join(f"{part.text}\n" for part in message.parts if isinstance(part, TextPart))
    if message.attachment_position == "prepend":
        carrier.before += text
    else:
        carrier.after += text
    for part in message.parts:
        if isinstance(part, ImageURLPart):
            carrier.images.append(part)
        elif isinstance(part, ImageFilePart):
            said = _not_here(part)
            carrier.after = f"{carrier.after}\n{said}" if carrier.after else said


def _without_files(message: UserMessage | ToolResultMessage) -> UserMessage | ToolResultMessage:
    files = [part for part in message.parts if isinstance(part, ImageFilePart)]
    if not files:
        return message
    if isinstance(message, UserMessage):
        return replace(message, parts=tuple(map(_text_for_file, message.parts)))
    kept = tuple(part for part in message.parts if not isinstance(part, ImageFilePart))
    text = message.output_text or EMPTY_TOOL_OUTPUT_MESSAGE
    return replace(message, parts=kept, output_text="\n".join((text, *map(_not_here, files))))


def _text_for_file(part: Part) -> Part:
    return TextPart(text=_not_here(part)) if isinstance(part, ImageFilePart) else part


def _not_here(part: ImageFilePart) -> str:
    return f"[image {part.file_path}: not in the history]"
