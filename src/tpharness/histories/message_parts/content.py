"""What a journal's parts become as parts of messages.

Sources: document 002, "Part union"; HISTORIES 1.1 and 1.2. Choices, where the sources have no part for what came:

- user content that is no text and no image is kept as a text part with its JSON;
- a file of the model becomes an image file beside the history; its name is derived from its content, its bytes are not
  in the history;
- a call that the provider executed itself, its return, and kinds that nobody knows have no part and go;
- neighbouring texts become one, as the deltas of a stream do; so do neighbouring thoughts, unless a signature or
  another id stands between them.
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

__all__ = ["assistant_parts", "returned", "user_parts", "visible_text"]

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
    """Return the parts of a response in order of their starts; without its calls unless `calls`.

    A signature of a thought whose end was not seen may be half a signature and is left out.
    """
    made: list[Part] = []
    for part in parts:
        fields = part.fields
        match part.kind:
            case "text" if fields.get("content"):
                _add_text(made, str(fields["content"]))
            case "thinking":
                _add_thinking(made, part, model_id)
            case "tool-call" if calls:
                made.append(_call(part))
            case "file":
                made.append(_file(fields.get("content") or {}))
            case _:
                pass
    return tuple(made)


def visible_text(parts: Iterable[journal.Part]) -> str:
    """Return the text of a response so far, without its thoughts."""
    return "".join(str(part.fields.get("content") or "") for part in parts if part.kind == "text")


def returned(fields: Mapping[str, Any]) -> tuple[str, tuple[Part, ...]]:
    """Return the text of what came back for a call, and its images.

    A list of texts and content items is told apart; any other JSON is told as its canonical text.
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


def _add_text(made: list[Part], text: str) -> None:
    if made and isinstance(made[-1], TextPart):
        made[-1] = TextPart(text=made[-1].text + text)
    else:
        made.append(TextPart(text=text))


def _add_thinking(made: list[Part], part: journal.Part, model_id: str | None) -> None:
    fields = part.fields
    text, thinking_id = str(fields.get("content") or ""), fields.get("thinking_id")
    last = made[-1] if made else None
    if text and isinstance(last, ThinkingTextPart) and last.id == thinking_id:
        made[-1] = replace(last, text=last.text + text)
    elif text:
        made.append(ThinkingTextPart(id=thinking_id, text=text, model_id=model_id))
    signature = fields.get("signature")
    if signature and part.complete:
        said = _format(fields.get("provider_name"))
        made.append(ThinkingSignaturePart(id=thinking_id, signature=str(signature), model_id=model_id, format=said))


def _format(provider: Any) -> str | None:
    """Return the word for a provider's signatures; only `google` means something to a reader (HISTORIES 1.6)."""
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
        held = b64decode(data, validate=True)
    except ValueError:
        held = data.encode("utf-8", "surrogatepass")
    digest = hashlib.sha256(held).hexdigest()
    suffix = _SUFFIXES.get(str(media_type), ".bin")
    return ImageFilePart(
        file_path=f"images/{digest[:12]}{suffix}", mime_type=media_type, byte_size=len(held), sha256=digest
    )


def _image(item: Any) -> ImageURLPart | None:
    """Return a content item as an image, None when it is none."""
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
    except CanonicalError:  # what canonical JSON has no form for, such as a lone surrogate
        return json.dumps(value, ensure_ascii=True)
