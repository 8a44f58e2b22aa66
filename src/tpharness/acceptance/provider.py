"""The model APIs whose input is judged, named by the shape of that input."""

from __future__ import annotations

from typing import Literal, get_args

__all__ = ["PROVIDERS", "Provider"]

Provider = Literal["openai-chat", "openai-responses", "anthropic", "gemini"]
"""A model API by the shape of its input."""

PROVIDERS: tuple[Provider, ...] = get_args(Provider)
