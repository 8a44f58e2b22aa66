"""Anthropic's Messages as a row of the registry."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tpharness.model_apis.anthropic.models import takes_prefill, takes_system_messages
from tpharness.model_apis.api import Decision, ModelApi, SdkTypes
from tpharness.model_apis.shape import as_list, objects, string, value_of

__all__ = ["ANTHROPIC"]

_BLOCKS = ("tool_use", "tool_result", "thinking", "redacted_thinking", "server_tool_use")
_OPTIONS = ("system", "anthropic_version", "stop_sequences")


def _has_entry(entry: Mapping[str, Any]) -> bool:
    content = as_list(entry.get("content"))
    inside = {string(part, "type") for part in content}
    return bool(inside & {*_BLOCKS}) or any(value_of(part, "source") is not None for part in content)


def _has_options(body: Mapping[str, Any]) -> bool:
    tools = objects(body.get("tools"), "")
    return any(name in body for name in _OPTIONS) or any("input_schema" in tool.value for tool in tools)


def _decide(body: Mapping[str, Any], model: str) -> Iterator[Decision]:
    if body.get("output_format") is not None or value_of(body.get("output_config"), "format") is not None:
        yield "the output has a format", "prefill", False
    elif (prefill := takes_prefill(model)) is not None:
        yield f"{model} {'takes' if prefill else 'does not take'} prefill", "prefill", prefill
    if (system := takes_system_messages(model)) is False:
        yield f"{model} does not take system messages among the others", "system_messages", system
    if (thinking := string(body.get("thinking"), "type")) is not None:
        yield f"thinking is {thinking}", "thinking", thinking != "disabled"


ANTHROPIC = ModelApi(
    name="anthropic",
    title="Anthropic Messages",
    package="tpharness.model_apis.anthropic",
    entries="messages",
    has_entry=_has_entry,
    has_options=_has_options,
    decide=_decide,
    issuers=("anthropic",),
    required=("max_tokens",),
    # Anthropic's SDKs add `/v1` to their base URL; the AI SDK does not, which is the same to a server of both.
    environment={
        "ANTHROPIC_BASE_URL": "{base}",
        "ANTHROPIC_API_URL": "{base}",  # LangChain
        "ANTHROPIC_API_KEY": "{key}",
    },
    shown=("ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"),
    sdk=SdkTypes(package="anthropic", module="anthropic.types", name="MessageParam"),
)
