"""The model APIs whose input is judged, named by the shape of that input."""

from __future__ import annotations

from typing import Literal, get_args

__all__ = ["API_NAMES", "ApiName"]

ApiName = Literal["openai-chat", "openai-responses", "anthropic", "gemini"]
"""A model API by the shape of its input."""

API_NAMES: tuple[ApiName, ...] = get_args(ApiName)
