"""OpenAI's Chat Completions as a row of the registry."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tpharness.model_apis.api import Decision, ModelApi, SdkTypes
from tpharness.model_apis.openai_chat.servers import SERVERS, server_of_model
from tpharness.model_apis.shape import as_list, objects, string

__all__ = ["OPENAI_CHAT"]

_FIELDS = ("tool_calls", "tool_call_id", "function_call", "reasoning_content")
_CONTENT = ("image_url", "input_audio")
_OPTIONS = ("max_completion_tokens", "response_format", "stream_options", "frequency_penalty", "presence_penalty")


def _has_entry(entry: Mapping[str, Any]) -> bool:
    inside = {string(part, "type") for part in as_list(entry.get("content"))}
    return entry.get("role") in ("tool", "function") or any(n in entry for n in _FIELDS) or bool(inside & {*_CONTENT})


def _has_options(body: Mapping[str, Any]) -> bool:
    return any(name in body for name in _OPTIONS) or any("function" in t.value for t in objects(body.get("tools"), ""))


def _decide(body: Mapping[str, Any], model: str) -> Iterator[Decision]:
    if (server := server_of_model(model)) is not None:
        yield f"{model} is judged as {server.title}", "server", server.name
    if string(body.get("thinking"), "type") == "disabled":
        yield "thinking is disabled", "thinking", False
    elif "deepseek-chat" in model:
        yield f"{model} does not think", "thinking", False


OPENAI_CHAT = ModelApi(
    name="openai-chat",
    title="OpenAI Chat Completions",
    package="tpharness.model_apis.openai_chat",
    entries="messages",
    has_entry=_has_entry,
    has_options=_has_options,
    decide=_decide,
    servers={name: server.takes for name, server in SERVERS.items()},
    refusals={name: server.refuses for name, server in SERVERS.items()},
    issuers=("openai",),
    # The OpenAI SDKs, the AI SDK and LangChain want `/v1` in OPENAI_BASE_URL.
    environment={
        "OPENAI_BASE_URL": "{base}/v1",
        "OPENAI_API_BASE": "{base}/v1",  # LangChain, LiteLLM and older SDKs
        "OPENAI_API_KEY": "{key}",
    },
    shown=("OPENAI_BASE_URL", "OPENAI_API_KEY"),
    sdk=SdkTypes(package="openai", module="openai.types.chat", name="ChatCompletionMessageParam"),
)
