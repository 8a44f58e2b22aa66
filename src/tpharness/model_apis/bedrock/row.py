"""Bedrock's Converse as a row of the registry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tpharness.model_apis.api import ModelApi
from tpharness.model_apis.shape import objects

__all__ = ["BEDROCK"]

_OPTIONS = {"inferenceConfig", "additionalModelRequestFields"}
_BLOCKS = {"toolUse", "toolResult", "reasoningContent", "cachePoint", "guardContent"}


def _owns(body: Mapping[str, Any], entries: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a body has what only Converse has: its fields, or blocks that are named by their only key."""
    blocks = (block.value.keys() for entry in entries for block in objects(entry.get("content"), ""))
    return bool(_OPTIONS & body.keys()) or any(_BLOCKS & block or block == {"text"} for block in blocks)


BEDROCK = ModelApi(
    name="bedrock",
    title="Amazon Bedrock Converse",
    package="tpharness.model_apis.bedrock",
    entries="messages",
    owns=_owns,
    issuers=("bedrock",),
    names_model="modelId",
    # No keys and no region: they are those of AWS's other services, too, and botocore sends a key of Bedrock's own, in
    # AWS_BEARER_TOKEN_BEDROCK, over HTTPS alone.
    environment={"AWS_ENDPOINT_URL_BEDROCK_RUNTIME": "{base}"},
    shown=("AWS_ENDPOINT_URL_BEDROCK_RUNTIME",),
    played=False,
)
