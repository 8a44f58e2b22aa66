"""Convert a journal's parts to parts of messages.

Sources: document 002, "Part union"; HISTORIES 1.1 and 1.2. Choices where the sources have no part for what arrived:

- user content that is neither a text nor an image becomes a text part with its JSON;
- a file of the model becomes an image file outside the history; its name is derived from its content, and the history
  does not contain its bytes;
- a call that the provider executed itself, its return, and unknown kinds are dropped;
- adjacent texts become one, as the deltas of a stream do; so do adjacent thoughts, unless there is a signature between
  them or their ids differ.
"""

from __future__ import annotations

import hashlib
import json
from base64 import b64decode
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from tpharness import journal
from tpharness.histories.message_parts.records import (
    ImageFilePart,
    ImageURLPart,
    Part,
    TextPart,
    ThinkingSignaturePart,
    ThinkingTextPart,
    ToolCallPart,
)
from tpharness.protocol.jcs import CanonicalError, jcs

__all__ = ["assistant_parts", "response_text", "result_content", "user_parts"]

_SUFFIXES = {"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp"}


def user_parts(prompts: Iterable[Mapping[str, Any]]) -> tuple[Part, ...]:
    """Return the parts of what a user submitted."""
    parts: list[Part] = []
    for prompt in prompts:
        content = prompt.get("content")
        for item in content if isinstance(content, list | tuple) else [content]:
            if isinstance(item, str):
                parts.append(TextPart(text=item))
            elif item is not None:
                parts.append(_image(item) or TextPart(text=_json(item)))
    return tuple(parts)


def assistant_parts(parts: Sequence[journal.Part], model_id: str | None, *, calls: bool) -> tuple[Part, ...]:
    """Return the parts of a response in the order of their starts, with its calls only if `calls` is true.

    The signature of a thought that has not ended may be incomplete and is left out.
    """
    converted: list[Part] = []
    for part in parts:
        fields = part.fields
        match part.kind:
            case "text" if fields.get("content"):
                _add_text(converted, str(fields["content"]))
            case "thinking":
                _add_thinking(converted, part, model_id)
            case "tool-call" if calls:
                converted.append(_call(part))
            case "file":
                converted.append(_file(fields.get("content") or {}))
            case _:
                pass
    return tuple(converted)


def response_text(parts: Iterable[journal.Part]) -> str:
    """Return the text of a response so far, without its thoughts."""
    return "".join(str(part.fields.get("content") or "") for part in parts if part.kind == "text")


def result_content(fields: Mapping[str, Any]) -> tuple[str, tuple[Part, ...]]:
    """Return a result's text and images.

    A list of texts and content items with an image is split into both; any other JSON becomes its canonical text.
    """
    content = fields["content_ref"] if fields.get("content_ref") is not None else fields.get("content")
    if content is None:
        return "", ()
    if isinstance(content, str):
        return content, ()
    items = content if isinstance(content, list | tuple) else [content]
    images = [_image(item) for item in items]
    if not any(images):
        return _json(content), ()
    texts = [
        item if isinstance(item, str) else _json(item) for item, image in zip(items, images, strict=True) if not image
    ]
    return "\n".join(texts), tuple(image for image in images if image is not None)


# ------------------------------------------------------------------------------------------------ inside


def _add_text(converted: list[Part], text: str) -> None:
    if converted and isinstance(converted[-1], TextPart):
        converted[-1] = TextPart(text=converted[-1].text + text)
    else:
        converted.append(TextPart(text=text))


def _add_thinking(converted: list[Part], part: journal.Part, model_id: str | None) -> None:
    fields = part.fields
    text, thinking_id = str(fields.get("content") or ""), fields.get("thinking_id")
    last = converted[-1] if converted else None
    if text and isinstance(last, ThinkingTextPart) and last.id == thinking_id:
        converted[-1] = replace(last, text=last.text + text)
    elif text:
        converted.append(ThinkingTextPart(id=thinking_id, text=text, model_id=model_id))
    signature = fields.get("signature")
    if signature and part.complete:
        signature_format = _signature_format(fields.get("provider_name"))
        converted.append(
            ThinkingSignaturePart(id=thinking_id, signature=str(signature), model_id=model_id, format=signature_format)
        )


def _signature_format(provider: Any) -> str | None:
    """Return the format of a provider's signatures; readers only distinguish `google` (HISTORIES 1.6)."""
    if not isinstance(provider, str) or provider == "unknown":
        return None
    return "google" if provider.startswith("google") else provider


def _call(part: journal.Part) -> ToolCallPart:
    args = part.fields.get("args")
    raw = part.raw
    if raw is None:
        raw = args if isinstance(args, str) else _json({} if args is None else args)
    return ToolCallPart(
        call_id=str(part.fields["tool_call_id"]), tool_name=str(part.fields.get("tool_name") or ""), arguments_json=raw
    )


def _file(content: Mapping[str, Any]) -> Part:
    if content.get("url"):
        return ImageURLPart(url=str(content["url"]))
    media_type = content.get("media_type")
    data = str(content.get("data") or "")
    try:
        content_bytes = b64decode(data, validate=True)
    except ValueError:
        content_bytes = data.encode("utf-8", "surrogatepass")
    digest = hashlib.sha256(content_bytes).hexdigest()
    suffix = _SUFFIXES.get(str(media_type), ".bin")
    return ImageFilePart(
        file_path=f"images/{digest[:12]}{suffix}", mime_type=media_type, byte_size=len(content_bytes), sha256=digest
    )


def _image(item: Any) -> ImageURLPart | None:
    """Return the content item as an image, or None if it is not one."""
    if not isinstance(item, Mapping):
        return None
    media_type = str(item.get("media_type") or "")
    if item.get("kind") == "image-url" and isinstance(item.get("url"), str):
        return ImageURLPart(url=item["url"])
    if item.get("kind") == "binary" and media_type.startswith("image/") and isinstance(item.get("data"), str):
        return ImageURLPart(url=f"data:{media_type};base64,{item['data']}")
    return None


def _json(value: Any) -> str:
    try:
        return jcs(value).decode("utf-8")
    except CanonicalError:  # canonical JSON cannot express it, for example a lone surrogate
        return json.dumps(value, ensure_ascii=True)
