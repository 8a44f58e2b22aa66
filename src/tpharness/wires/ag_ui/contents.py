"""Texts and parts of AG-UI as the values that a thread has: arguments, results, usage."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from tpharness.facts import binary_identifier, is_base64, read_json
from tpharness.wires.ag_ui.objects import AgUiTextPart, TokenUsage, given

__all__ = ["NOT_JSON", "parse", "result_content", "total_usage"]

NOT_JSON = object()
"""What `parse` returns for a text that is not JSON."""

_URL_KINDS = {"image": "image-url", "audio": "audio-url", "video": "video-url", "document": "document-url"}
_COUNTS = {
    "input_tokens": "input_tokens",
    "output_tokens": "output_tokens",
    "total_tokens": "total_tokens",
    "reasoning_tokens": "thinking_tokens",
    "cached_input_tokens": "cache_read_tokens",
    "cache_write_input_tokens": "cache_write_tokens",
}


def parse(text: str) -> Any:
    """Return the value of a JSON text, `NOT_JSON` if it is none; no text at all is a call without arguments (G4)."""
    if not text.strip():
        return {}
    try:
        return msgspec.json.decode(text)  # the same value where native code takes the text
    except (msgspec.DecodeError, ValueError, RecursionError):
        try:
            return read_json(text)
        except (ValueError, RecursionError):
            return NOT_JSON


def result_content(content: Any) -> Any:
    """Return the content of a result: a text as it is, parts one by one; a single text part is a text (G6)."""
    if isinstance(content, str):
        return content
    parts = [_part(one) for one in content]
    return parts[0] if len(parts) == 1 and isinstance(parts[0], str) else parts


def _part(part: Any) -> Any:
    if isinstance(part, AgUiTextPart):
        return part.text
    kind, source = str(part.__struct_config__.tag), part.source
    named = part.id if given(part.id) else None
    if source.__struct_config__.tag == "data" and is_base64(source.value):
        identifier = named or binary_identifier(source.value)
        return {"kind": "binary", "data": source.value, "media_type": source.mime_type, "identifier": identifier}
    if source.__struct_config__.tag == "url":
        content = {"kind": _URL_KINDS[kind], "url": source.value, "identifier": named or source.value}
        return content if not given(source.mime_type) else {**content, "media_type": source.mime_type}
    return msgspec.to_builtins(part)  # a provider's handle: nothing of it may be read


def total_usage(usage: Iterable[TokenUsage]) -> dict[str, int]:
    """Return the tokens of a run over all models, in the words of a thread (R17)."""
    total: dict[str, int] = {}
    for one in usage:
        for name, word in _COUNTS.items():
            count = given(getattr(one, name))
            if count:
                total[word] = total.get(word, 0) + count
    return total
