"""Whether a request asks the model to think in a way that its API shows: else no answer may begin with thoughts."""

from __future__ import annotations

from typing import Any

from tpharness.model_apis.models import reasons
from tpharness.model_apis.shape import string, value_of

__all__ = ["asks_for_thoughts"]


def asks_for_thoughts(api: str, body: Any) -> bool:
    """Whether the model of a request thinks: by its options, or for Responses by its name.

    Chat Completions of OpenAI shows no thoughts, and no option asks other servers of that API for them.
    """
    match api:
        case "openai-responses":
            return value_of(body, "reasoning") is not None or reasons(string(body, "model") or "") is True
        case "anthropic":
            return string(value_of(body, "thinking"), "type") in ("enabled", "adaptive")
        case "gemini":
            config = value_of(value_of(body, "generationConfig"), "thinkingConfig")
            return value_of(config, "includeThoughts") is True
    return False
