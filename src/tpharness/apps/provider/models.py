"""`GET /models` and `GET /models/{id}`, in the words of each API: every model that is asked for exists."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tpharness.model_apis.names import ApiName

__all__ = ["KNOWN_MODELS", "model_entry", "model_list"]

_MADE = 1_735_689_600  # 2025-01-01
KNOWN_MODELS: dict[ApiName, tuple[str, ...]] = {
    "openai-chat": ("gpt-4o", "gpt-4o-mini", "gpt-4.1", "gpt-5", "gpt-5-mini", "o4-mini"),
    "openai-responses": (),
    "anthropic": ("claude-opus-4-6", "claude-sonnet-4-6", "claude-haiku-4-5"),
    "gemini": ("gemini-2.5-flash", "gemini-2.5-pro", "gemini-3-flash-preview", "gemini-3-pro-preview"),
}


def model_entry(api: ApiName, name: str) -> dict[str, Any]:
    """Return what an API says of a model."""
    if api == "anthropic":
        return {"type": "model", "id": name, "display_name": name, "created_at": "2025-01-01T00:00:00Z"}
    if api == "gemini":
        return {
            "name": f"models/{name}",
            "version": "001",
            "displayName": name,
            "inputTokenLimit": 1_048_576,
            "outputTokenLimit": 65_536,
            "supportedGenerationMethods": ["generateContent", "countTokens"],
        }
    return {"id": name, "object": "model", "created": _MADE, "owned_by": "tpharness"}


def model_list(api: ApiName, asked: Iterable[str] = ()) -> dict[str, Any]:
    """Return the list of models, with those that were asked for besides the known ones."""
    names = list(dict.fromkeys((*KNOWN_MODELS[api], *asked)))
    entries = [model_entry(api, name) for name in names]
    if api == "anthropic":
        return {"data": entries, "has_more": False, "first_id": names[0], "last_id": names[-1]}
    return {"models": entries} if api == "gemini" else {"object": "list", "data": entries}
