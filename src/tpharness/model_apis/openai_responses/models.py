"""What the name of a model of OpenAI says about the requests that it takes."""

from __future__ import annotations

import re

__all__ = ["reasons"]

_REASONS = re.compile(r"(?:^|/)(?:o\d|gpt-(?:[5-9]|\d\d)(?!.*chat)|codex)")
_PLAIN = re.compile(r"(?:^|/)(?:chatgpt|gpt-[34])")


def reasons(model: str) -> bool | None:
    """Whether a model reasons, so that its items may need their reasoning (rule R6). None if the name does not say."""
    if _REASONS.search(model):
        return True
    return False if _PLAIN.search(model) else None
