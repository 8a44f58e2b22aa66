"""OpenAI's Responses as a row of the registry. Its SDKs read the same environment as those of Chat Completions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tpharness.model_apis.api import Decision, ModelApi, SdkTypes
from tpharness.model_apis.openai_responses.models import reasons
from tpharness.model_apis.shape import as_list, string

__all__ = ["OPENAI_RESPONSES"]

_ITEMS = ("function_call", "custom_tool_call", "local_shell_call", "reasoning", "item_reference")
_OTHERS = re.compile(r"(?:^|/)(?:deepseek|grok)-", re.IGNORECASE)
_CONTENT = ("input_text", "input_image", "input_file", "output_text")


def _owns(body: Mapping[str, Any], _: Sequence[Mapping[str, Any]]) -> bool:
    return "input" in body and "messages" not in body


def _has_entry(entry: Mapping[str, Any]) -> bool:
    kind = string(entry, "type") or ""
    inside = {string(part, "type") for part in as_list(entry.get("content"))}
    return kind.removesuffix("_output") in _ITEMS or bool(inside & {*_CONTENT})


def _decide(body: Mapping[str, Any], model: str) -> Iterator[Decision]:
    if body.get("store") is False:
        yield "store is false", "store", False
    if string(body, "previous_response_id") or body.get("conversation"):
        yield "it goes on from a stored response", "continued", True
    if (thinks := True if body.get("reasoning") else reasons(model)) is not None:
        yield f"the model {'reasons' if thinks else 'does not reason'}", "reasoning", thinks
    if _OTHERS.search(model):
        yield f"{model} gives items ids of its own", "openai_ids", False
    if "deepseek" in model:
        yield f"{model} wants outputs directly after calls", "adjacent_outputs", True


OPENAI_RESPONSES = ModelApi(
    name="openai-responses",
    title="OpenAI Responses",
    package="tpharness.model_apis.openai_responses",
    entries="input",
    entry="item",
    owns=_owns,
    has_entry=_has_entry,
    decide=_decide,
    issuers=("openai",),
    sdk=SdkTypes(package="openai", module="openai.types.responses", name="ResponseInputItemParam"),
)
