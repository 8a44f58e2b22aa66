"""Names, lengths and contents of messages that OpenAI's Chat Completions refuses: rules C16 to C18.

Each is a SHOULD: other servers of the API take them, and OpenAI's own took some of them later.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tpharness.findings import Kind
from tpharness.model_apis.openai_chat.servers import server_named
from tpharness.model_apis.rule import ApiRule, Confidence, Hit, Options
from tpharness.model_apis.shape import PayloadEntry, as_list, objects, string, value_of

__all__ = ["RULES"]

_NAME = re.compile(r"[a-zA-Z0-9_-]+")
_NAME_LENGTH = 64
_ID_LENGTH = 40
_LONGER = (
    "Invalid '{{where}}': string too long. Expected a string with maximum length {limit}, but got a string with length "
    "{{length}} instead."
)
_TOO_LONG = 1


def _names(index: int, entry: PayloadEntry) -> Iterator[tuple[str, str, str]]:
    """Yield each name of a message: the name, its pointer, and its place in the API's words."""
    if (name := string(entry.value, "name")) is not None:
        yield name, f"{entry.pointer}/name", f"messages[{index}].name"
    for number, call in enumerate(objects(entry.value.get("tool_calls"), f"{entry.pointer}/tool_calls")):
        if (name := string(value_of(call.value, "function"), "name")) is not None:
            where = f"messages[{index}].tool_calls[{number}].function.name"
            yield name, f"{call.pointer}/function/name", where


def _find_malformed_names(messages: Sequence[PayloadEntry], _: Options) -> Iterator[Hit]:
    """C16: of who speaks, and of what is called."""
    for index, entry in enumerate(messages):
        for name, pointer, where in _names(index, entry):
            words = {"where": where, "length": str(len(name))}
            if _NAME.fullmatch(name) is None:
                yield Hit(pointer=pointer, got=name, words=words)
            elif len(name) > _NAME_LENGTH:
                yield Hit(pointer=pointer, got=name, words=words, error=_TOO_LONG)


def _find_overlong_ids(messages: Sequence[PayloadEntry], options: Options) -> Iterator[Hit]:
    """C17: of calls; their results have the same. Where nine characters are asked for, C11 finds them."""
    if server_named(options.server).short_ids:
        return
    for index, entry in enumerate(messages):
        for number, call in enumerate(objects(entry.value.get("tool_calls"), f"{entry.pointer}/tool_calls")):
            call_id = string(call.value, "id") or ""
            if len(call_id) > _ID_LENGTH:
                words = {"where": f"messages[{index}].tool_calls[{number}].id", "length": str(len(call_id))}
                yield Hit(pointer=f"{call.pointer}/id", ids=(call_id,), words=words)


def _find_misplaced_images(messages: Sequence[PayloadEntry], _: Options) -> Iterator[Hit]:
    """C18."""
    for index, entry in enumerate(messages):
        role = string(entry.value, "role")
        if role == "user":
            continue
        for part in objects(entry.value.get("content") if as_list(entry.value.get("content")) else None, ""):
            if string(part.value, "type") == "image_url":
                words = {"where": f"messages[{index}]", "role": role or "nothing"}
                yield Hit(pointer=f"{entry.pointer}/content{part.pointer}", got=role, expected="user", words=words)


RULES: tuple[ApiRule, ...] = (
    ApiRule(
        id="C16",
        provider="openai-chat",
        kind=Kind("chat-name-malformed"),
        errors=(
            (
                "Invalid '{where}': string does not match pattern. Expected a string that matches the pattern "
                "'^[a-zA-Z0-9_-]+$'."
            ),
            _LONGER.format(limit=_NAME_LENGTH),
        ),
        source="ag2ai/ag2#451, microsoft/autogen#4157, microsoft/semantic-kernel#9340 (Azure), mcp-use/mcp-use#90 "
        "(functions), danny-avila/LibreChat#7435 and mrexodia/ida-pro-mcp#129 (DeepSeek) for lengths; mistral-common "
        "1.13.1 refuses both for functions; against danishjsheikh/swagger-mcp#13 (a pattern with dots) and "
        "ag2ai/ag2#575 (other servers take any)",
        confidence=Confidence.CONFLICTING,
        find=_find_malformed_names,
    ),
    ApiRule(
        id="C17",
        provider="openai-chat",
        kind=Kind("chat-id-too-long"),
        errors=(_LONGER.format(limit=_ID_LENGTH),),
        source="microsoft/autogen#6377, camel-ai/camel#2215, Portkey-AI/gateway#1062 (Azure), openclaw/openclaw#875 "
        "(40, and 64 for newer models); against vercel/ai#8132 (a maintainer could not show it in 2026)",
        confidence=Confidence.CONFLICTING,
        find=_find_overlong_ids,
    ),
    ApiRule(
        id="C18",
        provider="openai-chat",
        kind=Kind("chat-image-misplaced"),
        errors=(
            (
                "Invalid '{where}'. Image URLs are only allowed for messages with role 'user', but this message with "
                "role '{role}' contains an image URL."
            ),
        ),
        source="OpenHands/OpenHands#7700, openai/openai-node#1030; against openai/openai-openapi#523 (GPT-5.2 takes "
        "it, and does not see the image)",
        confidence=Confidence.CONFLICTING,
        find=_find_misplaced_images,
    ),
)
