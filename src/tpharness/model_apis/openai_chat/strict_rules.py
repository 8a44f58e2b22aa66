"""Fields and contents that one server refuses, and OpenAI's API does not: rules C19 to C22."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tpharness.findings import Kind
from tpharness.model_apis.openai_chat.servers import server_named
from tpharness.model_apis.rule import ApiRule, Confidence, Hit, Options
from tpharness.model_apis.shape import PayloadEntry, as_list, objects, string, value_of

__all__ = ["RULES"]

_DATA_IMAGE = re.compile(r"data:(?:image/(?:jpeg|jpg|png|webp))?;base64,")


def _find_remote_images(messages: Sequence[PayloadEntry], options: Options) -> Iterator[Hit]:
    """C19: an address, and base64 without its media type."""
    if not server_named(options.server).data_images:
        return
    for entry in messages:
        for part in objects(entry.value.get("content"), f"{entry.pointer}/content"):
            image = value_of(part.value, "image_url")
            url = image if isinstance(image, str) else string(image, "url")
            if url is not None and _DATA_IMAGE.match(url) is None:
                yield Hit(pointer=f"{part.pointer}/image_url", got=url, expected="a data URI")


def _find_null_contents(messages: Sequence[PayloadEntry], options: Options) -> Iterator[Hit]:
    """C20: without calls C3 finds it."""
    if not server_named(options.server).texts:
        return
    for entry in messages:
        calls = entry.value.get("role") == "assistant" and as_list(entry.value.get("tool_calls"))
        if calls and entry.value.get("content") is None:
            yield Hit(pointer=entry.pointer, expected="a text, which may be empty")


def _find_refused_names(messages: Sequence[PayloadEntry], options: Options) -> Iterator[Hit]:
    """C21: a tool message may have the name of its function."""
    if not server_named(options.server).nameless:
        return
    for index, entry in enumerate(messages):
        if (who := string(entry.value, "role")) not in (None, "tool") and "name" in entry.value:
            yield Hit(pointer=f"{entry.pointer}/name", words={"index": str(index), "role": str(who)})


def _find_empty_texts(messages: Sequence[PayloadEntry], options: Options) -> Iterator[Hit]:
    """C22."""
    if not server_named(options.server).refuses_empty_texts:
        return
    for entry in messages:
        calls = entry.value.get("role") == "assistant" and as_list(entry.value.get("tool_calls"))
        if calls and entry.value.get("content") == "":
            yield Hit(pointer=f"{entry.pointer}/content", got="", expected="a text, null or nothing")


RULES: tuple[ApiRule, ...] = (
    ApiRule(
        id="C19",
        provider="openai-chat",
        kind=Kind("chat-image-remote"),
        errors=("invalid image input",),
        source="ollama/ollama#6753 (0.3.10), #7247 (base64 without its media type)",
        confidence=Confidence.REPORTED,
        find=_find_remote_images,
        only="Ollama's /v1",
    ),
    ApiRule(
        id="C20",
        provider="openai-chat",
        kind=Kind("chat-content-null"),
        errors=("invalid message content type: <nil>",),
        source="pydantic/pydantic-ai#5206, #3406, Dicklesworthstone/pi_agent_rust#45 (its cloud, April 2026); against "
        "its source, which takes it beside calls",
        confidence=Confidence.CONFLICTING,
        find=_find_null_contents,
        only="Ollama's /v1",
    ),
    ApiRule(
        id="C21",
        provider="openai-chat",
        kind=Kind("chat-name-refused"),
        errors=("'loc': ['body', 'messages', {index}, '{role}', 'name'], 'msg': 'Extra inputs are not permitted'",),
        source="microsoft/autogen#2748, #2457, BerriAI/litellm#6701 (November 2024); against microsoft/autogen#2635 "
        "(Mistral's models at Together take it)",
        confidence=Confidence.CONFLICTING,
        find=_find_refused_names,
        only="Mistral's models",
    ),
    ApiRule(
        id="C22",
        provider="openai-chat",
        kind=Kind("chat-text-empty"),
        errors=("text content is empty",),
        source="MoonshotAI/kimi-cli#2621 (August 2026)",
        confidence=Confidence.REPORTED,
        find=_find_empty_texts,
        only="Kimi from K2.5 on",
    ),
)
