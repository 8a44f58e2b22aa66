"""What the name of a model says about the requests that it takes.

In: a name as requests have it, also with a vendor before it. Out: what is known of the model, None where nothing is.
"""

from __future__ import annotations

import re

__all__ = ["needs_thought_signatures", "reasons", "takes_prefill"]

_CLAUDE = re.compile(r"claude-(?:[a-z]+-)?(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)")
_NO_PREFILL = (4, 6)  # from this version of Claude on
_GEMINI = re.compile(r"gemini-(?:[a-z]+-)?(\d{1,2})")
_SIGNS_SINCE = 3
_REASONS = re.compile(r"(?:^|/)(?:o\d|gpt-(?:[5-9]|\d\d)(?!.*chat)|codex)")
_PLAIN = re.compile(r"(?:^|/)(?:chatgpt|gpt-[34])")


def takes_prefill(model: str) -> bool | None:
    """Whether a Claude goes on with an assistant message at the end of a request (rules A6, A19, A20)."""
    found = _CLAUDE.search(model)
    return None if found is None else (int(found[1]), int(found[2] or 0)) < _NO_PREFILL


def needs_thought_signatures(model: str) -> bool | None:
    """Whether a Gemini requires the signatures of its calls (rule G4)."""
    found = _GEMINI.search(model)
    return None if found is None else int(found[1]) >= _SIGNS_SINCE


def reasons(model: str) -> bool | None:
    """Whether a model of OpenAI reasons, so that its items may need their reasoning (rule R6)."""
    if _REASONS.search(model):
        return True
    return False if _PLAIN.search(model) else None
