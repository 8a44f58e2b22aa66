"""Google's Gemini API as a row of the registry."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tpharness.model_apis.api import Decision, ModelApi, SdkTypes
from tpharness.model_apis.gemini.models import needs_thought_signatures

__all__ = ["GEMINI"]


def _owns(body: Mapping[str, Any], _: Sequence[Mapping[str, Any]]) -> bool:
    return "contents" in body


def _has_entry(entry: Mapping[str, Any]) -> bool:
    return isinstance(entry.get("parts"), list)


def _decide(_: Mapping[str, Any], model: str) -> Iterator[Decision]:
    if (signed := needs_thought_signatures(model)) is not None:
        yield f"{model} {'needs' if signed else 'does not need'} thought signatures", "thought_signatures", signed


GEMINI = ModelApi(
    name="gemini",
    title="Gemini",
    package="tpharness.model_apis.gemini",
    entries="contents",
    entry="content",
    owns=_owns,
    has_entry=_has_entry,
    decide=_decide,
    issuers=("google", "google-gla", "google-vertex"),
    # Google's SDKs add `/v1beta` to their base URL.
    environment={
        "GOOGLE_GEMINI_BASE_URL": "{base}",  # google-genai in Python, @google/genai
        "GEMINI_BASE_URL": "{base}",
        "GOOGLE_BASE_URL": "{base}",  # where the framework names it so
        "GOOGLE_API_KEY": "{key}",
        "GEMINI_API_KEY": "{key}",
        "GOOGLE_GENERATIVE_AI_API_KEY": "{key}",  # AI SDK
        "GOOGLE_GENAI_USE_VERTEXAI": "false",
    },
    shown=("GOOGLE_GEMINI_BASE_URL", "GEMINI_API_KEY"),
    sdk=SdkTypes(package="google-genai", module="google.genai.types", name="Content"),
)
