"""Fields and contents that not all servers take: rules C19 to C27. Only the last is about OpenAI's API, too."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tpharness.findings import Kind
from tpharness.model_apis.openai_chat.servers import PARTS_OF_OTHERS, server_named
from tpharness.model_apis.rule import ApiRule, Confidence, Hit, Options
from tpharness.model_apis.shape import PayloadEntry, as_list, objects, string, value_of
from tpharness.protocol.jcs import escape

__all__ = ["RULES"]

_FIELDS = frozenset(
    (
        *("role", "content", "name", "tool_calls", "tool_call_id", "function_call", "refusal", "audio", "prefix"),
        *("reasoning_content", "reasoning"),  # C13
    )
)
_CALL_FIELDS = frozenset(("id", "type", "function", "custom", "index"))
_WORDS_OF_XAI = 1
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
    server = server_named(options.server)
    if not server.texts:
        return
    error = _WORDS_OF_XAI if server.name == "xai" else 0
    for entry in messages:
        calls = entry.value.get("role") == "assistant" and as_list(entry.value.get("tool_calls"))
        if calls and entry.value.get("content") is None:
            yield Hit(pointer=entry.pointer, error=error, expected="a text, which may be empty")


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


def _find_other_fields(messages: Sequence[PayloadEntry], options: Options) -> Iterator[Hit]:
    """C23: what an application or another provider has put beside the fields of the API."""
    server = server_named(options.server)
    if not server.refuses_fields:
        return
    error = 0 if server.name == "groq" else 1
    for index, entry in enumerate(messages):
        who = string(entry.value, "role") or ""
        for name in sorted(entry.value.keys() - _FIELDS):
            words = {"index": str(index), "role": who, "field": name}
            yield Hit(pointer=f"{entry.pointer}/{escape(name)}", error=error, words=words)
        for number, call in enumerate(objects(entry.value.get("tool_calls"), f"{entry.pointer}/tool_calls")):
            for name in sorted(call.value.keys() - _CALL_FIELDS):
                words = {"index": str(index), "role": who, "field": f"tool_calls[{number}].{name}"}
                yield Hit(pointer=f"{call.pointer}/{escape(name)}", error=error, words=words)


def _find_parts(messages: Sequence[PayloadEntry], options: Options) -> Iterator[Hit]:
    """C24."""
    server = server_named(options.server)
    error = 0 if server.name == "groq" else 1
    for index, entry in enumerate(messages):
        who, content = string(entry.value, "role"), entry.value.get("content")
        if who in server.plain and isinstance(content, list):
            words = {"index": str(index), "role": who}
            yield Hit(pointer=f"{entry.pointer}/content", error=error, words=words, got="parts", expected="a text")


def _find_empty_answers(messages: Sequence[PayloadEntry], options: Options) -> Iterator[Hit]:
    """C25: null is C3; the last message may be one that is to be continued."""
    server = server_named(options.server)
    if not server.refuses_empty_answers:
        return
    error = 0 if server.name == "mistral" else 1
    for index, entry in enumerate(messages):
        said = entry.value.get("content") != "" or as_list(entry.value.get("tool_calls"))
        if entry.value.get("role") == "assistant" and not said:
            yield Hit(pointer=f"{entry.pointer}/content", error=error, words={"index": str(index)}, got="")


def _find_no_user(messages: Sequence[PayloadEntry], options: Options) -> Iterator[Hit]:
    """C26."""
    asked = any(string(entry.value, "role") == "user" for entry in messages)
    if server_named(options.server).asks_for_user and messages and not asked:
        yield Hit(pointer=messages[0].pointer, expected="user")


def _find_foreign_parts(messages: Sequence[PayloadEntry], options: Options) -> Iterator[Hit]:
    """C27."""
    refused = PARTS_OF_OTHERS - server_named(options.server).parts
    for entry in messages:
        for part in objects(entry.value.get("content"), f"{entry.pointer}/content"):
            if (kind := string(part.value, "type")) in refused:
                yield Hit(pointer=f"{part.pointer}/type", got=kind)


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
        errors=(
            "invalid message content type: <nil>",
            "Invalid request content: Each message must have at least one content element.",
        ),
        source="pydantic/pydantic-ai#5206, #3406, Dicklesworthstone/pi_agent_rust#45 (its cloud, April 2026); against "
        "its source, which takes it beside calls; xAI, which takes an empty text: langchain-ai/langchain#34140",
        confidence=Confidence.CONFLICTING,
        find=_find_null_contents,
        only="Ollama's /v1, xAI",
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
    ApiRule(
        id="C23",
        provider="openai-chat",
        kind=Kind("chat-field-unknown"),
        errors=(
            (
                "'messages.{index}' : for 'role:{role}' the following must be satisfied[('messages.{index}' : property "
                "'{field}' is unsupported"
            ),
            "Extra inputs are not permitted, field: 'messages[{index}].{field}'",
        ),
        source="ServiceStack/llms#17, run-llama/llama_index#14701, odysseus-dev/odysseus#200 (Groq); "
        "BerriAI/litellm#39962, #27881, microsoft/copilot-intellij-feedback#1874 (Fireworks)",
        confidence=Confidence.REPORTED,
        find=_find_other_fields,
        only="Groq, Fireworks",
    ),
    ApiRule(
        id="C24",
        provider="openai-chat",
        kind=Kind("chat-content-parted"),
        errors=(
            (
                "'messages.{index}' : for 'role:{role}' the following must be satisfied[('messages.{index}.content' : "
                "value must be a string)]"
            ),
            "Message content as a list is only supported for user messages.",
        ),
        source="livekit/agents#1790 (March 2025), OpenHands/OpenHands#4643, tidyverse/ellmer#162 (Groq); "
        "earendil-works/pi#1574 (NIM, of the assistant)",
        confidence=Confidence.REPORTED,
        find=_find_parts,
        only="Groq, NVIDIA's NIM",
    ),
    ApiRule(
        id="C25",
        provider="openai-chat",
        kind=Kind("chat-answer-blank"),
        errors=(
            "Assistant message must have either content or tool_calls, but not none.",
            "Invalid request: the message at position {index} with role 'assistant' must not be empty",
        ),
        source="OpenHands/OpenHands#8685, solbrowse/extension#16 (Mistral); labring/FastGPT#3575 (Moonshot); OpenAI's "
        "takes it: vllm-project/vllm#21089",
        confidence=Confidence.REPORTED,
        find=_find_empty_answers,
        only="Mistral's models, Moonshot's",
    ),
    ApiRule(
        id="C26",
        provider="openai-chat",
        kind=Kind("chat-user-missing"),
        errors=('"code":"1214"',),
        source="MetaGLM/zhipuai-sdk-python-v4#14, anomalyco/opencode#2557 (tried: no message of the user)",
        confidence=Confidence.REPORTED,
        find=_find_no_user,
        only="Zhipu's GLM",
    ),
    ApiRule(
        id="C27",
        provider="openai-chat",
        kind=Kind("chat-part-foreign"),
        source="openai SDK, types of content; against requests that were recorded with their answers: Mistral's API "
        "(thinking, document_url: pydantic/pydantic-ai, crmne/ruby_llm), OpenRouter (video_url: pydantic/pydantic-ai), "
        "Perplexity (file_url: crmne/ruby_llm); vLLM, types of content",
        confidence=Confidence.SDK,
        find=_find_foreign_parts,
        only="OpenAI's API, and every server that does not have the type",
    ),
)
