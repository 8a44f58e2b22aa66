"""Servers of the Chat Completions API that take less or more than OpenAI's, and by which models they are known.

A rule of a server is found where `--server` names it or the name of the model is one of its models. What a row says
was reported since the release that the source of its rules names, or tried (`findings/…-judge*-histories.sh`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["PARTS_OF_OTHERS", "SERVERS", "SHORT_ID", "Server", "server_named", "server_of_model"]

SHORT_ID = re.compile(r"[a-zA-Z0-9]{9}")
"""The ids of calls of a server with `short_ids`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A server or a family of models.

    `models` finds their names, also behind a vendor; None: it runs models of everybody. `ordered`: a tool message is
    followed by the assistant or a tool, a system message comes before the assistant, who is not last. `short_ids`: ids
    of calls are nine letters and digits. `thinks`: a message with calls has its thinking, while that is enabled.
    `refuses_thinking`: none has it. `data_images`: an image is a data URI. `texts`: the content beside calls is a text.
    `nameless`: messages name nobody. `refuses_empty_texts`: the content beside calls is not "". `refuses_fields`: a
    message has the fields of the API and no others. `plain`: the roles whose content is a text and never parts.
    `refuses_empty_answers`: an answer has words or calls. `asks_for_user`: a message is of the user. `parts`: types of
    content that OpenAI's API does not know. `takes`: rules of OpenAI's that it does not apply. `refuses`: rules of its
    own that all of its models and releases were seen to apply, so that a request to it that breaks one is refused, and
    not only in doubt.
    """

    name: str
    title: str
    models: re.Pattern[str] | None = None
    ordered: bool = False
    short_ids: bool = False
    thinks: bool = False
    refuses_thinking: bool = False
    data_images: bool = False
    texts: bool = False
    nameless: bool = False
    refuses_empty_texts: bool = False
    refuses_fields: bool = False
    plain: frozenset[str] = frozenset()
    refuses_empty_answers: bool = False
    asks_for_user: bool = False
    parts: frozenset[str] = frozenset()
    takes: frozenset[str] = frozenset()
    refuses: frozenset[str] = frozenset()


PARTS_OF_OTHERS = frozenset(("thinking", "document_url", "reference", "video_url", "audio_url", "file_url"))
"""Types of content that OpenAI's API does not know, and another server takes: Mistral's, vLLM's, OpenRouter's or
Perplexity's (C27)."""

_NO_PAIRS = frozenset(("C1", "C2", "C6", "C7", "C8", "C16", "C17", "C18"))
"""What a server does not refuse that gives the messages to the template of the model as they are."""

SERVERS: dict[str, Server] = {
    server.name: server
    for server in (
        Server(
            name="openai",
            title="OpenAI's API and its models on other servers",
            models=re.compile(r"(?:^|/)(?:gpt-(?!oss)|chatgpt-|o\d(?:-|$))"),
            takes=frozenset(("C5",)),
            refuses=frozenset(("C27",)),
        ),
        Server(
            name="mistral",
            title="Mistral's API and its models on other servers",
            models=re.compile(
                r"(?:^|/)(?:open-)?(?:mistral|ministral|magistral|codestral|devstral|mixtral|pixtral)", re.IGNORECASE
            ),
            ordered=True,
            short_ids=True,
            nameless=True,
            refuses_empty_answers=True,
            parts=frozenset(("thinking", "document_url", "reference")),
            takes=frozenset(("C6",)),
            refuses=frozenset(("C14", "C15")),
        ),
        Server(
            name="moonshot",
            title="Moonshot's API and Kimi from K2.5 on",
            models=re.compile(
                r"(?:^|/)kimi[-_](?:k2[.-]?[5-9]|k2-thinking|k[3-9]|for-coding)|(?:^|/)k2p[5-9]", re.IGNORECASE
            ),
            thinks=True,
            refuses_empty_texts=True,
            refuses_empty_answers=True,
        ),
        Server(
            name="deepseek",
            title="DeepSeek's API and its models that think, from V3.2 on",
            models=re.compile(r"(?:^|/)deepseek[-_](?:reasoner|v3[.-]2|v[4-9])", re.IGNORECASE),
            thinks=True,
        ),
        Server(
            name="groq",
            title="Groq's API",
            refuses_thinking=True,
            refuses_fields=True,
            plain=frozenset(("system", "assistant")),
        ),
        Server(name="cerebras", title="Cerebras' API", refuses_thinking=True),
        Server(
            name="fireworks",
            title="Fireworks' API",
            models=re.compile(r"^accounts/fireworks/", re.IGNORECASE),
            refuses_fields=True,
        ),
        Server(
            name="xai",
            title="xAI's API and Grok on other servers",
            models=re.compile(r"(?:^|/)grok-", re.IGNORECASE),
            texts=True,
        ),
        Server(
            name="zhipu",
            title="Zhipu's API and GLM on other servers",
            models=re.compile(r"(?:^|[/-])glm-\d", re.IGNORECASE),
            asks_for_user=True,
        ),
        Server(name="nim", title="NVIDIA's NIM", plain=frozenset(("assistant",))),
        Server(
            name="vllm", title="vLLM", parts=frozenset(("video_url", "audio_url")), takes=_NO_PAIRS | {"C3", "C4", "C9"}
        ),
        Server(name="sglang", title="SGLang", takes=_NO_PAIRS | {"C3", "C4"}),
        Server(name="ollama", title="Ollama's /v1", data_images=True, texts=True, takes=_NO_PAIRS),
        Server(name="azure", title="Azure's OpenAI endpoint"),
    )
}
"""The servers by the name that `--server` takes."""

_OPENAI = Server(name="", title="OpenAI's API")


def server_named(name: str) -> Server:
    """Return the server with this name; for "" OpenAI's own, which refuses nothing that the others refuse."""
    return SERVERS.get(name, _OPENAI)


def server_of_model(model: str) -> Server | None:
    """Return the server whose models have such a name, None if it could be on any."""
    return next((one for one in SERVERS.values() if one.models is not None and one.models.search(model)), None)
